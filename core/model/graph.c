#include "core/model/builder.h"

#include "core/base/names_more.h"

#include <assert.h>
#include <math.h>

/* More items than this are an error, so that sums of counts fit an int. */
enum { ITEMS_MAX = 1 << 28 };

GraphBuilder *graph_builder_new(Arena *arena, const char *file)
{
    GraphBuilder *builder = arena_make(arena, GraphBuilder);
    Graph *graph = arena_make(arena, Graph);
    graph->arena = arena;
    graph->names = names_new(arena);
    graph->shapes = shapes_new(arena);
    graph->file = arena_str(arena, str_from(file));
    builder->graph = graph;
    builder->list_keys = intern_new(arena);
    builder->dims_keys = intern_new(arena);
    builder->key = buf_new(arena);
    vec_push_own(arena, &builder->lists, (AttrList){0});
    return builder;
}

/* Appends items: the array is made long enough at once if it has no room. */
#define vec_append(arena, vec, from, n_items)                                                      \
    do {                                                                                           \
        if ((vec)->n + (n_items) > (vec)->room) {                                                  \
            void *short_one = (vec)->at;                                                           \
            (vec)->room = (vec)->n + (n_items);                                                    \
            (vec)->at =                                                                            \
                arena_alloc((arena), arena_array_bytes((size_t)(vec)->room, sizeof *(vec)->at));   \
            if ((vec)->n > 0)                                                                      \
                memcpy((vec)->at, short_one, (size_t)(vec)->n * sizeof *(vec)->at);                \
        }                                                                                          \
        if ((n_items) > 0)                                                                         \
            memcpy((vec)->at + (vec)->n, (from), (size_t)(n_items) * sizeof *(vec)->at);           \
        (vec)->n += (n_items);                                                                     \
    } while (0)

static int count_attr_lists(const Graph *graph)
{
    int n = 1;
    for (int32_t op = 0; op < graph->n_ops; op++)
        n = graph->ops[op].attrs >= n ? graph->ops[op].attrs + 1 : n;
    return n;
}

static int count_declared(const Graph *graph)
{
    int n = 0;
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        int end = graph->tensors[t].declared + graph->tensors[t].n_declared;
        n = graph->tensors[t].declared >= 0 && end > n ? end : n;
    }
    return n;
}

static int count_data(const Graph *graph)
{
    int n = 0;
    for (int32_t t = 0; t < graph->n_tensors; t++)
        n = graph->tensors[t].data >= n ? graph->tensors[t].data + 1 : n;
    return n;
}

GraphBuilder *graph_builder_like(Arena *arena, const Graph *graph)
{
    GraphBuilder *builder = graph_builder_new(arena, graph->file);
    Graph *out = builder->graph;
    out->names = graph->names;
    out->shapes = graph->shapes;
    out->opset = graph->opset;
    out->widened = graph->widened;
    out->hash = graph->hash;
    out->script = graph->script;
    out->kinds = graph->kinds;
    out->n_kinds = graph->n_kinds;
    out->also = graph->also;
    out->n_also = graph->n_also;
    out->ranges = graph->ranges;
    out->n_ranges = graph->n_ranges;
    out->stated = graph->stated;
    builder->lists.n = 0; /* theirs begin with the empty one, too */
    vec_append(arena, &builder->lists, graph->attr_lists, count_attr_lists(graph));
    return builder;
}

void graph_builder_fill(GraphBuilder *builder, const Graph *graph)
{
    Arena *arena = builder->graph->arena;
    builder->graph->lines = graph->lines;
    builder->n_sealed = graph->n_ops;
    vec_append(arena, &builder->ops, graph->ops, graph->n_ops);
    vec_append(arena, &builder->tensors, graph->tensors, graph->n_tensors);
    vec_append(arena, &builder->operands, graph->operands, graph->n_operands);
    vec_append(arena, &builder->declared, graph->declared, count_declared(graph));
    vec_append(arena, &builder->data, graph->data, count_data(graph));
    vec_append(arena, &builder->bodies, graph->bodies, graph->n_bodies);
    vec_append(arena, &builder->carries, graph->carries, graph->n_carries);
    vec_append(arena, &builder->inputs, graph->inputs, graph->n_inputs);
    vec_append(arena, &builder->outputs, graph->outputs, graph->n_outputs);
    vec_append(arena, &builder->tensor_of_name, graph->owner_of_name, graph->n_names);
    for (int i = 0; i < builder->tensor_of_name.n; i++)
        if (builder->tensor_of_name.at[i] < 0)
            builder->tensor_of_name.at[i] = -1;
}

