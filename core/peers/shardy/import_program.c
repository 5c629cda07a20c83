#include "core/peers/shardy/import_state.h"

static ShardyClass class_of(const FactorOp *op)
{
    if (op->kind == FACTOR_BARRIER)
        return SHARDY_BARRIER;
    if (op->kind == FACTOR_EDGE)
        return SHARDY_EDGE;
    if (op->kind == FACTOR_CONSTRAINT || op->elementwise ||
        import_is_named(op, "stablehlo.reshape stablehlo.transpose"))
        return SHARDY_VIEW;
    if (import_is_named(op, "stablehlo.dynamic_slice stablehlo.dynamic_update_slice"))
        return SHARDY_CHOSEN;
    if (import_is_named(op, "stablehlo.broadcast_in_dim"))
        return SHARDY_BROADCAST;
    if (str_has_word(STR("MoveToDevice MoveToHost"), op->callee))
        return SHARDY_VIEW;
    return SHARDY_PLAIN;
}

typedef struct {
    Importer importer;
    ShardyProgram *program;
    int *n_uses; /* per value */
} Maker;

static void count_uses(Maker *maker)
{
    const Importer *importer = &maker->importer;
    maker->n_uses = arena_array(importer->arena, int, importer->graph->values.n);
    for (int i = 0; i < importer->out->order.n; i++) {
        const FactorOp *op = import_op(importer, importer->out->order.at[i]);
        for (int k = 0; k < op->n_inputs; k++)
            maker->n_uses[op->input[k]]++;
    }
    for (int i = 0; i < importer->graph->n_outputs; i++)
        maker->n_uses[importer->out->returned[i]]++;
}

static bool has_multi_use(const Maker *maker, const FactorOp *op)
{
    for (int k = 0; k < op->n_inputs; k++)
        if (maker->n_uses[op->input[k]] != 1 && !import_is_scalar(&maker->importer, op->input[k]))
            return true;
    return false;
}

/* ---- edges ---- */

/* The values that the regions of an op return as its result k. */
static void returned_by_regions(const Maker *maker, int op, int k, int32_t *source, int *n)
{
    const Importer *importer = &maker->importer;
    for (int i = 0; i < importer->out->order.n; i++) {
        const FactorOp *end = import_op(importer, importer->out->order.at[i]);
        if (end->kind == FACTOR_RETURN && end->region_of == op && k < end->n_inputs)
            source[(*n)++] = end->input[k];
    }
}

static int place_in(const int *list, int n, int item)
{
    int k = 0;
    while (k < n && list[k] != item)
        k++;
    return k;
}

/* The op whose region has this value as an argument, or -1. */
static int called_with(const Importer *importer, int value)
{
    for (int i = 0; i < importer->out->order.n; i++) {
        int id = importer->out->order.at[i];
        const FactorOp *op = import_op(importer, id);
        if (place_in(op->body, op->n_body, value) < op->n_body)
            return id;
    }
    return -1;
}

static const ManualBorder *border_of(const Maker *maker, const FactorOp *op, int k, bool into)
{
    ManualBorder *border = arena_make(maker->importer.arena, ManualBorder);
    *border = (ManualBorder){into ? op->in[k] : op->out[k], op->manual, into};
    return border;
}

/* Fills `source` with the tensors that an edge ties to its result; returns how many. It needs room
 * for one more. */
static int edge_sources(const Maker *maker, const FactorOp *edge, int32_t *source,
                        const ManualBorder **border)
{
    const Importer *importer = &maker->importer;
    int owner = edge->input[0], tied = import_value(importer, owner)->maker, n = 0;
    if (tied < 0) {
        tied = called_with(importer, owner);
        if (tied < 0)
            return 0;
        const FactorOp *op = import_op(importer, tied);
        int k = place_in(op->body, op->n_body, owner);
        source[n++] = op->input[k];
        *border = border_of(maker, op, k, true);
        return n;
    }
    const FactorOp *op = import_op(importer, tied);
    int k = place_in(op->output, op->n_outputs, owner);
    returned_by_regions(maker, tied, k, source, &n);
    if (op->kind == FACTOR_MANUAL)
        *border = border_of(maker, op, k, false);
    else if (n == 0 && k < op->n_inputs)
        source[n++] = op->input[k];
    return n;
}

