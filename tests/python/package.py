#!/usr/bin/env python3
"""The package dimscope, with the program DIMSCOPE and nothing else."""

import json
import os
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


check_finding()
check_options()
check_plan()
check_errors()
print(f"{passed} passed, {failed} failed")
sys.exit(failed > 0)
