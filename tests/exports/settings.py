"""settings.py - exports for systems whose plan is a few numbers: Megatron's flags, DeepSpeed's
configuration, torchtitan's. Sizes multiply to those of the mesh, and what they do not say is told."""
import json
import math
import tempfile

S = "samples/models/"
TP, PP = "tensor-model-parallel-size", "pipeline-model-parallel-size"
HYBRID = ["-p", "hybrid3d", "--set", "micro_batches=8"]
FSDP = {"use-megatron-fsdp": "", "use-distributed-optimizer": "", "no-gradient-accumulation-fusion": "", "ckpt-format": "fsdp_dtensor"}
STRATEGY = "data-parallel-sharding-strategy"
# Model, mesh, policy; Megatron's flags beside the sizes of batches; ZeRO's level; what each cannot say.
PLANS = [
    ("gpt2.onnx", "dp=2,tp=4", ["-p", "megatron"], {TP: "4"}, 0, 0, 0),
    ("gpt2.onnx", "dp=2,tp=4", ["-p", "megatron_sp"], {TP: "4", "sequence-parallel": ""}, 0, 0, 1),
    ("gpt2.onnx", "tp=4,dp=2", ["-p", "megatron"], {TP: "4"}, 0, 1, 0),
    ("llama-3-8b.json", "pp=4,dp=2,tp=2", HYBRID, {TP: "2", PP: "4", "bf16": ""}, 0, 0, 1),
    ("llama-3-8b.json", "dp=2,pp=4,tp=2", HYBRID, {TP: "2", PP: "4", "bf16": "", "use-tp-pp-dp-mapping": ""}, 0, 0, 1),
    ("llama-3-8b.json", "pp=4,dp=2,tp=2", [*HYBRID, "--set", "schedule=1f1b_interleaved", "--set", "virtual=2"],
     {TP: "2", PP: "4", "bf16": "", "num-virtual-stages-per-pipeline-rank": "2"}, 0, 0, 2),
    ("llama-3-8b.json", "pp=4,dp=2,tp=2", [*HYBRID, "--set", "schedule=gpipe"], {TP: "2", PP: "4", "bf16": ""}, 0, 1, 2),
    ("llama-3-8b.json", "pp=2,dp=4", [*HYBRID, "--set", "recompute=full"],
     {PP: "2", "bf16": "", "recompute-granularity": "full", "recompute-method": "uniform", "recompute-num-layers": "1"}, 0, 0, 2),
    ("mixtral-8x7b.json", "dp=2,ep=4", ["-p", "expert"], {"expert-model-parallel-size": "4", "bf16": ""}, 0, 0, 1),
    ("gpt2.onnx", "dp=8", ["-p", "fsdp", "--set", "zero=1"], {"use-distributed-optimizer": ""}, 1, 0, 0),
    ("gpt2.onnx", "dp=8", ["-p", "fsdp", "--set", "zero=2"], {**FSDP, STRATEGY: "optim_grads"}, 2, 0, 0),
    ("gpt2.onnx", "dp=8", ["-p", "fsdp"], {**FSDP, STRATEGY: "optim_grads_params"}, 3, 0, 0),
]


# Plans whose settings are read back, and what a system cannot say of those with such a word.
BACK = [plan[:3] for plan in PLANS if plan[1] not in ("tp=4,dp=2", "dp=2,pp=4,tp=2", "pp=2,dp=4") and not {"zero=2", "schedule=gpipe"} & set(plan[2])] + [
    ("gpt2.onnx", "dp=2,cp=4", ["-p", "context"]),
    ("gpt2.onnx", "dp=8", ["-p", "dp"]),
    ("gpt2.onnx", "dp=2,sh=4", ["-p", "fsdp", "--set", "zero_axis=sh"]),
    ("tiny-gpt.onnx", "dp=2,cp=2,tp=2", ["-p", "hybrid3d", "--set", "sequence_parallel=true", "--set", "zero=1", "--train"]),
    ("tiny-gpt.onnx", "dp=2,tp=2", ["-p", "megatron", "--set", "zero=3", "--set", "micro_batches=4", "--train"]),
]
LOST = {("megatron_sp", "deepspeed"): "norms sharded along the sequence", ("sequence_parallel=true", "deepspeed"): "norms sharded along the sequence",
        ("zero=1", "torchtitan"): "that parameters are stored replicated"}


def flags_of(text):
    words = [line.split() for line in text.splitlines() if not line.startswith("#")]
    return {word[0].removeprefix("--"): " ".join(word[1:]) for word in words}


def titan_of(text):
    """What torchtitan's modules would get: the arguments of ParallelismConfig, and the rest."""
    config, names = {}, {"ParallelismConfig": lambda **fields: fields}
    names |= {name: type(name, (), {"Config": lambda name=name: name}) for name in ("FullAC", "SelectiveAC")}
    exec("\n".join(line for line in text.splitlines() if not line.startswith("from ")), names, config)
    return config


