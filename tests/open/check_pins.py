#!/usr/bin/env python3
"""Shardings in files of PyTorch's users as pins: check_pins.py DIMSCOPE

llama_tp_plan.json is samples/models/llama-3-tiny.json with the base_model_tp_plan of transformers.
llama_tiny.metadata is the .metadata of a checkpoint that four processes with a mesh dp=2,tp=2 saved
by torch.distributed.checkpoint (torch 2.15): tensors with the placements below, and one of an
optimizer.
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


def plan(program, mesh, *options):
    done = subprocess.run([program, "plan", MODEL, "-m", mesh, *options, "--json"],
                          capture_output=True, text=True, check=False)
    return json.loads(done.stdout), done


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
    print("\n".join(wrong))
    return len(wrong)


if __name__ == "__main__":
    sys.exit(main())
