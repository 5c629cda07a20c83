#!/usr/bin/env python3
"""Writes the small, partly broken models of this case: python3 make_models.py (no packages needed)."""


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, str):
        value = value.encode()
    return varint(number << 3 | 2) + varint(len(value)) + value


def value(name, dims):
    shape = b"".join(
        field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in dims)
    return field(1, name) + field(2, field(1, field(1, 1) + field(2, shape)))


def node(operator, inputs, outputs):
    return b"".join([field(1, i) for i in inputs] + [field(2, o) for o in outputs] +
                    [field(3, operator + "_" + outputs[0]), field(4, operator)])


def model(nodes, inputs, outputs):
    graph = b"".join([field(1, n) for n in nodes] + [field(2, "g")] +
                     [field(11, i) for i in inputs] + [field(12, o) for o in outputs])
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 17))


X, Y = value("x", ["batch", 12]), value("y", ["batch", 12])
plain = model([node("Relu", ["x"], ["h"]), node("Add", ["h", "x"], ["y"])], [X], [Y])
files = {
    "plain": plain,
    "truncated": plain[:-9],
    "cycle": model([node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]),
                    node("Relu", ["b"], ["y"])], [X], [Y]),
    "dangling": model([node("Add", ["x", "nobody"], ["y"])], [X], [Y]),
    "unknown-op": model([node("Frobnicate", ["x"], ["y"])], [X], [Y]),
}
if __name__ == "__main__":
    for name, data in files.items():
        with open(name + ".onnx", "wb") as out:
            out.write(data)
