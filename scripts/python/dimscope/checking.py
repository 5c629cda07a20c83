"""What a sharded module moves in a step, beside what its plan says."""

import collections
import dataclasses
from dataclasses import dataclass, field

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.debug import CommDebugMode

from . import export, shard

# The ops of torch.distributed, by their kind in plans. Those of fully_shard and replicate are
# c10d's own; DTensor's are functional.
KINDS = {
    "all_reduce": "all_reduce",
    "all_reduce_": "all_reduce",
    "allreduce_": "all_reduce",
    "all_gather_into_tensor": "all_gather",
    "_allgather_base_": "all_gather",
    "reduce_scatter_tensor": "reduce_scatter",
    "_reduce_scatter_base_": "reduce_scatter",
    "all_to_all_single": "all_to_all",
    "alltoall_base_": "all_to_all",
    "broadcast": "broadcast",
    "broadcast_": "broadcast",
}
LOCAL = ("slice", "send", "pad")  # steps of plans that are no collective of a group


@dataclass(frozen=True)
class Moved:
    """A collective that ran."""

    kind: str
    axes: tuple
    bytes: int  # the whole value's on one rank, as plans count it
    phase: str
    module: str  # in which it ran; "" if none is known
    of_parameters: bool  # of fully_shard or replicate


@dataclass(frozen=True)
class Difference:
    kind: str
    axes: tuple
    phase: str
    planned: int
    ran: int
    where: tuple  # ops that the plan's are for, or modules in which the others ran
    cause: str

    def __str__(self):
        what = f"{self.kind} over {','.join(self.axes) or 'no axis'}"
        n = abs(self.planned - self.ran)
        word = "missing" if self.planned > self.ran else "unplanned"
        places = ", ".join(self.where[:3])
        places += f" and {len(self.where) - 3} more" if len(self.where) > 3 else ""
        counts = f"({self.ran} ran, {self.planned} planned)"
        return f"{self.phase}: {n} {word} {what} {counts}: {places}; {self.cause}"


@dataclass
class Check:
    differences: list
    moved: list = field(repr=False)
    notes: list = field(default_factory=list)

    def __bool__(self):
        return not self.differences

    def __str__(self):
        counts = collections.Counter((it.phase, it.kind, it.axes) for it in self.moved)
        lines = [f"{phase}: {n} {kind} over {','.join(axes)}" for (phase, kind, axes), n in counts.items()]
        lines += [f"note: {note}" for note in self.notes]
        lines += [str(it) for it in self.differences]
        return "\n".join(lines + ["equal to the plan" if self else "differs from the plan"])


class _Recorder(CommDebugMode):
    """CommDebugMode, which also keeps in which group, module and phase a collective ran."""

    def __init__(self, groups):
        super().__init__()
        self.groups, self.moved, self.phase, self.path = groups, [], "forward", []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        name = func._schema.name.split("::")
        kind = KINDS.get(name[-1]) if name[0] in ("c10d", "_c10d_functional", "c10d_functional") else None
        if kind and not any(t is DTensor for t in types):
            self._record(kind, name[0] == "c10d", args, kwargs or {})
        return super().__torch_dispatch__(func, types, args, kwargs or {})

    def _record(self, kind, own, args, kwargs):
        group = _group_name([*args, *kwargs.values()])
        tensors = [t for t in torch.utils._pytree.tree_leaves(args) if torch.is_tensor(t)]
        size = max(t.numel() * t.element_size() for t in tensors)
        axes, n = self.groups.get(group, (("?",), 1))
        if not own and kind == "all_gather":  # the functional op has only its input
            size *= n
        path = self.path[-1] if self.path else ""
        self.moved.append(Moved(kind, axes, size, self.phase, path, own))


def _group_name(args):
    for value in args:
        if isinstance(value, str) and value not in ("sum", "avg", "max", "min", "product"):
            return value
        if isinstance(value, torch.ScriptObject):
            try:
                return dist.ProcessGroup.unbox(value).group_name
            except (AttributeError, RuntimeError, TypeError):
                continue
    return ""


def _groups(mesh):
    """The axes and the size of each group of a mesh, by the group's name."""
    found = {}
    names = mesh.mesh_dim_names
    for name in names:
        found[mesh.get_group(name).group_name] = ((name,), mesh[name].size())
    root = getattr(mesh, "_get_root_mesh", lambda: mesh)()
    for flat in (getattr(root, "_flatten_mapping", None) or {}).values():
        axes = tuple(n for n in names if n in flat.mesh_dim_names[0])
        found.setdefault(flat.get_group().group_name, (axes or names, flat.size()))
    return found


def _watch(model, recorder):
    """Hooks that tell the recorder in which module it is, forward and backward."""
    handles = []
    for name, module in model.named_modules():
        def enter(*_, name=name):
            recorder.path.append(name)

        def leave(*_):
            recorder.path and recorder.path.pop()

        handles.append(module.register_forward_pre_hook(enter, prepend=True))
        handles.append(module.register_forward_hook(leave, always_call=True))
    return handles


def _loss(output):
    if hasattr(output, "logits"):
        output = output.logits
    for value in torch.utils._pytree.tree_leaves(output):
        if torch.is_tensor(value) and value.is_floating_point():
            value = value.to_local() if isinstance(value, DTensor) else value
            return value.float().square().mean()
    raise TypeError("the module gives no tensor of floats")


def run(model, mesh, args, kwargs, backward):
    """One step of a sharded module under CommDebugMode: what it moved."""
    recorder = _Recorder(_groups(mesh))
    handles = _watch(model, recorder)
    try:
        with recorder:
            with torch.enable_grad() if backward else torch.no_grad():
                output = model(*args, **kwargs)
            if backward:
                recorder.phase, recorder.path = "backward", []
                _loss(output).backward()
    finally:
        for handle in handles:
            handle.remove()
    return recorder.moved