GraphBuilder *graph_builder_from(Arena *arena, const Graph *graph)
{
    GraphBuilder *builder = graph_builder_like(arena, graph);
    graph_builder_fill(builder, graph);
    return builder;
}

Graph *graph_builder_graph(GraphBuilder *builder)
{
    return builder->graph;
}

#define vec_reserve(arena, vec, n_items)                                                           \
    do {                                                                                           \
        assert((vec)->room == 0);                                                                  \
        (vec)->at = arena_alloc((arena), arena_array_bytes((size_t)(n_items), sizeof *(vec)->at)); \
        (vec)->room = (n_items);                                                                   \
    } while (0)

void graph_reserve(GraphBuilder *builder, int n_ops, int n_tensors, int n_operands, int n_names)
{
    Arena *arena = builder->graph->arena;
    vec_reserve(arena, &builder->ops, n_ops);
    vec_reserve(arena, &builder->tensors, n_tensors + 1);
    vec_reserve(arena, &builder->operands, n_operands);
    names_reserve(builder->graph->names, n_names);
}

/* Room for so many more items; nothing else points into the array. */
#define vec_reserve_more(arena, vec, n_more)                                                       \
    do {                                                                                           \
        int n_room = (vec)->n + (n_more);                                                          \
        if (n_room > (vec)->room) {                                                                \
            void *old = (vec)->at;                                                                 \
            (vec)->at =                                                                            \
                arena_alloc((arena), arena_array_bytes((size_t)n_room, sizeof *(vec)->at));        \
            if ((vec)->n > 0)                                                                      \
                memcpy((vec)->at, old, (size_t)(vec)->n * sizeof *(vec)->at);                      \
            arena_release((arena), old);                                                           \
            (vec)->room = n_room;                                                                  \
        }                                                                                          \
    } while (0)

void graph_reserve_more(GraphBuilder *builder, int n_ops, int n_tensors, int n_operands,
                        int n_names)
{
    Arena *arena = builder->graph->arena;
    vec_reserve_more(arena, &builder->ops, n_ops);
    vec_reserve_more(arena, &builder->tensors, n_tensors + 1);
    vec_reserve_more(arena, &builder->operands, n_operands);
    vec_reserve_more(arena, &builder->tensor_of_name, n_names);
    names_reserve_more(builder->graph->names, n_names);
}

static const char *text_of(const GraphBuilder *builder, int32_t name)
{
    return names_text(builder->graph->names, name);
}

/* True after the first fault, or if there are too many items, which is one. */
static bool is_stopped(GraphBuilder *builder)
{
    if (builder->ops.n > ITEMS_MAX || builder->tensors.n > ITEMS_MAX ||
        builder->operands.n > ITEMS_MAX || builder->declared.n > ITEMS_MAX)
        error_set(&builder->problem, "the graph has more than %d items of a kind", ITEMS_MAX);
    return error_is_set(&builder->problem);
}

int32_t graph_tensor(GraphBuilder *builder, Str name)
{
    return name.n == 0 || is_stopped(builder)
               ? -1
               : graph_tensor_named(builder, names_intern(builder->graph->names, name));
}

int32_t graph_tensor_named(GraphBuilder *builder, int32_t id)
{
    if (is_stopped(builder))
        return -1;
    Arena *arena = builder->graph->arena;
    while (builder->tensor_of_name.n <= id)
        vec_push_own(arena, &builder->tensor_of_name, -1);
    if (builder->tensor_of_name.at[id] < 0) {
        builder->tensor_of_name.at[id] = builder->tensors.n;
        vec_push_own(arena, &builder->tensors,
                     (GraphTensor){
                         .name = id, .maker = -1, .declared = -1, .data = -1, .kind = TENSOR_MADE});
    }
    return builder->tensor_of_name.at[id];
}

