"""The package dimscope beside the systems it is for.

part_python.py torch    modules of transformers: exported, sharded, checked
part_python.py jax      functions of JAX: lowered, shardings of their trees
"""

import os
import sys
import tempfile

import dimscope

MODELS = "samples/models/"


def say(what, ok, why=""):
    print(f"ok {what}" if ok else f"not ok {what}: {str(why)[:600]}")


def refusal(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


# ---- torch


def check_moves(model, ids):
    def checked(policy, mesh, **options):
        plan = dimscope.plan(MODELS + "llama-3-tiny.json", mesh=mesh, policy=policy, **options)
        return dimscope.check(model, plan, (ids,), {"use_cache": False})

    for policy, mesh in ("megatron", "dp=2,tp=2"), ("fsdp", "dp=4"), ("dp", "dp=2"):
        found = checked(policy, mesh, train="auto")
        say(f"check: {policy} moves what is planned, forward and backward", bool(found), found)
    found = checked("megatron_sp", "dp=2,tp=2")
    say("check: megatron_sp forward", bool(found), found)
    found = checked("megatron_sp", "dp=2,tp=2", train="auto")
    one = found.differences[0] if len(found.differences) == 1 else None
    again = one and (one.kind, one.planned - one.ran) == ("all_gather", 5) and "gathers it again" in one.cause
    say("check: what a plan gathers again is one difference", again, found)


def check_tied(ids):
    """GPT-2, whose head is its embedding: exported without weights the file does not say so."""
    import transformers

    config = transformers.GPT2Config(vocab_size=96, n_positions=64, n_embd=32, n_layer=2, n_head=4,
                                     bos_token_id=0, eos_token_id=0)  # fmt: skip
    model = transformers.GPT2LMHeadModel(config)
    ids = ids % config.vocab_size
    for options in {}, {"train": "adamw"}:
        plan = dimscope.plan(model, (ids,), {"use_cache": False}, mesh="dp=2,tp=2", policy="megatron", **options)
        found = dimscope.check(model, plan, (ids,), {"use_cache": False})
        say(f"check: megatron of GPT-2 {options}", bool(found), found)


def check_differences(model, ids):
    plan = dimscope.plan(MODELS + "llama-3-tiny.json", mesh="dp=2,tp=2", policy="megatron")
    text = plan.export("--to", "dtensor")
    changed = text.replace('lm_head": ColwiseParallel(', 'lm_head": ColwiseParallel(output_layouts=Replicate(), ')
    plan.export = lambda *_: changed
    found = dimscope.check(model, plan, (ids,), {"use_cache": False})
    said = str(found)
    say("check: an unplanned gather is named with its module",
        not found and "1 unplanned all_gather over tp (1 ran, 0 planned): lm_head (1)" in said, said)  # fmt: skip
    plan.export = lambda *_: text.replace('"model.layers.*.mlp.gate_proj": ColwiseParallel(),', "")
    said = refusal(dimscope.check, model, plan, (ids,), {"use_cache": False})
    say("a module that cannot run so is an error", "Error" in said, said)
    plan.export = lambda *_: text.replace("mlp.gate_proj", "mlp.gated")
    said = refusal(dimscope.check, model, plan, (ids,))
    say("a plan of another model is an error that names a module of it",
        said == "Error: this is not the model of the plan: the model has no model.layers.*.mlp.gated", said)  # fmt: skip


def check_apply(model, ids):
    import copy

    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor
    from torch.testing._internal.distributed.fake_pg import FakeStore

    plan = dimscope.plan(MODELS + "llama-3-tiny.json", mesh="dp=2,tp=2", policy="megatron", set={"zero": 3})
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=4)
    other = init_device_mesh("cpu", (4,), mesh_dim_names=("tp",))
    said = refusal(dimscope.apply, model, plan, other)
    say("apply: another mesh is named", "{'tp': 4}, the plan {'dp': 2, 'tp': 2}" in said, said)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plan.json")
        plan.save(path)
        sharded = dimscope.apply(copy.deepcopy(model), path, init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp")))
    wrong = [
        name for name, value in sharded.named_parameters()
        if not isinstance(value, DTensor) or tuple(value.to_local().shape) != plan.tensors[name].local_shape
    ]  # fmt: skip
    say("apply: each parameter lies as planned", not wrong, wrong)
    dist.destroy_process_group()


def check_export(model, ids):
    import torch
    from dimscope import export

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "llama.pt2")
        export.save(model, (ids,), {"use_cache": False}, path)
        loaded = torch.export.load(path)
        names = set(loaded.state_dict)
        size = os.path.getsize(path)
    say("export: all parameters by name", names == set(model.state_dict()), names)
    say("export: no weights", size < 600_000 and all(v.is_meta for v in loaded.state_dict.values()), size)
    say("export: the module keeps its own", not any(p.is_meta for p in model.parameters()))


def check_open_module(model, ids):
    """A module, exported without weights, and the plan of its own archive applied to it."""
    plan = dimscope.plan(model, (ids,), {"use_cache": False}, mesh="dp=2,tp=2", policy="megatron")
    named = set(plan.placements)
    say("a module is planned by the names of its parameters", set(dict(model.named_parameters())) <= named, named)
    say("a module's q_proj is sharded", plan.placements["model.layers.0.self_attn.q_proj.weight"] == ("R", "S(0)"))
    found = dimscope.check(model, plan, (ids,), {"use_cache": False})
    say("check: the plan of a module's own export", bool(found), found)