/* ---- all of it ---- */

static bool make_op(Maker *maker, const FactorOp *op, ShardyOp *out)
{
    Arena *arena = maker->importer.arena;
    *out = (ShardyOp){.rule = op->rule,
                      .class = class_of(op),
                      .pass = op->pass,
                      .elementwise = op->elementwise || op->kind == FACTOR_CONSTRAINT ||
                                     op->kind == FACTOR_BARRIER,
                      .multi_use = has_multi_use(maker, op),
                      .n_inputs = op->n_inputs,
                      .n_outputs = op->n_outputs};
    int32_t *tensor =
        arena_array(arena, int32_t, op->n_inputs + op->n_outputs + maker->importer.out->order.n);
    for (int k = 0; k < op->n_inputs; k++)
        tensor[k] = op->input[k];
    if (op->kind == FACTOR_EDGE && op->rule) {
        out->n_inputs = edge_sources(maker, op, tensor, &out->border);
        const Shape *shape = &import_value(&maker->importer, op->output[0])->shape;
        out->rule = factor_identity_rule(arena, shape, out->n_inputs);
        if (out->n_inputs == 0)
            return false;
    }
    for (int k = 0; k < op->n_outputs; k++)
        tensor[out->n_inputs + k] = op->output[k];
    out->tensor = tensor;
    return out->rule != NULL;
}

static void make_ops(Maker *maker, const int **op_of)
{
    const Importer *importer = &maker->importer;
    int n = importer->out->order.n, *from = arena_array(importer->arena, int, n);
    ShardyOp *op = arena_array(importer->arena, ShardyOp, n);
    for (int i = 0; i < n; i++) {
        int id = importer->out->order.at[i];
        if (!make_op(maker, import_op(importer, id), &op[maker->program->n_ops]))
            continue;
        from[maker->program->n_ops++] = id;
    }
    maker->program->op = op;
    *op_of = from;
}

static void make_results(Maker *maker, ShardyFlow *flow)
{
    const Importer *importer = &maker->importer;
    ShardyProgram *program = maker->program;
    program->n_results = importer->graph->n_outputs;
    program->result = arena_array(importer->arena, ShardyResult, program->n_results);
    for (int i = 0; i < program->n_results; i++) {
        int value = importer->out->returned[i];
        const FactorValue *of = import_value(importer, value);
        program->result[i] = (ShardyResult){
            .tensor = value,
            .rule = of->is_tensor ? factor_identity_rule(importer->arena, &of->shape, 1) : NULL,
            .state = shardy_put(flow, &importer->graph->output[i].sharding)};
    }
}

ShardyProgram *import_program(Arena *arena, ShardyFlow *flow, const ImportedGraph *imported,
                              const int **op_of)
{
    ImportedGraph *out = arena_make(arena, ImportedGraph);
    *out = *imported;
    Maker maker = {.importer = {.arena = arena, .out = out, .graph = imported->graph}};
    ShardyProgram *program = maker.program = arena_make(arena, ShardyProgram);
    *program = (ShardyProgram){.meshes = imported->graph->meshes,
                               .conservative = imported->graph->conservative,
                               .n_tensors = imported->graph->values.n,
                               .n_groups = imported->n_groups,
                               .group = imported->group};
    program->state = arena_array(arena, int32_t, program->n_tensors);
    for (int v = 0; v < program->n_tensors; v++)
        program->state[v] = shardy_put(flow, &imported->graph->values.at[v].sharding);
    count_uses(&maker);
    make_ops(&maker, op_of);
    make_results(&maker, flow);
    return program;
}
