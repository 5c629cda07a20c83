#include "core/peers/torch/code_text.h"

const char torch_placed_text[] =
    "\n"
    "\n"
    "class Placed(ParallelStyle):\n"
    "    \"\"\"For modules that torch has no style for: parameters, first argument, result.\"\"\"\n"
    "\n"
    "    def __init__(\n"
    "        self, arrives=Replicate(), reads=Replicate(), gives=None, local=True, **parameters\n"
    "    ):\n"
    "        super().__init__()\n"
    "        self.arrives, self.reads, self.gives = arrives, reads, gives\n"
    "        self.local, self.parameters = local, parameters\n"
    "\n"
    "    def _apply(self, module, mesh):\n"
    "        def place(_, module, mesh):\n"
    "            for name, placement in self.parameters.items():\n"
    "                value = distribute_tensor(getattr(module, name), mesh, [placement])\n"
    "                setattr(module, name, nn.Parameter(value))\n"
    "\n"
    "        def before(module, args, mesh):\n"
    "            x = args[0]\n"
    "            if not isinstance(x, DTensor):\n"
    "                x = DTensor.from_local(x, mesh, [self.arrives], run_check=False)\n"
    "            return x.redistribute(placements=[self.reads]), *args[1:]\n"
    "\n"
    "        def after(module, out, mesh):\n"
    "            if self.gives is not None:\n"
    "                out = out.redistribute(placements=[self.gives])\n"
    "            return out.to_local() if self.local else out\n"
    "\n"
    "        return distribute_module(module, mesh, place, before, after)\n";

const char torch_checked_text[] =
    "\n"
    "\n"
    "def checked(model, plan):\n"
    "    \"\"\"The plan, whose every module the model has.\"\"\"\n"
    "    names = [name for name, _ in model.named_modules()]\n"
    "    lacking = [path for path in plan if not fnmatch.filter(names, path)]\n"
    "    if lacking:\n"
    "        raise KeyError(f\"the model has no {', '.join(lacking)}\")\n"
    "    return plan\n";

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
    "    \"\"\"The schedule of this rank's stages; without a loss it runs forward alone.\"\"\"\n";

const char torch_stages_text[] =
    "        part = parallelize(part_of(model, stage), mesh)\n"
    "        device = next(part.parameters()).device\n"
    "        stages.append(PipelineStage(part, stage, n_stages, device, group=pp.get_group()))\n";