def check_refusals():
    import torch

    class Chooses(torch.nn.Module):
        def forward(self, x):
            if x.sum() > 0:
                return x
            return -x

    said = refusal(dimscope.plan, Chooses(), (torch.zeros(4),), mesh="dp=2")
    place = "if x.sum() > 0"
    say("a module that torch.export does not take is one line with its place", said.startswith("Error: torch.export does not take Chooses") and place in said and "\n" not in said, said)
    said = refusal(dimscope.plan, 42, mesh="dp=2")
    say("what is no model is named", "not int" in said, said)
    line = torch.nn.Linear(8, 4)
    said = refusal(dimscope.plan, line, (torch.zeros(4, 8),), mesh="tp=q")
    say("a mesh that is none is shown", "--mesh:1:4: error: expected a number" in said, said)
    said = refusal(dimscope.apply, line, dimscope.plan(line, (torch.zeros(4, 8),), mesh="tp=2"))
    say("apply without ranks says what to do", "torchrun" in said, said)


def in_torch():
    import logging

    import torch
    import transformers

    torch._logging.set_logs(all=logging.ERROR)
    transformers.set_seed(0)
    config = transformers.LlamaConfig(
        hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=8,
        num_key_value_heads=4, vocab_size=512)  # fmt: skip
    model, ids = transformers.LlamaForCausalLM(config), torch.zeros((1, 16), dtype=torch.long)
    check_refusals()
    check_moves(model, ids)
    check_tied(ids)
    check_differences(model, ids)
    check_apply(model, ids)
    check_export(model, ids)
    check_open_module(model, torch.zeros((2, 16), dtype=torch.long))


# ---- JAX


def check_checkpoint():
    """What Orbax saves of sharded parameters is read as the plan they are of."""
    import jax
    import jax.numpy as jnp
    import orbax.checkpoint
    from dimscope import jax as door

    for policy in "megatron", "fsdp":
        plan = dimscope.plan(MODELS + "llama-3-tiny.json", mesh="dp=2,tp=2", policy=policy)
        parameters = {t.name: jnp.zeros(t.shape) for t in plan.tensors.values() if t.kind == "parameter"}
        placed = jax.device_put(parameters, door.shardings(plan, parameters))
        with tempfile.TemporaryDirectory() as folder, orbax.checkpoint.StandardCheckpointer() as saver:
            saver.save(os.path.join(folder, "saved"), {"params": placed, "opt_state": [placed]})
            saver.wait_until_finished()
            again = dimscope.plan(MODELS + "llama-3-tiny.json", mesh="dp=2,tp=2", pins=os.path.join(folder, "saved"))
        differ = [name for name in parameters if again.tensors[name].placements != plan.tensors[name].placements]
        say(f"a checkpoint of Orbax by {policy} is read as its plan", not differ, differ)


def in_jax():
    import jax
    import jax.numpy as jnp
    from dimscope import jax as door

    plan = dimscope.plan(MODELS + "tiny-gpt.onnx", mesh="dp=2,tp=2", policy="megatron")
    zeros = {"transformer": {"wte": {"embedding": jnp.zeros((256, 64))}, "h_0": {"mlp": {"c_fc": {"kernel": jnp.zeros((64, 256)), "bias": jnp.zeros(256)}}}}}
    placed = jax.device_put({"params": zeros}, door.shardings(plan, {"params": zeros}))
    layer = placed["params"]["transformer"]["h_0"]["mlp"]["c_fc"]
    shapes = [a.addressable_shards[0].data.shape for a in (layer["kernel"], layer["bias"], placed["params"]["transformer"]["wte"]["embedding"])]
    say("shardings of a Flax tree", shapes == [(64, 128), (128,), (128, 64)], shapes)
    said = refusal(door.shardings, plan, {"params": {"other": {"kernel": jnp.zeros((2, 2))}}})
    say("a leaf that the plan lacks is named", "the plan has no params.other.kernel" in said, said)
    said = refusal(door.shardings, plan, {"transformer": {"h": [{"attn": {"c_attn": {"weight": jnp.zeros((64, 192))}}}]}})
    say("a fused weight is refused", "which no PartitionSpec says" in said, said)

    def block(params, x):
        return jnp.tanh(x @ params["up"]) @ params["down"]

    args = {"up": jax.ShapeDtypeStruct((8, 32), "float32"), "down": jax.ShapeDtypeStruct((32, 8), "float32")}, jax.ShapeDtypeStruct((4, 8), "float32")
    with tempfile.TemporaryDirectory() as folder:
        pins = os.path.join(folder, "pins.lua")
        with open(pins, "w") as file:
            file.write("""function PAS(graph)
                graph:shard("x", {[0] = "dp"})
                graph:shard("params.up", {[1] = "tp"})
                return graph
            end""")
        plan = door.plan(block, *args, mesh="dp=2,tp=2", policy=pins)
        moved = {(it.kind, it.axes) for it in plan.collectives}
        say("a function is planned", moved == {("all_reduce", ("tp",))}, moved)
        found = door.shardings(plan, args[0])
        specs = [tuple(found[name].spec) for name in ("up", "down")]
        say("shardings of a function's argument", specs == [(None, "tp"), ("tp", None)], specs)
        say("shardings by the argument's name", door.shardings(plan, args[0], argument="params") == found)
        other = refusal(door.shardings, plan, args[0], argument="weights")
        say("another argument has none", "the plan has no down" in other, other)
    check_checkpoint()
    compiled = jax.jit(block, in_shardings=(found, door.shardings(plan, {"x": args[1]})["x"])).lower(*args).compile()
    say("XLA makes the planned all-reduce", "all-reduce" in compiled.as_text(), compiled.as_text()[:300])


in_torch() if sys.argv[1] == "torch" else in_jax()