int32_t graph_new_tensor(GraphBuilder *builder, Str name)
{
    if (is_stopped(builder))
        return -1;
    builder->has_new = true;
    vec_push_own(builder->graph->arena, &builder->tensors,
                 (GraphTensor){.name = names_intern(builder->graph->names, name),
                               .maker = -1,
                               .declared = -1,
                               .data = -1,
                               .kind = TENSOR_MADE});
    return builder->tensors.n - 1;
}

static const char *maker_text(const GraphBuilder *builder, const GraphTensor *tensor)
{
    switch ((TensorKind)tensor->kind) {
    case TENSOR_INPUT:
        return "is an input of the graph";
    case TENSOR_INITIALIZER:
        return "is an initializer";
    case TENSOR_MADE:
        break;
    }
    const GraphOp *op = &builder->ops.at[tensor->maker];
    return arena_printf(builder->graph->arena, "is made by op '%s'",
                        text_of(builder, op->name != 0 ? op->name : op->op_type));
}

/* Reports that the tensor already has a maker: an op, or it is an input or initializer. */
static void fail_twice(GraphBuilder *builder, int32_t tensor, const char *and_also)
{
    const GraphTensor *made = &builder->tensors.at[tensor];
    error_kind(&builder->problem, ERROR_DUPLICATE, "tensor '%s' %s, and %s",
               text_of(builder, made->name), maker_text(builder, made), and_also);
    error_hint(&builder->problem, "every tensor of a graph has one maker: rename one of the two");
}

static bool has_maker(const GraphTensor *tensor)
{
    return tensor->maker >= 0 || tensor->kind != TENSOR_MADE;
}

/* Returns true if the tensor may be changed: it exists, and nothing has failed before. */
static bool is_open(GraphBuilder *builder, int32_t tensor, const char *what)
{
    if (is_stopped(builder))
        return false;
    return tensor >= 0 || error_set(&builder->problem, "%s of the graph has no name", what);
}

/* Whether the last place was of the same dims: states of a parameter follow each other. */
static bool are_last_dims(const GraphBuilder *builder, const DeclaredDim *dims, int n_dims)
{
    if (n_dims == 0 || n_dims != builder->n_last_dims)
        return false;
    const DeclaredDim *last = builder->declared.at + builder->last_dims;
    for (int d = 0; d < n_dims; d++)
        if (last[d].size != dims[d].size || last[d].name != dims[d].name)
            return false;
    return true;
}

/* The index of these dims in graph->declared; equal dims are stored once. */
static int32_t place_of_dims(GraphBuilder *builder, const DeclaredDim *dims, int n_dims)
{
    Arena *arena = builder->graph->arena;
    int64_t key[2 * DIMS_MAX], *end = key;
    if (are_last_dims(builder, dims, n_dims))
        return builder->last_dims;
    for (int d = 0; d < n_dims; d++) {
        *end++ = dims[d].size;
        *end++ = dims[d].name;
    }
    int32_t id = intern_put(builder->dims_keys, key, 2 * (size_t)n_dims * sizeof *key);
    if (id == builder->dims_of_key.n) {
        vec_push_own(arena, &builder->dims_of_key, builder->declared.n);
        for (int d = 0; d < n_dims; d++)
            vec_push_own(arena, &builder->declared, dims[d]);
    }
    builder->last_dims = builder->dims_of_key.at[id];
    builder->n_last_dims = n_dims;
    return builder->last_dims;
}

static void declare(GraphBuilder *builder, int32_t tensor, Dtype dtype, const DeclaredDim *dims,
                    int n_dims)
{
    GraphTensor *declared = &builder->tensors.at[tensor];
    if (n_dims > DIMS_MAX) {
        error_kind(&builder->problem, ERROR_RANK, "tensor '%s' has %d dims, at most %d are known",
                   text_of(builder, declared->name), n_dims, DIMS_MAX);
        return;
    }
    declared->dtype = (uint8_t)dtype;
    if (n_dims < 0)
        return;
    declared->declared = place_of_dims(builder, dims, n_dims);
    declared->n_declared = (uint8_t)n_dims;
}

