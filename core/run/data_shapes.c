#include "core/run/data_shapes.h"

typedef struct {
    Arena *arena;
    const Graph *graph;
    const Given *given;
    DataShapes *out;
    const Inferred *inferred; /* of this round, for `round` */
    Arena *round;
    Local **value; /* per tensor: whole value, once computed */
    bool *bound;   /* per tensor: its elements are bound */
    pthread_mutex_t blas;
} Resolving;

static const Kernel *kernel_of(const Resolving *l, int32_t op)
{
    return kernel_find(inferred_space(l->inferred, op), op_operator(l->graph, op));
}

/* ---- computing tensors ---- */

static bool fill_leaves(Resolving *l, const bool *wanted, Error *err)
{
    Feeds feeds;
    bool ok = feeds_open(l->round, l->inferred, wanted, l->given, &feeds, err);
    for (int32_t t = 0; ok && t < l->graph->n_tensors; t++) {
        if (!wanted[t])
            continue;
        l->value[t] = local_new_whole((Dtype)l->inferred->dtype[t], inferred_shape(l->inferred, t));
        feed_fill(&feeds, t, 0, l->value[t], l->round);
    }
    feeds_close(&feeds);
    return ok;
}

/* Ops inside a loop are skipped, since the result of one iteration says nothing about the
 * others. */
static bool is_in_loop(const Resolving *l, int32_t op)
{
    for (int b = 0; b < l->graph->n_bodies; b++) {
        const GraphBody *body = &l->graph->bodies[b];
        if (body->first <= op && op < body->end &&
            (body->kind == BODY_LOOP || body->kind == BODY_SCAN))
            return true;
    }
    return false;
}

static bool is_leaf(const Resolving *l, int32_t t)
{
    return l->graph->tensors[t].maker < 0 || tensor_is_known(l->inferred, t);
}

/* Marks the ops and leaves that tensor t depends on. False when one of them is unavailable: an op
 * without a kernel, or a leaf of unknown shape. */
static bool mark(const Resolving *l, bool *wanted, bool *runs)
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
        if (wanted[t] && !inferred_tensor_shape(inferred, t))
            return false;
    }
    return true;
}

/* Computes tensor t; *there is false when it is unavailable. False with *err when an op fails. */
static bool compute(Resolving *l, int32_t tensor, bool *there, Error *err)
{
    Arena *scratch = arena_new();
    bool *wanted = arena_array(scratch, bool, l->graph->n_tensors);
    bool *runs = arena_array(scratch, bool, l->graph->n_ops);
    wanted[tensor] = true;
    /* The ranks sum in the same order when deterministic: a size may depend on the last bit of a
     * sum. */
    pthread_mutex_t *blas = l->given->deterministic ? NULL : &l->blas;
    *there = mark(l, wanted, runs);
    bool ok = !*there || fill_leaves(l, wanted, err);
    for (int i = 0; ok && *there && i < l->inferred->n_program; i++) {
        int32_t op = l->inferred->program[i];
        ok = !runs[op] || kernel_run_whole(l->inferred, op, kernel_of(l, op), blas, l->given->seed,
                                           0, l->value, err);
    }
    arena_free(scratch);
    return ok;
}

/* ---- values that ops need ---- */

typedef enum { FOUND_NOTHING, FOUND_SOMETHING, FOUND_ERROR } Found;

static void bind_value(Resolving *l, int32_t tensor)
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
    l->bound[tensor] = true;
}

static bool outputs_are_known(const Resolving *l, int32_t op)
{
    for (int o = 0; o < l->graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(l->graph, op)[o];
        if (t >= 0 && !inferred_shape(l->inferred, t) && !inferred_is_list(l->inferred, t))
            return false;
    }
    return true;
}

/* Whether the input was not given: drawn elements make no sense as, for example, starts of a
 * Slice. */
static bool is_drawn(const Resolving *l, int32_t tensor)
{
    const Graph *graph = l->graph;
    const Vectors *inputs = l->given->inputs;
    for (int i = 0; i < graph->n_inputs; i++)
        if (graph->inputs[i] == tensor && graph->tensors[tensor].kind != TENSOR_INITIALIZER)
            return !inputs || !vectors_find(inputs, str_from(tensor_name(graph, tensor)), i);
    return false;
}

/* Whether inference can hold the value. */
static bool is_small(const Local *local)
{
    return !local->sequence && !local->nothing && dtype_is_computed(local->dtype) &&
           shape_elements(&local->whole) <= VALUE_ELEMENTS_MAX;
}

/* Finds the elements of an input that the op's rule or kernel reads. needed: the op cannot be
 * computed without them. */
