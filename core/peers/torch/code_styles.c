#include "core/peers/torch/code_styles.h"

#include "core/code/modules.h"
#include "core/code/python_fold.h"

typedef struct {
    Arena *arena;
    const Session *session;
    const Plan *plan;
    AtomSet atoms; /* of the axis */
    bool *covered; /* per tensor: parameters that the styles shard */
    bool *summed;  /* per Names id of a path: sharded by rows */
    bool looks_up; /* an Embedding is among them */
} Axis;

/* The dim of a sharding that the axis shards, whole and alone; -1: none, -2: anything else. */
static int dim_of(const Axis *axis, int32_t id)
{
    const Sharding *sharding = shardings_at(axis->plan->shardings, id);
    for (int d = 0; d < (int)sharding->n_dims; d++) {
        const Cut *cut = &sharding->dim[d];
        if (cut_atoms(cut) & axis->atoms)
            return cut->n == 1 && !cut_is_blocks(cut) && cut_atoms(cut) == axis->atoms ? d : -2;
    }
    return -1;
}

/* The parameter of a weight that an op reads as [in, out] and a Linear stores as [out, in]: one
 * that an exporter copied or that the graph transposes, or -1. */
static int32_t linear_parameter(const Session *session, int32_t weight)
{
    const Graph *graph = session->graph;
    int32_t maker = graph->tensors[weight].maker;
    const Shape *shape = inferred_shape(session->inferred, weight);
    if (!shape || shape->n_dims != 2)
        return -1;
    if (maker >= 0 && strcmp(op_operator(graph, maker), "Transpose") == 0 &&
        tensor_is_parameter(session->inferred, op_inputs(graph, maker)[0]))
        return op_inputs(graph, maker)[0];
    bool copied = strcmp(naming_label(session->naming, weight), tensor_name(graph, weight)) != 0;
    return copied && tensor_is_parameter(session->inferred, weight) ? weight : -1;
}

static bool reads_matmul(const Session *session, const CodeModule *module)
{
    const Graph *graph = session->graph;
    return module->reader >= 0 && strcmp(op_operator(graph, module->reader), "MatMul") == 0 &&
           graph->ops[module->reader].n_inputs == 2 &&
           op_inputs(graph, module->reader)[1] == module->weight;
}

/* Whether the module looks rows up in its weight: torch's Embedding. */
static bool looks_up(const Session *session, const CodeModule *module)
{
    const Graph *graph = session->graph;
    return module->reader >= 0 && strcmp(op_operator(graph, module->reader), "Gather") == 0 &&
           op_inputs(graph, module->reader)[0] == module->weight &&
           op_attr_int(graph, module->reader, "axis", 0) == 0 &&
           tensor_is_parameter(session->inferred, module->weight);
}

/* The style of a lookup; NULL unless the axis shards the rows of an Embedding, so that the result
 * is a sum. */
static const char *style_of_lookup(const Axis *axis, int32_t op, int cut)
{
    int32_t ids = op_inputs(axis->session->graph, op)[1];
    int32_t out = op_outputs(axis->session->graph, op)[0];
    int32_t read = code_read_as(axis->plan, ids, op);
    bool whole = read < 0 || dim_of(axis, read) == -1;
    return cut == 0 && whole && dim_of(axis, axis->plan->moved->made[out]) == -1
               ? "RowwiseParallel(input_layouts=Replicate())"
               : NULL;
}

/* The style that shards the module like the axis does; NULL if there is none. */
static const char *style_of(const Axis *axis, const CodeModule *module, int cut)
{
    int32_t bias = naming_part(axis->session->naming, module->path, PART_BIAS, NULL);
    int of_bias = bias < 0 ? -1 : dim_of(axis, axis->plan->moved->made[bias]);
    int reads = dim_of(axis, module->reads),
        made = dim_of(axis, axis->plan->moved->made[module->out]);
    const Shape *in = inferred_shape(axis->session->inferred, module->in);
    const Shape *out = inferred_shape(axis->session->inferred, module->out);
    if (cut == 1 && reads == -1 && made == (int)out->n_dims - 1 && (bias < 0 || of_bias == 0))
        return "ColwiseParallel()";
    if (cut == 0 && reads == (int)in->n_dims - 1 && made == -1 && of_bias == -1)
        return "RowwiseParallel()";
    return NULL;
}

