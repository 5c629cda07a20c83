#!/usr/bin/env python3
"""The package dimscope, with the program DIMSCOPE and nothing else."""

import gzip
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile

DIMSCOPE = os.path.abspath(os.environ.get("DIMSCOPE") or "./dimscope")
PACKAGE = os.path.abspath("scripts/python")
MODEL = os.path.abspath("samples/models/tiny-gpt.onnx")
os.environ["DIMSCOPE"] = DIMSCOPE
sys.path.insert(0, PACKAGE)

import dimscope  # noqa: E402
from dimscope import program  # noqa: E402

passed = failed = 0


def check(what, ok, why=""):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print(f"--- {what}: {str(why)[:400]}")


def refusal(function, *args, **kwargs):
    """What is said of a call that must fail."""
    try:
        function(*args, **kwargs)
    except (dimscope.Error, ValueError) as error:
        return str(error)
    return ""


def check_finding():
    def found(**variables):
        ask = "from dimscope import program; print(program.find())"
        known = {"PYTHONPATH": PACKAGE, "PATH": os.environ["PATH"], **variables}
        done = subprocess.run([sys.executable, "-Bc", ask], env=known, capture_output=True, text=True)
        return done.stdout.strip() or done.stderr.strip().splitlines()[-1]

    check("$DIMSCOPE is used", found(DIMSCOPE=DIMSCOPE) == DIMSCOPE)
    check("a wrong $DIMSCOPE is named", "$DIMSCOPE is /nowhere" in found(DIMSCOPE="/nowhere"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "dimscope")
        os.symlink(DIMSCOPE, path)
        outside = os.path.join(folder, "package")
        os.symlink(os.path.join(PACKAGE, "dimscope"), os.path.join(folder, "x"))
        os.mkdir(outside)
        subprocess.run(["cp", "-r", os.path.join(PACKAGE, "dimscope"), outside], check=True)
        said = found(PYTHONPATH=outside, PATH=folder + ":" + os.environ["PATH"])
        check("the program on PATH is found", said == path, said)
        said = found(PYTHONPATH=outside, PATH="/nowhere")
        check("no program at all is said", "not on PATH" in said, said)


def check_options():
    class TorchMesh:
        mesh_dim_names, shape = ("dp", "tp"), (2, 4)

    class JaxMesh:
        axis_names, shape = ("dp", "tp"), {"dp": 2, "tp": 4}

    for mesh in "dp=2,tp=4", {"dp": 2, "tp": 4}, TorchMesh(), JaxMesh():
        check(f"mesh of {type(mesh).__name__}", program.mesh_text(mesh) == "dp=2,tp=4")
    line = program.options_text("x=2", "fsdp", {"keep": True}, {"batch": 8}, no_redistribute=True,
                                machine=None, train="adamw")  # fmt: skip
    want = "--mesh x=2 --policy fsdp --no-redistribute --train adamw --set keep=true --dim batch=8"
    check("options", " ".join(line) == want, line)


def check_plan():
    plan = dimscope.plan(MODEL, mesh={"dp": 2, "tp": 2}, policy="megatron", dims={"batch": 4})
    check("mesh", plan.mesh == {"dp": 2, "tp": 2}, plan.mesh)
    check("placements", plan.placements["transformer.wte.weight"] == ("R", "S(0)"), plan.placements)
    check("only parameters", "input_ids" not in plan.placements and len(plan.placements) == 29,
          len(plan.placements))  # fmt: skip
    fused = plan.tensors["transformer.h.0.attn.c_attn.weight"]
    check("a fused weight", fused.placements == ("R", "IS(1,3)") and fused.spec is None, fused)
    ids = plan.tensors["input_ids"]
    check("an input", (ids.kind, ids.shape, ids.local_shape, ids.spec) == ("input", (4, 16), (2, 16), ("dp", None)), ids)  # fmt: skip
    sums = [it for it in plan.collectives if it.kind == "all_reduce"]
    check("collectives", len(sums) == 5 and {it.axes for it in sums} == {("tp",)}, sums)
    check("bytes of one", sums[0].bytes == 2 * 16 * 64 * 4 and "Σtp" in sums[0].cause, sums[0])
    check("costs", plan.totals["step_us"] > 0 and plan.memory["peak_bytes"] > 0)
    check("findings", plan.legal and all(it.level == "note" for it in plan.findings))
    check("as text", "all_reduce" in str(plan))
    page = plan._repr_html_()
    check("in a notebook", page.startswith("<iframe srcdoc=") and "&lt;!DOCTYPE" in page[:200], page[:80])
    again = dimscope.plan(plan, set={"cut_vocabulary": False})
    check("of a plan", again.placements["transformer.wte.weight"] == ("R", "R"), again.placements)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan.json")
        plan.save(path)
        check("saved", json.load(open(path))["mesh"] == "dp=2,tp=2")
        check("opened again", dimscope.plan(path).placements == plan.placements)
    bad = dimscope.plan(MODEL, mesh="x=3")
    check("a plan that shards nothing", set(bad.placements.values()) == {("R",)})


def check_errors():
    said = refusal(dimscope.plan, "/nowhere.onnx", mesh="x=2")
    check("no model", "/nowhere.onnx" in said and "error:" in said, said)
    said = refusal(dimscope.plan, MODEL, mesh="x=two")
    check("no mesh", "--mesh:1:3: error" in said, said)
    said = refusal(dimscope.plan, MODEL, mesh="x=2", policy="nonesuch")
    check("no policy", "nonesuch" in said, said)
    done = subprocess.run([sys.executable, "-Bm", "dimscope", "--version"], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": PACKAGE})  # fmt: skip
    check("python -m dimscope", done.returncode == 0 and "dimscope" in done.stdout, done)
    with open(os.path.join(PACKAGE, "pyproject.toml")) as file:
        version = re.search(r'^version = "(.*)"', file.read(), re.M).group(1)
    check("one version", version in done.stdout.split(), (version, done.stdout))


# ---- traces of jobs


def kernel(step, ranks, n=None, us=None):
    """What torch.profiler says of a collective of NCCL, which moves f32."""
    args = {"Collective name": {"all_reduce": "allreduce", "all_gather": "_allgather_base",
                                "reduce_scatter": "_reduce_scatter_base"}[step.kind],
            "In msg nelems": (n or step.bytes) // 4, "Out msg nelems": 0, "dtype": "Float",
            "Group size": len(ranks), "Process Group Ranks": json.dumps(ranks)}  # fmt: skip
    return {"ph": "X", "cat": "kernel", "name": "ncclDevKernel", "dur": us or step.us, "args": args}


def entry(step, group):
    """What a flight recorder says of it."""
    return {"profiling_name": f"nccl:{step.kind}", "process_group": [group, "mesh"], "state": "completed",
            "input_sizes": [[step.bytes // 4]], "input_dtypes": ["Float"], "output_sizes": [],
            "output_dtypes": []}  # fmt: skip


def compared(plan, data, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        with open(path, "wb") as file:
            file.write(data if isinstance(data, bytes) else json.dumps(data).encode())
        return dimscope.compare(plan, path, **options)


def kineto(events):
    events = [{**event, "ts": at} for at, event in enumerate(events)]
    return {"traceEvents": [{"ph": "M", "name": "process_name"}, *events], "distributedInfo": {"rank": 0}}


def check_traces():
    plan = dimscope.plan(MODEL, mesh="dp=2,tp=2", policy="megatron", train="auto")
    groups = {("tp",): [0, 1], ("dp",): [0, 2], ("dp", "tp"): [0, 1, 2, 3]}
    steps = [it for it in plan.collectives if it.kind != "slice"]
    events = [kernel(it, groups[it.axes]) for it in steps]
    found = compared(plan, kineto(events))
    check("a trace of the plan", found and len(found.matched) == len(steps) and not found.slow, found)
    found = compared(plan, kineto(events[:1] + events[2:]))
    lost = found.missing[0].planned[0] if len(found.missing) == 1 else None
    check("one is missing", not found and lost and lost.axes == ("tp",), found)
    check("the missing one is named with its op", "transformer" in str(found) and " for " in str(found), found)
    extra = kernel(steps[0], [0, 1], n=4 * 12345)
    found = compared(plan, kineto(events + [extra]))
    check("one is unplanned", len(found.unplanned) == 1 and "49380 bytes on ranks 0,1" in str(found), found)
    found = compared(plan, kineto(events[1:] + [kernel(steps[0], [0, 1], us=1e6)]))
    check("one is slow", len(found.slow) == 1 and "slow: 1.00 s" in str(found), found)
    found = compared(plan, kineto(events[:-1] + [kernel(steps[-1], [1, 3])]))
    check("a group outside of the rank's", "on ranks 1,3" in str(found), found)
    recorder = {"entries": [entry(it, str(len(it.axes) * 2 + (it.axes == ("tp",)))) for it in steps],
                "pg_config": {"2": {"ranks": "[0, 2]"}, "3": {"ranks": "[0, 1]"}, "4": {"ranks": "[0, 1, 2, 3]"}}}  # fmt: skip
    found = compared(plan, recorder)
    check("a flight recorder", found and len(found.matched) == len(steps), found)
    pickled = compared(plan, pickle.dumps(recorder))
    check("its pickle", pickled and str(pickled) == str(found), pickled)
    packed = compared(plan, gzip.compress(json.dumps(recorder).encode()))
    check("packed", str(packed) == str(found), packed)

    plan = dimscope.plan(MODEL, mesh="dp=4", policy="fsdp", dims={"batch": 4})
    steps = [it for it in plan.collectives if it.kind == "all_gather"]
    layer = [kernel(steps[0], [0, 1, 2, 3], n=sum(it.bytes for it in steps))]
    found = compared(plan, kineto(layer))
    check("one gather of many parameters", found and len(found.matched[0].planned) == len(steps), found)


def check_real_traces():
    """Of a step of a Llama by four processes under gloo, which had a loss of its own: rank 0's trace
    of torch.profiler with record_shapes, and its flight recorder of two steps."""
    plan = dimscope.plan("samples/models/llama-3-tiny.json", mesh="dp=2,tp=2", policy="megatron", train="auto")
    for name, steps in ("gloo.trace.json", 1), ("gloo.recorder.json", 2):
        found = dimscope.compare(plan, f"tests/python/traces/{name}", slow=1e9, steps=steps)
        lost = {row.planned[0].tensor.partition("~")[0] for row in found.missing}
        check(f"{name}: all but the plan's loss ran", lost == {"loss"} and len(found.missing) == 4, found)
        check(f"{name}: nothing else ran", not found.unplanned and not found.other_bytes, found)
        sums = sorted(len(row.planned) for row in found.matched)
        check(f"{name}: gradients of a layer in one", sums == [1] * 10 + [3, 9, 9], sums)


def check_fsdp_trace():
    """Of two steps of a Llama that four processes ran with fully_shard under gloo: a layer's parameters move
    in one collective, forward and backward; the root's stay gathered; the loss was the job's own."""
    plan = dimscope.plan("samples/models/llama-3-tiny.json", mesh="dp=4", policy="fsdp", train="auto")
    found = dimscope.compare(plan, "tests/python/traces/fsdp.trace.json", slow=1e9, steps=2)
    kinds = [row.planned[0].kind for row in found.matched]
    sums = sorted(len(row.planned) for row in found.matched)
    check("fsdp: gathers and scatters of layers and the root", sorted(kinds) == ["all_gather"] * 5 + ["reduce_scatter"] * 3, kinds)
    check("fsdp: each is a layer's, or the root's", sums == [3, 3] + [9] * 6, sums)
    lost = sorted(row.planned[0].tensor for row in found.missing)
    check("fsdp: what did not run", lost == ["lm_head.weight", "loss", "model.norm.weight"] and not found.unplanned and not found.other_bytes, found)
    check("fsdp: its cause", str(found).count("the job kept what it moved before") == 2, found)


def check_bad_traces():
    plan = dimscope.plan(MODEL, mesh="x=2")
    for what, data, says in [
        ("a broken pickle", b"\x80\x04]", "it ends within a value"),
        ("no JSON", b"hello", "error"),
        ("a broken archive", b"\x1f\x8b\x08\x00", "it is damaged"),
        ("other JSON", b"{}", "neither traceEvents nor entries"),
    ]:
        said = refusal(compared, plan, data)
        check(f"{what} is refused", says in said, said)
    check("an empty trace", compared(plan, kineto([])), "")


check_traces()
check_real_traces()
check_fsdp_trace()
check_bad_traces()
check_finding()
check_options()
check_plan()
check_errors()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
