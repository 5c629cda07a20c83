"""Modules that `export --to dtensor` writes, run by torch itself.

    part_dtensor.py compare WHAT MODULE.py PARTS.csv   every rank's local shapes beside the plan's
    part_dtensor.py apply WHAT MODULE.py [linear]      a small GPT, parallelized by 4 processes,
                                                       beside the same on one
    part_dtensor.py train WHAT MODULE.py CLASS         a small model of transformers, trained for
                                                       two steps by 4 processes and by one
"""

import collections
import contextlib
import csv
import importlib.util
import json
import logging
import os
import queue
import socket
import sys
import traceback
import warnings

import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, distribute_tensor


def load(path):
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def parts_of(path):
    """Of tensors by name, and by label: {name: {device: (global shape, local shape, partial)}}"""
    by_name, by_label = collections.defaultdict(dict), collections.defaultdict(dict)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            shapes = [tuple(json.loads(row[key])) for key in ("global_shape", "local_shape")]
            part = (*shapes, row["partial"])
            by_name[row["tensor"]][int(row["device"])] = part
            by_label[row["label"]][int(row["device"])] = part
    return by_name, by_label


# ---- local shapes


def local_shape(mesh, shape, placements):
    """What torch gives this rank of a tensor without data; a partial value is whole."""
    whole = torch.empty(shape, device="meta")
    made = tuple(Replicate() if isinstance(p, Partial) else p for p in placements)
    return tuple(distribute_tensor(whole, mesh, made, src_data_rank=None).to_local().shape)


def outs(module):
    """What modules make, by the label of the plan: shape, placements and stages."""
    return {
        f"{path}.out": (*style.makes, style.stages)
        for path, style in module.parallelize_plan().items()
        if style.makes
    }


def named(module):
    found = {}
    for table in (module.PARAMETERS, module.INPUTS):
        for name, (shape, placements) in table.items():
            stages = module.STAGES.get(name)
            found[module.COPIED.get(name, name)] = (shape, placements, stages)
    return found


def compare_rank(module, parts, rank, errors):
    mesh = module.make_mesh("cpu")
    inner = module.placed_mesh(mesh) if module.PLACED_DIMS else None
    n = 0
    by_name, by_label = parts
    for known, tensors in ((by_name, named(module)), (by_label, outs(module))):
        for name, (shape, placements, stages) in tensors.items():
            if name not in known:
                if known is by_name:
                    errors.append(f"{name} is not in the plan")
                continue
            want = known[name].get(rank)
            if (want is not None) != module.is_here(mesh, stages):
                errors.append(f"rank {rank}: {name} in stages {stages}, plan {want}")
            if want is None or placements is None or not module.is_here(mesh, stages):
                continue
            have = local_shape(inner, shape, placements) if inner else shape
            partial = [str(p.reduce_op) for p in placements if isinstance(p, Partial)]
            if (shape, have) != want[:2] or bool(partial) != bool(want[2]):
                errors.append(f"rank {rank}: {name} {shape} {have} {partial}, plan {want}")
            n += 1
    return n


def compare(what, path, parts_path):
    from torch.testing._internal.distributed.fake_pg import FakeStore

    module, parts, errors, n = load(path), parts_of(parts_path), [], 0
    kinds = collections.Counter()
    with open(parts_path, newline="") as file:
        for row in csv.DictReader(file):
            kinds[row["kind"]] += 1
            missing = row["kind"] == "parameter" and row["tensor"] not in named(module)
            if missing and row["device"] == "0":
                errors.append(f"{row['tensor']} is not in the module")
    n_ranks = torch.Size(module.MESH_SHAPE).numel()
    for rank in range(n_ranks):
        dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=n_ranks)
        n += compare_rank(module, parts, rank, errors)
        dist.destroy_process_group()
    if n == 0 or not kinds["parameter"]:
        errors.append("nothing was compared")
    say(f"{what}: {n} local shapes of {n_ranks} ranks", errors)


def say(what, errors):
    if errors:
        print(f"not ok {what}: {'; '.join(errors[:4])} ({len(errors)})")
    else:
        print(f"ok {what}")


# ---- a small GPT with the names of samples/models/tiny-gpt.onnx