static Found resolve_input(Resolving *l, int32_t op, int input, bool needed, Error *err)
{
    int32_t t = op_inputs(l->graph, op)[input];
    if (t < 0 || l->bound[t] || tensor_is_known(l->inferred, t))
        return FOUND_NOTHING;
    bool there;
    if (is_drawn(l, t)) {
        if (!needed)
            return FOUND_NOTHING;
        error_kind(err, ERROR_USAGE,
                   "op '%s' (%s) must know the elements of input '%s' before the run",
                   op_name(l->graph, op), op_operator(l->graph, op), tensor_name(l->graph, t));
        error_hint(err, "give the inputs: --inputs FOLDER, which holds input_0.pb ..");
        return FOUND_ERROR;
    }
    if (!compute(l, t, &there, err))
        return FOUND_ERROR;
    if (!there || !l->value[t] || !is_small(l->value[t]))
        return FOUND_NOTHING;
    bind_value(l, t);
    return FOUND_SOMETHING;
}

static Found resolve_inputs(Resolving *l, int32_t op, Error *err)
{
    const Kernel *kernel = kernel_of(l, op);
    const OpSpace *space = inferred_space(l->inferred, op);
    bool known = outputs_are_known(l, op), refused = space && space->no_rule;
    Found found = FOUND_NOTHING;
    for (int i = 0; i < l->graph->ops[op].n_inputs && found != FOUND_ERROR; i++) {
        bool read = kernel && kernel_reads_value(kernel, i);
        if (!read && !(inferred_reads(l->inferred, op, i) && (refused || !known)))
            continue;
        Found one = resolve_input(l, op, i, read || !known, err);
        found = one == FOUND_NOTHING ? found : one;
    }
    return found;
}

int data_shapes_bind(Arena *arena, const Inferred *inferred, int32_t tensor, const Shape *whole,
                     DimBindings *dims)
{
    const Shape *sizes = inferred_sizes(inferred, tensor);
    int n = 0;
    for (int64_t d = 0; sizes && sizes->n_dims == whole->n_dims && d < sizes->n_dims; d++) {
        if (sizes->dim[d] >= SIZE_UNNAMED)
            continue;
        const Size *size = sizes_at(inferred->sizes, sizes->dim[d]);
        if (size->computed)
            continue;
        Str name = {arena_str(arena, str_from(size->name)), strlen(size->name)};
        vec_push(arena, dims, ((DimBinding){name, whole->dim[d]}));
        n++;
    }
    return n;
}

/* Binds the sizes of a computed output by their names. */
static Found bind_sizes(Resolving *l, int32_t tensor)
{
    int n =
        data_shapes_bind(l->arena, l->inferred, tensor, &l->value[tensor]->whole, &l->out->dims);
    l->out->n_sizes += n;
    return n > 0 ? FOUND_SOMETHING : FOUND_NOTHING;
}

static Found resolve_outputs(Resolving *l, int32_t op, Error *err)
{
    const Kernel *kernel = kernel_of(l, op);
    Found found = FOUND_NOTHING;
    if (outputs_are_known(l, op) || !kernel || kernel->first_value != KERNEL_DECIDES)
        return FOUND_NOTHING;
    for (int o = 0; o < l->graph->ops[op].n_outputs; o++) {
        int32_t t = op_outputs(l->graph, op)[o];
        bool there;
        if (t < 0 || inferred_tensor_shape(l->inferred, t))
            continue;
        if (!compute(l, t, &there, err))
            return FOUND_ERROR;
        if (there && l->value[t] && bind_sizes(l, t) == FOUND_SOMETHING)
            found = FOUND_SOMETHING;
    }
    return found;
}

/* ---- rounds ---- */

/* Processes the ops whose shapes are known. */
static Found resolve_round(Resolving *l, Error *err)
{
    Found found = FOUND_NOTHING;
    for (int i = 0; found == FOUND_NOTHING && i < l->inferred->n_program; i++) {
        int32_t op = l->inferred->program[i];
        found = resolve_inputs(l, op, err);
        if (found == FOUND_NOTHING)
            found = resolve_outputs(l, op, err);
    }
    return found;
}

bool data_shapes_resolve(Arena *arena, const Inferred *inferred, const Given *given,
                         DataShapes *out, Error *err)
{
    const Graph *graph = inferred->graph;
    Resolving l = {.arena = arena, .graph = graph, .given = given, .out = out};
    Arena *scratch = arena_new();
    l.value = arena_array(scratch, Local *, graph->n_tensors);
    l.bound = arena_array(scratch, bool, graph->n_tensors);
    l.inferred = inferred;
    pthread_mutex_init(&l.blas, NULL);
    Found found;
    do {
        Arena *before = l.round;
        l.round = arena_new();
        if (before)
            l.inferred = infer_watched(l.round, graph, inferred->registry, &out->dims, &out->values,
                                       false, NULL, err);
        arena_free(before);
        found = l.inferred ? resolve_round(&l, err) : FOUND_ERROR;
    } while (found == FOUND_SOMETHING);
    arena_free(l.round);
    pthread_mutex_destroy(&l.blas);
    for (int32_t t = 0; t < graph->n_tensors; t++)
        local_free(l.value[t]);
    arena_free(scratch);
    return found != FOUND_ERROR;
}
