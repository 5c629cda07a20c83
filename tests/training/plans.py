#!/usr/bin/env python3
"""plans.py [N] - gradients of the samples on one device and under N generated plans each (PLANS=20;
else 4), in f32 and in f64, against torch's: tests/training/NAME.grad. A plan is a mesh, a policy with
options, or tests/training/any.lua, which draws its pins; stages run the schedules of `help schedules`.
An error may be 1e-5 (f32) or 1e-9 (f64) of the gradient's largest element, or of a thousandth of the
model's largest; of scalars, that one long sum makes, 1e-4 in f32. Ends with "N passed, N failed"."""
import json, os, random, subprocess, sys

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
PROGRAM = os.environ.get("DIMSCOPE", "./dimscope")
N = int(sys.argv[1]) if len(sys.argv) > 1 else int(os.environ.get("PLANS", "4"))
# Of what the program allows: 1e-4 in f32, 1e-9 in f64.
SHARE_F32, SHARE_F64 = 0.1, 1.0
MODELS = {"tiny-gpt": True, "llama-tiny": True, "tiny-conv": False}  # whether it has layers
SCHEDULES = {1: ["1f1b", "gpipe", "eager_1f1b", "zb1p", "zb2p"],
             2: ["1f1b_interleaved", "looped_bfs", "interleaved_zero_bubble", "zbv"]}


def policy_of(rng, layers):
    """A policy with options, and its mesh."""
    kinds = ["dp", "fsdp", "tp", "any", "any", "any"]
    if layers:
        kinds += ["megatron", "megatron_sp", "hybrid3d", "pipeline", "context", "any"]
    kind = rng.choice(kinds)
    size = lambda: rng.choice([2, 2, 3, 4])
    mesh = {"dp": [("dp", size())], "fsdp": [("dp", size())], "tp": [("tp", size())],
            "megatron": [("dp", 2), ("tp", size())], "megatron_sp": [("tp", size())],
            "hybrid3d": [("pp", 2), ("dp", rng.choice([1, 2])), ("tp", 2)],
            "pipeline": [("pp", 2), ("dp", rng.choice([1, 2]))],
            "context": [("cp", size())],
            "any": rng.choice([[("a", 2), ("b", 2)], [("a", 4)], [("a", 2), ("b", 3)], [("a", 3)],
                               [("a", 2), ("b", 2), ("c", 2)]])}[kind]
    options = {}
    if kind == "any":
        options["draw"] = rng.randrange(1, 1 << 20)
        if layers and rng.random() < 0.4:
            mesh = [("pp", 2)] + mesh[:2]
        kind = "tests/training/any.lua"
    elif kind not in ("context",):
        axes = [name for name, n in mesh if name != "pp" and n > 1]
        if kind in ("dp", "megatron", "hybrid3d") and "dp" in axes:
            options["zero"] = rng.randrange(4)
        if kind == "fsdp":
            options["keep"] = rng.choice(["true", "false"])
    if layers and kind != "tests/training/any.lua":
        options["recompute"] = rng.choice(["none", "none", "full", "selective"])
    if any(name == "pp" for name, _ in mesh):
        options["virtual"] = rng.choice([1, 1, 2]) if kind != "tests/training/any.lua" else 1
        options["schedule"] = rng.choice(SCHEDULES[options["virtual"]])
        options["micro_batches"] = 1 if options["virtual"] == 1 else 2
    mesh = [(name, n) for name, n in mesh if n > 1]
    words = ["-m", ",".join(f"{name}={n}" for name, n in mesh), "-p", kind]
    for name, value in options.items():
        words += ["--set", f"{name}={value}"]
    return words


def run(model, scalars, words):
    """The command, and why it is wrong: "" if it is not. The largest share of what is allowed."""
    command = [PROGRAM, "run", f"samples/models/{model}.onnx", "--grad-vectors",
               f"tests/training/{model}.grad", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        rows = [row for row in json.loads(done.stdout)["gradients"] if row["compared"]]
    except (ValueError, KeyError):
        return command, f"status {done.returncode}: {(done.stdout + done.stderr).strip()[-400:]}", 0
    share = SHARE_F64 if "--f64" in words else SHARE_F32
    ratio = lambda row: row["max_abs"] / row["allowed"] / (1 if row["name"] in scalars else share)
    worst = max(rows, key=ratio)
    wrong = done.returncode or ratio(worst) > 1
    why = f"status {done.returncode}: {worst['name']} is off by {worst['max_abs']:.3g}, " \
          f"{ratio(worst):.2g} of what is allowed"
    return command, why if wrong else "", ratio(worst)


def main():
    passed, failed, most = 0, 0, {}
    for model, layers in MODELS.items():
        with open(f"tests/training/{model}.grad/test_data_set_0/index.json") as file:
            scalars = {row["name"] for row in json.load(file)["grads"] if not row["shape"]}
        rng = random.Random(f"{model} 1")
        plans = [[]] + [policy_of(rng, layers) for i in range(N)]
        for words in [plan + more for plan in plans for more in ([], ["--f64"])]:
            command, why, ratio = run(model, scalars, words)
            passed, failed = passed + (not why), failed + bool(why)
            if why:
                print(f"{' '.join(command)}\n    {why}")
            most = {**most, "--f64" in words: max(most.get("--f64" in words, (0,)), (ratio, command))}
    for doubles, (ratio, command) in most.items():
        print(f"worst in f{64 if doubles else 32}: {ratio:.2g} of what is allowed, {' '.join(command)}")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


sys.exit(main())
