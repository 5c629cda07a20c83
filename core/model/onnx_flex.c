/* FlexAttention whose scores or probabilities a graph of its own changes: taken apart into the ops
 * that it stands for, with that graph among them, as its schema defines it.
 *
 *     queries [b, k, g, s, d]   keys, values [b, k, 1, t, d]       g queries share a head k of keys
 *     scores  [b, k, g, s, t]   as [b, h, s, t] where a graph changes them
 */
#include "core/model/onnx_reader.h"

typedef struct {
    OnnxReader *reader;
    const InlinedCall *call;
    Arena *arena;
    int n_ops;
    int64_t precision;     /* ONNX's number of the type of the scores */
    int32_t q, k, v, rest; /* rest: the size -1 of a Reshape */
} Flex;

static Attr int_attr(const Flex *f, const char *name, int64_t value)
{
    return (Attr){.name = names_intern(f->reader->graph->names, str_from(name)),
                  .type = ATTR_INT,
                  .i = value};
}

static int32_t new_tensor(Flex *f, const char *what)
{
    return graph_new_tensor(
        f->reader->builder,
        str_from(arena_printf(f->arena, "%.*s/%s", STR_ARG(f->call->label), what)));
}

/* output: -1: a new tensor. */
static int32_t add(Flex *f, const char *op_type, const int32_t *inputs, int n, const Attr *attrs,
                   int n_attrs, int32_t output)
{
    const char *what = arena_printf(f->arena, "%s_%d", op_type, f->n_ops++);
    int32_t list = graph_add_attrs(f->reader->builder, attrs, n_attrs);
    int32_t to = output >= 0 ? output : new_tensor(f, what);
    f->reader->bytes_left -= (int64_t)(sizeof(GraphOp) + sizeof(GraphTensor) + f->call->label.n);
    add_op(f->reader, op_type, f->call, arena_printf(f->arena, "/%s", what), inputs, n, to, list);
    return to;
}

static int32_t add1(Flex *f, const char *op_type, int32_t x)
{
    return add(f, op_type, &x, 1, NULL, 0, -1);
}

static int32_t add2(Flex *f, const char *op_type, int32_t x, int32_t y)
{
    return add(f, op_type, (int32_t[]){x, y}, 2, NULL, 0, -1);
}

/* A number of 8 or 4 bytes, little-endian, like all data here. */
static int32_t constant(Flex *f, const char *what, Dtype dtype, Shape shape, const void *value)
{
    size_t n = dtype == DT_I64 ? sizeof(int64_t) : sizeof(float);
    char *bytes = memcpy(arena_alloc(f->reader->arena, n), value, n);
    int32_t tensor = new_tensor(f, what);
    if (tensor >= 0)
        graph_add_initializer(f->reader->builder, tensor, dtype, &shape,
                              (TensorData){.form = DATA_RAW, .bytes = {bytes, n}});
    return tensor;
}

/* i64[1] */
static int32_t size_constant(Flex *f, const char *what, int64_t value)
{
    return constant(f, what, DT_I64, (Shape){.n_dims = 1, .dim = {1}}, &value);
}

/* Dims [start, end) of the shape. */
static int32_t sizes(Flex *f, int32_t x, int start, int end)
{
    const Attr attrs[] = {int_attr(f, "start", start), int_attr(f, "end", end)};
    return add(f, "Shape", &x, 1, attrs, 2, -1);
}

static int32_t join(Flex *f, const int32_t *parts, int n)
{
    const Attr axis = int_attr(f, "axis", 0);
    return add(f, "Concat", parts, n, &axis, 1, -1);
}

/* To the type of the scores. */
static int32_t cast(Flex *f, int32_t x)
{
    const Attr attr = int_attr(f, "to", f->precision);
    return add(f, "Cast", &x, 1, &attr, 1, -1);
}

static const Attr *attr_of(const Flex *f, const char *name)
{
    AttrList list = f->reader->builder->lists.at[f->call->attrs];
    int32_t id = names_find(f->reader->graph->names, str_from(name));
    for (int i = 0; i < list.n; i++)
        if (list.at[i].name == id)
            return &list.at[i];
    return NULL;
}

/* [b, k, g, s, last] */
static int32_t by_key_head(Flex *f, int32_t x, int32_t last)
{
    int32_t heads = sizes(f, f->k, 0, 2), queries = sizes(f, f->q, 2, 3);
    int32_t shape = join(f, (int32_t[]){heads, f->rest, queries, last}, 4);
    return add2(f, "Reshape", x, shape);
}

