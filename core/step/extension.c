#include "core/step/extension.h"

#include "core/base/names_more.h"
#include "core/model/builder.h"

void extension_open(Arena *arena, Arena *scratch, const Inferred *base, Extension *out)
{
    *out = (Extension){.arena = arena, .scratch = scratch, .base = base};
    out->space_keys = intern_new(scratch);
    for (int i = 0; i < base->n_spaces; i++)
        vec_push(arena, &out->spaces, base->spaces[i]);
}

void extension_expect(Extension *more, int64_t n_ops, int64_t n_tensors, int64_t n_operands)
{
    more->later_ops += n_ops;
    more->later_tensors += n_tensors;
    more->later_operands += n_operands;
}

/* A column of n items with room for more; NULL: each of the n is `else_`. */
#define OPEN_COLUMN(column, from, n_items, n_room, else_)                                          \
    do {                                                                                           \
        (column)->room = (n_room);                                                                 \
        (column)->at =                                                                             \
            arena_alloc(more->arena, arena_array_bytes((size_t)(n_room), sizeof *(column)->at));   \
        (column)->n = (n_items);                                                                   \
        if ((from) && (n_items) > 0)                                                               \
            memcpy((column)->at, (from), (size_t)(n_items) * sizeof *(column)->at);                \
        else                                                                                       \
            memset((column)->at, (else_), (size_t)(n_items) * sizeof *(column)->at);               \
    } while (0)

/* Larger graphs grow as they are made, until they are refused. */
static int room_of(int64_t n)
{
    return n < INT32_MAX / 4 ? (int)n : 0;
}

void extension_reserve(Extension *more, int64_t n_ops, int64_t n_tensors, int64_t n_operands,
                       int n_names)
{
    const Inferred *base = more->base;
    const Graph *graph = base->graph;
    int ops = room_of(n_ops + more->later_ops), all_ops = graph->n_ops + ops;
    int tensors = room_of(n_tensors + more->later_tensors);
    int all_tensors = graph->n_tensors + tensors;
    int operands = room_of(n_operands + more->later_operands);
    more->builder = graph_builder_like(more->arena, graph);
    graph_reserve_more(more->builder, all_ops, all_tensors, graph->n_operands + operands, 0);
    graph_builder_fill(more->builder, graph);
    graph_reserve_more(more->builder, 0, 0, 0, ops + tensors + n_names);
    OPEN_COLUMN(&more->shape, base->shape, graph->n_tensors, all_tensors, -1);
    OPEN_COLUMN(&more->dtype, base->dtype, graph->n_tensors, all_tensors, 0);
    OPEN_COLUMN(&more->gradient_of, graph->gradient_of, graph->n_tensors, all_tensors, -1);
    OPEN_COLUMN(&more->next_of, graph->next_of, graph->n_tensors, all_tensors, -1);
    OPEN_COLUMN(&more->space, base->space, graph->n_ops, all_ops, -1);
    OPEN_COLUMN(&more->of, graph->of, graph->n_ops, all_ops, -1);
    OPEN_COLUMN(&more->phase, graph->phase, graph->n_ops, all_ops, PHASE_FORWARD);
    OPEN_COLUMN(&more->on_parameters, base->on_parameters, graph->n_ops, all_ops, 0);
}

int32_t extension_word(const Extension *more, const char *text)
{
    return names_intern(more->base->graph->names, str_from(text));
}

int32_t extension_path(const Extension *more, const char *head, int32_t path)
{
    Str text = str_from(head);
    return path == 0 ? names_intern(more->base->graph->names, (Str){head, text.n - 1})
                     : names_intern_after(more->base->graph->names, text, path);
}

int32_t extension_joined(const Extension *more, int32_t stem, const char *end)
{
    return names_intern_with(more->base->graph->names, stem, str_from(end));
}

int32_t extension_name_of(const Extension *more, int32_t tensor)
{
    return more->builder->tensors.at[tensor].name;
}

int32_t extension_free_name(const Extension *more, int32_t name)
{
    while (graph_has_tensor_named(more->builder, name))
        name = extension_joined(more, name, "_");
    return name;
}

int32_t extension_name(const Extension *more, int32_t stem, const char *end)
{
    return extension_free_name(more, extension_joined(more, stem, end));
}

int32_t extension_tensor(Extension *more, int32_t name, int32_t shape, Dtype dtype,
                         int32_t gradient_of)
{
    vec_push_own(more->arena, &more->shape, shape);
    vec_push_own(more->arena, &more->dtype, (uint8_t)dtype);
    vec_push_own(more->arena, &more->gradient_of, gradient_of);
    vec_push_own(more->arena, &more->next_of, -1);
    return graph_tensor_named(more->builder, name);
}

void extension_set_next(Extension *more, int32_t tensor, int32_t next_of)
{
    more->next_of.at[tensor] = next_of;
    more->updates = true;
}

int32_t extension_shape_of(const Extension *more, int32_t tensor)
{
    return more->shape.at[tensor];
}

Dtype extension_dtype_of(const Extension *more, int32_t tensor)
{
    return (Dtype)more->dtype.at[tensor];
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
    vec_push_own(more->arena, &more->space, op->space);
    vec_push_own(more->arena, &more->of, op->of);
    vec_push_own(more->arena, &more->phase, (uint8_t)op->phase);
    vec_push_own(more->arena, &more->on_parameters, op->on_parameters);
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
    out->shape = more->shape.at;
    out->dtype = more->dtype.at;
    out->values = GROWN(values, n_tensors / VALUE_PAGE + 1, graph->n_tensors / VALUE_PAGE + 1);
    out->space = more->space.at;
    out->program = GROWN(program, base->n_program, base->n_program + graph->n_ops - n_ops);
    out->on_parameters = more->on_parameters.at;
    if (base->given)
        out->given = GROWN(given, n_tensors, graph->n_tensors);
    if (base->listed) {
        out->listed = GROWN(listed, n_tensors, graph->n_tensors);
        out->items = GROWN(items, n_tensors, graph->n_tensors);
    }
    if (base->repeat) {
        out->repeat = GROWN(repeat, n_ops, graph->n_ops);
        out->trips = GROWN(trips, base->graph->n_bodies, graph->n_bodies);
        out->trips_assumed = GROWN(trips_assumed, base->graph->n_bodies, graph->n_bodies);
    }
    for (int32_t op = n_ops; op < graph->n_ops; op++) {
        if (out->space[op] >= 0)
            out->program[out->n_program++] = op;
        if (out->repeat)
            out->repeat[op] = 1;
    }
    set_values(more, out);
    out->spaces = more->spaces.at;
    out->n_spaces = more->spaces.n;
    return out;
}

/* Columns whose room was estimated too large are cut. */
static void trim_columns(Extension *more)
{
    vec_trim(more->arena, &more->shape);
    vec_trim(more->arena, &more->dtype);
    vec_trim(more->arena, &more->gradient_of);
    vec_trim(more->arena, &more->next_of);
    vec_trim(more->arena, &more->space);
    vec_trim(more->arena, &more->of);
    vec_trim(more->arena, &more->phase);
    vec_trim(more->arena, &more->on_parameters);
}

bool extension_close(Extension *more, Graph **graph, Inferred **inferred, Error *err)
{
    *graph = graph_seal(more->builder, err);
    if (!*graph)
        return false;
    trim_columns(more);
    (*graph)->phase = more->phase.at;
    (*graph)->of = more->of.at;
    (*graph)->gradient_of = more->gradient_of.at;
    (*graph)->next_of = more->updates ? more->next_of.at : NULL;
    *inferred = grow_inferred(more, *graph);
    return true;
}