static bool add_style(Axis *axis, const CodeModule *module, PythonEntries *out)
{
    const Session *session = axis->session;
    int cut =
        module->weight < 0 || module->weight_reads < 0 ? -1 : dim_of(axis, module->weight_reads);
    if (cut == -1)
        return true;
    bool lookup = looks_up(session, module);
    int32_t parameter = lookup ? module->weight : linear_parameter(session, module->weight);
    if (cut < 0 || parameter < 0 ||
        (!lookup && (module->reads < 0 || module->out < 0 || !reads_matmul(session, module))))
        return false;
    const char *style =
        lookup ? style_of_lookup(axis, module->reader, cut) : style_of(axis, module, cut);
    if (!style)
        return false;
    axis->looks_up |= lookup;
    int32_t bias = naming_part(session->naming, module->path, PART_BIAS, NULL);
    axis->covered[parameter] = true;
    if (bias >= 0)
        axis->covered[bias] = true;
    if (cut == 0)
        axis->summed[session->graph->ops[module->reader].path] = true;
    vec_push(axis->arena, out, (PythonEntry){module->path, style, NULL});
    return true;
}

/* Returns true if only the sums of row-sharded modules move along the axis, and they end
 * replicated. */
static bool moves_sums_only(const Axis *axis)
{
    const Graph *graph = axis->session->graph;
    for (int i = 0; i < axis->plan->moved->n_reshards; i++) {
        const Reshard *reshard = &axis->plan->moved->reshards[i];
        AtomSet moved = 0;
        for (int k = 0; reshard->path && k < reshard->path->n_steps; k++)
            moved |= reshard->path->step[k].atoms;
        int32_t maker = graph->tensors[reshard->tensor].maker;
        if ((moved & axis->atoms) &&
            (maker < 0 || !axis->summed[graph->ops[maker].path] || dim_of(axis, reshard->to) != -1))
            return false;
    }
    return true;
}

static bool axis_styles(Axis *axis, PythonEntries *out)
{
    const Session *session = axis->session;
    CodeModule module;
    for (int i = 0; i < naming_n_paths(session->naming); i++)
        if (code_module(session, i, &module) && !add_style(axis, &module, out))
            return false;
    for (int32_t t = 0; t < session->graph->n_tensors; t++)
        if (axis->plan->moved->made[t] >= 0 && session->graph->tensors[t].maker < 0 &&
            !axis->covered[t] && dim_of(axis, axis->plan->moved->made[t]) != -1)
            return false;
    return out->n > 0 && moves_sums_only(axis);
}

void dtensor_styles(const Session *session, Buf *out)
{
    Arena *arena = arena_new();
    int n = 0;
    for (int a = 0; a < session->mesh->n_axes; a++) {
        PythonEntries styles = {0};
        Axis axis = {.arena = arena,
                     .session = session,
                     .plan = session->plan,
                     .atoms = mesh_axis_atoms(session->mesh, a),
                     .covered = arena_array(arena, bool, session->graph->n_tensors),
                     .summed = arena_array(arena, bool, names_count(session->graph->names))};
        if (axis.atoms == 0 || !axis_styles(&axis, &styles))
            continue;
        if (n++ == 0)
            buf_puts(out,
                     "\n\ndef tensor_parallel(axis):\n"
                     "    \"\"\"The same in torch's own styles, on mesh[axis]; use DDP or FSDP "
                     "for axes that shard the batch.\"\"\"\n"
                     "    from torch.distributed.tensor.parallel import ColwiseParallel, "
                     "RowwiseParallel\n\n");
        buf_puts(out, "    if axis == ");
        python_string(str_from(session->mesh->axes[a].name), out);
        buf_puts(out, ":\n");
        if (axis.looks_up)
            buf_puts(out, "        from torch.distributed.tensor import Replicate\n\n");
        python_dict("plan", &styles, 8, out);
        buf_puts(out, "        return plan\n");
    }
    if (n > 0)
        buf_puts(out, "    raise KeyError(axis)\n");
    arena_free(arena);
}
