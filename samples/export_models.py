#!/usr/bin/env python3
"""Makes the models of samples/models again, with their shapes and vectors.

    pip install torch torchvision transformers onnx onnxscript onnxruntime numpy      (from PyPI)
    python3 samples/export_models.py [--to FOLDER] [NAME...]                (a CPU is enough)

The graphs are what torch's two exporters make of the models of transformers and torchvision; other
versions than those named in samples/README.md may write other graphs. Weights are random: only the
structure is the real model's. For each NAME the folder then has

    NAME.onnx         the graph. Where weights are stripped, the data of large initializers is said to
                      be in the file NAME.weights, which is not made: dimscope never reads weights
                      to make a plan.
    NAME.shapes.tsv   name, dtype, shape, kind of every value, as onnxruntime measured them in a run
                      with its optimisations off and every value made an output; not inferred. Run
                      twice with other inputs and weights: a value whose shape depends on them is
                      left out, and said so.
    NAME.io/          inputs and outputs, as in ONNX's own tests (models that keep their weights)
"""

import argparse
import copy
import pathlib
import tempfile
from typing import Callable, NamedTuple

import numpy as np
import onnx
import onnxruntime
import torch
import torchvision
import transformers
from onnx import numpy_helper

BATCH, SEQ = 2, 16
DTYPES = {
    onnx.TensorProto.FLOAT: "f32", onnx.TensorProto.DOUBLE: "f64",
    onnx.TensorProto.FLOAT16: "f16", onnx.TensorProto.BFLOAT16: "bf16",
    onnx.TensorProto.INT64: "i64", onnx.TensorProto.INT32: "i32",
    onnx.TensorProto.INT16: "i16", onnx.TensorProto.INT8: "i8",
    onnx.TensorProto.UINT64: "u64", onnx.TensorProto.UINT32: "u32",
    onnx.TensorProto.UINT16: "u16", onnx.TensorProto.UINT8: "u8",
    onnx.TensorProto.BOOL: "bool",
}
# Stripped when larger than this many bytes; other element types when larger than LARGE_BYTES.
WEIGHT_TYPES = {
    onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16,
    onnx.TensorProto.BFLOAT16, onnx.TensorProto.INT8, onnx.TensorProto.UINT8,
}
WEIGHT_BYTES, LARGE_BYTES = 1 << 10, 1 << 18
# What is kept of a node's metadata: where it comes from. The rest are stack traces of the machine.
KEPT_METADATA = {"namespace", "pkg.torch.onnx.class_hierarchy", "pkg.torch.onnx.name_scopes"}


# ---- the models


def gpt2(attention):
    config = transformers.GPT2Config(use_cache=False, attn_implementation=attention)
    return transformers.GPT2LMHeadModel(config)


def tiny_gpt():
    config = transformers.GPT2Config(
        vocab_size=256, n_positions=64, n_embd=64, n_layer=2, n_head=4, use_cache=False,
        bos_token_id=0, eos_token_id=0, attn_implementation="eager")
    return transformers.GPT2LMHeadModel(config)


def tiny_llama():
    config = transformers.LlamaConfig(
        vocab_size=512, hidden_size=128, intermediate_size=256, num_hidden_layers=2,
        num_attention_heads=8, num_key_value_heads=4, max_position_embeddings=64, use_cache=False,
        attn_implementation="sdpa")
    return transformers.LlamaForCausalLM(config)


class TinyConv(torch.nn.Module):
    """A convolution, pool or norm of each kind, down, up and to ten numbers."""

    def __init__(self):
        super().__init__()
        nn = torch.nn
        self.down = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.SiLU(), nn.BatchNorm2d(16),
            nn.MaxPool2d(3, stride=2, padding=1))
        self.block = nn.Sequential(
            nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 32, 1), nn.GroupNorm(4, 32),
            nn.ReLU(), nn.Conv2d(32, 16, (3, 1), padding=(2, 0), dilation=(2, 1), groups=2))
        self.up = nn.Sequential(
            nn.ConvTranspose2d(16, 8, 2, stride=2), nn.InstanceNorm2d(8, affine=True), nn.ReLU(),
            nn.ConvTranspose2d(8, 8, 3, stride=2, padding=1, output_padding=1),
            nn.AvgPool2d(3, stride=2, padding=1), nn.PixelShuffle(2), nn.ReflectionPad2d(1),
            nn.Upsample(scale_factor=2, mode="bilinear"))
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2, 10))

    def forward(self, x):
        x = self.down(x)
        return self.head(self.up(x + self.block(x)))


