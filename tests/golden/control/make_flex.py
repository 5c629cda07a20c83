#!/usr/bin/env python3
"""Writes flex/: FlexAttention with a graph that changes its scores, by a bias from outside, and one
that changes its probabilities; inputs, and outputs by numpy. Needs the packages onnx and numpy."""
import numpy as np
import onnx
from onnx import TensorProto as T, helper as h, numpy_helper as nh

DIMS = ["b", "h", "s", "t"]
rng = np.random.default_rng(0)
q, k, v = (rng.standard_normal(s).astype("f") for s in [(2, 4, 3, 4), (2, 2, 5, 4), (2, 2, 5, 6)])
bias = rng.standard_normal((1, 4, 3, 5)).astype("f")


def changed(name, *nodes):
    return h.make_graph(nodes, name, [h.make_tensor_value_info("x", T.FLOAT, DIMS)],
                        [h.make_tensor_value_info("out", T.FLOAT, DIMS)])


flex = h.make_node(
    "FlexAttention", ["q", "k", "v"], ["y"], domain="ai.onnx.preview", name="flex", scale=0.4,
    score_mod=changed("score", h.make_node("Tanh", ["x"], ["capped"]),
                      h.make_node("Add", ["capped", "bias"], ["out"])),
    prob_mod=changed("prob", h.make_node("Mul", ["x", "x"], ["out"])))
graph = h.make_graph(
    [flex], "g", [h.make_tensor_value_info(n, T.FLOAT, a.shape) for n, a in zip("qkv", (q, k, v))],
    [h.make_tensor_value_info("y", T.FLOAT, (2, 4, 3, 6))], [nh.from_array(bias, "bias")])
opsets = [h.make_opsetid("", 24), h.make_opsetid("ai.onnx.preview", 1)]
onnx.save(h.make_model(graph, opset_imports=opsets, ir_version=10), "flex/model.onnx")

scores = np.tanh(q @ k.repeat(2, 1).transpose(0, 1, 3, 2) * 0.4) + bias
p = np.exp(scores - scores.max(-1, keepdims=True))
p /= p.sum(-1, keepdims=True)
for name, array in {"input_0": q, "input_1": k, "input_2": v,
                    "output_0": ((p * p) @ v.repeat(2, 1)).astype("f")}.items():
    with open("flex/%s.pb" % name, "wb") as out:
        out.write(nh.from_array(array).SerializeToString())
