"""Code with collectives of its own beside a plan's types, on one rank of a fake process group.

    part_spmd.py PLAN.py
"""

import importlib.util
import sys
import warnings

import spmd_types as spmd
import spmd_types.checker
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore


def load(path):
    spec = importlib.util.spec_from_file_location("plan", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Product(torch.nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(n_in, n_out))

    def forward(self, x):
        return x @ self.weight


class Norm(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(32))

    def forward(self, x):
        return torch.nn.functional.layer_norm(x, (32,), self.weight)


class Mlp(torch.nn.Module):
    """tests/differential/mlp.lua on a rank of dp=2, tp=2. wrong: what the code does otherwise."""

    def __init__(self, tp, wrong=None):
        super().__init__()
        self.tp, self.wrong = tp, wrong
        self.norm, self.up, self.down = Norm(), Product(32, 32), Product(32, 32)
        if wrong == "another name":
            self.gate = self.up
            del self.up

    def forward(self, x):
        x = self.norm(x)
        up = torch.relu(self.up(x))
        if self.wrong == "gathers":
            up = spmd.all_gather(up, self.tp, src=spmd.S(2), dst=spmd.R)
        down = self.down(up)
        if self.wrong != "sums nothing":
            down = spmd.all_reduce(down, self.tp, src=spmd.P, dst=spmd.R)
        if self.wrong == "sums nothing":
            down = self.norm(down)
        return x + down


def says(plan, wrong, local):
    mesh = init_device_mesh("cpu", plan.MESH_SHAPE, mesh_dim_names=plan.MESH_DIM_NAMES)
    with spmd.set_current_mesh(mesh), spmd.checker.typecheck(local=local):
        try:
            model = plan.annotate(Mlp(mesh.get_group("tp"), wrong))
            model(plan.typed_inputs({"x": torch.randn(4, 16, 32)})["x"])
            return ""
        except (KeyError, spmd.SpmdTypeError, RuntimeError) as error:
            return str(error)


def main():
    warnings.simplefilter("ignore")
    plan = load(sys.argv[1])
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    for local in True, False:
        how = "local" if local else "global"
        for wrong, wanted in (
            (None, ""),
            ("sums nothing", "norm reads"),
            ("gathers", "down reads"),
            ("another name", "up.weight"),
        ):
            said = says(plan, wrong, local)
            ok = wanted in said if wanted else not said
            what = f"spmd_types, {how}: code that {wrong or 'is as planned'}"
            print(f"ok {what}" if ok else f"not ok {what}: {said[:300]!r}")


main()
