#include "core/peers/shardy/export.h"

/* Keeps the longest prefix of the axes that divides the dim; the last axis may be split. */
static void keep_divisors(DimSharding *dim, int64_t size)
{
    if (size % axis_list_size(&dim->axes) == 0)
        return;
    for (int i = 0; i < dim->axes.n; i++) {
        AxisRef *axis = &dim->axes.at[i];
        int64_t common = common_divisor(axis->size, size);
        if (common == axis->size && common > 1) {
            size /= common;
            continue;
        }
        axis->size = (int)common;
        dim->axes.n = common > 1 ? i + 1 : i;
    }
}

static void drop_sub_axes(DimSharding *dim, const Mesh *mesh)
{
    for (int i = 0; dim->open && i < dim->axes.n; i++)
        if (!axis_ref_is_whole(&dim->axes.at[i], mesh))
            dim->axes.n = i;
}

static int32_t close_dims(ShardyFlow *flow, int32_t state)
{
    TensorSharding closed = *shardy_at(flow, state);
    if (closed.mesh == MESH_NONE)
        return state;
    for (int d = 0; d < closed.n_dims; d++) {
        closed.dim[d].open = false;
        closed.dim[d].priority = PRIORITY_NONE;
    }
    closed.replicated.n = 0;
    return shardy_put(flow, &closed);
}

static void state_results(ShardyFlow *flow, const FactorOp *op, ShardyProgram *program)
{
    int mesh = MESH_NONE;
    for (int k = op->n_outputs - 1; k >= 0; k--)
        if (shardy_at(flow, program->state[op->output[k]])->mesh != MESH_NONE)
            mesh = shardy_at(flow, program->state[op->output[k]])->mesh;
    for (int k = 0; mesh != MESH_NONE && k < op->n_outputs; k++) {
        TensorSharding own = *shardy_at(flow, program->state[op->output[k]]);
        own.mesh = own.mesh == MESH_NONE ? mesh : own.mesh;
        program->state[op->output[k]] = shardy_put(flow, &own);
    }
}

static int32_t at_the_border(ShardyFlow *flow, const ImportedGraph *imported, const Shape *shape,
                             int32_t state)
{
    TensorSharding sharding = *shardy_at(flow, state);
    if (sharding.mesh == MESH_NONE)
        return state;
    const Mesh *mesh = factor_graph_mesh(imported->graph, &sharding);
    for (int d = 0; d < sharding.n_dims; d++) {
        keep_divisors(&sharding.dim[d], shape->dim[d]);
        drop_sub_axes(&sharding.dim[d], mesh);
    }
    return shardy_put(flow, &sharding);
}

void export_results(ShardyFlow *flow, const ImportedGraph *imported, ShardyProgram *program)
{
    for (int i = 0; i < imported->order.n; i++)
        state_results(flow, &imported->graph->ops.at[imported->order.at[i]], program);
}

void export_shardings(ShardyFlow *flow, const ImportedGraph *imported, ShardyProgram *program)
{
    const FactorGraph *graph = imported->graph;
    for (int i = 0; i < graph->n_inputs; i++) {
        int v = graph->input[i];
        program->state[v] =
            at_the_border(flow, imported, &graph->values.at[v].shape, program->state[v]);
    }
    for (int i = 0; i < program->n_results; i++) {
        ShardyResult *result = &program->result[i];
        const Shape *shape = &graph->values.at[result->tensor].shape;
        result->state = close_dims(flow, at_the_border(flow, imported, shape, result->state));
    }
    for (int t = 0; t < program->n_tensors; t++)
        program->state[t] = close_dims(flow, program->state[t]);
}
