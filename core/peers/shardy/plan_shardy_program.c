#include "core/peers/shardy/plan_shardy_state.h"

/* ---- rules ---- */

/* Maps index dims to factors: both are in the same order in each dim. */
static void match_index_dims(const OpSpace *space, SpaceRule *out)
{
    memset(out->factor, -1, sizeof out->factor);
    for (int o = 0; o < space->n_inputs + space->n_outputs; o++) {
        const Operand *operand = &space->operand[o];
        for (int d = 0; !operand->absent && !operand->ignored && d < operand->shape.n_dims; d++)
            for (int k = 0; k < operand->factors[d].n; k++)
                out->factor[operand->factors[d].index[k]] =
                    (int16_t)out->rule->tensor[o].dim[d].at[k];
    }
}

static bool has_factor(const FactorRule *rule, int tensor, int factor)
{
    for (int d = 0; d < rule->tensor[tensor].n_dims; d++)
        for (int k = 0; k < rule->tensor[tensor].dim[d].n; k++)
            if (rule->tensor[tensor].dim[d].at[k] == factor)
                return true;
    return false;
}

static bool passes_through(const FactorRule *rule)
{
    for (int f = 0; f < rule->n_factors; f++)
        if (rule->factor[f].type != FACTOR_PASS_THROUGH || rule->factor[f].blocked)
            return false;
    return rule->n_results > 0;
}

/* True when its dims are the last dims of the first result, each of size 1 or with the same single
 * factor. */
static bool is_at_place(const FactorRule *rule, int tensor)
{
    const FactorTensor *own = &rule->tensor[tensor], *result = &rule->tensor[rule->n_operands];
    int shift = result->n_dims - own->n_dims;
    for (int d = 0; d < own->n_dims; d++) {
        const FactorDim *dim = &own->dim[d];
        if (shift < 0 || dim->n != 1)
            return false;
        const FactorDim *there = &result->dim[shift + d];
        if (rule->factor[dim->at[0]].size != 1 && (there->n != 1 || there->at[0] != dim->at[0]))
            return false;
    }
    return true;
}

/* Counts factors larger than 1 that only operands have (*gone) and that only the result has
 * (*new). */
static void count_differences(const FactorRule *rule, int *gone, int *new)
{
    *gone = *new = 0;
    for (int f = 0; f < rule->n_factors; f++) {
        bool before = false;
        for (int t = 0; t < rule->n_operands; t++)
            before |= has_factor(rule, t, f);
        bool after = has_factor(rule, rule->n_operands, f);
        *gone += rule->factor[f].size > 1 && before && !after;
        *new += rule->factor[f].size > 1 && after && !before;
    }
}

static void classify(SpaceRule *out)
{
    const FactorRule *rule = out->rule;
    if (!passes_through(rule))
        return;
    bool at_place = true;
    int n_shaped = 0, gone, new;
    for (int t = 0; t < rule->n_operands + rule->n_results; t++) {
        at_place &= is_at_place(rule, t);
        n_shaped += t < rule->n_operands && rule->tensor[t].n_dims > 0;
    }
    count_differences(rule, &gone, &new);
    if (at_place && gone == 0 && new == 0) {
        out->class = SHARDY_VIEW;
        out->elementwise = true;
    } else if (n_shaped == 1 && rule->n_results == 1 && gone == 0) {
        out->class = new == 0 ? SHARDY_VIEW : SHARDY_BROADCAST;
    }
}

static const SpaceRule *rule_of(ShardyPlan *sp, const OpSpace *space)
{
    SpaceRule *rule = &sp->space[space->id];
    if (!rule->rule && !space->no_rule) {
        rule->rule = factor_rule_of(sp->plan->arena, space);
        match_index_dims(space, rule);
        classify(rule);
    }
    return rule;
}

/* ---- tensors ---- */

static int32_t put_open(const ShardyPlan *sp, int n_dims, int shape)
{
    TensorSharding open = tensor_sharding_open(n_dims);
    open.shape = shape;
    return shardy_put(sp->flow, &open);
}

