#include "core/step/extension.h"

void extension_open(Arena *arena, Arena *scratch, const Inferred *base, Extension *out)
{
    *out = (Extension){.arena = arena, .scratch = scratch, .base = base};
    out->builder = graph_builder_from(arena, base->graph);
    out->space_keys = intern_new(scratch);
    for (int i = 0; i < base->n_spaces; i++)
        vec_push(arena, &out->spaces, base->spaces[i]);
}

void extension_reserve(Extension *more, int n_ops, int n_tensors, int n_operands)
{
    graph_reserve_more(more->builder, n_ops, n_tensors, n_operands, n_ops + n_tensors);
}

int32_t extension_word(const Extension *more, const char *text)
{
    return names_intern(more->base->graph->names, str_from(text));
}

int32_t extension_name(const Extension *more, int32_t stem, const char *end)
{
    Names *names = more->base->graph->names;
    int32_t name = names_intern_with(names, stem, str_from(end));
    while (graph_has_tensor_named(more->builder, name))
        name = names_intern_with(names, name, STR("_"));
    return name;
}

int32_t extension_tensor(Extension *more, int32_t name, int32_t shape, Dtype dtype,
                         int32_t gradient_of)
{
    vec_push_own(more->scratch, &more->shape, shape);
    vec_push_own(more->scratch, &more->dtype, (uint8_t)dtype);
    vec_push_own(more->scratch, &more->gradient_of, gradient_of);
    vec_push_own(more->scratch, &more->next_of, -1);
    return graph_tensor_named(more->builder, name);
}

void extension_set_next(Extension *more, int32_t tensor, int32_t next_of)
{
    more->next_of.at[tensor - more->base->graph->n_tensors] = next_of;
    more->updates = true;
}

int32_t extension_shape_of(const Extension *more, int32_t tensor)
{
    int n = more->base->graph->n_tensors;
    return tensor < n ? more->base->shape[tensor] : more->shape.at[tensor - n];
}

Dtype extension_dtype_of(const Extension *more, int32_t tensor)
{
    int n = more->base->graph->n_tensors;
    return (Dtype)(tensor < n ? more->base->dtype[tensor] : more->dtype.at[tensor - n]);
}

void extension_set_value(Extension *more, int32_t tensor, const Value *value)
{
    if (value)
        vec_push(more->scratch, &more->values, ((ExtensionValue){tensor, value}));
}

int32_t extension_space(Extension *more, const Vec32 *key)
{
    int32_t id = intern_put(more->space_keys, key->at, (size_t)key->n * sizeof *key->at);
    if (id < more->space_of_key.n)
        return more->space_of_key.at[id];
    vec_push(more->scratch, &more->space_of_key, more->spaces.n);
    return -1;
}

int32_t extension_add_space(Extension *more, OpSpace *space)
{
    space->id = more->spaces.n;
    vec_push(more->arena, &more->spaces, space);
    return space->id;
}

void extension_op(Extension *more, const NewStepOp *op)
{
    GraphOp like = {.name = op->name,
                    .path = op->path,
                    .op_type = op->op_type,
                    .attrs = op->attrs,
                    .n_inputs = (uint16_t)op->n_inputs,
                    .n_outputs = (uint16_t)op->n_outputs};
    graph_add_op_like(more->builder, like, op->inputs, op->outputs);
    vec_push_own(more->scratch, &more->space, op->space);
    vec_push_own(more->scratch, &more->of, op->of);
    vec_push_own(more->scratch, &more->phase, (uint8_t)op->phase);
    vec_push_own(more->scratch, &more->on_parameters, op->on_parameters);
}

/* ---- closing ---- */

static void *grown(Arena *arena, const void *from, size_t n_bytes, size_t to_bytes)
{
    char *to = arena_alloc(arena, to_bytes);
    if (n_bytes > 0)
        memcpy(to, from, n_bytes);
    return to;
}

#define GROWN(column, n, to)                                                                       \
    grown(more->arena, base->column, (size_t)(n) * sizeof *base->column,                           \
          (size_t)(to) * sizeof *base->column)

