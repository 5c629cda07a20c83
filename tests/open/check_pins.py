#!/usr/bin/env python3
"""Shardings in files of PyTorch's users as pins: check_pins.py DIMSCOPE

llama_tp_plan.json is samples/models/llama-3-tiny.json with the base_model_tp_plan of transformers.
llama_tiny.metadata is the .metadata of a checkpoint that four processes with a mesh dp=2,tp=2 saved
by torch.distributed.checkpoint (torch 2.15): tensors with the placements below, and one of an
optimizer. llama_tiny.orbax has the _sharding of a checkpoint that Orbax 0.12 saved on dp=2,tp=4, with
the shardings of a plan by megatron. pretrain_gpt.sh, zero3.json and titan.toml are settings of Megatron-LM, DeepSpeed and
torchtitan as their users write them: each is a shipped policy with options.
"""
import json
import subprocess
import sys

MODEL = "samples/models/llama-3-tiny.json"
SAVED = {
    "model.layers.0.self_attn.q_proj.weight": ["S(0)", "S(0)"],
    "model.layers.0.self_attn.o_proj.weight": ["R", "S(1)"],
    "model.layers.0.mlp.gate_proj.weight": ["S(1)", "S(0)"],
    "model.layers.0.mlp.down_proj.weight": ["S(0)", "R"],
    "model.layers.1.self_attn.q_proj.weight": ["S(0)", "S(1)"],
    "model.norm.weight": ["R", "R"],
    "lm_head.weight": ["R", "S(0)"],
}

SETTINGS = [
    ("pretrain_gpt.sh", "pp=2,dp=2,tp=2",
     "hybrid3d micro_batch=2 micro_batches=4 virtual=2 schedule=1f1b_interleaved zero=1 "
     "recompute=selective sequence_parallel=true"),
    ("titan.toml", "dp=2,tp=2",
     "megatron_sp micro_batch=4 micro_batches=1 zero=3 recompute=selective"),
    ("titan.toml", "dp=2,sh=2,tp=2",
     "megatron_sp zero_axis=dp,sh micro_batch=4 micro_batches=1 zero=3 recompute=selective"),
    ("zero3.json", "dp=4", "fsdp micro_batch=2 micro_batches=4 overlap=backward zero=3"),
]
REFUSED = [
    ("pretrain_gpt.sh", "pp=4,dp=2,tp=2",
     "tests/open/pretrain_gpt.sh:9:5: error: pipeline-model-parallel-size is 2, but the mesh"),
    ("titan.toml", "dp=4", "tests/open/titan.toml:14:1: error: tensor_parallel_degree is 2"),
    ("titan.toml", "pp=2,dp=2,tp=2", "the mesh has an axis pp of size 2, which torchtitan's settings"),
    ("zero3.json", "x=4", "the mesh has no axis dp for the remaining 4 ranks"),
]


def plan(program, mesh, *options):
    done = subprocess.run([program, "plan", MODEL, "-m", mesh, *options, "--json"],
                          capture_output=True, text=True, check=False)
    return json.loads(done.stdout or '{"findings": [], "tensors": [], "totals": 0}'), done


def check_settings(program, wrong):
    for name, mesh, want in SETTINGS:
        place = f"tests/open/{name}"
        have, done = plan(program, mesh, "--pins", place, "--train", "--dim", "seq=16")
        said = [row["text"] for row in have["findings"] if row["code"] == "settings"]
        if len(said) != 1 or said[0].split(": policy ")[1] != want:
            wrong.append(f"{name}: {said}, not {want}")
        policy, *options = want.split()
        args = [word for option in options for word in ("--set", option)]
        by_hand = plan(program, mesh, "-p", policy, *args, "--train", "--dim", "seq=16")[0]
        if have["tensors"] != by_hand["tensors"] or have["totals"] != by_hand["totals"]:
            wrong.append(f"{name}: it is not the plan of {want}")
    for name, mesh, text in REFUSED:
        done = subprocess.run([program, "plan", MODEL, "-m", mesh, "--pins", f"tests/open/{name}"],
                              capture_output=True, text=True, check=False)
        if done.returncode != 3 or text not in done.stderr:
            wrong.append(f"{name} on {mesh}: {done.stderr}")


def main():
    program = sys.argv[1]
    wrong = []
    want = plan(program, "tp=2", "-p", "megatron")[0]["totals"]
    have = plan(program, "tp=2", "--pins", "tests/open/llama_tp_plan.json")[0]["totals"]
    if have != want:
        wrong.append(f"tp_plan: {have}, not {want}")
    tensors = plan(program, "dp=2,tp=2", "--pins", "tests/open/llama_tiny.metadata")[0]["tensors"]
    for row in tensors:
        if SAVED.get(row["name"], row["placements"]) != row["placements"]:
            wrong.append(f"{row['name']}: {row['placements']}, not {SAVED[row['name']]}")
    other = plan(program, "dp=4", "--pins", "tests/open/llama_tiny.metadata")[0]
    if not any(finding["code"] == "pins-chunks" for finding in other["findings"]):
        wrong.append("another mesh than that of the checkpoint is not noticed")
    want = plan(program, "dp=2,tp=4", "-p", "megatron")[0]["tensors"]
    saved, done = plan(program, "dp=2,tp=4", "--pins", "tests/open/llama_tiny.orbax")
    for row, is_row in zip(want, saved["tensors"], strict=True):
        if row["name"].endswith("weight") and row["placements"] != is_row["placements"]:
            wrong.append(f"orbax: {is_row}, not {row['placements']}: {done.stderr}")
    tree = plan(program, "dp=2,tp=4", "--pins", "tests/open/llama_tiny.orbax/_METADATA")[1]
    if tree.returncode != 3 or "the file _sharding of the checkpoint" not in tree.stderr:
        wrong.append(f"orbax: shapes of parts are read as shardings: {tree.stderr}")
    check_settings(program, wrong)
    print("\n".join(wrong))
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
