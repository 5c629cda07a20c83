#!/usr/bin/env python3
"""Writes the cases of cases.jsonl as ONNX's tests are stored, a folder each: write_cases.py FOLDER [NAME]

A case is a call of one operator: {"name", "op": "com.microsoft::MoE", "source", "attrs", "inputs",
"outputs", "trains", "opset"}; an input may be null, an attribute a tensor. `source` is what made the outputs: onnxruntime on a processor, or
numpy for operators that it has no such kernel of, from their published schemas. No packages needed."""
import json
import os
import struct
import sys

TYPES = {"f32": (1, "f"), "u8": (2, "B"), "i8": (3, "b"), "i32": (6, "i"), "i64": (7, "q"),
         "bool": (9, "?"), "f64": (11, "d"), "u32": (12, "I")}


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def attribute(key, a):
    if isinstance(a, str):
        return field(1, key) + field(4, a) + field(20, 3)
    if isinstance(a, float):
        return field(1, key) + field(2, a) + field(20, 1)
    if isinstance(a, dict):
        return field(1, key) + field(5, tensor("", a)) + field(20, 4)
    if isinstance(a, list) and a and isinstance(a[0], float):
        return field(1, key) + b"".join(field(7, x) for x in a) + field(20, 6)
    if isinstance(a, list) and a and isinstance(a[0], str):
        return field(1, key) + b"".join(field(9, x) for x in a) + field(20, 8)
    if isinstance(a, list):
        return field(1, key) + b"".join(field(8, x) for x in a) + field(20, 7)
    return field(1, key) + field(3, a) + field(20, 2)


def tensor(name, t):
    number, code = TYPES[t["dtype"]]
    raw = struct.pack("<%d%s" % (len(t["data"]), code), *t["data"])
    return b"".join(field(1, d) for d in t["shape"]) + field(2, number) + field(8, name) + field(9, raw)


def value(name, t):
    shape = field(2, b"".join(field(1, field(1, d)) for d in t["shape"]))
    return field(1, name) + field(2, field(1, field(1, TYPES[t["dtype"]][0]) + shape))


def names(letter, tensors):
    return ["" if t is None else "%s%d" % (letter, i) for i, t in enumerate(tensors)]


def model(case):
    domain, operator = case["op"].split("::")
    inputs, outputs = names("x", case["inputs"]), names("y", case["outputs"])
    node = b"".join([field(1, n) for n in inputs] + [field(2, n) for n in outputs] +
                    [field(3, "op"), field(4, operator)] +
                    [field(5, attribute(k, a)) for k, a in case["attrs"].items()] + [field(7, domain)])
    graph = b"".join([field(1, node), field(2, "g")] +
                     [field(11, value(n, t)) for n, t in zip(inputs, case["inputs"]) if n] +
                     [field(12, value(n, t)) for n, t in zip(outputs, case["outputs"]) if n])
    return b"".join([field(1, 10), field(7, graph), field(8, field(1, "") + field(2, 21)),
                     field(8, field(1, domain) + field(2, case.get("opset", 1)))])


def write(path, data):
    with open(path, "wb") as out:
        out.write(data)


def main():
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "cases.jsonl")) as cases:
        for case in map(json.loads, cases):
            if wanted not in case["name"]:
                continue
            folder = os.path.join(sys.argv[1], case["name"])
            os.makedirs(os.path.join(folder, "test_data_set_0"))
            write(os.path.join(folder, "model.onnx"), model(case))
            if case.get("trains"):
                write(os.path.join(folder, "trains"), b"")
            for kind, letter in (("input", "x"), ("output", "y")):
                given = [(n, t) for n, t in zip(names(letter, case[kind + "s"]), case[kind + "s"]) if n]
                for i, (name, t) in enumerate(given):
                    write(os.path.join(folder, "test_data_set_0", "%s_%d.pb" % (kind, i)), tensor(name, t))


main()
