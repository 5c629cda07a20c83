"""Shards a torch module as a plan says: runs what 'dimscope export --to dtensor' writes."""

import inspect
import os
import types

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate

from .program import Error


def code_of(plan):
    """The exported module of the plan, as a Python module."""
    text = plan.export("--to", "dtensor")
    module = types.ModuleType("dimscope_plan")
    exec(compile(text, "<plan of dimscope>", "exec"), module.__dict__)
    return module


def device_type():
    return "cuda" if torch.cuda.is_available() and dist.get_backend() != "gloo" else "cpu"


def mesh_of(code, mesh):
    if mesh is None:
        if not dist.is_initialized() and "RANK" not in os.environ:
            raise Error("there is no process group: start this with torchrun, or give a DeviceMesh")
        return code.make_mesh(device_type())
    if not isinstance(mesh, DeviceMesh):
        raise TypeError(f"the mesh is a DeviceMesh of torch, not {type(mesh).__name__}")
    names, shape = tuple(mesh.mesh_dim_names or ()), tuple(mesh.shape)
    if (names, shape) != (code.MESH_DIM_NAMES, code.MESH_SHAPE):
        planned = dict(zip(code.MESH_DIM_NAMES, code.MESH_SHAPE))
        raise ValueError(f"the mesh has the axes {dict(zip(names, shape))}, the plan {planned}")
    return mesh


def _with_inputs(model, code, mesh):
    """Of exact placements: the module's arguments are distributed when it is called."""
    from torch.distributed.tensor.experimental import implicit_replication

    forward, signature = model.forward, inspect.signature(model.forward)

    def placed(*args, **kwargs):
        bound = signature.bind(*args, **kwargs).arguments
        given = {name: value for name, value in bound.items() if torch.is_tensor(value)}
        rest = {name: value for name, value in bound.items() if name not in given}
        rest.update(rest.pop("kwargs", {}))
        with implicit_replication():
            return forward(**code.distribute_inputs(mesh, given), **rest)

    model.forward = placed


def _place_indices(model):
    """Indices that a module makes itself, as positions, are the same on all ranks: the backward
    pass of a table takes no plain tensor beside a DTensor."""

    def place(module, args):
        mesh = getattr(module.weight, "device_mesh", None)
        if mesh is None or not args or isinstance(args[0], DTensor):
            return None
        same = DTensor.from_local(args[0], mesh, [Replicate()] * mesh.ndim, run_check=False)
        return (same, *args[1:])

    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            module.register_forward_pre_hook(place)


def apply(model, plan, mesh, loss_fn):
    code = code_of(plan)
    mesh = mesh_of(code, mesh)
    if hasattr(code, "pipeline"):
        return code.pipeline(model, mesh, loss_fn)
    try:
        code.parallelize(model, mesh)
    except KeyError as error:  # the code of the plan has not found a module or a parameter
        raise Error(f"this is not the model of the plan: {error.args[0]}") from error
    if hasattr(code, "distribute_inputs"):
        _with_inputs(model, code, mesh)
        _place_indices(model)
    return model