class Conv1D(torch.nn.Module):
    """As transformers has it: a linear layer whose weight is [in, out]."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(n_in, n_out) * 0.05)
        self.bias = torch.nn.Parameter(torch.randn(n_out) * 0.05)

    def forward(self, x):
        return x @ self.weight + self.bias


class Attention(torch.nn.Module):
    def __init__(self, linear, width, heads):
        super().__init__()
        self.c_attn, self.c_proj = linear(width, 3 * width), linear(width, width)
        self.heads = heads

    def forward(self, x):
        batch, length, width = x.shape
        split = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.view(split).transpose(1, 2) for part in self.c_attn(x).chunk(3, dim=2))
        mask = torch.full((length, length), float("-inf")).triu(1)
        scores = (q @ k.transpose(2, 3) / (width // self.heads) ** 0.5 + mask).softmax(-1)
        return self.c_proj((scores @ v).transpose(1, 2).reshape(batch, length, width))


class Mlp(torch.nn.Module):
    def __init__(self, linear, width):
        super().__init__()
        self.c_fc, self.c_proj = linear(width, 4 * width), linear(4 * width, width)

    def forward(self, x):
        return self.c_proj(torch.nn.functional.gelu(self.c_fc(x), approximate="tanh"))


class Block(torch.nn.Module):
    def __init__(self, linear, width, heads):
        super().__init__()
        self.ln_1, self.ln_2 = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.attn, self.mlp = Attention(linear, width, heads), Mlp(linear, width)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Transformer(torch.nn.Module):
    def __init__(self, linear, layers=2, width=64, heads=4):
        super().__init__()
        self.wte, self.wpe = torch.nn.Embedding(256, width), torch.nn.Embedding(64, width)
        self.h = torch.nn.ModuleList(Block(linear, width, heads) for _ in range(layers))
        self.ln_f = torch.nn.LayerNorm(width)

    def forward(self, input_ids):
        x = self.wte(input_ids) + self.wpe(torch.arange(input_ids.shape[1])[None])
        for block in self.h:
            x = block(x)
        return self.ln_f(x)


class TinyGpt(torch.nn.Module):
    def __init__(self, linear):
        super().__init__()
        self.transformer = Transformer(linear)
        self.lm_head = torch.nn.Linear(64, 256, bias=False)

    def forward(self, input_ids):
        return self.lm_head(self.transformer(input_ids))


def make_model(linear):
    torch.manual_seed(0)
    return TinyGpt(torch.nn.Linear if linear else Conv1D)


def check_parameters(model, whole, module, errors):
    """Every parameter is whole what it was, and lies as the plan says of its transposed copy too."""
    for name, parameter in model.named_parameters():
        if not isinstance(parameter, DTensor):
            errors.append(f"{name} is no DTensor")
            continue
        if not torch.equal(parameter.full_tensor(), whole[name]):
            errors.append(f"{name} has changed")
        shape, placements = module.PARAMETERS[name]
        turned = tuple(parameter.shape) != shape
        planned = local_shape(parameter.device_mesh, shape, placements)
        local = tuple(parameter.to_local().shape)
        if local != (planned[::-1] if turned else planned):
            errors.append(f"{name} {local}, planned {planned}")


def check_outputs(model, module, mesh, errors):
    """Hooks that hold what modules give against the plan."""

    def check(path, style):
        def hook(_module, _args, output):
            wanted = style.gives or style.makes[1]
            bad = any(
                have != want and not isinstance(want, Partial)
                for have, want in zip(output.placements, wanted)
            )
            if bad or output.device_mesh != module.placed_mesh(mesh):
                errors.append(f"{path} gives {output.placements}, planned {wanted}")

        return hook

    for path, style in module.parallelize_plan().items():
        model.get_submodule(path).register_forward_hook(check(path, style))


def apply_rank(rank, path, linear, address, results):
    from torch.distributed.tensor.experimental import implicit_replication

    errors = []
    try:
        warnings.simplefilter("error")
        module = load(path)
        n_ranks = torch.Size(module.MESH_SHAPE).numel()
        torch._logging.set_logs(all=logging.ERROR)  # it asks for other meshes
        dist.init_process_group("gloo", init_method=address, rank=rank, world_size=n_ranks)
        model = make_model(linear)
        whole = {name: value.detach().clone() for name, value in model.named_parameters()}
        ids = torch.randint(0, 256, module.INPUTS["input_ids"][0])
        want = model(ids)
        want.square().mean().backward()
        gradients = {name: value.grad.clone() for name, value in model.named_parameters()}
        model.zero_grad()
        mesh = module.make_mesh("cpu")
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            module.parallelize(model, mesh)
        check_parameters(model, whole, module, errors)
        check_outputs(model, module, mesh, errors)
        with implicit_replication(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            have = model(**module.distribute_inputs(mesh, {"input_ids": ids}))
            have.full_tensor().square().mean().backward()
        if not torch.allclose(have.full_tensor(), want, rtol=1e-4, atol=1e-5):
            errors.append(f"other outputs, by {(have.full_tensor() - want).abs().max()}")
        for name, value in model.named_parameters():
            gradient = value.grad.full_tensor()
            if not torch.allclose(gradient, gradients[name], rtol=1e-3, atol=1e-6):
                errors.append(f"other gradient of {name}")
        dist.destroy_process_group()
    except Exception as error:  # said by the parent
        where = traceback.extract_tb(error.__traceback__)[-1]
        errors.append(f"rank {rank}: {error!r} at {os.path.basename(where.filename)}:{where.lineno}")
        if os.environ.get("TRACE"):
            traceback.print_exc()
    results.put(errors)


# ---- models of transformers


class Pooled(torch.nn.Module):
    """BERT as the plan has it: classes are what it makes of the first token."""

    def __init__(self, config):
        import transformers

        super().__init__()
        self.bert, self.config = transformers.AutoModel.from_config(config), config

    def forward(self, input_ids, **kwargs):
        return self.bert(input_ids).pooler_output


def make_transformer(kind):
    import transformers

    transformers.set_seed(0)
    if kind == "llama":
        config = transformers.LlamaConfig(
            hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=8,
            num_key_value_heads=4, vocab_size=512)  # fmt: skip
        return transformers.LlamaForCausalLM(config)
    if kind == "torchvision":
        from torchvision.models import VisionTransformer

        model = VisionTransformer(
            image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=64, mlp_dim=128,
            num_classes=10)  # fmt: skip
        torch.nn.init.normal_(model.heads.head.weight, std=0.1)  # else nothing behind it trains
        model.config = transformers.ViTConfig(image_size=32, num_labels=10)
        return model
    if kind.endswith(".json"):
        config = transformers.AutoConfig.from_pretrained(kind)
        if config.model_type == "vit":
            return transformers.ViTForImageClassification._from_config(config)
        if config.model_type == "bert":
            return Pooled(config)
        if config.is_encoder_decoder:
            return transformers.AutoModelForSeq2SeqLM.from_config(config, dtype=torch.float32)
        return transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    config = transformers.GPT2Config(
        n_embd=64, n_layer=2, n_head=4, vocab_size=256, n_positions=64, bos_token_id=0,
        eos_token_id=0, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0,
        tie_word_embeddings=kind == "gpt2-tied")  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def whole_of(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def loss_of(logits, labels):
    """Of sharded logits, as loss_parallel() has it."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, -2), labels.flatten())


