"""shardings.py WANT < INFO PLAN - compares a plan's shardings of arguments and results with a file.

WANT has a line each: in_0 or out_0, the shape, a PartitionSpec. INFO and PLAN are what `info --json`
and `plan --json` print. Exits with 1, and prints those that differ.
"""
import json
import sys


def axes_of(entry):
    """The axes of a dim in a PartitionSpec."""
    return () if entry is None else (entry,) if isinstance(entry, str) else tuple(entry)


def of_plan(tensor, names):
    """The axes of each dim in the plan."""
    dims = tensor["dims_mapping"]
    lists = [d if isinstance(d, list) else [] if d < 0 else [d] for d in dims]
    return [tuple(names[axis] for axis in dim) for dim in lists]


def main():
    decoder = json.JSONDecoder()
    text = sys.stdin.read()
    info, end = decoder.raw_decode(text)
    plan, _ = decoder.raw_decode(text[end:].lstrip())
    names = [axis[0] for axis in plan["mesh"]["axes"]]
    tensors = {tensor["name"]: tensor for tensor in plan["tensors"]}
    differ = 0
    with open(sys.argv[1], encoding="utf-8") as lines:
        for line in lines:
            which, _, spec = line.rstrip("\n").split("\t")
            side, place = which.split("_")
            name = info["inputs" if side == "in" else "outputs"][int(place)]
            name = name["name"] if isinstance(name, dict) else name
            want = [axes_of(entry) for entry in eval(spec, {"P": lambda *dims: dims})]
            got = of_plan(tensors[name], names)
            want += [()] * (len(got) - len(want))
            if want != got:
                differ += 1
                print(f"{which} ({name}): {got}, not {want}")
    return differ > 0


sys.exit(main())
