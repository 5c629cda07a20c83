#include "core/run/learn.h"

typedef struct {
    Arena *arena;
    const Graph *graph;
    const Given *given;
    Learned *out;
    const Inferred *inferred; /* of this round, in `round` */
    Arena *round;
    Local **value; /* per tensor: the whole, once it is computed */
    bool *told;    /* per tensor: its elements have been given */
} Learning;

static const Kernel *kernel_of(const Learning *l, int32_t op)
{
    return kernel_find(inferred_space(l->inferred, op), op_operator(l->graph, op));
}

/* ---- running the ops that a tensor hangs on ---- */

static bool fill_leaves(Learning *l, const bool *wanted, Error *err)
{
    Feeds feeds;
    bool ok = feeds_open(l->round, l->inferred, wanted, l->given, &feeds, err);
    for (int32_t t = 0; ok && t < l->graph->n_tensors; t++) {
        if (!wanted[t])
            continue;
        l->value[t] = local_new_whole((Dtype)l->inferred->dtype[t], inferred_shape(l->inferred, t));
        feed_fill(&feeds, t, l->value[t], l->round);
    }
    feeds_close(&feeds);
    return ok;
}

/* What an op computes in an iteration says nothing of the others. */
static bool is_in_loop(const Learning *l, int32_t op)
{
    for (int b = 0; b < l->graph->n_bodies; b++) {
        const GraphBody *body = &l->graph->bodies[b];
        if (body->first <= op && op < body->end &&
            (body->kind == BODY_LOOP || body->kind == BODY_SCAN))
            return true;
    }
    return false;
}

static bool is_leaf(const Learning *l, int32_t t)
{
    return l->graph->tensors[t].maker < 0 || tensor_is_known(l->inferred, t);
}

/* Marks what tensor t hangs on: ops to run, and leaves to fill. False: something among it cannot be
 * had, an op without a kernel or a leaf of which nothing is known. */
static bool mark(const Learning *l, bool *wanted, bool *runs)
{
    const Inferred *inferred = l->inferred;
    for (int i = inferred->n_program - 1; i >= 0; i--) {
        int32_t op = inferred->program[i];
        for (int o = 0; o < l->graph->ops[op].n_outputs; o++) {
            int32_t t = op_outputs(l->graph, op)[o];
            runs[op] |= t >= 0 && wanted[t] && !l->value[t];
        }
        const Kernel *kernel = runs[op] ? kernel_of(l, op) : NULL;
        if (runs[op] && (!kernel || is_in_loop(l, op)))
            return false;
        for (int k = 0; runs[op] && k < l->graph->ops[op].n_inputs; k++)
            if (op_inputs(l->graph, op)[k] >= 0 && !kernel_reads_value(kernel, k))
                wanted[op_inputs(l->graph, op)[k]] = true;
    }
    for (int32_t t = 0; t < l->graph->n_tensors; t++) {
        wanted[t] = wanted[t] && !l->value[t] && is_leaf(l, t);
        if (wanted[t] && !inferred_shape(inferred, t))
            return false;
    }
    return true;
}

/* Computes tensor t; *there false: it cannot be had. False with *err when an op fails. */
static bool compute(Learning *l, int32_t tensor, bool *there, Error *err)
{
    Arena *scratch = arena_new();
    bool *wanted = arena_array(scratch, bool, l->graph->n_tensors);
    bool *runs = arena_array(scratch, bool, l->graph->n_ops);
    wanted[tensor] = true;
    *there = mark(l, wanted, runs);
    bool ok = !*there || fill_leaves(l, wanted, err);
    for (int i = 0; ok && *there && i < l->inferred->n_program; i++) {
        int32_t op = l->inferred->program[i];
        ok = !runs[op] || kernel_run_whole(l->inferred, op, kernel_of(l, op), NULL, l->given->seed,
                                           0, l->value, err);
    }
    arena_free(scratch);
    return ok;
}

/* ---- what an op must know ---- */

typedef enum { LEARN_NOTHING, LEARN_SOMETHING, LEARN_FAILED } Found;

static void give(Learning *l, int32_t tensor)
{
    const Local *local = l->value[tensor];
    int64_t n = shape_elements(&local->whole);
    const char *name = arena_str(l->arena, str_from(tensor_name(l->graph, tensor)));
    GivenValue given = {str_from(name), {.dtype = local->dtype, .shape = local->whole}};
    if (dtype_is_float(local->dtype)) {
        double *floats = arena_array(l->arena, double, n + 1);
        local_load(local, 0, 1, n, NUMBER_F64, floats);
        given.value.floats = floats;
    } else {
        int64_t *ints = arena_array(l->arena, int64_t, n + 1);
        local_load(local, 0, 1, n, NUMBER_I64, ints);
        given.value.ints = ints;
    }
    vec_push(l->arena, &l->out->values, given);
    l->out->n_values++;
    l->told[tensor] = true;
}

static bool outputs_are_known(const Learning *l, int32_t op)
{
    for (int o = 0; o < l->graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(l->graph, op)[o];
        if (t >= 0 && !inferred_shape(l->inferred, t))
            return false;
    }
    return true;
}