int32_t shardy_open_state(const ShardyPlan *sp, int n_dims, int shape)
{
    if (shape < 0)
        return put_open(sp, n_dims, shape);
    if (sp->open[shape] == 0)
        sp->open[shape] = put_open(sp, n_dims, shape) + 1;
    return sp->open[shape] - 1;
}

static int32_t add_tensor(ShardyPlan *sp, int n_dims, int shape)
{
    vec_push(sp->plan->arena, &sp->states, shardy_open_state(sp, n_dims, shape));
    return sp->states.n - 1;
}

static void add_graph_tensors(ShardyPlan *sp)
{
    const Inferred *inferred = sp->plan->inferred;
    for (int t = 0; t < inferred->graph->n_tensors; t++) {
        const Shape *shape = inferred_shape(inferred, t);
        add_tensor(sp, shape ? (int)shape->n_dims : 0, inferred->shape[t]);
    }
}

/* ---- barriers ---- */

static const Decision *barrier_of(const Plan *plan, int32_t tensor)
{
    for (int i = 0; i < plan->decided->n_marks; i++)
        if (plan->decided->marks[i]->kind == PIN_BARRIER &&
            plan->decided->marks[i]->place == tensor)
            return plan->decided->marks[i];
    return NULL;
}

static void push_op(ShardyPlan *sp, ShardyOp op, int32_t of)
{
    if (of >= 0)
        sp->at[of] = sp->ops.n;
    sp->of[sp->ops.n] = of;
    vec_push(sp->plan->arena, &sp->ops, op);
}

/* Adds a barrier after the tensor; its readers read the barrier's result. */
static void add_barrier(ShardyPlan *sp, int32_t tensor, int32_t *read_as)
{
    const Decision *mark = barrier_of(sp->plan, tensor);
    const Shape *shape = inferred_shape(sp->plan->inferred, tensor);
    if (!mark || !shape || read_as[tensor] != tensor)
        return;
    int32_t *ends = arena_array(sp->plan->arena, int32_t, 2);
    ends[0] = tensor;
    ends[1] = read_as[tensor] =
        add_tensor(sp, (int)shape->n_dims, sp->plan->inferred->shape[tensor]);
    ShardyOp op = {.rule = factor_identity_rule(sp->plan->arena, shape, 1),
                   .class = SHARDY_BARRIER,
                   .pass = mark->pass,
                   .elementwise = true,
                   .n_inputs = 1,
                   .n_outputs = 1,
                   .tensor = ends};
    push_op(sp, op, -1);
}

static void add_first_barriers(ShardyPlan *sp, int32_t *read_as)
{
    for (int i = 0; i < sp->plan->decided->n_marks; i++) {
        int32_t tensor = sp->plan->decided->marks[i]->place;
        if (sp->plan->inferred->graph->tensors[tensor].maker < 0)
            add_barrier(sp, tensor, read_as);
    }
}

/* ---- ops ---- */

static bool is_pinned(const Plan *plan, int32_t tensor, const Shape *shape)
{
    for (int d = 0; d < shape->n_dims; d++)
        if (plan_pin_of(plan, PIN_TENSOR_DIM, tensor, d))
            return true;
    return false;
}

/* A constant tensor that no pin shards gets a copy for each use, and so does one without a shape.
 */
static int32_t tensor_of(ShardyPlan *sp, int32_t tensor, const FactorTensor *said)
{
    const Inferred *inferred = sp->plan->inferred;
    const Shape *shape = tensor < 0 ? NULL : inferred_shape(inferred, tensor);
    bool same = shape && shape->n_dims == said->n_dims;
    if (same && (!tensor_is_known(inferred, tensor) || is_pinned(sp->plan, tensor, shape)))
        return tensor;
    return add_tensor(sp, said->n_dims, same ? inferred->shape[tensor] : -1);
}

static int *count_readers(const ShardyPlan *sp)
{
    const Inferred *inferred = sp->plan->inferred;
    const Graph *graph = inferred->graph;
    int *n = arena_array(sp->plan->arena, int, graph->n_tensors);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        for (int o = 0; o < graph->ops[op].n_inputs; o++)
            if (op_inputs(graph, op)[o] >= 0)
                n[op_inputs(graph, op)[o]]++;
    }
    for (int i = 0; i < graph->n_outputs; i++)
        n[graph->outputs[i]]++;
    return n;
}

