/* onnx_packed.c - nodes of attention whose queries, keys and values are one tensor: it is split
 * into the operands that the node has elsewhere, so that rules, kernels and shardings are those of
 * three.
 *
 *     GroupQueryAttention   b s ((hq + hk + hk) d)     SplitHeads by heads
 *     MultiHeadAttention    b s h 3 d                  SplitHeads into thirds, then b s (h d)
 *                           keys: b t h 2 d            halves likewise, of keys and values
 *
 * Source: the schemas of the domain com.microsoft, onnxruntime's ContribOperators.md. */
#include "core/model/onnx_reader.h"

enum { PACKED_MAX = 3 };

static const char *const operand_names[PACKED_MAX] = {"query", "key", "value"};

static bool has_input(const OnnxReader *reader, int i)
{
    return i < reader->inputs.n && reader->inputs.at[i] >= 0;
}

static int64_t int_attr(const OnnxReader *reader, const char *name)
{
    int32_t id = names_find(reader->graph->names, str_from(name));
    for (int i = 0; i < reader->attrs.n; i++)
        if (reader->attrs.at[i].name == id && reader->attrs.at[i].type == ATTR_INT)
            return reader->attrs.at[i].i;
    return 0;
}

static Attr attr_of(OnnxReader *reader, const char *name, AttrType type)
{
    return (Attr){.name = names_intern(reader->graph->names, str_from(name)),
                  .type = (uint8_t)type};
}

static int32_t new_tensor(OnnxReader *reader, Str label, const char *suffix, const char *operand)
{
    const char *name = arena_printf(reader->arena, "%.*s%s%s", STR_ARG(label), suffix, operand);
    return graph_new_tensor(reader->builder, str_from(name));
}

/* [0, 0, -1]: the last dims become one. */
static int32_t flat_shape(OnnxReader *reader, Str label)
{
    static const int64_t flat[3] = {0, 0, -1};
    const Shape shape = {.n_dims = 1, .dim = {3}};
    int32_t tensor = new_tensor(reader, label, "/flat", "");
    if (tensor >= 0)
        graph_add_initializer(
            reader->builder, tensor, DT_I64, &shape,
            (TensorData){.form = DATA_RAW, .bytes = {(const char *)flat, sizeof flat}});
    return tensor;
}

/* Replaces input `first` by n parts of it along an axis, sized as the shares, in place of the
 * inputs from `first` on. */
static bool unpack(OnnxReader *reader, const OnnxNode *node, Str label, int axis,
                   const int64_t shares[PACKED_MAX], int first, int n)
{
    int32_t parts[PACKED_MAX];
    Attr attrs[2] = {attr_of(reader, "axis", ATTR_INT), attr_of(reader, "shares", ATTR_INTS)};
    attrs[0].i = axis;
    attrs[1].n = n;
    attrs[1].ints = shares;
    for (int i = 0; i < n; i++) {
        parts[i] = new_tensor(reader, label, "/", operand_names[first + i]);
        if (parts[i] < 0)
            return false;
    }
    graph_add_op(reader->builder, STR("SplitHeads"),
                 str_from(arena_printf(reader->arena, "%.*s/unpack", STR_ARG(label))), node->path,
                 &reader->inputs.at[first], 1, parts, n,
                 graph_add_attrs(reader->builder, attrs, 2));
    while (reader->inputs.n < first + n)
        vec_push(reader->arena, &reader->inputs, -1);
    for (int i = 0; i < n; i++)
        reader->inputs.at[first + i] = parts[i];
    return true;
}

static void unpack_grouped(OnnxReader *reader, const OnnxNode *node, Str label)
{
    int64_t keys = int_attr(reader, "kv_num_heads");
    int64_t shares[PACKED_MAX] = {int_attr(reader, "num_heads"), keys, keys};
    unpack(reader, node, label, 2, shares, 0, PACKED_MAX);
}

/* Of h heads, n operands and d numbers the operands come out as h, 1 and d. */
static void unpack_stacked(OnnxReader *reader, const OnnxNode *node, Str label, int first)
{
    static const int64_t equal[PACKED_MAX] = {1, 1, 1};
    int32_t shape = flat_shape(reader, label);
    if (shape < 0 || !unpack(reader, node, label, 3, equal, first, PACKED_MAX - first))
        return;
    for (int i = first; i < PACKED_MAX; i++) {
        int32_t inputs[2] = {reader->inputs.at[i], shape};
        int32_t flat = new_tensor(reader, label, "/flat_", operand_names[i]);
        if (flat < 0)
            return;
        graph_add_op(reader->builder, STR("Reshape"),
                     str_from(arena_printf(reader->arena, "%.*s/flatten_%s", STR_ARG(label),
                                           operand_names[i])),
                     node->path, inputs, 2, &flat, 1, 0);
        reader->inputs.at[i] = flat;
    }
}

void unpack_operands(OnnxReader *reader, const OnnxNode *node)
{
    bool grouped = str_eq(node->op_type, STR("GroupQueryAttention"));
    bool many = str_eq(node->op_type, STR("MultiHeadAttention"));
    if (!str_eq(node->domain, STR("com.microsoft")) || (!grouped && !many) ||
        !has_input(reader, 0) || has_input(reader, 2))
        return;
    Str label = node->name;
    if (label.n == 0)
        label = str_from(
            arena_printf(reader->arena, "%.*s_%d", STR_ARG(node->op_type), reader->builder->ops.n));
    if (many)
        unpack_stacked(reader, node, label, has_input(reader, 1) ? 1 : 0);
    else if (!has_input(reader, 1))
        unpack_grouped(reader, node, label);
}