def measure(run, check):
    for model, mesh, policy, want, level, n_megatron, n_deepspeed in PLANS:
        what, args = f"{model} on {mesh}, {' '.join(policy[1:])}", ["export", S + model, "-m", mesh, *policy]
        done = run(*args, "--to", "megatron")
        text, notes = done.stdout.decode(), done.stderr.decode()
        flags = flags_of(text)
        micro, whole = int(flags.pop("micro-batch-size")), int(flags.pop("global-batch-size"))
        flags.pop("seq-length", None)
        check(f"{what}: Megatron's flags", flags == want, flags)
        check(f"{what}: what they do not say", text.count("# Not said: ") == notes.count("do not say: ") == n_megatron, notes)
        ranks = math.prod(int(axis.split("=")[1]) for axis in mesh.split(","))
        data = ranks // (int(flags.get(TP, 1)) * int(flags.get(PP, 1)))
        n_micro = 8 if "micro_batches=8" in policy else 1
        check(f"{what}: micro-batches of all data ranks are the batch", whole == micro * data * n_micro, (whole, micro, data))
        done = run(*args, "--to", "deepspeed")
        config, notes = json.loads(done.stdout), done.stderr.decode()
        check(f"{what}: ZeRO's level", config["zero_optimization"]["stage"] == level, config)
        check(f"{what}: DeepSpeed's batches", config["train_batch_size"] == whole and config["gradient_accumulation_steps"] == n_micro
              and config["train_micro_batch_size_per_gpu"] == micro, config)
        check(f"{what}: tensor ranks", config.get("tensor_parallel", {}).get("autotp_size", 1) == int(flags.get(TP, 1)), config)
        check(f"{what}: what DeepSpeed does not say",
              len(config["dimscope"]["not_said"]) == notes.count("does not say: ") == n_deepspeed, config["dimscope"])
        titan = titan_of(run(*args, "--to", "torchtitan").stdout.decode())
        degrees, parts = titan["PARALLELISM"], titan["PARALLELISM"].get("module_fqns_per_model_part")
        data_degree = degrees["data_parallel_replicate_degree"] * degrees["data_parallel_shard_degree"]
        check(f"{what}: torchtitan's ranks", data_degree == data and (degrees["data_parallel_shard_degree"] > 1) == (level > 0)
              and data_degree * degrees["tensor_parallel_degree"] * degrees.get("pipeline_parallel_degree", 1) == ranks, degrees)
        check(f"{what}: torchtitan's batch", titan["TRAINING"]["global_batch_size"] == whole
              and titan["TRAINING"]["local_batch_size"] == micro * n_micro, titan)
        check(f"{what}: torchtitan recomputes", titan.get("ACTIVATION_CHECKPOINTING") == ("FullAC" if "recompute=full" in policy else None), titan)
        if parts:
            layers = [name for part in parts for name in part]
            check(f"{what}: each layer is on one of torchtitan's stages, in order",
                  layers == ["tok_embeddings", *(f"layers.{i}" for i in range(32)), "norm", "lm_head"], parts)
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as policy:
        policy.write('function PAS(graph) graph:shard("*.h.0.mlp.c_fc.weight", {k = "tp"}) return graph end')
        policy.flush()
        odd = run("export", S + "gpt2.onnx", "-m", "dp=2,tp=4", "-p", policy.name, "--to", "megatron")
    check("rows of a column matmul are not said", b"# Not said: tp shards the rows of transformer.h.0.mlp.c_fc" in odd.stdout, odd.stdout)
    check("nor an axis without a use", b"# Not said: the axis dp, whose ranks all run the same" in odd.stdout, odd.stdout)


def measure_back(run, check):
    """Settings of a plan are the same plan again, but for what their system does not say, which is told."""
    def plan(*args):
        done = run("plan", *args, "--json")
        tables = json.loads(done.stdout or b'{"tensors": [], "findings": [{"code": "", "text": "none"}]}')
        return {row["name"]: row["sharding"]["text"] for row in tables["tensors"]}, tables, done.stderr
    for model, mesh, policy in BACK:
        train, args = [word for word in policy if word == "--train"], [S + model, "-m", mesh]
        want, whole, _ = plan(*args, *policy)
        for system in "megatron", "deepspeed", "torchtitan":
            what = f"{model} on {mesh}, {' '.join(policy[1:])}, read back by {system}"
            lost = [text for (word, who), text in LOST.items() if word in policy and who == system]
            with tempfile.NamedTemporaryFile(suffix=".txt") as place:
                run("export", *args, *policy, "--to", system, "-o", place.name)
                have, again, errors = plan(*args, *train, "--pins", place.name)
            said = [row["text"] for row in again["findings"] if row["code"].startswith("settings")]
            differ = [name for name in want if want[name] != have.get(name)]
            check(f"{what}: it is read", len(have) > 0, errors)
            check(f"{what}: what differs is told", bool(differ) == bool(lost) and all(any(part in text for text in said) for part in lost), (differ[:3], said))
            check(f"{what}: times and memory", bool(lost) or len(said) > 1 or whole["totals"] == again["totals"], (whole["totals"], again["totals"]))