def optimizer_of(parameters):
    return torch.optim.SGD(parameters, lr=0.3, momentum=0.9)


def options_of(config, ids):
    """Arguments beside the first; a decoder that has an encoder reads other tokens."""
    if ids.is_floating_point():
        return {}
    return {"use_cache": False, **({"decoder_input_ids": ids.flip(1)} if config.is_encoder_decoder else {})}


def train_plain(model, batches):
    from torch.distributed.tensor.parallel import loss_parallel

    optimizer, losses = optimizer_of(model.parameters()), []
    for ids, labels in batches:
        out = model(ids, **options_of(model.config, ids))
        logits = getattr(out, "logits", out)
        with loss_parallel() if isinstance(logits, DTensor) else contextlib.nullcontext():
            loss = loss_of(logits, labels)
            loss.backward()
        losses.append(whole_of(loss).detach().clone())
        optimizer.step()
        optimizer.zero_grad()
    return losses


def train_stages(schedule, mesh, batches):
    """The losses that this rank sees: those of the last stage."""
    stage = schedule._stage
    optimizer, losses = optimizer_of(stage.submod.parameters()), []
    for ids, labels in batches:
        seen = []
        if stage.is_first:
            schedule.step(ids)
        elif stage.is_last:
            schedule.step(target=labels, losses=seen)
        else:
            schedule.step()
        losses += [torch.stack(seen).mean().detach()] if seen else []
        optimizer.step()
        optimizer.zero_grad()
    return losses


