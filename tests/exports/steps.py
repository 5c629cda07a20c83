"""steps.py - what exports say of a training step: how gradients and states lie is what the plan's tables say, boxes of a
drawing have their phases and keep their ids, an annotated model opens again."""
import ast
import csv
import io
import json
import os
import re
import subprocess
import types

MODEL = ["samples/models/tiny-gpt.onnx", "--dim", "batch=4,seq=16"]
STEP = [*MODEL, "-m", "dp=2,tp=2", "-p", "hybrid3d", "--train", "--set", "zero=1"]


def tables_of(text):
    """The dicts of a module for Paddle, with placements as the plan's table writes them."""
    names = {"R": "R", "Shard": lambda dim, **more: f"S({dim})" + ("*" if more else ""), "Partial": lambda *_: "P(sum)",
             "range": range}
    tree = ast.parse(text)
    kept = [node for node in tree.body if not isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef))
            and not (isinstance(node, ast.Assign) and node.targets[0].id == "R")]
    tree.body = kept
    exec(compile(tree, "plan.py", "exec"), names)
    return types.SimpleNamespace(**{name: value for name, value in names.items() if name.isupper()})


def tensors_of(run, *args):
    return {row["name"]: row for row in csv.DictReader(io.StringIO(run("export", *args, "--csv", "--table", "tensors").stdout.decode()))}


def check_paddle(run, check):
    made = run("export", *STEP, "--to", "paddle")
    module, rows, n = tables_of(made.stdout.decode()), tensors_of(run, *STEP), 0
    names = {row["label"]: row["name"] for row in rows.values() if row["kind"] == "parameter"}
    for label, (shape, placements) in module.OPTIMIZER_STATES.items():
        row, said = rows[names[label] + "~m"], "[" + ", ".join(placements) + "]"
        check(f"Paddle: the shape of {label}", list(shape) == json.loads(row["shape"]), (shape, row["shape"]))
        if "*" not in said:  # else two axes shard one dim, and the table has torch's _StridedShard
            check(f"Paddle: the states of {label}", said == row["placements"], (said, row["placements"]))
            n += "S(" in said
    check("Paddle: states lie over dp", n >= 10 and len(module.OPTIMIZER_STATES) == len(module.GRADIENTS), n)
    check("Paddle: what it cannot say is on top", b"# Not said: " in made.stdout[:600] and b"GRADIENTS" in made.stderr, made.stdout[:600])
    stages = tables_of(run("export", *MODEL, "-m", "pp=2,dp=2", "-p", "hybrid3d", "--train", "--set", "recompute=full",
                           "--to", "paddle").stdout.decode())
    check("Paddle: schedule and what runs again", stages.SCHEDULE == "1F1B" and stages.MICRO_BATCHES > 1
          and set(stages.RECOMPUTE) == {"transformer.h.0", "transformer.h.1"}, vars(stages).get("RECOMPUTE"))


def check_jax(run, check):
    """States lie as the plan's table says, whether their parameter lies so too or not."""
    made = run("export", *STEP, "--to", "jax")
    tree = ast.parse(made.stdout.decode())
    tables = ("PARAMETERS", "STATES")
    tree.body = [node for node in tree.body if isinstance(node, (ast.Assign, ast.AugAssign, ast.For))
                 and any(name in ast.unparse(node).split(" ")[0] or f"\n    {name} |=" in ast.unparse(node) for name in tables)]
    names = {"P": lambda *dims, **_: list(dims), "range": range}
    exec(compile(tree, "plan.py", "exec"), names)
    rows, n = tensors_of(run, *STEP), 0
    labels = {row["label"]: row["name"] for row in rows.values() if row["kind"] == "parameter"}
    for label, own in names["PARAMETERS"].items():
        row, lies = rows[labels[label] + "~m"], names["STATES"].get(label, own)
        if row["partition_spec"]:  # else q, k and v in one weight
            want = ast.literal_eval(re.sub(r"^P\((.*?),?\)$", r"[\1]", row["partition_spec"]))
            check(f"JAX: the states of {label}", [axis and tuple(axis) if isinstance(axis, tuple) else axis for axis in lies] == want,
                  (lies, row["partition_spec"]))
            n += lies != own
    check("JAX: states lie over dp", n >= 10, n)
    check("JAX: what it cannot say is on top", b"# Not said: " in made.stdout[:400] and b"note: the training step" in made.stderr, made.stderr)


def check_shardy(run, check):
    text = run("export", *STEP, "--to", "shardy").stdout.decode()
    rows, update = tensors_of(run, *STEP), text[text.index("@update("):]
    said = {name: dims for dims, name in re.findall(r'<@mesh, (\[.*\])>\} loc\("([^"]+~[mv])"\)', update)}
    check("Shardy: where states are stored decides nothing of the model", "zero.store(" not in text[:text.index("@update(")], text[:2000])
    check("Shardy: each state is an argument of @update", len(said) == sum(name.endswith(("~m", "~v")) for name in rows), len(said))
    for name, dims in said.items():
        if not rows[name]["partition_spec"]:  # q, k and v in one weight
            continue
        axes = [re.findall(r'"(\w+)"', dim) for dim in re.findall(r"\{([^}]*)\}", dims)]
        want = ast.literal_eval("[" + re.sub(r"^P\(|\)$", "", rows[name]["partition_spec"]) + "]")
        want = [[] if axis is None else [axis] if isinstance(axis, str) else list(axis) for axis in want]
        check(f"Shardy: {name} as in the plan", axes == want + [[]] * (len(axes) - len(want)), (axes, rows[name]["partition_spec"]))