void graph_declare(GraphBuilder *builder, int32_t tensor, Dtype dtype, const DeclaredDim *dims,
                   int n_dims)
{
    if (is_open(builder, tensor, "a declared tensor") &&
        builder->tensors.at[tensor].kind == TENSOR_MADE)
        declare(builder, tensor, dtype, dims, n_dims);
}

void graph_add_input(GraphBuilder *builder, int32_t tensor, Dtype dtype, const DeclaredDim *dims,
                     int n_dims)
{
    if (!is_open(builder, tensor, "an input"))
        return;
    GraphTensor *input = &builder->tensors.at[tensor];
    if (input->kind == TENSOR_INITIALIZER)
        return;
    if (has_maker(input)) {
        fail_twice(builder, tensor, "is listed as an input");
        return;
    }
    input->kind = TENSOR_INPUT;
    vec_push_own(builder->graph->arena, &builder->inputs, tensor);
    declare(builder, tensor, dtype, dims, n_dims);
}

/* Whether the last data are that number, too. */
static bool is_last_fill(const GraphBuilder *builder, const TensorData *data, Dtype dtype)
{
    if (builder->data.n == 0 || builder->filled != dtype || data->form != DATA_FILL)
        return false;
    const TensorData *last = &builder->data.at[builder->data.n - 1];
    return last->form == DATA_FILL && data->fill == last->fill &&
           signbit(data->fill) == signbit(last->fill) && data->stored == last->stored &&
           !data->parts && !last->parts;
}

/* The index of the data; all tensors without elements share one, and so do those of one number that
 * follow each other, as the states of an optimizer do. */
static int32_t place_of_data(GraphBuilder *builder, const TensorData *data, Dtype dtype)
{
    bool nowhere =
        data->form == DATA_ABSENT && data->bytes.n == 0 && !data->location && !data->parts;
    if (nowhere && builder->nowhere > 0)
        return builder->nowhere - 1;
    if (is_last_fill(builder, data, dtype))
        return builder->data.n - 1;
    builder->filled = dtype;
    vec_push_own(builder->graph->arena, &builder->data, *data);
    if (nowhere)
        builder->nowhere = builder->data.n;
    return builder->data.n - 1;
}

void graph_add_initializer(GraphBuilder *builder, int32_t tensor, Dtype dtype, const Shape *shape,
                           TensorData data)
{
    if (!is_open(builder, tensor, "an initializer"))
        return;
    GraphTensor *initializer = &builder->tensors.at[tensor];
    if (has_maker(initializer) && initializer->kind != TENSOR_INPUT) {
        fail_twice(builder, tensor, "is listed as an initializer");
        return;
    }
    initializer->kind = TENSOR_INITIALIZER;
    initializer->data = place_of_data(builder, &data, dtype);

    DeclaredDim dims[DIMS_MAX];
    for (int64_t d = 0; d < shape->n_dims; d++)
        dims[d] = (DeclaredDim){.size = shape->dim[d]};
    declare(builder, tensor, dtype, dims, (int)shape->n_dims);
}

void graph_add_output(GraphBuilder *builder, int32_t tensor)
{
    if (!is_open(builder, tensor, "an output"))
        return;
    builder->tensors.at[tensor].output = true;
    vec_push_own(builder->graph->arena, &builder->outputs, tensor);
}

const char *graph_builder_name(const GraphBuilder *builder, int32_t tensor)
{
    return text_of(builder, builder->tensors.at[tensor].name);
}

bool graph_builder_fails(const GraphBuilder *builder, Error *err)
{
    if (!error_is_set(&builder->problem))
        return false;
    *err = builder->problem;
    return true;
}

bool graph_has_tensor(const GraphBuilder *builder, Str name)
{
    return graph_has_tensor_named(builder, names_find(builder->graph->names, name));
}

bool graph_has_tensor_named(const GraphBuilder *builder, int32_t name)
{
    return name >= 0 && name < builder->tensor_of_name.n && builder->tensor_of_name.at[name] >= 0;
}