static void add_op(ShardyPlan *sp, int32_t op, const int *n_readers, const int32_t *read_as)
{
    const Graph *graph = sp->plan->inferred->graph;
    const OpSpace *space = program_space(sp->plan->inferred, op);
    const SpaceRule *rule = rule_of(sp, space);
    if (!rule->rule)
        return;
    ShardyOp out = {.rule = rule->rule,
                    .class = rule->class,
                    .pass = PASS_BOTH,
                    .elementwise = rule->elementwise,
                    .n_inputs = space->n_inputs,
                    .n_outputs = space->n_outputs};
    int32_t *tensor = arena_array(sp->plan->arena, int32_t, space->n_inputs + space->n_outputs);
    for (int o = 0; o < space->n_inputs + space->n_outputs; o++) {
        bool input = o < space->n_inputs;
        int32_t t = input ? op_inputs(graph, op)[o] : op_outputs(graph, op)[o - space->n_inputs];
        tensor[o] = tensor_of(sp, t, &rule->rule->tensor[o]);
        if (!input || tensor[o] != t)
            continue;
        tensor[o] = read_as[t];
        out.multi_use |= rule->rule->tensor[o].n_dims > 0 && n_readers[t] != 1;
    }
    out.tensor = tensor;
    push_op(sp, out, op);
}

/* Ties each value that a loop carries to its value for the next iteration. */
static void add_ties(ShardyPlan *sp)
{
    const Inferred *inferred = sp->plan->inferred;
    for (int i = 0; i < inferred->graph->n_carries; i++) {
        const GraphCarry *carry = &inferred->graph->carries[i];
        const Shape *in = carry->in < 0 ? NULL : inferred_shape(inferred, carry->in);
        const Shape *next = carry->next < 0 ? NULL : inferred_shape(inferred, carry->next);
        if (!in || !next || !shape_equal(in, next))
            continue;
        int32_t *ends = arena_array(sp->plan->arena, int32_t, 2);
        ends[0] = carry->next;
        ends[1] = carry->in;
        ShardyOp op = {.rule = factor_identity_rule(sp->plan->arena, in, 1),
                       .class = SHARDY_EDGE,
                       .pass = PASS_BOTH,
                       .n_inputs = 1,
                       .n_outputs = 1,
                       .tensor = ends};
        push_op(sp, op, -1);
    }
}

void shardy_plan_program(ShardyPlan *sp)
{
    const Inferred *inferred = sp->plan->inferred;
    const Graph *graph = inferred->graph;
    sp->space = arena_array(sp->plan->arena, SpaceRule, inferred->n_spaces);
    sp->at = arena_array(sp->plan->arena, int32_t, graph->n_ops);
    sp->of = arena_array(sp->plan->arena, int32_t,
                         inferred->n_program + sp->plan->decided->n_marks + graph->n_carries);
    memset(sp->at, -1, (size_t)graph->n_ops * sizeof *sp->at);
    int32_t *read_as = arena_array(sp->plan->arena, int32_t, graph->n_tensors);
    for (int t = 0; t < graph->n_tensors; t++)
        read_as[t] = t;
    int32_t n_shapes = 0;
    for (int t = 0; t < graph->n_tensors; t++)
        n_shapes = inferred->shape[t] >= n_shapes ? inferred->shape[t] + 1 : n_shapes;
    sp->open = arena_array(sp->plan->arena, int32_t, n_shapes);
    const int *n_readers = count_readers(sp);
    add_graph_tensors(sp);
    add_first_barriers(sp, read_as);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        add_op(sp, op, n_readers, read_as);
        for (int o = 0; sp->plan->decided->n_marks > 0 && o < graph->ops[op].n_outputs; o++)
            if (op_outputs(graph, op)[o] >= 0)
                add_barrier(sp, op_outputs(graph, op)[o], read_as);
    }
    add_ties(sp);
}
