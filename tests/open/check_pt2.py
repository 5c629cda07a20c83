#!/usr/bin/env python3
"""Compares models of torch.export with the truth beside them.

    check_pt2.py DIMSCOPE FOLDER

FOLDER has NAME.pt2 (or NAME.graph.json) and NAME.values.tsv: name, type, shape over the file's
symbols, shape at the example and module of every value, written from the live graph of torch; and
NAME.io, NAME.io2 with in_N.npy and out_N.npy of runs. Sizes of the host (symint) are i64[1] here. A model with operators that have no
kernel is not run.
A line a model; exits with 1 if a value differs.
"""
import json
import os
import re
import subprocess
import sys


PARTS = {"c64": "f32", "c128": "f64"}  # complex numbers are pairs along a last dim here


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def read_truth(path):
    ranges, rows = {}, []
    for line in open(path, encoding="utf-8"):
        line = line.rstrip("\n")
        found = re.match(r"# ([su]\d+) in (-?\d+)\.\.(\S+)", line)
        if found:
            ranges[found[1]] = (int(found[2]), found[3])
        elif line and not line.startswith("#") and not line.startswith("name\t"):
            rows.append((line.split("\t") + [""] * 5)[:5])
    return ranges, rows


def dims(text):
    inside = text.strip()[1:-1]
    parts, depth = [""], 0
    for letter in inside:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def value_of(expression, sizes):
    """A size over names with dots in them: of the names, longest first, the numbers."""
    for name in sorted(sizes, key=len, reverse=True):
        expression = expression.replace(name, f"({sizes[name]})")
    functions = {"Max": max, "Min": min, "Mod": lambda a, b: a % b}
    return eval(expression, functions)  # numbers, operators and these alone


def symbol_sizes(rows):
    """Two sets of sizes of the symbols: of the example, and others that tell them apart."""
    symbols = sorted({name for row in rows for name in re.findall(r"\b[s]\d+\b", row[2])})
    return {name: 101 + 12 * i for i, name in enumerate(symbols)}


def check_value(row, value, theirs, ours):
    name, dtype, shape, example, module = row
    wrong = []
    if dtype.startswith("sym"):
        return wrong
    if dtype in PARTS:
        dtype, shape, example = PARTS[dtype], f"{shape[:-1]}, 2]", f"{example[:-1]}, 2]"
    if value["dtype"] != dtype:
        wrong.append(f"type {value['dtype']}, not {dtype}")
    want = [int(d) if d.isdigit() else None for d in dims(example)]
    have = value["shape"]
    if have is None or len(have) != len(want) or any(
            w is not None and h != w for w, h in zip(want, have)):
        wrong.append(f"shape {have}, not {want}")
    declared = value.get("declared", have) or []
    for mine, true in zip(declared, dims(shape)):
        if re.search(r"\bu\d+", true):
            continue
        if value_of(str(mine), ours) != value_of(true, theirs):
            wrong.append(f"declared {declared}, not {shape}")
            break
    if "same_as" not in value and value.get("module", "") != module:
        wrong.append(f"module '{value.get('module', '')}', not '{module}'")
    return wrong


def symbols_of_dims(rows, values, theirs):
    """The sizes of our free dims: of the symbol that the truth has in the same place."""
    ours = {}
    for name, dtype, shape, _, _ in rows:
        value = values.get(name)
        for mine, true in zip((value or {}).get("declared") or [], dims(shape)):
            if true in theirs and isinstance(mine, str):
                ours.setdefault(mine, theirs[true])
    return ours


def check_model(program, folder, file):
    name = re.sub(r"\.(pt2|graph\.json)$", "", file)
    ranges, rows = read_truth(os.path.join(folder, name + ".values.tsv"))
    done = run(program, "info", os.path.join(folder, file), "--values", "--json")
    if done.returncode != 0:
        return [done.stderr.strip()], 0
    info = json.loads(done.stdout)
    values = {value["name"]: value for value in info["values"]}
    theirs = symbol_sizes(rows)
    ours = symbols_of_dims(rows, values, theirs)
    wrong = []
    for row in rows:
        if row[1] == "symbool":
            continue
        if row[0] not in values:
            wrong.append(f"{row[0]}: not there")
            continue
        wrong += [f"{row[0]}: {what}" for what in check_value(row, values[row[0]], theirs, ours)]
    limits = sorted((d["least"], str(d["most"]) if d["most"] is not None else "inf")
                    for d in info.get("dims", []))
    if limits != sorted(v for k, v in ranges.items() if k.startswith("s")):
        wrong.append(f"ranges {limits}, not {ranges}")
    return wrong, len(rows)


def check_vectors(program, folder, file):
    name = re.sub(r"\.(pt2|graph\.json)$", "", file)
    wrong = []
    for data in (name + ".io", name + ".io2"):
        path = os.path.join(folder, data)
        if not os.path.isdir(path):
            continue
        more = []
        if os.path.exists(os.path.join(path, "params.npz")):
            more = ["--weights", os.path.join(path, "params.npz")]
        done = run(program, "run", os.path.join(folder, file), "--vectors", path, *more)
        if done.returncode != 0 and "no kernel for" not in done.stdout:
            wrong.append(f"{data}: {(done.stdout + done.stderr).splitlines()[0]}")
    return wrong


def main():
    program, folder = sys.argv[1:3]
    failed = 0
    for file in sorted(os.listdir(folder)):
        if not file.endswith((".pt2", ".graph.json")):
            continue
        wrong, n = check_model(program, folder, file)
        wrong += check_vectors(program, folder, file)
        failed += bool(wrong)
        print(f"{'FAIL' if wrong else 'ok  '} {file}: {n} values")
        for line in wrong[:12]:
            print("    ", line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
