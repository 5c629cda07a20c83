"""A torch module as an archive of torch.export without its weights."""

import copy
import os
import sysconfig
import traceback

import torch

from .program import Error


def _on_meta(tensor):
    meta = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(meta, requires_grad=tensor.requires_grad)
    return meta


def without_weights(module):
    """A copy of the module on the meta device; nothing of its weights is copied or read."""
    memo = {}
    for tensor in [*module.parameters(), *module.buffers()]:
        memo[id(tensor)] = _on_meta(tensor)
    return copy.deepcopy(module, memo)


def program_of(module, args, kwargs=None):
    """The ExportedProgram of a module with these example inputs, of which only types and shapes
    matter."""
    if isinstance(module, torch.export.ExportedProgram):
        return module
    def to_meta(value):
        return _on_meta(value) if torch.is_tensor(value) else value

    args = args if isinstance(args, (tuple, list)) else (args,)
    args = torch.utils._pytree.tree_map(to_meta, tuple(args))
    kwargs = torch.utils._pytree.tree_map(to_meta, dict(kwargs or {}))
    try:
        with torch.no_grad():
            return torch.export.export(without_weights(module), args, kwargs, strict=False)
    except Exception as why:  # whatever the module raises
        raise Error(_refusal(module, why)) from why


def _refusal(module, why):
    """One line: what torch.export says, and where in the module."""
    said = str(why).strip().splitlines()
    library = sysconfig.get_paths()["stdlib"]  # and what is installed in it
    own = os.path.dirname(os.path.abspath(__file__))
    frames = [f for f in traceback.extract_tb(why.__traceback__)
              if not f.filename.startswith((library, own)) and "site-packages" not in f.filename]  # fmt: skip
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno}: {frames[-1].line})" if frames else ""
    return f"torch.export does not take {type(module).__name__}: {type(why).__name__}: {said[0] if said else ''}{place}"


def save(module, args, kwargs, path):
    torch.export.save(program_of(module, args, kwargs), path)
