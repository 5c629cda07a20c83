#!/usr/bin/env python3
"""Files that hold a training step: their phases and gradients, and `diff --joint`.

    check_step.py DIMSCOPE

loss_joint.pt2 is forward and backward of loss.pt2, by torch.export's _export_forward_backward; its
parameters are those of a module `model` there. jax_momentum is a step of jax that clips gradients,
with momentum, once with the names of jax's transformations and once without; jax_remat recomputes
its forward pass, jax_grad_only returns no loss.
"""
import json
import subprocess
import sys

JAX = "tests/stablehlo/"
FAILED = []


def run(*command):
    return subprocess.run([sys.argv[1], *command], capture_output=True, text=True, check=False)


def plan(model):
    done = run("plan", model, "-m", "x=2", "--json")
    return json.loads(done.stdout)


def phases(model):
    return {op["name"]: op.get("phase") for op in plan(model)["ops"]}


def expect(what, is_so, *said):
    if not is_so:
        FAILED.append(f"{what}: {said}")


def check_joint():
    done = run("diff", "tests/open/loss.pt2", "--joint", "tests/open/loss_joint.pt2", "-m", "dp=2",
               "--json")
    diff = json.loads(done.stdout)
    rows = {row["parameter"]: row for row in diff["gradients"]}
    expect("the gradients of all parameters", set(rows) == {
        f"{layer}.{kind}" for layer in ("up", "norm", "down") for kind in ("weight", "bias")}, rows)
    expect("they are on both sides", all(row["derived"] and row["stated"] and row["same_shape"]
                                         for row in rows.values()), rows)
    expect("nothing moves on either side", diff["same"] and done.returncode == 0, done.stdout)
    products = {"derived": 0, "stated": 0}
    for row in diff["ops"]:
        if row["phase"] == "backward" and row["operator"].startswith(("MatMul", "Linear~")):
            kind = row["operator"]
            products["derived"] += row["n"][0] if kind in ("Linear~d0", "Linear~d1") else 0
            products["stated"] += row["n"][1]
    expect("three products of the backward pass", products == {"derived": 3, "stated": 3}, products)
    expect("no update in the file", diff["flops"]["update"][1] == 0, diff["flops"])
    found = plan("tests/open/loss_joint.pt2")["phases"]
    expect("gradients by torch's signature",
           found["gradients"]["model.down.bias"] == "view" and len(found["gradients"]) == 6, found)
    done = run("plan", "tests/open/loss_joint.pt2", "-m", "dp=2", "--train")
    expect("no step of a step", done.returncode == 2 and "already is a training step" in done.stderr,
           done.stderr)
    done = run("diff", "tests/open/loss.pt2", "--joint", "tests/open/loss.pt2", "-m", "dp=2")
    expect("no step in the file", done.returncode == 2 and "no gradients" in done.stderr,
           done.stderr)


def check_jax():
    named, plain = (plan(JAX + "jax_momentum." + kind)["phases"]
                    for kind in ("named.mlir", "stablehlo.mlir"))
    expect("by names, and by the flow of data", (named["by"], plain["by"]) == ("names", "flow"),
           named, plain)
    expect("the gradients of three parameters", len(named["gradients"]) == 3, named)
    # A location names an argument; the order is that of the arguments.
    expect("the same gradients without names",
           list(named["gradients"].values()) == list(plain["gradients"].values()), named, plain)
    of, by_flow = (phases(JAX + "jax_momentum." + kind) for kind in ("named.mlir",
                                                                     "stablehlo.mlir"))
    other = {op: (of[op], by_flow[op]) for op in of if of[op] != by_flow[op]}
    # The forward pass of jax computes factors that only the backward pass reads.
    expect("other phases", all(pair == ("forward", "backward") for pair in other.values()), other)
    expect("three phases", set(of.values()) == {"forward", "backward", "update"}, of)
    expect("what is computed again", "again" in phases(JAX + "jax_remat.named.mlir").values())
    expect("no loss, no phases", "phases" not in plan(JAX + "jax_grad_only.mlir"))
    expect("a model has none", "phases" not in plan(JAX + "jax_mlp.stablehlo.mlir"))


def main():
    check_joint()
    check_jax()
    for line in FAILED:
        print(line)
    return len(FAILED) > 0


if __name__ == "__main__":
    sys.exit(main())
