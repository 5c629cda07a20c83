"""A module that dimscope wrote, read by the real MLIR and taken through the real Shardy.

    part_shardy.py WHAT PLAN.mlir TENSORS.csv PARTS.csv MESH RESHARDS.csv

Three answers are held against the plan: the shardings as parsed, on every device; the types after Shardy's own
passes have made collectives of the reshards and local programs of the ops; and, printed only, what Shardy's
propagation makes of the pins alone.
"""
import csv, json, re, sys

from jax._src.interpreters import mlir as jax_mlir
from jaxlib.mlir import ir, passmanager
from jaxlib.mlir.dialects import sdy

from layout import Plan, axis_parts, coordinates, partial_size

MOVES = ("sdy.reshard", "sdy.all_reduce", "sdy.reduce_scatter", "sdy.sharding_constraint")


def main_of(module):
    return next(op for op in module.body.operations if op.operation.name == "func.func")


def name_at(location):
    text = re.fullmatch(r'loc\("(.*)"\)', str(location))[1]
    return re.sub(rb"\\([0-9A-F]{2})", lambda m: bytes([int(m[1], 16)]), text.encode()).decode()


def refs(axes):
    out = []
    for a in axes:
        a = sdy.AxisRefAttr(a)
        part = a.sub_axis_info
        part = sdy.SubAxisInfoAttr(part) if part is not None else None
        out.append(a.name + (":(%d)%d" % (part.pre_size, part.size) if part else ""))
    return out


def read(attribute):
    s = sdy.TensorShardingAttr(attribute)
    dims = [sdy.DimensionShardingAttr(d) for d in s.dimension_shardings]
    return [refs(d.axes) for d in dims], refs(s.unreduced_axes)


def values(module):
    """(name, value, sharding) of arguments and of what ops make; a constraint's is of the value behind it."""
    main = main_of(module)
    block = main.operation.regions[0].blocks[0]
    arguments = main.operation.attributes["arg_attrs"] if len(block.arguments) else []
    for argument, attributes in zip(block.arguments, arguments):
        attributes = {a.name: a.attr for a in ir.DictAttr(attributes)}
        yield name_at(argument.location), argument, attributes.get("sdy.sharding")
    for op in block.operations:
        op = op.operation
        if op.name == "stablehlo.custom_call" and "sdy.sharding" in op.attributes:
            per_value = sdy.TensorShardingPerValueAttr(op.attributes["sdy.sharding"]).shardings
            if len(op.results) == 1:
                yield name_at(op.location), op.results[0], per_value[0]


def handed_on(module):
    """name -> sharding of what the function returns, or a pin asks for: made otherwise, and moved."""
    block, out = main_of(module).operation.regions[0].blocks[0], {}
    returned = [str(v.get_name()) for v in list(block.operations)[-1].operation.operands]
    for op in block.operations:
        a = op.operation.attributes
        if op.operation.name in MOVES and (op.operation.name == "sdy.sharding_constraint"
                                           or str(op.operation.results[0].get_name()) in returned):
            out[name_at(op.operation.location)] = a["sharding"] if "sharding" in a else a["out_sharding"]
    return out


