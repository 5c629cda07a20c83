"""Modules that `export --to paddle` writes, run by Paddle itself, one rank after the other.

    part_paddle.py compare WHAT MODULE.py TENSORS.csv PARTS.csv   what each rank holds of everything
    part_paddle.py apply WHAT MODULE.py                           layers with such names, sharded
"""

import importlib.util
import json
import logging
import os
import sys
import warnings

os.environ.update(GLOG_minloglevel="3", PADDLE_TRAINER_ID="0")
logging.disable(logging.WARNING)
warnings.filterwarnings("ignore")

import numpy
import paddle
import paddle.distributed as dist

from layout import Plan, coordinates, indices

SMALL = 1 << 22  # elements of a tensor whose places are compared one by one


def load(path):
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def say(what, errors):
    if errors:
        print(f"not ok {what}: {'; '.join(errors[:4])} ({len(errors)})")
    else:
        print(f"ok {what}")


def become(rank, n_ranks):
    """Paddle asks the environment who it is each time it cuts a tensor."""
    os.environ.update(PADDLE_TRAINER_ID=str(rank), PADDLE_TRAINERS_NUM=str(n_ranks))


class Ranks:
    """What ranks hold of a tensor: Paddle's local part of a tensor that counts its elements."""

    def __init__(self, module):
        self.module, self.known = module, {}
        self.n_ranks = int(numpy.prod(module.MESH_SHAPE))

    def held(self, part, shape, placements, rank):
        key = (part, shape, str(placements), rank)
        if key not in self.known:
            become(rank, self.n_ranks)
            # who is not first has zeros of what is partial
            made = [self.module.R if p.is_partial() else p for p in placements]
            n = int(numpy.prod(shape))
            whole = paddle.arange(n, dtype="int64").reshape(shape)
            local = dist.shard_tensor(whole, self.module.make_mesh(part), made)
            values = local._local_value().numpy() if n <= SMALL else None
            self.known[key] = (tuple(local._local_shape), values)
        return self.known[key]


def places(sharding, shape, axes, at):
    """The elements that the plan gives a device, counted through."""
    whole = numpy.arange(int(numpy.prod(shape))).reshape(shape)
    dims = indices(sharding, axes, at)
    return whole[numpy.ix_(*map(list, dims))] if dims else whole


def compare_tensor(module, plan, ranks, name, entry, errors):
    shape, placements = entry
    tensor = plan.tensor(name)
    if tensor is None:
        errors.append(f"{name} is not in the plan")
        return 0
    rows = {int(r["device"]): r for r in plan.parts[tensor]}
    on = module.ON.get(name, ("",))
    holders = {int(p): part for part in reversed(on) for p in module.PARTS[part][0]}
    axes = dict(zip(module.MESH_DIM_NAMES, module.MESH_SHAPE))
    if set(rows) != set(holders):
        errors.append(f"{name} is on {sorted(holders)}, plan {sorted(rows)}")
        return 0
    n = 0
    for rank, row in rows.items():
        if placements is None:
            continue
        have, values = ranks.held(holders[rank], shape, placements, rank)
        want, partial = tuple(json.loads(row["local_shape"])), row["partial"]
        if have != want or tuple(json.loads(row["global_shape"])) != shape:
            errors.append(f"rank {rank}: {name} {shape} {have}, plan {want}")
        elif values is not None:
            sharding = plan.rows[tensor]["sharding"]
            given = places(sharding, shape, axes, coordinates(row["coordinates"]))
            if not numpy.array_equal(values, given):
                errors.append(f"rank {rank}: {name} holds other elements")
        if any(p.is_partial() for p in placements) != bool(partial):
            errors.append(f"rank {rank}: {name} {placements}, plan partial {partial}")
        n += 1
    return n


def compare(what, path, tensors, parts):
    module, plan, errors, n = load(path), Plan(tensors, parts), [], 0
    ranks = Ranks(module)
    unsaid = 0
    for table in (module.PARAMETERS, module.INPUTS, module.ACTIVATIONS):
        for name, entry in table.items():
            unsaid += entry[1] is None
            n += compare_tensor(module, plan, ranks, name, entry, errors)
    kinds = [r["kind"] for r in plan.rows.values()]
    if n == 0 or len(module.PARAMETERS) < kinds.count("parameter"):
        errors.append(f"{len(module.PARAMETERS)} parameters of {kinds.count('parameter')}")
    if unsaid > n:
        errors.append(f"{unsaid} shardings are not said")
    said = f", {unsaid} without placements" if unsaid else ""
    say(f"{what}: {n} parts of {ranks.n_ranks} ranks{said}", errors)