/* Values of new tensors; the page that they share with tensors of the base is copied. */
static void set_values(const Extension *more, Inferred *out)
{
    int first = more->base->graph->n_tensors, shared = first / VALUE_PAGE;
    const Value **page = more->base->values[shared];
    if (page && more->values.n > 0)
        out->values[shared] =
            grown(more->arena, page, VALUE_PAGE * sizeof *page, VALUE_PAGE * sizeof *page);
    for (int i = 0; i < more->values.n; i++)
        inferred_set_value(out, more->values.at[i].tensor, more->values.at[i].value);
}

static Inferred *grow_inferred(const Extension *more, const Graph *graph)
{
    const Inferred *base = more->base;
    Inferred *out = arena_make(more->arena, Inferred);
    int n_ops = base->graph->n_ops, n_tensors = base->graph->n_tensors;
    *out = *base;
    out->graph = graph;
    out->arena = more->arena;
    out->forward = base->forward ? base->forward : base;
    out->shape = GROWN(shape, n_tensors, graph->n_tensors);
    out->dtype = GROWN(dtype, n_tensors, graph->n_tensors);
    out->values = GROWN(values, n_tensors / VALUE_PAGE + 1, graph->n_tensors / VALUE_PAGE + 1);
    out->space = GROWN(space, n_ops, graph->n_ops);
    out->program = GROWN(program, base->n_program, graph->n_ops);
    out->on_parameters = GROWN(on_parameters, n_ops, graph->n_ops);
    if (base->given)
        out->given = GROWN(given, n_tensors, graph->n_tensors);
    if (base->listed)
        out->listed = GROWN(listed, n_tensors, graph->n_tensors);
    if (base->repeat) {
        out->repeat = GROWN(repeat, n_ops, graph->n_ops);
        out->trips = GROWN(trips, base->graph->n_bodies, graph->n_bodies);
        out->trips_assumed = GROWN(trips_assumed, base->graph->n_bodies, graph->n_bodies);
    }
    for (int i = 0; i < more->shape.n; i++) {
        out->shape[n_tensors + i] = more->shape.at[i];
        out->dtype[n_tensors + i] = more->dtype.at[i];
    }
    for (int i = 0; i < more->space.n; i++) {
        out->space[n_ops + i] = more->space.at[i];
        if (more->space.at[i] >= 0)
            out->program[out->n_program++] = n_ops + i;
        out->on_parameters[n_ops + i] = more->on_parameters.at[i];
        if (out->repeat)
            out->repeat[n_ops + i] = 1;
    }
    set_values(more, out);
    out->spaces = more->spaces.at;
    out->n_spaces = more->spaces.n;
    return out;
}

static void grow_columns(const Extension *more, Graph *graph)
{
    const Graph *base = more->base->graph;
    uint8_t *phase = arena_array(more->arena, uint8_t, graph->n_ops);
    int32_t *of = arena_array(more->arena, int32_t, graph->n_ops);
    int32_t *gradient_of = arena_array(more->arena, int32_t, graph->n_tensors);
    for (int32_t op = 0; op < graph->n_ops; op++) {
        int at = op - base->n_ops;
        phase[op] = at >= 0 ? more->phase.at[at] : base->phase ? base->phase[op] : PHASE_FORWARD;
        of[op] = at >= 0 ? more->of.at[at] : base->of ? base->of[op] : -1;
    }
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        int at = t - base->n_tensors;
        gradient_of[t] = at >= 0             ? more->gradient_of.at[at]
                         : base->gradient_of ? base->gradient_of[t]
                                             : -1;
    }
    if (more->updates) {
        int32_t *next_of = arena_array(more->arena, int32_t, graph->n_tensors);
        memset(next_of, -1, (size_t)base->n_tensors * sizeof *next_of);
        memcpy(next_of + base->n_tensors, more->next_of.at,
               (size_t)more->next_of.n * sizeof *next_of);
        graph->next_of = next_of;
    }
    graph->phase = phase;
    graph->of = of;
    graph->gradient_of = gradient_of;
}

bool extension_close(Extension *more, Graph **graph, Inferred **inferred, Error *err)
{
    *graph = graph_seal(more->builder, err);
    if (!*graph)
        return false;
    grow_columns(more, *graph);
    *inferred = grow_inferred(more, *graph);
    return true;
}
