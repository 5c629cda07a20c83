#!/usr/bin/env python3
"""Writes the models of this case, with a loop, a branch and sizes known only at run time:
python3 make_models.py (no packages needed)."""

FLOAT, INT64, BOOL = 1, 7, 9


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


def value(name, dims, dtype=FLOAT):
    shape = b"" if dims is None else field(2, b"".join(field(1, field(1, d)) for d in dims))
    return field(1, name) + field(2, field(1, field(1, dtype) + shape))


def tensor(name, dims, dtype, raw):
    return b"".join(field(1, d) for d in dims) + field(2, dtype) + field(8, name) + field(9, raw)


def weight(name, *dims):
    n = 4
    for d in dims:
        n *= d
    return tensor(name, dims, FLOAT, bytes(n))


def graph(nodes, inputs=(), outputs=(), weights=()):
    return b"".join([field(1, n) for n in nodes] + [field(2, "g")] + [field(5, w) for w in weights] +
                    [field(11, i) for i in inputs] + [field(12, o) for o in outputs])


def node(operator, inputs, outputs, name, **attributes):
    def attribute(key, a):
        if isinstance(a, bytes):
            return field(1, key) + field(6, a) + field(20, 5)
        if isinstance(a, list):
            return field(1, key) + b"".join(field(8, i) for i in a) + field(20, 7)
        return field(1, key) + field(3, a) + field(20, 2)
    return b"".join([field(1, i) for i in inputs] + [field(2, o) for o in outputs] +
                    [field(3, name), field(4, operator)] +
                    [field(5, attribute(k, a)) for k, a in attributes.items()])


def write(name, *args):
    model = field(1, 8) + field(7, graph(*args)) + field(8, field(1, "") + field(2, 17))
    with open(name + ".onnx", "wb") as out:
        out.write(model)


# what is refined 8 times: s + relu(s w1) w2
body = graph(
    [node("MatMul", ["s", "w1"], ["a"], "fc"), node("Relu", ["a"], ["b"], "act"),
     node("MatMul", ["b", "w2"], ["c"], "proj"), node("Add", ["s", "c"], ["s_next"], "add"),
     node("Identity", ["go"], ["go_on"], "go")],
    [value("i", [], INT64), value("go", [], BOOL), value("s", [8, 16])],
    [value("go_on", [], BOOL), value("s_next", [8, 16])])
write("loop",
      [node("MatMul", ["x", "w0"], ["x0"], "embed"),
       node("Loop", ["n", "yes", "x0"], ["y"], "refine", body=body),
       node("Softmax", ["y"], ["z"], "head")],
      [value("x", [8, 16])], [value("z", [8, 16])],
      [weight("w0", 16, 16), weight("w1", 16, 32), weight("w2", 32, 16),
       tensor("n", [], INT64, b"\x08" + bytes(7)), tensor("yes", [], BOOL, b"\x01")])

# two stages that differ in how often their loops run alone: no fold
def stage(n, x, times, y):
    again = graph([node("MatMul", ["s", "w1"], ["s_next"], "fc"),
                   node("Identity", ["go"], ["go_on"], "go")],
                  [value("i", [], INT64), value("go", [], BOOL), value("s", [8, 16])],
                  [value("go_on", [], BOOL), value("s_next", [8, 16])])
    return node("Loop", [times, "yes", x], [y], "/stage.%d/loop" % n, body=again)


write("stages",
      [stage(0, "x", "eight", "x1"), stage(1, "x1", "eight", "x2"), stage(2, "x2", "four", "y")],
      [value("x", [8, 16])], [value("y", [8, 16])],
      [weight("w1", 16, 16), tensor("eight", [], INT64, b"\x08" + bytes(7)),
       tensor("four", [], INT64, b"\x04" + bytes(7)), tensor("yes", [], BOOL, b"\x01")])

# a branch, a loop that ends when the run says so, the places that are not 0, a sequence
then = graph([node("MatMul", ["x", "w1"], ["p"], "fc"), node("Relu", ["p"], ["q"], "act")], (),
             [value("q", [8, 32])])
other = graph([node("MatMul", ["x", "w3"], ["r"], "fc")], (), [value("r", [8, 32])])
until = graph(
    [node("Relu", ["t"], ["t_next"], "act"), node("Identity", ["go"], ["go_on"], "go")],
    [value("i", [], INT64), value("go", [], BOOL), value("t", [8, 32])],
    [value("go_on", [], BOOL), value("t_next", [8, 32])])
write("run-decides",
      [node("ReduceSum", ["x"], ["sum"], "sum", keepdims=0),
       node("Cast", ["sum"], ["yes"], "yes", to=BOOL),
       node("If", ["yes"], ["y"], "choose", then_branch=then, else_branch=other),
       node("Loop", ["", "yes", "y"], ["t_last"], "until", body=until),
       node("NonZero", ["x"], ["places"], "/pick/NonZero"),
       node("Transpose", ["places"], ["rows"], "/pick/Transpose", perm=[1, 0]),
       node("GatherND", ["x", "rows"], ["picked"], "/pick/GatherND"),
       node("SplitToSequence", ["x"], ["parts"], "split", axis=0),
       node("SequenceAt", ["parts", "zero"], ["part"], "part")],
      [value("x", [8, 16])],
      [value("t_last", [8, 32]), value("picked", None), value("part", None)],
      [weight("w1", 16, 32), weight("w3", 16, 32), tensor("zero", [], INT64, bytes(8))])