/* [b, h, s, ..] */
static int32_t by_head(Flex *f, int32_t x)
{
    int32_t queries = sizes(f, f->q, 0, 3);
    int32_t shape = join(f, (int32_t[]){queries, f->rest}, 2);
    return add2(f, "Reshape", x, shape);
}

/* scale, or 1 / sqrt(d), of that type. */
static int32_t scale_of(Flex *f)
{
    const Attr *given = attr_of(f, "scale");
    int32_t scale;
    if (given && given->type == ATTR_FLOAT && given->f != 0) {
        float value = (float)given->f;
        scale = constant(f, "scale", DT_F32, (Shape){0}, &value);
        return cast(f, scale);
    }
    scale = sizes(f, f->q, 3, 4);
    scale = cast(f, scale);
    scale = add1(f, "Sqrt", scale);
    return add1(f, "Reciprocal", scale);
}

/* ONNX's number of softmax_precision, or of the type that a graph says its input has; else f32. */
static int64_t precision_of(const Flex *f, const Subgraph *graph)
{
    const Attr *given = attr_of(f, "softmax_precision");
    Declared input = {.dtype = DT_NONE};
    if (given && given->type == ATTR_INT)
        return given->i;
    Wire wire = graph->wire;
    for (WireField field; wire_next(&wire, &field);)
        if (field.number == FIELD_INPUT)
            input = read_value_info(f->reader, wire_message(&wire, &field, "ValueInfoProto"));
    return dtype_to_onnx(input.dtype == DT_NONE ? DT_F32 : input.dtype);
}

/* The input, changed by the graph; unchanged if there is none. */
static bool change(Flex *f, const Subgraph *graph, const char *name, int32_t *x)
{
    return !graph || read_modifier(f->reader, f->call, graph, name, x);
}

/* scale q k', [b, h, s, t] */
static int32_t scores_of(Flex *f, int32_t group)
{
    int64_t *turned = arena_array(f->reader->arena, int64_t, 4);
    memcpy(turned, (int64_t[]){0, 1, 3, 2}, 4 * sizeof *turned);
    const Attr perm = {.name = names_intern(f->reader->graph->names, STR("perm")),
                       .type = ATTR_INTS,
                       .n = 4,
                       .ints = turned};
    int32_t width = sizes(f, f->q, 3, 4), queries = by_key_head(f, f->q, width);
    int32_t keys = add(f, "Transpose", &f->k, 1, &perm, 1, -1);
    keys = add2(f, "Unsqueeze", keys, group);
    int32_t scores = add2(f, "MatMul", queries, keys), scale = scale_of(f);
    scores = cast(f, scores);
    scores = add2(f, "Mul", scores, scale);
    return by_head(f, scores);
}

/* The probabilities times the values. */
static void weigh_values(Flex *f, int32_t x, int32_t group)
{
    int32_t n_keys = sizes(f, f->k, 2, 3), values = cast(f, f->v);
    values = add2(f, "Unsqueeze", values, group);
    x = by_key_head(f, x, n_keys);
    x = add2(f, "MatMul", x, values);
    x = by_head(f, x);
    add(f, "CastLike", (int32_t[]){x, f->q}, 2, NULL, 0, f->call->outputs[0]);
}

/* Where a graph cannot be read, the reader has the fault. */
static void attend(Flex *f, const Subgraph *score_mod, const Subgraph *prob_mod)
{
    const Attr axis = int_attr(f, "axis", -1);
    f->precision = precision_of(f, score_mod ? score_mod : prob_mod);
    f->rest = size_constant(f, "rest", -1);
    int32_t group = size_constant(f, "group", 2), x = scores_of(f, group);
    if (!change(f, score_mod, "score_mod", &x))
        return;
    x = add(f, "Softmax", &x, 1, &axis, 1, -1);
    if (change(f, prob_mod, "prob_mod", &x))
        weigh_values(f, x, group);
}

bool read_flex_attention(OnnxReader *reader, const InlinedCall *call, const Subgraph *score_mod,
                         const Subgraph *prob_mod)
{
    if ((!score_mod && !prob_mod) || call->n_inputs != 3 || call->n_outputs != 1 ||
        call->inputs[0] < 0 || call->inputs[1] < 0 || call->inputs[2] < 0 || call->outputs[0] < 0)
        return false;
    Flex f = {.reader = reader,
              .call = call,
              .arena = arena_new(),
              .q = call->inputs[0],
              .k = call->inputs[1],
              .v = call->inputs[2]};
    attend(&f, score_mod, prob_mod);
    arena_free(f.arena);
    return true;
}