class Sample(NamedTuple):
    make: Callable[[], torch.nn.Module]
    dynamo: bool  # torch.export-based exporter; else the TorchScript-based one
    opset: int
    weights: bool = False  # kept in the file, with vectors beside it
    value_info: bool = False  # kept
    image: int = 0  # reads images of that size, not tokens


SAMPLES = {
    "gpt2": Sample(lambda: gpt2("eager"), dynamo=False, opset=17),
    "gpt2-dynamo": Sample(lambda: gpt2("sdpa"), dynamo=True, opset=20, value_info=True),
    "tiny-gpt": Sample(tiny_gpt, dynamo=False, opset=17, weights=True),
    "llama-tiny": Sample(tiny_llama, dynamo=True, opset=20, weights=True),
    "resnet50": Sample(torchvision.models.resnet50, dynamo=False, opset=17, image=224),
    "vit_b_16": Sample(torchvision.models.vit_b_16, dynamo=True, opset=18, image=224),
    "tiny-conv": Sample(TinyConv, dynamo=False, opset=17, weights=True, image=32),
}


def make_model(sample):
    torch.manual_seed(0)
    model = sample.make().eval()
    if not sample.image:
        model.config.return_dict = False
    with torch.no_grad():  # no parameter may be all zeros or ones: an error in its use would not show
        for parameter in model.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    return model


def make_inputs(sample, vocabulary, seed):
    random = np.random.default_rng(seed)
    if sample.image:
        shape = (BATCH, 3, sample.image, sample.image)
        return {"x": random.standard_normal(shape).astype(np.float32)}
    mask = np.ones((BATCH, SEQ), np.int64)
    mask[1, : 3 + seed % 3] = 0  # the second row is padded on the left
    return {"input_ids": random.integers(0, vocabulary, (BATCH, SEQ), np.int64),
            "attention_mask": mask}


def export(sample, model, inputs, path):
    tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}
    names = dict(input_names=list(inputs), output_names=["logits"], opset_version=sample.opset)
    if sample.dynamo:
        batch, seq = torch.export.Dim("batch"), torch.export.Dim("seq", max=64)
        shapes = {name: {0: batch} if sample.image else {0: batch, 1: seq} for name in inputs}
        program = torch.onnx.export(model, (), kwargs=tensors, dynamo=True, dynamic_shapes=shapes,
                                    **names)
        program.save(str(path))
    else:
        free = {0: "batch"} if sample.image else {0: "batch", 1: "seq"}
        axes = {name: free for name in [*inputs, "logits"]}
        torch.onnx.export(model, (), str(path), kwargs=tensors, dynamo=False, dynamic_axes=axes,
                          do_constant_folding=True, **names)


# ---- the file


def tidy(model, sample):
    """Drops what is of the exporting machine, and what dimscope has to find out by itself."""
    model.doc_string = ""
    del model.metadata_props[:]
    graph = model.graph
    graph.doc_string = ""
    del graph.metadata_props[:]
    for node in graph.node:
        node.doc_string = ""
        kept = [entry for entry in node.metadata_props if entry.key in KEPT_METADATA]
        del node.metadata_props[:]
        node.metadata_props.extend(kept)
    for value in [*graph.input, *graph.output, *graph.value_info, *graph.initializer]:
        value.doc_string = ""
        del value.metadata_props[:]
    if not sample.value_info:
        del graph.value_info[:]


def n_bytes(tensor):
    return numpy_helper.to_array(tensor).nbytes


def strip_weights(model, location):
    offset = 0
    for tensor in model.graph.initializer:
        size = n_bytes(tensor)
        if size <= (WEIGHT_BYTES if tensor.data_type in WEIGHT_TYPES else LARGE_BYTES):
            continue
        for field in ("raw_data", "float_data", "double_data", "int32_data", "int64_data",
                      "uint64_data"):
            tensor.ClearField(field)
        tensor.data_location = onnx.TensorProto.EXTERNAL
        del tensor.external_data[:]
        for key, value in (("location", location), ("offset", offset), ("length", size)):
            tensor.external_data.add(key=key, value=str(value))
        offset += size


