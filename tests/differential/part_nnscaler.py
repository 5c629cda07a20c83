"""Policies that `export --to nnscaler` writes, run by nnScaler itself on small models.

    part_nnscaler.py WHAT MODEL POLICY.py PARTS.csv LINES [SKIPPED-MODULE...]

MODEL is gpt or llama, with the modules of samples/models/tiny-gpt.onnx and llama-tiny.onnx. nnScaler
traces it, runs the policy, and makes the code of every rank; what each device has of every parameter
and of what every module makes is held against the plan. At least LINES are compared.
"""

import pathlib
import sys
import tempfile

import torch
from nnscaler.graph.segment import IRSegment
from nnscaler.ir.operator import IRFwOperation
from nnscaler.ir.tensor import IRSubTensor
from nnscaler.parallel import ComputeConfig, parallelize

import part_dtensor as parts
from small_llama import Llama


class Summed(Llama):
    def forward(self, input_ids):
        return torch.sum(super().forward(input_ids))


class Gpt(parts.TinyGpt):
    def __init__(self):
        super().__init__(parts.Conv1D)

    def forward(self, input_ids):
        return torch.sum(super().forward(input_ids))


def nodes_of(graph):
    for node in graph.nodes(flatten=True):
        if isinstance(node, IRFwOperation) and not isinstance(node, IRSegment):
            if node.name != "multiref":
                yield node


def found(graph, exported):
    """{name: {device: shapes}} of parameters as ops read them, and of what modules make."""
    shapes, last = {}, {}
    for node in nodes_of(graph):
        for value in node.inputs():
            if isinstance(value, IRSubTensor) and value.is_param():
                for device in node.device:
                    of = shapes.setdefault(value.parent.name, {})
                    of.setdefault(device, set()).add(tuple(value.shape))
        for value in node.outputs():
            if isinstance(value, IRSubTensor) and exported.module_of(node):
                last.setdefault(exported.module_of(node), []).append((value, node.device))
    for path, made in last.items():
        if any(other.startswith(path + ".") for other in last):
            continue  # what others inside of it make may be its result
        for value, devices in made:
            if value.parent == made[-1][0].parent:  # what the module's last op makes
                of = shapes.setdefault(f"{path}.out", {})
                for device in devices:
                    of.setdefault(device, set()).add(tuple(value.shape))
    return shapes


def compare(graph, model, exported, parts_path, skipped):
    """The exported weight of a Linear is [in, out], torch's is [out, in]."""
    by_name, by_label = parts.parts_of(parts_path)
    n, errors = 0, []
    for name, devices in found(graph, exported).items():
        wanted = by_label.get(name) or by_name.get(name)
        path, _, tail = name.rpartition(".")
        if not wanted or path in skipped or (tail == "out" and f"{path}.weight" not in by_label):
            continue
        unit = [exported.RANKS[rank] for rank in range(len(exported.DEVICES))]
        wanted = {rank: wanted[device] for rank, device in enumerate(unit) if device in wanted}
        for device in sorted({*wanted, *devices}):
            have, want = devices.get(device), wanted.get(device)
            if have is None or want is None:
                errors.append(f"{name} on {device}: {have}, planned {want}")
                continue
            turned = tail == "weight" and isinstance(model.get_submodule(path), torch.nn.Linear)
            n += 1
            if have != {want[1][::-1] if turned else want[1]}:
                errors.append(f"{name} on {device}: {have}, planned {want[1]}")
    return n, errors


def main():
    what, kind, policy, parts_path, least, *skipped = sys.argv[1:]
    torch.manual_seed(0)
    exported = parts.load(policy)
    seen = {}

    def pas(graph, cfg):
        graph = exported.pas_policy(graph, cfg)
        seen["n"], seen["errors"] = compare(graph, model, exported, parts_path, skipped)
        return graph

    n = len(exported.DEVICES)
    stages = len(exported.STAGES) > 1
    config = ComputeConfig(n, n * exported.UNITS, use_end2end=stages, trace_strategy="cpu")
    model = {"gpt": Gpt, "llama": Summed}[kind]()
    ids = torch.randint(0, 256, (2 // exported.UNITS, 16))
    with tempfile.TemporaryDirectory() as folder:
        parallelize(model, {"input_ids": ids}, pas, config, gen_savedir=folder, load_module=False)
        code = len(list(pathlib.Path(folder).rglob("gencode*.py")))
    if code != n * exported.UNITS:
        seen["errors"].append(f"code of {code} ranks")
    if seen["n"] < int(least):
        seen["errors"].append(f"{seen['n']} shapes, not {least}")
    parts.say(f"{what}: {seen['n']} local shapes, code of {code} ranks", seen["errors"])


if __name__ == "__main__":
    main()