def batches_of(config):
    """Two steps of inputs and labels: tokens, or images and their classes."""
    generator = torch.Generator().manual_seed(1)
    if config.model_type == "vit":
        pixels = torch.randn(2, 4, 3, config.image_size, config.image_size, generator=generator)
        classes = torch.randint(0, config.num_labels, (2, 4), generator=generator)
        return list(zip(pixels, classes))
    if config.model_type == "bert":
        ids = torch.randint(0, config.vocab_size, (2, 4, 16), generator=generator)
        return list(zip(ids, torch.randint(0, config.hidden_size, (2, 4), generator=generator)))
    shape = (2, 2, 4, 16)  # steps, inputs and labels, batch, sequence
    ids = torch.randint(0, config.vocab_size, shape, generator=generator)
    return [tuple(step) for step in ids]


def batch_part(mesh, batches):
    """This rank's part of each batch."""
    part, n_parts = 0, 1
    for dim in mesh.mesh_dim_names:
        if dim not in ("tp", "pp", "et"):
            part, n_parts = part * mesh[dim].size() + mesh[dim].get_local_rank(), n_parts * mesh[dim].size()
    return [tuple(value.chunk(n_parts)[part] for value in batch) for batch in batches]


def compare_training(model, whole, errors):
    wanted, n = dict(whole.named_parameters()), 0
    for name, value in model.named_parameters():
        same = torch.allclose(whole_of(value), wanted[name], rtol=1e-4, atol=3e-5)
        n += 1
        if not same:
            errors.append(f"other {name} after two steps")
    return n


def train_rank(rank, path, kind, address, results):
    errors = []
    try:
        warnings.simplefilter("ignore")
        module = load(path)
        n_ranks = torch.Size(module.MESH_SHAPE).numel()
        torch._logging.set_logs(all=logging.ERROR)
        dist.init_process_group("gloo", init_method=address, rank=rank, world_size=n_ranks)
        whole, model = make_transformer(kind), make_transformer(kind)
        batches = batches_of(whole.config)
        want = train_plain(whole, batches)
        mesh = module.make_mesh("cpu")
        mine = batch_part(mesh, batches)
        if hasattr(module, "pipeline"):
            schedule = module.pipeline(model, mesh, lambda out, labels: loss_of(whole_of(out), labels))
            have, model = train_stages(schedule, mesh, mine), schedule._stage.submod
        else:
            module.parallelize(model, mesh)
            have = train_plain(model, mine)
        n = compare_training(model, whole, errors)
        if n != len(list(whole.parameters())) and not hasattr(module, "pipeline"):
            errors.append(f"{n} parameters")
        sums = torch.tensor([float(sum(have)), len(have)])
        dist.all_reduce(sums)
        if abs(sums[0] / sums[1] - sum(want) / len(want)) > 2e-5:
            errors.append(f"mean loss {sums[0] / sums[1]}, of one process {sum(want) / len(want)}")
        dist.destroy_process_group()
    except Exception as error:  # said by the parent
        where = traceback.extract_tb(error.__traceback__)[-1]
        errors.append(f"rank {rank}: {error!r} at {os.path.basename(where.filename)}:{where.lineno}")
        if os.environ.get("TRACE"):
            traceback.print_exc()
    results.put(errors)


def result_of(process, results):
    """What one of the processes has to say; that this one is dead, if it died without."""
    while True:
        try:
            return results.get(timeout=2)
        except queue.Empty:
            if process.exitcode:
                return [f"a process ended with {process.exitcode}"]


def in_processes(what, target, path, linear):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    context = torch.multiprocessing.get_context("fork")  # what is imported is there
    n_ranks = torch.Size(load(path).MESH_SHAPE).numel()
    results = context.Queue()
    processes = [
        context.Process(target=target, args=(rank, path, linear, address, results))
        for rank in range(n_ranks)
    ]
    for process in processes:
        process.start()
    errors = [error for process in processes for error in result_of(process, results)]
    for process in processes:
        process.join()
    say(what.format(n_ranks), errors)


def main():
    torch.set_num_threads(1)
    verb, what, *rest = sys.argv[1:]
    if verb == "compare":
        compare(what, *rest)
    elif verb == "apply":
        said = what + ": outputs and gradients of {} processes as of one"
        in_processes(said, apply_rank, rest[0], "linear" in rest[1:])
    else:
        import transformers.models.auto.modeling_auto  # noqa: F401, once for all processes

        make_transformer(rest[1])
        said = what + ": two steps of training by {} processes as by one"
        in_processes(said, train_rank, rest[0], rest[1])


if __name__ == "__main__":
    main()
