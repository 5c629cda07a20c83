#include "core/peers/torch/code_text.h"

/* A style that places the parameters which its member `of` names. */
#define PLACES(start, of, rest)                                                                    \
    start "    def _apply(self, module, mesh):\n"                                                  \
          "        for name, placement in self." of ".items():\n"                                  \
          "            value = distribute_tensor(getattr(module, name), mesh, [placement])\n"      \
          "            module.register_parameter(name, nn.Parameter(value))\n"                     \
          "        return distribute_module(module, mesh, None, self.before, self.after)\n"        \
          "\n" rest

/* For modules of any kind: what it is asked for, and what it does before and after them. */
#define PLACED(asked, rest)                                                                        \
    PLACES("\n"                                                                                    \
           "\n"                                                                                    \
           "class Placed(ParallelStyle):\n"                                                        \
           "    \"\"\"For modules that torch has no style for, as Conv1D: argument, result, "      \
           "parameters.\"\"\"\n"                                                                   \
           "\n" asked,                                                                             \
           "parameters", rest)

const char torch_placed_text[] =
    PLACED("    def __init__(self, arrives=Replicate(), reads=None, gives=None, local=True, "
           "**parameters):\n"
           "        self.arrives, self.reads, self.gives = arrives, reads or arrives, gives\n"
           "        self.local, self.parameters = local, parameters\n"
           "\n",
           "    def before(self, module, args, mesh):\n"
           "        x = args[0]\n"
           "        if not isinstance(x, DTensor):\n"
           "            x = DTensor.from_local(x, mesh, [self.arrives])\n"
           "        return x.redistribute(placements=[self.reads]), *args[1:]\n"
           "\n"
           "    def after(self, module, out, mesh):\n"
           "        out = out.redistribute(placements=[self.gives or out.placements[0]])\n"
           "        return out.to_local() if self.local else out\n");

const char torch_placed_local_text[] = PLACED(
    "    def __init__(self, arrives=Replicate(), gives=None, **parameters):\n"
    "        self.arrives, self.gives, self.parameters = arrives, gives, parameters\n"
    "\n",
    "    def before(self, module, args, mesh):\n"
    "        return DTensor.from_local(args[0], mesh, [self.arrives]), *args[1:]\n"
    "\n"
    "    def after(self, module, out, mesh):\n"
    "        return out.redistribute(placements=[self.gives or out.placements[0]]).to_local()\n");

const char torch_attention_text[] =
    "\n"
    "\n"
    "class SplitAttention(ParallelStyle):\n"
    "    \"\"\"Some heads of nn.MultiheadAttention on each rank, for which torch has no "
    "style.\"\"\"\n"
    "\n"
    "    def __init__(self, arrives=Replicate(), gives=Replicate()):\n"
    "        self.arrives, self.gives = arrives, gives\n"
    "\n"
    "    def _apply(self, module, mesh):\n"
    "        for name, value in list(module.named_parameters(recurse=False)):  # q, k and v in "
    "one\n"
    "            value = distribute_tensor(value, mesh, [_StridedShard(0, split_factor=3)])\n"
    "            module.register_parameter(name, nn.Parameter(value))\n"
    "        local = self.gives == Replicate()  # else a part, as a DTensor\n"
    "        style = RowwiseParallel(output_layouts=self.gives, use_local_output=local)\n"
    "        parallelize_module(module.out_proj, mesh, style)\n"
    "        module.forward = functools.partial(self.attend, module, mesh)\n"
    "        return module\n"
    "\n"
    "    def attend(self, module, mesh, x, key, value, need_weights=False, **options):\n"
    "        if not (key is x and value is x and module.batch_first) or need_weights or options:\n"
    "            raise ValueError(\"SplitAttention is of one value, batch first, without a "
    "mask\")\n"
    "        if not isinstance(x, DTensor):\n"
    "            x = DTensor.from_local(x, mesh, [self.arrives])\n"
    "        x = x.redistribute(placements=[Replicate()])\n"
    "        fused = nn.functional.linear(x, module.in_proj_weight, "
    "module.in_proj_bias).to_local()\n"
    "        q, k, v = fused.unflatten(-1, (3, -1, module.head_dim)).permute(2, 0, 3, 1, 4)\n"
    "        dropout = module.dropout if module.training else 0.0\n"
    "        out = nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=dropout)\n"
    "        return module.out_proj(out.transpose(1, 2).flatten(2)), None\n";

