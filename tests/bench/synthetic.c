#include "tests/bench/synthetic.h"

#include <assert.h>
#include <stdio.h>

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
static int32_t add(Made *made, const char *op_type, const char *path, const char *name,
                   const int32_t *in, int32_t attrs)
{
    int n = 1;
    while (n < 3 && in[n] >= 0)
        n++;
    int32_t out = graph_tensor(made->builder, text_of(made, path, name));
    graph_add_op(made->builder, str_from(op_type), buf_str(&made->text), str_from(path), in, n,
                 &out, 1, attrs);
    return out;
}

static int32_t unary(Made *made, const char *op_type, const char *path, const char *name, int32_t x,
                     int32_t attrs)
{
    return add(made, op_type, path, name, (const int32_t[]){x, -1, -1}, attrs);
}

static int32_t binary(Made *made, const char *op_type, const char *path, const char *name,
                      int32_t x, int32_t y)
{
    return add(made, op_type, path, name, (const int32_t[]){x, y, -1}, 0);
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

/* ---- the same, as fine as StableHLO ---- */

/* Name and operator of the next op of a layer: ops are numbered. */
typedef struct {
    Made *made;
    const char *path;
    int n;
    int32_t wide_shape, heads_shape, scores_shape, row_shape; /* targets of Expand */
    int32_t reduce_attrs, keep_attrs, cast_attrs;
} Fine;

static int32_t fine(Fine *f, const char *op_type, int32_t x, int32_t y, int32_t z, int32_t attrs)
{
    char name[16];
    snprintf(name, sizeof name, "op%d", f->n++);
    return add(f->made, op_type, f->path, name, (const int32_t[]){x, y, z}, attrs);
}

static int32_t spread(Fine *f, int32_t x, int32_t shape)
{
    return fine(f, "Expand", x, shape, -1, 0);
}

static int32_t cast(Fine *f, int32_t x)
{
    return fine(f, "Cast", x, -1, -1, f->cast_attrs);
}

static int32_t own_weight(Fine *f, int64_t rows, int64_t columns)
{
    char name[16];
    snprintf(name, sizeof name, "weight%d", f->n);
    return weight(f->made, f->path, name, rows, columns);
}

/* 17 ops */
static int32_t fine_norm(Fine *f, int32_t x, int64_t hidden)
{
    int32_t in = cast(f, x);
    int32_t mean = spread(f, fine(f, "ReduceMean", in, -1, -1, f->reduce_attrs), f->wide_shape);
    int32_t centred = fine(f, "Sub", in, mean, -1, 0);
    int32_t square = fine(f, "Mul", centred, centred, -1, 0);
    int32_t variance = fine(f, "ReduceMean", square, -1, -1, f->reduce_attrs);
    int32_t epsilon = spread(f, f->made->scale, f->row_shape);
    int32_t root = fine(f, "Sqrt", fine(f, "Add", variance, epsilon, -1, 0), -1, -1, 0);
    int32_t rate = spread(f, fine(f, "Reciprocal", root, -1, -1, 0), f->wide_shape);
    int32_t even = fine(f, "Mul", centred, rate, -1, 0);
    int32_t scaled =
        fine(f, "Mul", even, spread(f, own_weight(f, hidden, 0), f->wide_shape), -1, 0);
    int32_t bias = spread(f, own_weight(f, hidden, 0), f->wide_shape);
    return cast(f, fine(f, "Add", scaled, bias, -1, 0));
}

/* 5 ops; shape: of the result */
static int32_t fine_linear(Fine *f, int32_t x, int64_t rows, int64_t columns, int32_t shape)
{
    int32_t in = cast(f, x), product = fine(f, "MatMul", in, own_weight(f, rows, columns), -1, 0);
    int32_t bias = spread(f, own_weight(f, columns, 0), shape);
    return cast(f, fine(f, "Add", product, bias, -1, 0));
}

/* 7 ops */
static int32_t fine_softmax(Fine *f, int32_t x)
{
    int32_t most = fine(f, "ReduceMax", x, -1, -1, f->keep_attrs);
    int32_t moved = fine(f, "Sub", x, spread(f, most, f->scores_shape), -1, 0);
    int32_t power = fine(f, "Exp", moved, -1, -1, 0);
    int32_t sum = fine(f, "ReduceSum", power, -1, -1, f->keep_attrs);
    return fine(f, "Div", power, spread(f, sum, f->scores_shape), -1, 0);
}

/* 13 ops */
static int32_t fine_gelu(Fine *f, int32_t x, int32_t shape)
{
    int32_t scale = f->made->scale;
    int32_t cube = fine(f, "Mul", fine(f, "Mul", x, x, -1, 0), x, -1, 0);
    int32_t inner = fine(f, "Add", x, fine(f, "Mul", cube, spread(f, scale, shape), -1, 0), -1, 0);
    int32_t bent =
        fine(f, "Tanh", fine(f, "Mul", inner, spread(f, scale, shape), -1, 0), -1, -1, 0);
    int32_t more = fine(f, "Add", bent, spread(f, scale, shape), -1, 0);
    int32_t half = fine(f, "Mul", x, spread(f, scale, shape), -1, 0);
    return fine(f, "Mul", half, more, -1, 0);
}

/* 41 ops */
static int32_t fine_attention(Fine *f, int32_t x, int32_t fused_shape)
{
    Made *made = f->made;
    int32_t qkv = fine_linear(f, x, HIDDEN, FUSED, fused_shape), parts[3], heads[3];
    for (int i = 0; i < 3; i++) {
        char name[16];
        snprintf(name, sizeof name, "part%d", i);
        parts[i] = graph_tensor(made->builder, text_of(made, f->path, name));
    }
    graph_add_op(made->builder, STR("Split"), text_of(made, f->path, "split"), str_from(f->path),
                 &qkv, 1, parts, 3, made->split_attrs);
    for (int i = 0; i < 3; i++) {
        int32_t part = fine(f, "Reshape", cast(f, parts[i]), made->heads_shape, -1, 0);
        heads[i] = cast(
            f, fine(f, "Transpose", part, -1, -1, i == 1 ? made->keys_attrs : made->heads_attrs));
    }
    int32_t scores = cast(f, fine(f, "MatMul", heads[0], heads[1], -1, 0));
    int32_t scaled = fine(f, "Mul", scores, spread(f, made->scale, f->scores_shape), -1, 0);
    int32_t moved = fine(f, "Add", scaled, spread(f, made->scale, f->scores_shape), -1, 0);
    int32_t weights = cast(f, fine_softmax(f, moved));
    int32_t mixed = cast(f, fine(f, "MatMul", weights, heads[2], -1, 0));
    int32_t back = cast(f, fine(f, "Transpose", mixed, -1, -1, made->heads_attrs));
    int32_t joined = cast(f, fine(f, "Reshape", back, made->joined_shape, -1, 0));
    return fine_linear(f, joined, HIDDEN, HIDDEN, f->wide_shape);
}

static int32_t fine_layer(Fine *f, int n, int32_t x, int32_t fused_shape, int32_t inner_shape)
{
    f->path = arena_printf(f->made->arena, "h.%d", n);
    f->n = 0;
    int32_t attended = fine_attention(f, fine_norm(f, x, HIDDEN), fused_shape);
    int32_t middle = fine(f, "Add", attended, x, -1, 0);
    int32_t wide = fine_linear(f, fine_norm(f, middle, HIDDEN), HIDDEN, INNER, inner_shape);
    int32_t bent = cast(f, fine_gelu(f, cast(f, wide), inner_shape));
    int32_t out = fine_linear(f, bent, INNER, HIDDEN, f->wide_shape);
    for (int i = 0; i < 13; i++)
        out = cast(f, out); /* what is left to 117 */
    return fine(f, "Add", out, middle, -1, 0);
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
                  75 * n_layers + 16, 52 * n_layers + 16);
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

Graph *synthetic_fine_transformer(Arena *arena, int n_layers, int64_t batch, int64_t seq)
{
    Made made = {.arena = arena,
                 .builder = graph_builder_new(arena, "synthetic"),
                 .text = buf_new(arena),
                 .batch = batch,
                 .seq = seq};
    const DeclaredDim dims[] = {{batch, 0}, {seq, 0}, {HIDDEN, 0}};
    const int64_t wide[] = {batch, seq, HIDDEN}, fused[] = {batch, seq, FUSED};
    const int64_t inner[] = {batch, seq, INNER}, scores[] = {batch, HEADS, seq, seq};
    const int64_t row[] = {batch, seq, 1};
    static const int64_t last = -1, f32 = 1;
    graph_builder_graph(made.builder)->opset = 12;
    make_shared(&made);
    made.scale = weight(&made, "shared", "scale", 1, 0); /* not known at load: an op each */
    Fine f = {.made = &made, .cast_attrs = ints_attr(&made, "to", &f32, 1)};
    Attr axes = {.name = names_intern(graph_builder_graph(made.builder)->names, STR("axes")),
                 .type = ATTR_INTS,
                 .n = 1,
                 .ints = &last};
    f.reduce_attrs = f.keep_attrs = graph_add_attrs(made.builder, &axes, 1);
    f.wide_shape = constant(&made, "wide_shape", DT_I64, wide, 3);
    f.scores_shape = constant(&made, "scores_shape", DT_I64, scores, 4);
    f.row_shape = constant(&made, "row_shape", DT_I64, row, 3);
    int32_t fused_shape = constant(&made, "fused_shape", DT_I64, fused, 3);
    int32_t inner_shape = constant(&made, "inner_shape", DT_I64, inner, 3);
    int32_t x = graph_tensor(made.builder, STR("x"));
    graph_add_input(made.builder, x, DT_F32, dims, 3);
    for (int n = 0; n < n_layers; n++)
        x = fine_layer(&f, n, x, fused_shape, inner_shape);
    graph_add_output(made.builder, x);
    Error err = {0};
    Graph *graph = graph_seal(made.builder, &err);
    assert(graph);
    return graph;
}

Graph *synthetic_chain(Arena *arena, int n_ops)
{
    GraphBuilder *builder = graph_builder_new(arena, "chain");
    DeclaredDim dims[2] = {{.size = 64}, {.size = 64}};
    Error err = {0};
    graph_reserve(builder, n_ops, n_ops + 1, 2 * n_ops, 2 * n_ops);
    int32_t tensor = graph_tensor(builder, STR("x"));
    graph_add_input(builder, tensor, DT_F32, dims, 2);
    for (int i = 0; i < n_ops; i++) {
        char name[16];
        int n = snprintf(name, sizeof name, "%d", i);
        Str text = {name, (size_t)n};
        int32_t out = graph_tensor(builder, text);
        graph_add_op(builder, STR("Relu"), text, STR(""), &tensor, 1, &out, 1, 0);
        tensor = out;
    }
    graph_add_output(builder, tensor);
    Graph *graph = graph_seal(builder, &err);
    assert(graph);
    return graph;
}