bool graph_rename(GraphBuilder *builder, int32_t tensor, Str name)
{
    if (str_eq(name, str_from(graph_builder_name(builder, tensor))))
        return true;
    if (builder->tensors.at[tensor].maker < 0 || graph_has_tensor(builder, name))
        return false;
    int32_t id = names_intern(builder->graph->names, name);
    int32_t *old = &builder->tensors.at[tensor].name;
    while (builder->tensor_of_name.n <= id)
        vec_push_own(builder->graph->arena, &builder->tensor_of_name, -1);
    builder->tensor_of_name.at[*old] = -1;
    builder->tensor_of_name.at[id] = tensor;
    *old = id;
    return true;
}

void graph_mark(GraphBuilder *builder, int32_t tensor, bool sequence, bool optional)
{
    if (tensor < 0 || is_stopped(builder))
        return;
    builder->tensors.at[tensor].sequence = sequence;
    builder->tensors.at[tensor].optional = optional;
}

void graph_mark_training(GraphBuilder *builder, int32_t tensor, TrainingMark mark)
{
    if (tensor < 0 || is_stopped(builder))
        return;
    builder->tensors.at[tensor].trains = mark == MARK_TRAINS;
    builder->tensors.at[tensor].frozen = mark == MARK_FROZEN;
    builder->tensors.at[tensor].buffer = mark == MARK_BUFFER;
}

void graph_add_body(GraphBuilder *builder, GraphBody body, const GraphCarry *carries)
{
    if (is_stopped(builder))
        return;
    body.end = builder->ops.n;
    body.carry = builder->carries.n;
    for (int32_t i = 0; i < body.n_carries; i++)
        vec_push_own(builder->graph->arena, &builder->carries, carries[i]);
    vec_push_own(builder->graph->arena, &builder->bodies, body);
}

static void add_operands(GraphBuilder *builder, const int32_t *tensors, int n)
{
    for (int i = 0; i < n; i++)
        vec_push_own(builder->graph->arena, &builder->operands, tensors[i]);
}

static void set_maker(GraphBuilder *builder, int32_t tensor, int32_t op)
{
    if (tensor < 0 || is_stopped(builder))
        return;
    if (!has_maker(&builder->tensors.at[tensor])) {
        builder->tensors.at[tensor].maker = op;
        return;
    }
    const GraphOp *maker = &builder->ops.at[op];
    const char *name = text_of(builder, maker->name != 0 ? maker->name : maker->op_type);
    fail_twice(builder, tensor,
               arena_printf(builder->graph->arena, "is made by op '%s' too", name));
}

int32_t graph_add_op(GraphBuilder *builder, Str op_type, Str name, Str path, const int32_t *inputs,
                     int n_inputs, const int32_t *outputs, int n_outputs, int32_t attrs)
{
    if (is_stopped(builder))
        return -1;
    if (n_inputs > UINT16_MAX || n_outputs > UINT16_MAX) {
        error_set(&builder->problem, "op '%.*s' has more than %d operands", STR_ARG(name),
                  UINT16_MAX);
        return -1;
    }
    Names *names = builder->graph->names;
    GraphOp op = {names_intern(names, name),
                  names_intern(names, path),
                  names_intern(names, op_type),
                  attrs,
                  0,
                  (uint16_t)n_inputs,
                  (uint16_t)n_outputs};
    return graph_add_op_like(builder, op, inputs, outputs);
}

int32_t graph_add_op_like(GraphBuilder *builder, GraphOp op, const int32_t *inputs,
                          const int32_t *outputs)
{
    if (is_stopped(builder))
        return -1;
    op.input = builder->operands.n;
    add_operands(builder, inputs, op.n_inputs);
    add_operands(builder, outputs, op.n_outputs);

    int32_t id = builder->ops.n;
    vec_push_own(builder->graph->arena, &builder->ops, op);
    for (int i = 0; i < op.n_outputs; i++)
        set_maker(builder, outputs[i], id);
    return id;
}

/* ---- attributes ---- */

static void key_bytes(Buf *key, const void *bytes, size_t n_bytes)
{
    buf_add(key, (Str){bytes, n_bytes});
}

static void key_text(Buf *key, Str text)
{
    key_bytes(key, &text.n, sizeof text.n);
    buf_add(key, text);
}

