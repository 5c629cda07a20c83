#!/usr/bin/env python3
"""gradients.py NAME... - makes tests/training/NAME.grad again: the gradients of samples/models/NAME.onnx
by torch's autograd, with float64 in place of every float32, of the inputs, cotangents and names that
the folder has.

    pip install torch onnx numpy      (from PyPI; a CPU is enough)
    python3 tests/training/gradients.py tiny-gpt llama-tiny tiny-conv

Each node is a line of torch below, so nothing of dimscope takes part. An initializer is float64 of
its float32 numbers; the gradients are stored as float64."""
import json, os, sys
import numpy, onnx, torch
import torch.nn.functional as F
from onnx import numpy_helper

os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
INTEGERS = {onnx.TensorProto.INT64: torch.int64, onnx.TensorProto.INT32: torch.int32,
            onnx.TensorProto.BOOL: torch.bool}


def tensor_of(proto):
    value = torch.from_numpy(numpy_helper.to_array(proto).copy())
    return value.double() if value.is_floating_point() else value


def ints(value):
    return [int(i) for i in value.flatten()]


def reshape(x, shape):
    return x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(ints(shape))])


def unsqueeze(x, axes):
    rank = x.dim() + len(ints(axes))
    for axis in sorted(a % rank for a in ints(axes)):
        x = x.unsqueeze(axis)
    return x


def squeeze(x, axes=None):
    return x.squeeze() if axes is None else x.squeeze(tuple(ints(axes)))


def slice_of(x, starts, ends, axes=None, steps=None):
    axes = ints(axes) if axes is not None else range(len(ints(starts)))
    steps = ints(steps) if steps is not None else [1] * len(ints(starts))
    for start, end, axis, step in zip(ints(starts), ints(ends), axes, steps):
        places = range(x.shape[axis])[start:max(end, -x.shape[axis] - 1):step]
        x = x.index_select(axis, torch.tensor(list(places)))
    return x


def gather(x, at, axis=0):
    n = x.shape[axis]
    taken = x.index_select(axis, (at.flatten() % n))
    return taken.reshape(x.shape[:axis] + at.shape + x.shape[axis % x.dim() + 1:])


def gather_nd(x, at):
    return x[tuple(at[..., i] for i in range(at.shape[-1]))]


