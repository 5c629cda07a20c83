#include "core/code/jax_trees.h"

#include "core/summary/label.h"

const char jax_trees_text[] =
    "\n\n"
    "# What Flax and Haiku call leaves, and path parts that name no module.\n"
    "LEAVES = {\"kernel\": \"weight\", \"embedding\": \"weight\", \"scale\": \"weight\", \"w\": "
    "\"weight\",\n"
    "          \"embeddings\": \"weight\", \"b\": \"bias\", \"offset\": \"bias\"}\n"
    "PASSED = {\"params\", \"value\"}  # and Haiku's \"~\", \"~method\"\n"
    "\n\n"
    "def keys_of(path):\n"
    "    return [str(getattr(k, \"key\", getattr(k, \"name\", getattr(k, \"idx\", k)))) for k in "
    "path]\n"
    "\n\n"
    "def parts_of(keys):\n"
    "    \"\"\"The parts of a leaf's name: h_0 and h.0 are the same.\"\"\"\n"
    "    name = re.sub(r\"_(\\d+)(?=[./]|$)\", r\".\\1\", \"/\".join(keys))\n"
    "    return [part for part in re.split(\"[./]\", name) if part not in PASSED and part[:1] != "
    "\"~\"]\n"
    "\n\n"
    "NAMES = {tuple(parts_of([name])): name for name in PARAMETERS}\n"
    "\n\n"
    "def name_of(path):\n"
    "    \"\"\"The plan's name of a leaf: the one whose last parts are the same.\"\"\"\n"
    "    keys = keys_of(path)\n"
    "    if \".\".join(keys) in PARAMETERS:\n"
    "        return \".\".join(keys)\n"
    "    parts = parts_of(keys)\n"
    "    for own in parts, parts[:-1] + [LEAVES.get(parts[-1], parts[-1])]:\n"
    "        if tuple(own) in NAMES:\n"
    "            return NAMES[tuple(own)]\n"
    "        ends = [name for key, name in NAMES.items()\n"
    "                if own[-len(key):] == list(key) or list(key[-len(own):]) == own]\n"
    "        if len(ends) == 1:\n"
    "            return ends[0]\n"
    "    raise KeyError(f\"the plan has no parameter {'.'.join(parts)}\")\n"
    "\n\n"
    "STATES = {}  # of parameters whose optimizer's states lie otherwise\n"
    "\n\n"
    "def parameter_shardings(params, mesh, specs=PARAMETERS):\n"
    "    \"\"\"A tree like params: flat by name, nested, of Flax (linen or NNX) or of "
    "Haiku.\"\"\"\n"
    "    def sharding(path, _):\n"
    "        name = name_of(path)\n"
    "        spec = specs.get(name, PARAMETERS[name])\n"
    "        if name in TURNED and parts_of(keys_of(path))[-1] in (\"kernel\", \"w\"):\n"
    "            spec = P(*spec[:-2], spec[-1], spec[-2])\n"
    "        return NamedSharding(mesh, spec)\n"
    "    return jax.tree_util.tree_map_with_path(sharding, params)\n"
    "\n\n"
    "def state_shardings(state, params, mesh):\n"
    "    \"\"\"A tree like an optimizer's state: what is there for each parameter lies as it "
    "does,\n"
    "    or as STATES has it.\"\"\"\n"
    "    leaves = jax.tree_util.tree_flatten_with_path(params)[0]\n"
    "    lie = jax.tree_util.tree_leaves(parameter_shardings(params, mesh, STATES))\n"
    "    known = [(path, leaf.shape, own) for (path, leaf), own in zip(leaves, lie)]\n"
    "    def sharding(path, leaf):\n"
    "        for of, shape, own in known:\n"
    "            if tuple(path[-len(of):]) == tuple(of) and leaf.shape == shape:\n"
    "                return own\n"
    "        return NamedSharding(mesh, P())\n"
    "    return jax.tree_util.tree_map_with_path(sharding, state)\n";

int32_t jax_turned(const Session *session, const MatmulRole *role)
{
    const Graph *graph = session->graph;
    const OpSpace *space = inferred_space(session->inferred, role->op);
    int32_t t = op_inputs(graph, role->op)[role->weight];
    const Projection *weight = space ? &space->operand[role->weight].projection : NULL;

    if (!weight || weight->n_dims < 2 || role->n < 0 || role->role == WEIGHT_EMBEDDING)
        return -1;
    bool turned = weight->row[weight->n_dims - 2].coef[role->n] != 0;
    while (t >= 0 && !tensor_is_parameter(session->inferred, t)) {
        int32_t maker = graph->tensors[t].maker;
        if (maker < 0 || graph->ops[maker].n_inputs < 1)
            return -1;
        turned ^= strcmp(label_operator(graph, maker), "Transpose") == 0;
        t = op_inputs(graph, maker)[0];
    }
    return turned ? t : -1;
}
