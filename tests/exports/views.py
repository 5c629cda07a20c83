"""Models whose code says a number of heads, which ranks have some of, in torch's styles."""
import os
import struct

from make_models import field, value

FLOAT, INT64 = 1, 7


def tensor(name, dims, dtype, raw):
    return b"".join(field(1, d) for d in dims) + field(2, dtype) + field(8, name) + field(9, raw)


def node(operator, inputs, output, name, perm=None):
    order = field(5, field(1, "perm") + b"".join(field(8, i) for i in perm) + field(20, 7)) if perm else b""
    return b"".join(field(1, i) for i in inputs) + field(2, output) + field(3, name) + field(4, operator) + order


def attention_model(folder, heads):
    """Two layers of attention in the names that torch's exporter gives, whose code says view(2, 4, HEADS, 2)."""
    path = os.path.join(folder, f"heads{heads}.onnx")
    def sizes(name, *dims):
        return tensor(name, [len(dims)], INT64, struct.pack(f"<{len(dims)}q", *dims))
    nodes, weights, x = [], [sizes("split", 2, 4, heads, 2), sizes("joined", 2, 4, -1)], "x"
    for i in range(2):
        at, of = f"/blocks.{i}/attn/", f"blocks.{i}.attn."
        weights += [tensor(f"{of}{name}.weight", [8, 8], FLOAT, bytes(4 * 64)) for name in "qkvo"]
        for name in "qkv":
            nodes += [node("MatMul", [x, f"{of}{name}.weight"], f"{of}{name}", f"{at}{name}/MatMul"),
                      node("Reshape", [f"{of}{name}", "split"], f"{of}{name}h", f"{at}Reshape_{name}"),
                      node("Transpose", [f"{of}{name}h"], f"{of}{name}t", f"{at}Transpose_{name}", perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])]
        nodes += [node("MatMul", [of + "qt", of + "kt"], of + "s", at + "MatMul"), node("Softmax", [of + "s"], of + "p", at + "Softmax"),
                  node("MatMul", [of + "p", of + "vt"], of + "y", at + "MatMul_1"),
                  node("Transpose", [of + "y"], of + "z", at + "Transpose", perm=[0, 2, 1, 3]),
                  node("Reshape", [of + "z", "joined"], of + "j", at + "Reshape"),
                  node("MatMul", [of + "j", of + "o.weight"], of + "o", at + "o/MatMul"), node("Add", [x, of + "o"], f"x{i}", f"/blocks.{i}/Add")]
        x = f"x{i}"
    with open(path, "wb") as out:
        out.write(field(1, 8) + field(7, b"".join([field(1, n) for n in nodes] + [field(2, "g")] + [field(5, w) for w in weights]) + field(11, value("x", [2, 4, 8])) + field(12, value(x, [2, 4, 8]))) + field(8, field(1, "") + field(2, 17)))
    return path


def measure(run, check, folder):
    """A number of heads that the model's code says is named where ranks have some; -1 is not."""
    for heads, said in ((4, True), (-1, False)):
        made = run("export", attention_model(folder, heads), "-m", "dp=2,tp=2", "-p", "megatron", "--to", "dtensor")
        text = made.stdout.decode()
        check(f"{heads} heads: is in styles", "\"blocks.*.attn.q\": " in text, made.stderr)
        check(f"{heads} heads: {'named' if said else 'nothing'} in the code", ("# blocks.*.attn: view(2, 4, 4, 2) needs -1 for 4" in text) == said, text[:600])
        check(f"{heads} heads: {'a' if said else 'no'} note", (b"note: blocks.*.attn: view(2, 4, 4, 2)" in made.stderr) == said and made.stderr.count(b"view(") == said, made.stderr)