def split(x, sizes=None, axis=0, num_outputs=None):
    return x.split(ints(sizes) if sizes is not None else x.shape[axis] // num_outputs, axis)


def gemm(a, b, c=None, alpha=1.0, beta=1.0, transA=0, transB=0):
    product = alpha * ((a.T if transA else a) @ (b.T if transB else b))
    return product if c is None else product + beta * c


def layer_norm(x, scale, bias=None, axis=-1, epsilon=1e-5):
    return F.layer_norm(x, x.shape[axis:], scale, bias, epsilon)


def pads_of(pads, spatial=2):
    """Of ONNX (begins, ends) in the order of torch.nn.functional.pad."""
    return [p for d in reversed(range(spatial)) for p in (pads[d], pads[d + spatial])]


def conv(x, w, b=None, strides=1, pads=(0, 0, 0, 0), dilations=1, group=1, kernel_shape=None):
    return F.conv2d(F.pad(x, pads_of(pads)), w, b, strides, 0, dilations, group)


def conv_transpose(x, w, b=None, strides=1, pads=(0, 0, 0, 0), dilations=1, group=1,
                   output_padding=0, kernel_shape=None):
    assert pads[:2] == pads[2:]
    return F.conv_transpose2d(x, w, b, strides, pads[:2], output_padding, group, dilations)


def max_pool(x, kernel_shape, strides, pads, dilations, ceil_mode):
    return F.max_pool2d(F.pad(x, pads_of(pads), value=-torch.inf), kernel_shape, strides, 0, dilations)


def average_pool(x, kernel_shape, strides, pads, ceil_mode, count_include_pad):
    assert count_include_pad
    return F.avg_pool2d(F.pad(x, pads_of(pads)), kernel_shape, strides)


def batch_norm(x, scale, bias, mean, var, epsilon=1e-5, momentum=0.9, training_mode=0):
    return F.batch_norm(x, mean, var, scale, bias, False, 0.0, epsilon)


def instance_norm(x, scale, bias, epsilon=1e-5):
    return F.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


def pad(x, pads, value=None, mode="constant"):
    """One dim may be padded by reflection; by its indices, whatever its place."""
    pads = ints(pads)
    assert mode == "reflect"
    for d, n in enumerate(x.shape):
        places = [n - 1 - abs(n - 1 - abs(i)) for i in range(-pads[d], n + pads[d + x.dim()])]
        x = x.index_select(d, torch.tensor(places))
    return x


def resize(x, roi, scales, mode, coordinate_transformation_mode, cubic_coeff_a, nearest_mode):
    assert mode == "linear" and coordinate_transformation_mode == "half_pixel"
    scales = scales.tolist()
    assert scales[:2] == [1, 1]
    return F.interpolate(x, scale_factor=scales[2:], mode="bilinear", align_corners=False)


def depth_to_space(x, blocksize, mode="DCR"):
    n, c, h, w = x.shape
    b = blocksize
    if mode == "CRD":
        return F.pixel_shuffle(x, b)
    x = x.reshape(n, b, b, c // b // b, h, w).permute(0, 3, 4, 1, 5, 2)
    return x.reshape(n, c // b // b, h * b, w * b)


def cast(x, to):
    return x.to(INTEGERS.get(to, torch.float64))


NODES = {
    "Add": torch.add, "And": torch.logical_and, "AveragePool": average_pool,
    "BatchNormalization": batch_norm, "Cast": cast,
    "Concat": lambda *xs, axis: torch.cat(xs, axis), "Constant": lambda value: tensor_of(value),
    "ConstantOfShape": lambda shape, value: tensor_of(value)[0].expand(ints(shape)), "Conv": conv,
    "ConvTranspose": conv_transpose, "Cos": torch.cos, "DepthToSpace": depth_to_space,
    "Equal": torch.eq, "Expand": lambda x, shape: x.expand(torch.broadcast_shapes(x.shape, ints(shape))),
    "Flatten": lambda x, axis=1: x.reshape(x.shape[:axis].numel(), -1), "Gather": gather,
    "GatherND": lambda x, at, batch_dims: gather_nd(x, at), "Gemm": gemm,
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdim=True), "InstanceNormalization": instance_norm,
    "IsNaN": torch.isnan, "LayerNormalization": layer_norm, "LessOrEqual": torch.le,
    "MatMul": torch.matmul, "Max": torch.maximum, "MaxPool": max_pool, "Mul": torch.mul,
    "Neg": torch.neg, "Pad": pad, "Pow": lambda x, y: torch.pow(x, y.to(x.dtype)), "Range":
    lambda *of: torch.arange(*ints(torch.stack(of))), "Reciprocal": torch.reciprocal,
    "ReduceMean": lambda x, axes, keepdims, noop_with_empty_axes: x.mean(ints(axes), bool(keepdims)),
    "Relu": torch.relu, "Reshape": lambda x, shape, allowzero=0: reshape(x, shape), "Resize": resize,
    "Shape": lambda x, start=0, end=None: torch.tensor(x.shape[start:end]), "Sigmoid": torch.sigmoid,
    "Sin": torch.sin, "Slice": slice_of, "Softmax": lambda x, axis=-1: x.softmax(axis),
    "Split": split, "Sqrt": torch.sqrt, "Squeeze": squeeze, "Tanh": torch.tanh,
    "Transpose": lambda x, perm: x.permute(perm), "Unsqueeze": unsqueeze, "Where": torch.where,
}


def run(graph, values):
    for node in graph.node:
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        attributes = {k: v.decode() if isinstance(v, bytes) else v for k, v in attributes.items()}
        inputs = [values[name] if name else None for name in node.input]
        out = NODES[node.op_type](*inputs, **attributes)
        values.update(zip(node.output, out if isinstance(out, tuple) else (out,)))


def read(folder, file):
    with open(os.path.join(folder, file), "rb") as data:
        return onnx.TensorProto.FromString(data.read())


def make(name):
    folder = f"tests/training/{name}.grad/test_data_set_0"
    graph = onnx.load(f"samples/models/{name}.onnx").graph
    with open(f"{folder}/index.json") as file:
        index = json.load(file)
    values = {it.name: tensor_of(it) for it in graph.initializer}
    values.update({it["name"]: tensor_of(read(folder, it["file"])) for it in index["inputs"]})
    given = {row["name"]: values[row["name"]] for row in index["grads"]}
    for value in given.values():
        value.requires_grad_(True)
    run(graph, values)
    total = sum((tensor_of(read(folder, it["cotangent"])) * values[it["name"]]).sum()
                for it in index["outputs"])
    made = torch.autograd.grad(total, list(given.values()))
    for row, gradient in zip(index["grads"], made):
        proto = numpy_helper.from_array(gradient.detach().contiguous().numpy(), row["name"])
        old = tensor_of(read(folder, row["file"]))
        off = (old - gradient).abs().max() / gradient.abs().max().clamp(min=1e-300)
        print(f"{name} {row['name']}: off by {float(off):.1e} from what was there")
        with open(os.path.join(folder, row["file"]), "wb") as file:
            file.write(proto.SerializeToString())


for name in sys.argv[1:]:
    make(name)