def places(refs_of_dim, n, axes, at):
    """What a device holds of a dim: Shardy's tiles are as long as the first."""
    index, parts = 0, 1
    for size, coordinate in axis_parts(".".join(refs_of_dim), axes, at) if refs_of_dim else []:
        index, parts = index * size + coordinate, parts * size
    step = -(-n // parts)
    return range(min(index * step, n), min((index + 1) * step, n))


def compare(plan, axes, name, sharding, lines):
    tensor = plan.tensor(name)
    if tensor is None:
        return "no tensor is called so", False
    shape, less = json.loads(plan.rows[tensor]["shape"]), False
    dims, unreduced = read(sharding)
    held = plan.held(tensor, axes)
    for row in plan.parts[tensor]:
        at = coordinates(row["coordinates"])
        for d, n in enumerate(shape):
            said, has = places(dims[d], n, axes, at), held[int(row["device"])][d]
            if list(said) == list(has):
                continue
            less = True
            if not set(has) <= set(said):
                return "dim %d on device %s: sdy has %s, the plan %d places from %s" % (
                    d, row["device"], said, len(has), list(has)[:1]), less
    want, addends = partial_size(plan.parts[tensor][0]["partial"], axes), partial_size(".".join(unreduced), axes)
    if less and "// sharded less than" not in lines:
        return "it is cut less, and nothing says so", less
    return "" if want == addends else "%d addends, not %d" % (addends, want), less


def local_types(text):
    """name -> local shape, after Shardy made collectives of reshards and local ops of all."""
    module = ir.Module.parse(text)
    passmanager.PassManager.parse("builtin.module(func.func(sdy-sharding-constraint-to-reshard,"
                                  "sdy-reshard-to-collectives),sdy-convert-global-to-local)").run(module.operation)
    module.operation.verify()
    block = main_of(module).operation.regions[0].blocks[0]
    out = {}
    for argument in block.arguments:
        out[name_at(argument.location)] = list(ir.RankedTensorType(argument.type).shape)
    kinds = {}
    for op in block.operations:
        op = op.operation
        if op.name == "stablehlo.custom_call" and len(op.results) == 1 and "tensor" in str(op.results[0].type):
            out.setdefault(name_at(op.location), list(ir.RankedTensorType(op.results[0].type).shape))
        elif re.match(r"stablehlo\.(all_|reduce_scatter|collective_)", op.name):
            kinds[op.name[10:]] = kinds.get(op.name[10:], 0) + 1
    return out, kinds


def moved(reshards):
    """How many collectives of each kind the plan has."""
    names = {"AR": "all_reduce", "AG": "all_gather", "RS": "reduce_scatter", "A2A": "all_to_all", "CP": "collective_permute"}
    kinds = {}
    for row in csv.DictReader(open(reshards, newline="", encoding="utf-8")):
        for step in re.findall(r"[A-Z0-9]+", row["steps"]):
            if step in names:
                kinds[names[step]] = kinds.get(names[step], 0) + 1
    return kinds


def without_plan(text):
    """The module with pins alone: other dims are open, nothing is moved."""
    lines, same = [], {}
    for line in text.split("\n"):
        moved = re.match(r"\s*(%\d+) = (" + "|".join(map(re.escape, MOVES)) + r")\b[^%]*(%[\w#]+)", line)
        if moved and moved[2] != "sdy.sharding_constraint":
            same[moved[1]] = same.get(moved[3], moved[3])
            continue
        line = re.sub(r"%\d+(#\d+)?(?![\d:])", lambda m: same.get(m[0], m[0]), line)
        lines.append(only_pins(line))
    text = "\n".join(lines)
    return re.sub(r"-> \((tensor.*)\) \{$", lambda m: re.sub(r" \{sdy\.sharding = #sdy\.sharding<[^>]*>\}", "", m[0]), text,
                  flags=re.M)


def only_pins(line):
    pinned = re.search(r", dimscope\.pinned = (\[?)((?:array<i64[^>]*>(?:, )?)+)\]?", line)
    line = line.replace(pinned[0], "") if pinned else line
    line_dims = [[int(d) for d in re.findall(r"\d+", a)] for a in re.findall(r"array<i64:? ?([^>]*)>", pinned[2])] if pinned else []

    def opened(m):
        dims = line_dims.pop(0) if line_dims else []
        axes = re.findall(r"\{[^}]*\}", m[2])
        return "<%s[%s]>" % (m[1], ",".join(a if d in dims else "{?}" for d, a in enumerate(axes)))

    if "sdy.sharding_constraint" in line:
        return line
    return re.sub(r"<(@mesh, )\[([^\]]*)\](?:, unreduced=\{[^}]*\})?>", opened, line)


def agreed(text):
    """How many values Shardy's propagation shards as the plan does, from the pins alone."""
    want = {name: read(s)[0] for name, _, s in values(ir.Module.parse(text))}
    module = ir.Module.parse(without_plan(text))
    passmanager.PassManager.parse("builtin.module(sdy-propagation-pipeline)").run(module.operation)
    have = {name: read(s)[0] for name, _, s in values(module) if s is not None}
    return sum(have.get(name, [[] for _ in dims]) == dims for name, dims in want.items()), len(want)


def main():
    what, path, tensors, parts, mesh, reshards = sys.argv[1:]
    axes = {k: int(v) for k, v in (a.split("=") for a in mesh.split(","))}
    plan, text = Plan(tensors, parts), open(path, encoding="utf-8").read()
    n = n_less = n_local = 0
    with jax_mlir.make_ir_context():
        module = ir.Module.parse(text)
        if not module.operation.verify():
            print("not ok %s: it does not verify" % what)
            return
        later = handed_on(module)
        for name, value, sharding in values(module):
            if name not in plan.labels and name not in plan.rows:
                continue
            wrong, less = compare(plan, axes, name, sharding, text)
            if wrong and name in later and not compare(plan, axes, name, later[name], text)[0]:
                wrong = ""
            n, n_less = n + 1, n_less + less
            if wrong:
                print("not ok %s: %s: %s" % (what, name, wrong))
                return
        print("ok %s: %d shardings on every device%s" % (what, n, ", %d cut less, as noted" % n_less if n_less else ""))
        uneven = any(r["uneven"] == "yes" for r in plan.rows.values())
        if not uneven:
            types, kinds = local_types(text)
            for name, shape in types.items():
                tensor = plan.tensor(name)
                if tensor is None or tensor not in plan.parts or "(" in re.sub(r":\(\d+\)", "", plan.rows[tensor]["sharding"]):
                    continue
                n_local += 1
                if any(json.loads(r["local_shape"]) != shape for r in plan.parts[tensor]):
                    print("not ok %s: %s is %s in Shardy's local program" % (what, name, shape))
                    return
            print("ok %s: Shardy's local program has %d values of the plan's shapes" % (what, n_local))
            said = lambda k: ", ".join("%d %s" % (k[v], v) for v in sorted(k)) or "nothing"
            print("   Shardy moves %s, the plan %s" % (said(kinds), said(moved(reshards))))
        print("   from the pins alone Shardy's propagation agrees on %d of %d" % agreed(text))


main()
