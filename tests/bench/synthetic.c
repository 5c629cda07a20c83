#include "tests/bench/synthetic.h"

#include <assert.h>

enum { HIDDEN = 768, FUSED = 3 * HIDDEN, HEADS = 12, HEAD = 64, INNER = 3072, VOCABULARY = 50257 };

typedef struct {
    Arena *arena;
    GraphBuilder *builder;
    Buf text;
    int64_t batch, seq;
    int32_t split_attrs, heads_attrs, keys_attrs; /* attribute lists */
    int32_t heads_shape, joined_shape, scale;     /* constants all layers share */
} Made;

static Str text_of(Made *made, const char *path, const char *name)
{
    made->text.n = 0;
    buf_printf(&made->text, "%s.%s", path, name);
    return buf_str(&made->text);
}

static int32_t weight(Made *made, const char *path, const char *name, int64_t rows, int64_t columns)
{
    Shape shape = {.n_dims = 2, .dim = {rows, columns}};
    if (columns == 0)
        shape = (Shape){.n_dims = 1, .dim = {rows}};
    int32_t tensor = graph_tensor(made->builder, text_of(made, path, name));
    graph_add_initializer(made->builder, tensor, DT_F32, &shape, (TensorData){.form = DATA_ABSENT});
    return tensor;
}

static int32_t constant(Made *made, const char *name, Dtype dtype, const void *elements, int n)
{
    Shape shape = {0};
    size_t n_bytes = (size_t)dtype_bytes(dtype, n);
    if (n > 1)
        shape = (Shape){.n_dims = 1, .dim = {n}};
    char *bytes = memcpy(arena_alloc(made->arena, n_bytes), elements, n_bytes);
    int32_t tensor = graph_tensor(made->builder, str_from(name));
    graph_add_initializer(made->builder, tensor, dtype, &shape,
                          (TensorData){.form = DATA_RAW, .bytes = {bytes, n_bytes}});
    return tensor;
}

static int32_t ints_attr(Made *made, const char *name, const int64_t *ints, int n)
{
    Attr attr = {.name = names_intern(graph_builder_graph(made->builder)->names, str_from(name)),
                 .type = n == 1 ? ATTR_INT : ATTR_INTS,
                 .n = n,
                 .ints = ints};
    if (n == 1)
        attr.i = *ints;
    return graph_add_attrs(made->builder, &attr, 1);
}

/* One op on up to three inputs (-1: fewer); its result is PATH.NAME. */
static int32_t add(Made *made, const char *operator, const char * path, const char *name,
                   const int32_t *in, int32_t attrs)
{
    int n = 1;
    while (n < 3 && in[n] >= 0)
        n++;
    int32_t out = graph_tensor(made->builder, text_of(made, path, name));
    graph_add_op(made->builder, str_from(operator), buf_str(&made->text), str_from(path), in, n,
                 &out, 1, attrs);
    return out;
}

static int32_t unary(Made *made, const char *operator, const char * path, const char *name,
                     int32_t x, int32_t attrs)
{
    return add(made, operator, path, name, (const int32_t[]){x, -1, -1}, attrs);
}

static int32_t binary(Made *made, const char *operator, const char * path, const char *name,
                      int32_t x, int32_t y)
{
    return add(made, operator, path, name, (const int32_t[]){x, y, -1}, 0);
}

/* x w + b: 2 ops. */
static int32_t linear(Made *made, const char *path, int32_t x, int64_t rows, int64_t columns)
{
    int32_t product =
        binary(made, "MatMul", path, "product", x, weight(made, path, "weight", rows, columns));
    return binary(made, "Add", path, "out", product, weight(made, path, "bias", columns, 0));
}

static int32_t norm(Made *made, const char *path, int32_t x)
{
    int32_t in[3] = {x, weight(made, path, "weight", HIDDEN, 0),
                     weight(made, path, "bias", HIDDEN, 0)};
    return add(made, "LayerNormalization", path, "out", in, 0);
}