# ---- shapes, measured


def with_all_outputs(model):
    """The model with every value a node makes as an output."""
    model = copy.deepcopy(model)
    known = {output.name for output in model.graph.output}
    for node in model.graph.node:
        for name in node.output:
            if name and name not in known:
                known.add(name)
                model.graph.output.append(onnx.ValueInfoProto(name=name))
    return model


def other_weights(model, seed):
    random = np.random.default_rng(seed)
    model = copy.deepcopy(model)
    for tensor in model.graph.initializer:
        if tensor.data_type != onnx.TensorProto.FLOAT or not tensor.dims:
            continue
        values = numpy_helper.to_array(tensor)
        noise = 0.01 * random.standard_normal(values.shape)
        tensor.CopyFrom(numpy_helper.from_array((values + noise).astype(values.dtype), tensor.name))
    return model


def run(model, inputs):
    """name -> array (or something else) of every output, by onnxruntime without optimisations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, inputs)))


def row(name, dtype, shape, kind):
    return f"{name}\t{dtype}\t[{','.join(str(size) for size in shape)}]\t{kind}"


def shape_rows(model, sample, vocabulary):
    everything = with_all_outputs(model)
    first_inputs = make_inputs(sample, vocabulary, 0)
    second_inputs = make_inputs(sample, vocabulary, 1)
    first = run(everything, first_inputs)
    second = run(other_weights(everything, 1), second_inputs)

    rows, left_out = [], []
    for name, value in first_inputs.items():
        dtype = DTYPES[onnx.helper.np_dtype_to_tensor_dtype(value.dtype)]
        rows.append(row(name, dtype, value.shape, "input"))
    for tensor in model.graph.initializer:
        rows.append(row(tensor.name, DTYPES[tensor.data_type], tensor.dims, "initializer"))
    for node in model.graph.node:
        for name in filter(None, node.output):
            value = first[name]
            if not isinstance(value, np.ndarray) or value.shape != second[name].shape:
                left_out.append(f"# left out: {name}")
                continue
            dtype = DTYPES[onnx.helper.np_dtype_to_tensor_dtype(value.dtype)]
            rows.append(row(name, dtype, value.shape, "node"))
    return rows, left_out


def write_shapes(path, name, model, sample, vocabulary):
    rows, left_out = shape_rows(model, sample, vocabulary)
    dims = f"batch={BATCH}" if sample.image else f"batch={BATCH} seq={SEQ}"
    head = [f"# model: {name}.onnx", f"# dims: {dims}",
            "# columns: name, dtype, shape, kind"]
    path.write_text("\n".join(head + left_out + rows) + "\n")


def write_vectors(folder, model, sample, vocabulary):
    folder.mkdir(parents=True, exist_ok=True)
    inputs = make_inputs(sample, vocabulary, 0)
    outputs = run(model, inputs)
    for kind, values in (("input", inputs), ("output", outputs)):
        for i, (name, value) in enumerate(values.items()):
            tensor = numpy_helper.from_array(value, name)
            (folder / f"{kind}_{i}.pb").write_bytes(tensor.SerializeToString())


def make_sample(name, folder):
    sample = SAMPLES[name]
    torch_model = make_model(sample)
    vocabulary = 0 if sample.image else torch_model.config.vocab_size
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "export.onnx"
        export(sample, torch_model, make_inputs(sample, vocabulary, 0), path)
        model = onnx.load(str(path))
    tidy(model, sample)
    write_shapes(folder / f"{name}.shapes.tsv", name, model, sample, vocabulary)
    if sample.weights:
        write_vectors(folder / f"{name}.io" / "test_data_set_0", model, sample, vocabulary)
    else:
        strip_weights(model, f"{name}.weights")
    (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
    print(f"{name}: {len(model.graph.node)} nodes, {len(model.graph.initializer)} initializers")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--to", type=pathlib.Path,
                        default=pathlib.Path(__file__).parent / "models", metavar="FOLDER")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SAMPLES)}")
    arguments = parser.parse_args()
    unknown = [name for name in arguments.names if name not in SAMPLES]
    if unknown:
        parser.error(f"no such sample: {', '.join(unknown)}")
    arguments.to.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or SAMPLES:
        make_sample(name, arguments.to)


if __name__ == "__main__":
    main()