def check_nnscaler(run, check):
    units = [*MODEL, "-m", "dp=2", "-p", "hybrid3d", "--train", "--set", "recompute=full"]
    for level, groups in ("0", 0), ("1", 1):
        text = run("export", *units, "--set", "zero=" + level, "--to", "nnscaler").stdout.decode()
        compile(text, "plan.py", "exec")
        check(f"nnScaler: level {level} of ZeRO", f"\nZERO_GROUPS = {groups}\n" in text, re.findall("ZERO_GROUPS = .*", text))
        check("nnScaler: what runs again", 'RECOMPUTE = ["transformer.h.0", "transformer.h.1"]' in text, re.findall("RECOMPUTE = .*", text))


def check_dot(run, check):
    """Boxes of a step have phases, causes, times; ids are the same under another policy."""
    ids, phases, causes = {}, set(), 0
    for policy in "megatron", "dp":
        for kind in ["overview"], ["block", "transformer.h.0"]:
            made = run("export", *MODEL, "-m", "dp=2,tp=2", "-p", policy, "--train", "--dot", "--kind", *kind).stdout
            read = subprocess.run(["gvpr", 'N{print(id, "|", phase, "|", us, "|", cause, "|", op)}'], input=made, capture_output=True)
            nodes = [line.split("|") for line in read.stdout.decode().splitlines()]
            ids[policy, kind[0]] = {node[0] for node in nodes if node[1]}
            phases |= {word for node in nodes for word in node[1].split()}
            causes += sum(bool(node[3]) for node in nodes)
    for kind in "overview", "block":
        check(f"ids of a step do not depend on the policy, {kind}", ids["megatron", kind] and ids["megatron", kind] == ids["dp", kind],
              ids["megatron", kind] ^ ids["dp", kind])
    check("a step's boxes have phases and causes", {"forward", "backward", "update"} <= phases and causes > 10, (phases, causes))


def check_ids(run, check):
    """A box of several ops has the name of the first: one id is one box under each policy."""
    def boxes(policy):
        made = run("export", "samples/models/gpt2.onnx", "-m", "dp=2,tp=4", "-p", policy, "--dot", "--kind", "overview").stdout
        read = subprocess.run(["gvpr", 'N[path != ""] {print(id, "|", path)}'], input=made, capture_output=True)
        return dict(line.split("|") for line in read.stdout.decode().splitlines())
    of = {policy: boxes(policy) for policy in ("megatron", "megatron_sp", "fsdp")}
    for policy, rows in of.items():
        same = {name: (path, of["megatron"][name]) for name, path in rows.items() if name in of["megatron"]}
        numbered = [name for name in rows if re.search(r"-\d+$", name)]
        check(f"ids of boxes under {policy} are names", len(same) > 4 and not numbered, (same, numbered))
        check(f"and one id is one box under {policy}", all(one == other for one, other in same.values()), same)


def check_onnx(run, check, scratch):
    """The model of a step opens by itself, with the sizes beside it, and is sharded as it was."""
    path = os.path.join(scratch, "step.onnx")
    made = run("export", *STEP, "--onnx", "-o", path)
    check("a step as ONNX: sizes are beside it", open(path[:-5] + ".dims").read() == "batch=4,seq=16\n", made.stderr)
    back, want = (json.loads(run("plan", *args, "--json").stdout) for args in ([path], [*MODEL, "-m", "dp=2,tp=2", "-p", "hybrid3d"]))
    pair = [{row["name"]: row["sharding"]["text"] for row in plan["tensors"]} for plan in (back, want)]
    differ = [name for name in pair[1] if pair[0].get(name) != pair[1][name]]
    check("a step as ONNX: the model is sharded as it was", not differ, [(name, pair[0].get(name), pair[1][name]) for name in differ[:3]])


def check_help(run, check, scratch):
    """The commands of help drawings print what stands below them."""
    lines = run("help", "drawings").stdout.decode().splitlines()
    place = os.path.join(scratch, "help")
    os.mkdir(place)
    os.symlink(os.path.abspath("samples"), os.path.join(place, "samples"))
    os.symlink(os.path.abspath(os.environ.get("DIMSCOPE", "./dimscope")), os.path.join(place, "dimscope"))
    path = place + os.pathsep + os.environ["PATH"]
    commands = [i for i, line in enumerate(lines) if line.lstrip().startswith("$ ")]
    for i in commands:
        want = []
        while i + 1 + len(want) < len(lines) and lines[i + 1 + len(want)].strip():
            want.append(lines[i + 1 + len(want)].strip())
        done = subprocess.run(lines[i].lstrip()[2:], shell=True, cwd=place, env={**os.environ, "PATH": path}, capture_output=True)
        got = done.stdout.decode().splitlines()
        check(f"help drawings: {lines[i].strip()[:60]}", done.returncode == 0 and got == want, (got, want, done.stderr))
    check("help drawings has commands", len(commands) >= 6, commands)


def measure(run, check, scratch):
    check_help(run, check, scratch)
    check_paddle(run, check)
    check_jax(run, check)
    check_shardy(run, check)
    check_nnscaler(run, check)
    check_dot(run, check)
    check_ids(run, check)
    check_onnx(run, check, scratch)