/* Appends bytes that identify the attribute; returns false if it cannot be identified by bytes (a
 * tensor or a graph). */
static bool attr_key(const Attr *attr, Buf *key)
{
    const int32_t head[] = {attr->name, attr->type, attr->n};
    key_bytes(key, head, sizeof head);
    switch ((AttrType)attr->type) {
    case ATTR_INT:
        key_bytes(key, &attr->i, sizeof attr->i);
        return true;
    case ATTR_FLOAT:
        key_bytes(key, &attr->f, sizeof attr->f);
        return true;
    case ATTR_STRING:
        key_text(key, attr->s);
        return true;
    case ATTR_INTS:
        key_bytes(key, attr->ints, (size_t)attr->n * sizeof *attr->ints);
        return true;
    case ATTR_FLOATS:
        key_bytes(key, attr->floats, (size_t)attr->n * sizeof *attr->floats);
        return true;
    case ATTR_STRINGS:
        for (int32_t i = 0; i < attr->n; i++)
            key_text(key, attr->strings[i]);
        return true;
    case ATTR_TENSOR:
    case ATTR_GRAPH:
        return false;
    }
    return false;
}

static const void *copy_items(Arena *arena, const void *items, int32_t n, size_t item_bytes)
{
    void *copy = arena_alloc(arena, arena_array_bytes((size_t)n, item_bytes));
    if (n > 0)
        memcpy(copy, items, (size_t)n * item_bytes);
    return copy;
}

static Str copy_text(Arena *arena, Str text)
{
    return (Str){arena_str(arena, text), text.n};
}

static Attr copy_attr(Arena *arena, const Attr *attr)
{
    Attr copy = *attr;
    switch ((AttrType)attr->type) {
    case ATTR_STRING:
        copy.s = copy_text(arena, attr->s);
        break;
    case ATTR_INTS:
        copy.ints = copy_items(arena, attr->ints, attr->n, sizeof *attr->ints);
        break;
    case ATTR_FLOATS:
        copy.floats = copy_items(arena, attr->floats, attr->n, sizeof *attr->floats);
        break;
    case ATTR_STRINGS: {
        Str *strings = arena_array(arena, Str, attr->n);
        for (int32_t i = 0; i < attr->n; i++)
            strings[i] = copy_text(arena, attr->strings[i]);
        copy.strings = strings;
        break;
    }
    case ATTR_INT:
    case ATTR_FLOAT:
    case ATTR_TENSOR:
    case ATTR_GRAPH:
        break;
    }
    return copy;
}

static int32_t add_list(GraphBuilder *builder, const Attr *attrs, int n, int32_t opset)
{
    Arena *arena = builder->graph->arena;
    Attr *list = arena_array(arena, Attr, n);
    for (int i = 0; i < n; i++)
        list[i] = copy_attr(arena, &attrs[i]);
    vec_push_own(arena, &builder->lists, (AttrList){n, opset, list});
    return builder->lists.n - 1;
}

int32_t graph_add_attrs(GraphBuilder *builder, const Attr *attrs, int n)
{
    return graph_add_attrs_of_opset(builder, attrs, n, 0);
}

int32_t graph_add_attrs_of_opset(GraphBuilder *builder, const Attr *attrs, int n, int32_t opset)
{
    if ((n == 0 && opset == 0) || is_stopped(builder))
        return 0;
    builder->key.n = 0;
    key_bytes(&builder->key, &opset, sizeof opset);
    for (int i = 0; i < n; i++)
        if (!attr_key(&attrs[i], &builder->key))
            return add_list(builder, attrs, n, opset);

    int32_t key = intern_put(builder->list_keys, builder->key.s, builder->key.n);
    if (key == builder->list_of_key.n) {
        int32_t list = add_list(builder, attrs, n, opset);
        vec_push_own(builder->graph->arena, &builder->list_of_key, list);
    }
    return builder->list_of_key.at[key];
}

uint64_t graph_hash_of_file(Str bytes)
{
    const size_t limit = (size_t)64 << 20;
    const uint64_t parts[] = {hash_bytes(bytes.s, bytes.n < limit ? bytes.n : limit), bytes.n};
    return hash_bytes(parts, sizeof parts);
}
