"""A module that dimscope wrote, run in JAX: what NamedShardings say each device holds, beside the plan.

    part_jax.py WHAT PLAN.py TENSORS.csv PARTS.csv MESH [place]
"""
import functools, importlib.util, json, sys

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

from layout import Plan


def load(path):
    spec = importlib.util.spec_from_file_location("plan", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def mesh_of(module, part):
    return module.make_mesh(part) if hasattr(module, "PARTS") else module.make_mesh()


def compare(module, plan, axes, name, spec, given):
    """Empty, or what is wrong; and whether JAX was told less than the plan says."""
    tensor = plan.tensor(name)
    if tensor is None:
        return "no tensor is called so", False
    shape = json.loads(plan.rows[tensor]["shape"])
    held, want = plan.given(tensor, axes)
    free = [d for d, e in enumerate(spec.partitions) if e is P.UNCONSTRAINED]
    plain = P(*[None if e is P.UNCONSTRAINED else e for e in spec.partitions])
    said, less = {}, bool(free)
    for part in getattr(module, "ON", {}).get(name, ("",)):
        sharding = NamedSharding(mesh_of(module, part), plain)
        local = sharding.shard_shape(tuple(shape))
        for device, index in sharding.devices_indices_map(tuple(shape)).items():
            said[device.id] = index
            if [len(range(*s.indices(n))) for s, n in zip(index, shape)] != list(local):
                return "JAX says two shapes", less
    if set(said) != set(held):
        return "on devices %s, not %s" % (sorted(said), sorted(held)), less
    for device, index in said.items():
        for d, (places, n) in enumerate(zip(index, shape)):
            jax_has, plan_has = range(*places.indices(n)), held[device][d]
            if d in free or (len(jax_has) == len(plan_has) and all(map(int.__eq__, jax_has, plan_has))):
                continue
            less = True
            if not given or not set(plan_has) <= set(jax_has):
                return "dim %d on device %d: JAX has %d places from %s, the plan %d from %s" % (
                    d, device, len(jax_has), jax_has[:1], len(plan_has), plan_has[:1]), less
    addends = int(np.prod([module.AXES[a] for a in spec.unreduced] or [1]))
    return "" if addends == want else "%d addends, not %d" % (addends, want), less


def constrains(module, plan, axes):
    """A value goes through constrain() in a jitted function and comes out as the plan has it."""
    mesh, n = mesh_of(module, ""), 0
    for name, spec in list(module.ACTIVATIONS.items())[:200]:
        tensor = plan.tensor(name)
        shape = json.loads(plan.rows[tensor]["shape"])
        if spec is None or spec.unreduced or P.UNCONSTRAINED in spec.partitions or np.prod(shape) > 1 << 16:
            continue
        if not any(spec.partitions) or getattr(module, "ON", {}):
            continue
        out = jax.jit(lambda x: module.constrain(x + 1, name, mesh))(np.zeros(shape, np.float32))
        for shard in out.addressable_shards:
            held = plan.given(tensor, axes)[0][shard.device.id]
            assert list(shard.data.shape) == [len(h) for h in held], (name, shard.data.shape)
        n += 1
        if n == 5:
            break
    return n


def places(module, plan, axes):
    """Parameters put onto devices: as a flat tree, and nested."""
    mesh, flat, nested = mesh_of(module, ""), {}, {}
    for name in module.PARAMETERS:
        tensor = plan.tensor(name)
        shape = json.loads(plan.rows[tensor]["shape"])
        flat[name] = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        at = nested
        for key in name.split(".")[:-1]:
            at = at.setdefault(key, {})
        at[name.split(".")[-1]] = flat[name]
    for tree in (flat, nested):
        placed = jax.device_put(tree, module.parameter_shardings(tree, mesh))
        assert jax.tree_util.tree_all(jax.tree_util.tree_map(lambda a, b: (np.asarray(a) == b).all(), placed, tree))
    placed = jax.device_put(flat, module.parameter_shardings(flat, mesh))
    for name, array in placed.items():
        held = plan.held(plan.tensor(name), axes)
        for shard in array.addressable_shards:
            want = flat[name][np.ix_(*held[shard.device.id])] if flat[name].ndim else flat[name]
            assert set(np.ravel(want)) <= set(np.ravel(np.asarray(shard.data))), name
    return len(placed)


def trees(module):
    """Parameters as Flax and Haiku nest and name them, and an optimizer's state of each, on their shardings."""
    mesh, n = mesh_of(module, ""), 0
    flax, haiku, nnx = {}, {}, {}
    lists = not any(key.isdigit() and str(int(key)) != key for name in module.PARAMETERS for key in name.split("."))
    for name, spec in module.PARAMETERS.items():
        *path, leaf = name.split(".")
        kernel = leaf == "weight" and len(spec) == 2
        shape = [8 * (d + 1) for d in range(len(spec))][::-1 if name in module.TURNED else 1]
        value = jax.ShapeDtypeStruct(tuple(shape), np.float32)
        at = flax.setdefault("params", {})
        layers = nnx
        for key in "/".join(path).replace("/0", "_0").replace("/1", "_1").split("/"):
            at = at.setdefault(key, {})
        for key in path:
            layers = layers.setdefault(int(key) if lists and key.isdigit() else key, {})
        at["kernel" if kernel else "scale" if leaf == "weight" else leaf] = value
        layers["kernel" if kernel else leaf] = value
        haiku.setdefault("/~/".join(path), {})["w" if kernel else "b" if leaf == "bias" else leaf] = value
    for tree in flax, haiku, nnx:
        placed = jax.tree_util.tree_flatten_with_path(module.parameter_shardings(tree, mesh))[0]
        assert len(placed) == len(module.PARAMETERS)
        for path, lies in placed:
            name = module.name_of(path)
            want = module.PARAMETERS[name]
            assert lies.spec == (P(*want[::-1]) if name in module.TURNED else want), (path, lies.spec, want)
            n += 1
        state = ({"count": jax.ShapeDtypeStruct((), np.int32), "mu": tree, "nu": tree},)
        lies = module.state_shardings(state, tree, mesh)[0]
        want = module.parameter_shardings(tree, mesh, module.STATES)
        assert lies["mu"] == lies["nu"] == want and lies["count"].spec == P()
    try:
        module.parameter_shardings({"of": {"no": {"module": np.zeros(3)}}}, mesh)
    except KeyError:
        return n
    raise AssertionError("a leaf that the plan does not have is placed")


def steps(module, plan):
    """Two steps of a made-up loss, jitted on the plan's shardings, beside the same on one device."""
    mesh, params = mesh_of(module, ""), {}
    for n, name in enumerate(module.PARAMETERS):
        shape = json.loads(plan.rows[plan.tensor(name)]["shape"])
        params[name] = np.random.default_rng(n).normal(size=shape).astype(np.float32)
    state = {"mu": jax.tree_util.tree_map(np.zeros_like, params)}
    inputs = {name: np.ones(json.loads(plan.rows[plan.tensor(name)]["shape"]), np.int32) for name in module.INPUTS}

    def layer(path, params):  # saves nothing if it is wrapped
        run = module.remat(lambda tree: sum((jax.numpy.sin(x) ** 2).mean() for x in jax.tree_util.tree_leaves(tree)), path)
        return run(params)

    def loss(params, inputs):
        return layer("model.layers.0", params) + sum(x.astype(np.float32).mean() for x in inputs.values())

    def step(params, state, inputs):
        value, gradient = jax.value_and_grad(loss)(params, inputs)
        mu = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, state["mu"], gradient)
        return jax.tree_util.tree_map(lambda p, m: p - 0.1 * m, params, mu), {"mu": mu}, value

    jitted, plain = module.jit_step(step, params, state, mesh), jax.jit(step)
    have, want = (params, state), (params, state)
    for _ in range(2):
        *have, a = jitted(*have, inputs)
        *want, b = plain(*want, inputs)
        assert np.allclose(a, b, rtol=1e-5), (a, b)
    for name, value in have[0].items():
        assert np.allclose(value, want[0][name], atol=1e-5), name
        assert value.sharding == module.parameter_shardings(params, mesh)[name], name
        assert have[1]["mu"][name].sharding == module.parameter_shardings(params, mesh, module.STATES)[name], name
    again = "remat" in str(jax.make_jaxpr(lambda p: jax.grad(loss)(p, inputs))(params))
    assert again == ("model.layers.*" in module.RECOMPUTED), module.RECOMPUTED
    return len(params)