# ---- layers with the names of samples/models/tiny-gpt.onnx


class Mlp(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.c_fc = paddle.nn.Linear(64, 256)
        self.c_proj = paddle.nn.Linear(256, 64)


class Turned(paddle.nn.Layer):
    """With the weight as PyTorch has it."""

    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([256, 64])
        self.bias = self.create_parameter([256])


class Block(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.ln_2 = paddle.nn.LayerNorm(64)
        self.mlp = Mlp()


class Model(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.transformer = paddle.nn.Layer()
        self.transformer.h = paddle.nn.LayerList([Block(), Block()])
        self.transformer.h[1].mlp.c_fc = Turned()
        self.transformer.wte = paddle.nn.Embedding(256, 64)


def apply(what, path):
    module, errors = load(path), []
    for rank in range(4):
        become(rank, 4)
        model = Model()
        mesh = module.make_mesh()
        module.shard(model, mesh)
        local = {name: p._local_shape for name, p in model.named_parameters()}
        want = {
            "transformer.h.0.mlp.c_fc.weight": [64, 128],
            "transformer.h.0.mlp.c_fc.bias": [128],
            "transformer.h.0.mlp.c_proj.weight": [128, 64],
            "transformer.h.1.mlp.c_fc.weight": [128, 64],
            "transformer.h.1.ln_2.weight": [64],
            "transformer.wte.weight": [128, 64],  # its vocabulary by tp
        }
        errors += [f"{k} {local[k]}" for k, v in want.items() if list(local[k]) != v]
        inputs = {"input_ids": paddle.zeros([2, 16], dtype="int64")}
        ids = module.shard_inputs(inputs, mesh)["input_ids"]
        if list(ids._local_shape) != [1, 16]:
            errors.append(f"input_ids {ids._local_shape}")
        made = model.transformer.h[0].mlp.c_fc(dist.shard_tensor(
            paddle.ones([2, 16, 64]), mesh, [dist.Shard(0), dist.Replicate()]))
        if made.placements != [dist.Shard(0), dist.Shard(2)]:
            errors.append(f"c_fc makes {made.placements}")
    say(f"{what}: parameters, inputs and what a layer makes, on 4 ranks", errors)


def states(what, path):
    """What AdamW keeps of layers whose plan stores it over dp, on each rank."""
    module, errors = load(path), []
    for rank in range(4):
        become(rank, 4)
        model, mesh = Model(), module.make_mesh()
        module.shard(model, mesh)
        adam = paddle.optimizer.AdamW(parameters=model.parameters(), multi_precision=False)
        sharded = module.shard_optimizer(adam, model, mesh)
        parameters = dict(model.named_parameters())
        adam._create_accumulators(paddle.static.default_main_program().global_block(), list(parameters.values()))
        for parameter in parameters.values():
            sharded._shard_accumulator(parameter)
        want = {  # [in, out] of a Linear, as Model has it; cut by tp, then over dp
            "transformer.h.0.mlp.c_fc.weight": [32, 128],
            "transformer.h.0.mlp.c_fc.bias": [64],
            "transformer.h.0.mlp.c_proj.weight": [64, 64],
            "transformer.h.1.mlp.c_fc.weight": [128, 32],
            "transformer.h.1.ln_2.weight": [32],
            "transformer.wte.weight": [64, 64],
        }
        moments = adam._accumulators["moment1"]
        local = {name: list(moments[p.name]._local_shape) for name, p in parameters.items()}
        errors += [f"rank {rank}: {name} {local[name]}, not {shape}"
                   for name, shape in want.items() if local[name] != shape]
        strategy = module.strategy()
        if strategy.gradient_merge.enable != (module.MICRO_BATCHES > 1 and not module.SCHEDULE):
            errors.append(f"micro-batches {strategy.gradient_merge}")
    module.recompute(model)
    say(f"{what}: what the optimizer keeps, on 4 ranks", errors)


if __name__ == "__main__":
    {"compare": compare, "apply": apply, "states": states}[sys.argv[1]](*sys.argv[2:])