/* An input nobody gave: drawn elements would be no starts of a Slice. */
static bool is_drawn(const Learning *l, int32_t tensor)
{
    const Graph *graph = l->graph;
    const Vectors *inputs = l->given->inputs;
    for (int i = 0; i < graph->n_inputs; i++)
        if (graph->inputs[i] == tensor && graph->tensors[tensor].kind != TENSOR_INITIALIZER)
            return !inputs || !vectors_find(inputs, str_from(tensor_name(graph, tensor)), i);
    return false;
}

/* A value that inference can hold. */
static bool is_small(const Local *local)
{
    return !local->sequence && !local->nothing && dtype_is_computed(local->dtype) &&
           shape_elements(&local->whole) <= VALUE_ELEMENTS_MAX;
}

/* The elements of an input that the op's rule or kernel reads. needed: nothing goes without. */
static Found learn_input(Learning *l, int32_t op, int input, bool needed, Error *err)
{
    int32_t t = op_inputs(l->graph, op)[input];
    if (t < 0 || l->told[t] || tensor_is_known(l->inferred, t))
        return LEARN_NOTHING;
    bool there;
    if (is_drawn(l, t)) {
        if (!needed)
            return LEARN_NOTHING;
        error_kind(err, ERROR_USAGE,
                   "op '%s' (%s) must know the elements of input '%s' before the run",
                   op_name(l->graph, op), op_operator(l->graph, op), tensor_name(l->graph, t));
        error_hint(err, "give the inputs: --inputs FOLDER, which holds input_0.pb ..");
        return LEARN_FAILED;
    }
    if (!compute(l, t, &there, err))
        return LEARN_FAILED;
    if (!there || !l->value[t] || !is_small(l->value[t]))
        return LEARN_NOTHING;
    give(l, t);
    return LEARN_SOMETHING;
}

static Found learn_inputs(Learning *l, int32_t op, Error *err)
{
    const Kernel *kernel = kernel_of(l, op);
    const OpSpace *space = inferred_space(l->inferred, op);
    bool known = outputs_are_known(l, op), refused = space && space->no_rule;
    Found found = LEARN_NOTHING;
    for (int i = 0; i < l->graph->ops[op].n_inputs && found != LEARN_FAILED; i++) {
        bool read = kernel && kernel_reads_value(kernel, i);
        if (!read && !(inferred_reads(l->inferred, op, i) && (refused || !known)))
            continue;
        Found one = learn_input(l, op, i, read || !known, err);
        found = one == LEARN_NOTHING ? found : one;
    }
    return found;
}

/* The sizes of an output that has been computed, bound by their names. */
static Found bind_sizes(Learning *l, int32_t tensor)
{
    const Shape *sizes = inferred_sizes(l->inferred, tensor), *whole = &l->value[tensor]->whole;
    Found found = LEARN_NOTHING;
    for (int64_t d = 0; sizes && sizes->n_dims == whole->n_dims && d < sizes->n_dims; d++) {
        if (sizes->dim[d] >= SIZE_UNNAMED)
            continue;
        const Size *size = sizes_at(l->inferred->sizes, sizes->dim[d]);
        if (size->computed)
            continue;
        Str name = {arena_str(l->arena, str_from(size->name)), strlen(size->name)};
        vec_push(l->arena, &l->out->dims, ((DimBinding){name, whole->dim[d]}));
        l->out->n_sizes++;
        found = LEARN_SOMETHING;
    }
    return found;
}

static Found learn_outputs(Learning *l, int32_t op, Error *err)
{
    const Kernel *kernel = kernel_of(l, op);
    Found found = LEARN_NOTHING;
    if (outputs_are_known(l, op) || !kernel || kernel->first_value != KERNEL_DECIDES)
        return LEARN_NOTHING;
    for (int o = 0; o < l->graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(l->graph, op)[o];
        bool there;
        if (t < 0 || inferred_shape(l->inferred, t))
            continue;
        if (!compute(l, t, &there, err))
            return LEARN_FAILED;
        if (there && l->value[t] && bind_sizes(l, t) == LEARN_SOMETHING)
            found = LEARN_SOMETHING;
    }
    return found;
}

/* ---- rounds ---- */

/* As far as the shapes that are known go. */
static Found learn_round(Learning *l, Error *err)
{
    Found found = LEARN_NOTHING;
    for (int i = 0; found == LEARN_NOTHING && i < l->inferred->n_program; i++) {
        int32_t op = l->inferred->program[i];
        found = learn_inputs(l, op, err);
        if (found == LEARN_NOTHING)
            found = learn_outputs(l, op, err);
    }
    return found;
}

bool learn(Arena *arena, const Inferred *inferred, const Given *given, Learned *out, Error *err)
{
    const Graph *graph = inferred->graph;
    Learning l = {.arena = arena, .graph = graph, .given = given, .out = out};
    Arena *scratch = arena_new();
    l.value = arena_array(scratch, Local *, graph->n_tensors);
    l.told = arena_array(scratch, bool, graph->n_tensors);
    l.inferred = inferred;
    Found found;
    do {
        Arena *before = l.round;
        l.round = arena_new();
        if (before)
            l.inferred = infer_watched(l.round, graph, inferred->registry, &out->dims, &out->values,
                                       false, NULL, err);
        arena_free(before);
        found = l.inferred ? learn_round(&l, err) : LEARN_FAILED;
    } while (found == LEARN_SOMETHING);
    arena_free(l.round);
    for (int32_t t = 0; t < graph->n_tensors; t++)
        local_free(l.value[t]);
    arena_free(scratch);
    return found != LEARN_FAILED;
}