def _of_loss(step):
    """Whether it is for the loss that the plan added, which the module does not have."""
    names = [step.tensor, *step.uses] if step.tensor.startswith("loss") else step.uses
    return bool(names) and all(name.startswith("loss") for name in names)


def _by_key(steps):
    found = collections.defaultdict(list)
    for it in steps:
        found[it.phase, it.kind, it.axes].append(it)
    return found


def _planned(plan, phases):
    """The plan's collectives in these phases: of values, and of parameters and their gradients."""
    parameters = {name for name, kind in plan.kinds.items() if kind == "parameter"}
    values, stored, n_of_loss = [], [], 0
    for it in plan.collectives:
        of_parameter = it.tensor.removesuffix("~grad") in parameters
        if it.phase == "again" or (of_parameter and it.phase == "update"):
            it = dataclasses.replace(it, phase="backward")  # when torch does both
        if it.kind in LOCAL or it.phase not in phases:
            continue
        if _of_loss(it):
            n_of_loss += 1
        elif of_parameter:
            stored += [dataclasses.replace(it, axes=(axis,)) for axis in it.axes]
        else:
            values.append(it)
    return _by_key(values), _by_key(stored), n_of_loss


def _near(plan_step, ran, paths):
    """Whether the module in which a collective ran is that of an op the plan's is for."""
    places = [paths.get(name, "") for name in (plan_step.tensor, *plan_step.uses)]
    return any(place and (place + ".").startswith(ran.module + ".") for place in places if ran.module)


def _is_again(step, forward):
    return step.phase == "backward" and (step.tensor, step.cause) in forward


def _left_over(planned, ran, paths, forward):
    """What has no partner: one in the module of an op of the plan's first, else the next one; what
    the plan moves a second time is last."""
    planned, ran = sorted(planned, key=lambda it: _is_again(it, forward)), list(ran)
    for step in list(planned):
        partner = next((it for it in ran if _near(step, it, paths)), None)
        if partner:
            planned.remove(step)
            ran.remove(partner)
    n = min(len(planned), len(ran))
    return planned[n:], ran[n:]


def compare(plan, moved, backward):
    """Collectives of parameters are compared by what they move, since fully_shard moves those of a
    layer at once; all others one by one."""
    planned, stored, n_of_loss = _planned(plan, ("forward", "backward") if backward else ("forward",))
    ran = _by_key(it for it in moved if not it.of_parameters)
    ran_stored = _by_key(it for it in moved if it.of_parameters)
    paths = {op["name"]: op["path"] for op in plan.data["ops"]}
    forward = {(it.tensor, it.cause) for it in plan.collectives if it.phase == "forward"}
    differences, notes = [], []
    if n_of_loss:
        notes.append(f"{n_of_loss} collectives of the plan are of the loss, which is not run here")
    for key in dict.fromkeys([*planned, *ran]):
        missing, others = _left_over(planned[key], ran[key], paths, forward)
        own = min(len(others), len(stored[key]))  # DTensor's own sums of gradients
        others.sort(key=lambda it: it.bytes)
        ran_stored[key] += others[:own]
        if missing or others[own:]:
            counts = len(planned[key]), len(ran[key]) - own
            differences.append(_difference(key, counts, missing, others[own:], forward))
    for key in dict.fromkeys([*stored, *ran_stored]):
        want, have = sum(it.bytes for it in stored[key]), sum(it.bytes for it in ran_stored[key])
        if (want > 0) != (have > 0):
            counts = len(stored[key]), len(ran_stored[key])
            differences.append(_difference(key, counts, stored[key], ran_stored[key], forward))
        elif stored[key]:
            notes.append(f"{key[0]}: {len(stored[key])} {key[1]} of parameters over {key[2][0]}, "
                         f"{want} bytes, ran as {len(ran_stored[key])} of {have} bytes")  # fmt: skip
    return differences, notes


def _difference(key, counts, missing, others, forward):
    phase, kind, axes = key
    if missing:
        where = tuple(dict.fromkeys(use for it in missing for use in (it.uses[:1] or (it.tensor,))))
        cause = f"planned for {missing[0].tensor}, {missing[0].cause}"
        if all(_is_again(it, forward) for it in missing):
            cause = "the plan drops what it gathered and gathers it again; autograd keeps it"
    else:
        known = collections.Counter(it.module for it in others)
        where = tuple(f"{name or 'the model'} ({n})" for name, n in known.most_common())
        cause = "the plan has no more of them" if counts[0] else "the plan moves nothing so"
    return Difference(kind, axes, phase, *counts, where, cause)


def _is_sharded(model):
    return any(isinstance(p, DTensor) for p in model.parameters()) or hasattr(model, "unshard")


def check(model, plan, args, kwargs, mesh):
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    kwargs = dict(kwargs or {})
    backward = any(it.phase == "backward" for it in plan.collectives) or "training" in plan.data
    alone = not dist.is_initialized()
    if alone:
        from torch.testing._internal.distributed.fake_pg import FakeStore

        size = 1
        for n in plan.mesh.values():
            size *= n
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=size)
    try:
        code = shard.code_of(plan)
        if hasattr(code, "pipeline"):
            raise NotImplementedError("check() runs plans without stages")
        mesh = shard.mesh_of(code, mesh)
        if not _is_sharded(model):
            twin = export.without_weights(model).to_empty(device=mesh.device_type)
            model = shard.apply(twin, plan, mesh, None)
        moved = run(model, mesh, args, kwargs, backward)
    finally:
        if alone:
            dist.destroy_process_group()
    differences, notes = compare(plan, moved, backward)
    return Check(differences, moved, notes)