const char torch_heads_text[] =
    "\n"
    "\n"
    "class PartOfHeads(ParallelStyle):\n"
    "    \"\"\"Some heads of arguments [batch * heads, ..] and [batch, heads, ..]: torch has no "
    "style.\"\"\"\n"
    "\n"
    "    def __init__(self, *names):\n"
    "        self.names = names\n"
    "\n"
    "    def _apply(self, module, mesh):\n"
    "        def before(module, args, kwargs):\n"
    "            return args, {**kwargs, **{name: part(kwargs[name]) for name in self.names}}\n"
    "\n"
    "        def part(x):\n"
    "            if x is None or (x.dim() == 4 and x.shape[1] == 1):\n"
    "                return x\n"
    "            whole = x if x.dim() == 4 else x.unflatten(0, (-1, mesh.size() * "
    "module.num_heads))\n"
    "            some = whole.chunk(mesh.size(), 1)[mesh.get_local_rank()]\n"
    "            return some if x.dim() == 4 else some.flatten(0, 1)\n"
    "\n"
    "        module.register_forward_pre_hook(before, with_kwargs=True)\n"
    "        return module\n";

const char torch_columns_text[] =
    "\n"
    "\n"
    "class SharedColumns(ParallelStyle):\n"
    "    \"\"\"A result whose last columns the heads of all ranks read: torch has no style.\"\"\"\n"
    "\n"
    "    def __init__(self, columns, rest=Replicate()):\n"
    "        self.columns, self.rest = columns, rest\n"
    "\n"
    "    def _apply(self, module, mesh):\n"
    "        def after(module, args, out):\n"
    "            parts = out.split([out.shape[-1] - self.columns, self.columns], -1)\n"
    "            rest, last = (DTensor.from_local(it, mesh, [Replicate()]) for it in parts)\n"
    "            rest = rest.redistribute(placements=[self.rest]).to_local()\n"
    "            return torch.cat([rest, last.to_local(grad_placements=[Partial()])], -1)\n"
    "\n"
    "        module.register_forward_hook(after)\n"
    "        return module\n";

const char torch_parts_text[] = PLACES(
    "\n"
    "\n"
    "class PartsOfExperts(ParallelStyle):\n"
    "    \"\"\"Stacked experts of transformers, a part of each on every rank: torch has no "
    "style.\"\"\"\n"
    "\n"
    "    def __init__(self, **parts):\n"
    "        self.parts = parts\n"
    "\n",
    "parts",
    "    def before(self, module, args, mesh):\n"
    "        for name in self.parts:  # __dict__ is searched before the parameters\n"
    "            module.__dict__[name] = getattr(module, name).to_local()\n"
    "        x, chosen, weights = (DTensor.from_local(it, mesh, [Replicate()]) for it in args)\n"
    "        x, weights = (it.to_local(grad_placements=[Partial()]) for it in (x, weights))\n"
    "        return x, chosen.to_local(), weights\n"
    "\n"
    "    def after(self, module, out, mesh):\n"
    "        for name in self.parts:\n"
    "            del module.__dict__[name]\n"
    "        return DTensor.from_local(out, mesh, [Partial()]).full_tensor()\n");

const char torch_experts_text[] =
    "\n"
    "\n"
    "class Experts(ParallelStyle):\n"
    "    \"\"\"Stacked experts of transformers, whole ones on each rank: torch has no "
    "style.\"\"\"\n"
    "\n"
    "    def __init__(self):\n"
    "        self.forwards = {}\n"
    "\n"
    "    def _apply(self, module, mesh):\n"
    "        for name, value in list(module.named_parameters()):\n"
    "            value = distribute_tensor(value, mesh, [Shard(0)])\n"
    "            module.register_parameter(name, nn.Parameter(value))\n"
    "        module.num_experts //= mesh.size()\n"
    "        self.forwards[module] = module.forward\n"
    "        module.forward = functools.partial(self.run, module, mesh)\n"
    "        return module\n"
    "\n"
    "    def compute(self, module, x, of):\n"
    "        \"\"\"Runs an expert a token. One token more: a rank that gets none has gradients "
    "too.\"\"\"\n"
    "        x, of = nn.functional.pad(x, (0, 0, 0, 1)), nn.functional.pad(of, (0, 1))[:, None]\n"
    "        kept = dict(module._parameters)\n"
    "        module._parameters.update({name: value.to_local() for name, value in kept.items()})\n"
    "        try:\n"
    "            return self.forwards[module](x, of, torch.ones_like(of, dtype=x.dtype))[:-1]\n"
    "        finally:\n"
    "            module._parameters.update(kept)\n";

const char torch_shared_experts_text[] =
    "\n"
    "\n"
    "class SharedExperts(Experts):\n"
    "    \"\"\"All ranks have the same tokens; what they make of them is summed.\"\"\"\n"
    "\n"
    "    def run(self, module, mesh, *args):\n"
    "        x, chosen, weights = (DTensor.from_local(it, mesh, [Replicate()]) for it in args)\n"
    "        x, weights = (it.to_local(grad_placements=[Partial()]) for it in (x, weights))\n"
    "        chosen, n = chosen.to_local(), module.num_experts\n"
    "        token, place = (chosen // n == mesh.get_local_rank()).nonzero(as_tuple=True)\n"
    "        made = self.compute(module, x[token], chosen[token, place] % n)\n"
    "        out = torch.zeros_like(x).index_add(0, token, made * weights[token, place, None])\n"
    "        return DTensor.from_local(out, mesh, [Partial()]).full_tensor()\n";