/* 17 ops */
static int32_t attention(Made *made, const char *layer, int32_t x)
{
    const char *attn = arena_printf(made->arena, "%s.attn", layer);
    const char *fused = arena_printf(made->arena, "%s.attn.c_attn", layer);
    const char *out = arena_printf(made->arena, "%s.attn.c_proj", layer);
    int32_t qkv = linear(made, fused, x, HIDDEN, FUSED), parts[3], heads[3];
    static const char *const part_names[] = {"q", "k", "v"};
    static const char *const view_names[] = {"q_view", "k_view", "v_view"};
    for (int i = 0; i < 3; i++)
        parts[i] = graph_tensor(made->builder, text_of(made, attn, part_names[i]));
    graph_add_op(made->builder, STR("Split"), text_of(made, attn, "split"), str_from(attn), &qkv, 1,
                 parts, 3, made->split_attrs);
    for (int i = 0; i < 3; i++)
        heads[i] = binary(made, "Reshape", attn, view_names[i], parts[i], made->heads_shape);
    int32_t q = unary(made, "Transpose", attn, "q_heads", heads[0], made->heads_attrs);
    int32_t k = unary(made, "Transpose", attn, "k_heads", heads[1], made->keys_attrs);
    int32_t scores = binary(made, "MatMul", attn, "scores", q, k);
    int32_t scaled = binary(made, "Mul", attn, "scaled", scores, made->scale);
    int32_t weights = unary(made, "Softmax", attn, "weights", scaled, 0);
    int32_t v = unary(made, "Transpose", attn, "v_heads", heads[2], made->heads_attrs);
    int32_t mixed = binary(made, "MatMul", attn, "mixed", weights, v);
    int32_t back = unary(made, "Transpose", attn, "back", mixed, made->heads_attrs);
    int32_t joined = binary(made, "Reshape", attn, "joined", back, made->joined_shape);
    return linear(made, out, joined, HIDDEN, HIDDEN);
}

/* 26 ops */
static int32_t layer_of(Made *made, int n, int32_t x)
{
    const char *layer = arena_printf(made->arena, "h.%d", n);
    const char *before = arena_printf(made->arena, "h.%d.ln_1", n);
    const char *after = arena_printf(made->arena, "h.%d.ln_2", n);
    const char *act = arena_printf(made->arena, "h.%d.mlp.act", n);
    const char *fc = arena_printf(made->arena, "h.%d.mlp.c_fc", n);
    const char *proj = arena_printf(made->arena, "h.%d.mlp.c_proj", n);
    int32_t attended = attention(made, layer, norm(made, before, x));
    int32_t middle = binary(made, "Add", layer, "residual_1", attended, x);
    int32_t wide = linear(made, fc, norm(made, after, middle), HIDDEN, INNER);
    int32_t bent = unary(made, "Gelu", act, "out", wide, 0);
    return binary(made, "Add", layer, "residual_2", linear(made, proj, bent, INNER, HIDDEN),
                  middle);
}

static void make_shared(Made *made)
{
    static const int64_t by_head[] = {0, 2, 1, 3}, by_key[] = {0, 2, 3, 1}, axis = 2;
    const int64_t split[] = {made->batch, made->seq, HEADS, HEAD};
    const int64_t joined[] = {made->batch, made->seq, HIDDEN};
    const float scale = 0.125f;
    made->split_attrs = ints_attr(made, "axis", &axis, 1);
    made->heads_attrs = ints_attr(made, "perm", by_head, 4);
    made->keys_attrs = ints_attr(made, "perm", by_key, 4);
    made->heads_shape = constant(made, "heads_shape", DT_I64, split, 4);
    made->joined_shape = constant(made, "joined_shape", DT_I64, joined, 3);
    made->scale = constant(made, "scale", DT_F32, &scale, 1);
}

Graph *synthetic_transformer(Arena *arena, int n_layers, int64_t batch, int64_t seq)
{
    Made made = {.arena = arena,
                 .builder = graph_builder_new(arena, "synthetic"),
                 .text = buf_new(arena),
                 .batch = batch,
                 .seq = seq};
    const DeclaredDim dims[] = {{batch, 0}, {seq, 0}};
    graph_reserve(made.builder, SYNTHETIC_LAYER_OPS * n_layers + 3, 40 * n_layers + 16,
                  75 * n_layers + 16);
    graph_builder_graph(made.builder)->opset = 20;
    make_shared(&made);
    int32_t ids = graph_tensor(made.builder, STR("input_ids"));
    graph_add_input(made.builder, ids, DT_I64, dims, 2);

    int32_t table = weight(&made, "wte", "weight", VOCABULARY, HIDDEN);
    int32_t x = binary(&made, "Gather", "wte", "out", table, ids);
    for (int n = 0; n < n_layers; n++)
        x = layer_of(&made, n, x);
    int32_t head = weight(&made, "lm_head", "weight", HIDDEN, VOCABULARY);
    graph_add_output(made.builder,
                     binary(&made, "MatMul", "lm_head", "out", norm(&made, "ln_f", x), head));

    Error err = {0};
    Graph *graph = graph_seal(made.builder, &err);
    assert(graph);
    return graph;
}
