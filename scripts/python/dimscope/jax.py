"""Plans of JAX functions: they are lowered to StableHLO, nothing is computed.

    dimscope.jax.open(step, params, batch, mesh="dp=2,tp=4")
    plan = dimscope.jax.plan(step, params, batch, mesh=mesh)
    params = jax.device_put(params, dimscope.jax.shardings(plan, params, mesh))
"""

import os
import pathlib
import tempfile

import jax

from . import plans, program


def save(fn, args, path):
    """Writes the StableHLO of a function, jitted or not, with these arguments or their types. Names
    of arguments and modules are in it."""
    lowered = (fn if hasattr(fn, "lower") else jax.jit(fn)).lower(*args)
    pathlib.Path(path).write_text(lowered.as_text(debug_info=True), encoding="utf-8")


def _arguments(fn, args, options):
    folder = tempfile.TemporaryDirectory(prefix="dimscope-")
    path = os.path.join(folder.name, f"{getattr(fn, '__name__', 'function')}.mlir")
    save(fn, args, path)
    return [path, *program.options_text(**options)], folder


def plan(fn, *args, mesh=None, policy=None, **options):
    """The plan of a function on a mesh, as a Plan."""
    options.update(mesh=mesh, policy=policy)
    return plans.read(*_arguments(fn, args, options))


def open(fn, *args, mesh=None, policy=None, **options):
    """Opens a function in the explorer, in this terminal."""
    options.update(mesh=mesh, policy=policy)
    arguments, folder = _arguments(fn, args, options)
    status = program.explore(*arguments)
    if status not in (0, 1):
        raise program.Error(f"dimscope ended with status {status}")
    del folder


def _mesh_of(plan):
    return jax.make_mesh(tuple(plan.mesh.values()), tuple(plan.mesh))


def _keys(path):
    return [str(getattr(k, "key", getattr(k, "name", getattr(k, "idx", k)))) for k in path]


def _alike(name):
    """The forms in which a name of a tree is looked for: "params.h_0.kernel", "h.0.weight"."""
    parts = name.replace("/", ".").split(".")
    yield ".".join(parts)
    while parts and parts[0] in ("params", "model", "module"):
        parts = parts[1:]
        yield ".".join(parts)
    last = {"kernel": "weight", "embedding": "weight", "scale": "weight"}
    parts = [*parts[:-1], last.get(parts[-1], parts[-1])]
    yield ".".join(parts)
    yield ".".join(p.replace("_", ".") if p.rpartition("_")[2].isdigit() else p for p in parts)


def _find(tensors, path, argument):
    """The value of the plan for a leaf: by its name, or by its name in one of a function's
    arguments, "params.h.kernel" for h.kernel."""
    name = ".".join(_keys(path))
    forms = list(_alike(f"{argument}.{name}" if argument else name))
    for form in forms:
        if form in tensors:
            return tensors[form]
    inside = [t for t in tensors.values()
              if t.kind in ("input", "parameter") and t.name.partition(".")[2] in forms]  # fmt: skip
    if len(inside) > 1:
        raise KeyError(f"{name} is in {inside[0].name} and {inside[1].name}: name the argument")
    return inside[0] if inside else None


def shardings(plan, tree, mesh=None, argument=None):
    """A tree like the given one, of NamedSharding: how the plan stores each parameter or argument.

    argument: the name of the function's argument that the tree is, where several have such leaves.
    A leaf that the plan does not know, or whose sharding no PartitionSpec says, is an error that
    names it; numbers without dims are replicated.
    """
    plan = plan if isinstance(plan, plans.Plan) else plans.read(plans.make(plan)[0])
    mesh = _mesh_of(plan) if mesh is None else mesh
    tensors = plan.tensors

    def sharding(path, leaf):
        found = _find(tensors, path, argument)
        spec = () if found is None and getattr(leaf, "ndim", None) == 0 else found and found.spec
        if found is None and spec is None:
            raise KeyError(f"the plan has no {'.'.join(_keys(path))}")
        if spec is None:
            raise ValueError(f"{found.name} is {found.sharding}, which no PartitionSpec says")
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))

    return jax.tree_util.tree_map_with_path(sharding, tree)