const char torch_dispatched_experts_text[] =
    "\n"
    "\n"
    "class DispatchedExperts(Experts):\n"
    "    \"\"\"Each rank has tokens of its own: they go to the ranks of their experts, and "
    "back.\"\"\"\n"
    "\n"
    "    def run(self, module, mesh, x, chosen, weights):\n"
    "        group, n_ranks, n = mesh.get_group(), mesh.size(), module.num_experts\n"
    "        order = chosen.flatten().argsort()  # by expert, and so by rank\n"
    "        token, weights = order // chosen.shape[1], weights.flatten()[order, None]\n"
    "        counts = chosen.flatten().bincount(minlength=n_ranks * n).view(n_ranks, n)\n"
    "        theirs = torch.empty_like(counts)\n"
    "        dist.all_to_all_single(theirs, counts, group=group)\n"
    "        sent, got = counts.sum(1).tolist(), theirs.sum(1).tolist()\n"
    "        of = torch.arange(n, "
    "device=x.device).repeat(n_ranks).repeat_interleave(theirs.flatten())\n"
    "        arrived = all_to_all_single_autograd(x[token], got, sent, group)\n"
    "        made = self.compute(module, arrived, of)\n"
    "        back = all_to_all_single_autograd(made, sent, got, group)\n"
    "        return torch.zeros_like(x).index_add(0, token, back * weights)\n";

const char torch_present_text[] =
    "\n"
    "\n"
    "def present(model, plan):\n"
    "    \"\"\"The plan of those modules that a stage has.\"\"\"\n"
    "    names = [name for name, it in model.named_modules() if not isinstance(it, Passed)]\n"
    "    return {name: plan[path] for path in plan for name in fnmatch.filter(names, path)}\n";

const char torch_stage_text[] =
    "\n"
    "\n"
    "class Passed(nn.Module):\n"
    "    \"\"\"In place of a module of another stage: its argument, or nothing to add.\"\"\"\n"
    "\n"
    "    def __init__(self, added):\n"
    "        super().__init__()\n"
    "        self.added = added\n"
    "\n"
    "    def forward(self, first, *args, **kwargs):\n"
    "        return torch.zeros((), device=first.device) if self.added else first\n"
    "\n"
    "\n"
    "def part_of(model, stage):\n"
    "    \"\"\"The model with the modules of one stage; parameters keep their names.\"\"\"\n"
    "    part = copy.deepcopy(model)\n"
    "    for path, where in STAGES.items():\n"
    "        if where != stage:\n"
    "            part.set_submodule(path, Passed(path in ADDED))\n";

const char torch_stage_ids_text[] =
    "    name = \"inputs_embeds\" if stage else \"input_ids\"\n"
    "    part.register_forward_pre_hook(\n"
    "        lambda _, args, kwargs: ((), {name: args[0], \"use_cache\": False, **kwargs}),\n"
    "        with_kwargs=True,\n"
    "    )\n"
    "    part.register_forward_hook(lambda _, args, out: out[0])\n"
    "    return part\n";

const char torch_stage_plain_text[] = "    return part\n";

const char torch_pipeline_text[] =
    "\n"
    "\n"
    "def pipeline(model, mesh, loss_fn=None):\n"
    "    \"\"\"The schedule of this rank's stages; without a loss it runs forward alone.\"\"\"\n"
    "    if len({*model.parameters()}) < len([*model.named_parameters(remove_duplicate=False)]):\n"
    "        raise ValueError(\"no schedule of torch adds the gradients of a tied parameter\")\n";

const char torch_stages_text[] =
    "        part = parallelize(part_of(model, stage), mesh)\n"
    "        device = next(part.parameters()).device\n"
    "        stages.append(PipelineStage(part, stage, n_stages, device, group=pp.get_group()))\n";

const char *torch_folded_style(Arena *arena, Str key, const char *style)
{
    Buf out = buf_new(arena);
    int depth = 0;
    size_t n = strlen(style), name = strcspn(style, "(") + 1;
    if (key.n + n <= TORCH_COLUMNS - 9)
        return style;
    if (n - name <= TORCH_COLUMNS - 7)
        return arena_printf(arena, "%.*s\n    %.*s\n)", (int)name, style, (int)(n - name - 1),
                            style + name);
    for (const char *c = style; *c; c++) {
        depth += (*c == '(' || *c == '{') - (*c == ')' || *c == '}');
        if (depth == 0 && *c == ')')
            buf_puts(&out, ",\n");
        buf_putc(&out, *c);
        if (depth == 1 && (*c == '(' || (*c == ',' && c[1] == ' '))) {
            buf_puts(&out, "\n    ");
            c += *c == ',';
        }
    }
    return out.s;
}