def main():
    what, path, tensors, parts, mesh = sys.argv[1:6]
    axes = {k: int(v) for k, v in (a.split("=") for a in mesh.split(","))}
    module, plan = load(path), Plan(tensors, parts)
    n = n_less = 0
    for table in (module.PARAMETERS, module.INPUTS, module.OUTPUTS, module.ACTIVATIONS):
        for name, spec in table.items():
            if spec is None:
                n_less += 1
                continue
            wrong, less = compare(module, plan, axes, name, spec, table is module.PARAMETERS or table is module.INPUTS
                                  or table is module.OUTPUTS)
            n, n_less = n + 1, n_less + less
            if wrong:
                print("not ok %s: %s: %s" % (what, name, wrong))
                return
    stored = [t for t, r in plan.rows.items() if r["kind"] == "parameter" and r["uses"] != "0" and "~" not in t]
    named = {plan.tensor(name) for name in module.PARAMETERS}
    if set(stored) - named:
        print("not ok %s: %s is missing" % (what, sorted(set(stored) - named)[:3]))
        return
    print("ok %s: %d shardings on every device%s" % (what, n, ", %d said less, as noted" % n_less if n_less else ""))
    if "place" in sys.argv:
        print("ok %s: %d parameters placed, %d values constrained in a jit" % (
            what, places(module, plan, axes), constrains(module, plan, axes)))
        print("ok %s: two jitted steps on the shardings of %d parameters" % (what, steps(module, plan)))
        print("ok %s: %d leaves of trees as Flax and Haiku have them" % (what, trees(module)))


main()
