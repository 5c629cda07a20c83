#include "core/rules/one_op.h"

#include "core/base/vec.h"
#include "core/space/opspace.h"

#include <math.h>
#include <stdlib.h>

struct OneOpBuilder {
    Arena *arena;
    OneOp op;
    GraphBuilder *graph;
    Vec(Attr) attrs;
};

OneOpBuilder *one_op_new(Arena *arena, const OneOp *op)
{
    OneOpBuilder *builder = arena_make(arena, OneOpBuilder);
    *builder = (OneOpBuilder){.arena = arena, .op = *op};
    builder->graph = graph_builder_new(arena, "one op");
    return builder;
}

static int32_t intern(OneOpBuilder *builder, Str name)
{
    return names_intern(graph_builder_graph(builder->graph)->names, name);
}

/* ---- texts ---- */

typedef Vec(int64_t) IntList;

/* "[1,2,3]" */
static bool read_list(Arena *arena, Str text, IntList *out)
{
    if (!str_starts(text, STR("[")) || !str_ends(text, STR("]")))
        return false;
    text = (Str){text.s + 1, text.n - 2};
    while (text.n > 0) {
        int64_t value;
        if (!str_to_int(str_trim(str_take(&text, ',')), &value))
            return false;
        vec_push(arena, out, value);
    }
    return true;
}

static void push_ints(OneOpBuilder *builder, const char *name, const IntList *list)
{
    vec_push(builder->arena, &builder->attrs,
             (Attr){.name = intern(builder, str_from(name)),
                    .type = ATTR_INTS,
                    .n = list->n,
                    .ints = list->at});
}

/* Adds a list of lists as the attributes NAME and "NAME.lengths". */
static void push_lists(OneOpBuilder *builder, const char *name, const IntList *ints,
                       const IntList *lengths)
{
    push_ints(builder, name, ints);
    push_ints(builder, arena_printf(builder->arena, "%s.lengths", name), lengths);
}

/* ---- operands ---- */

static bool no_operand(Str text, Error *err)
{
    error_kind(err, ERROR_USAGE, "'%.*s' is not an operand", STR_ARG(text));
    error_hint(err, "sizes with 'x' between: 4x8, scalar, 4x8:i64; - for none; =[2,3] for values");
    return false;
}

/* Reads "4x8"; returns false if it is not a list of sizes. */
static bool read_sizes(Str text, Shape *shape)
{
    *shape = (Shape){0};
    for (bool more = true; more;) {
        more = text.n > 0 && memchr(text.s, 'x', text.n);
        if (shape->n_dims == DIMS_MAX ||
            !str_to_int(str_take(&text, 'x'), &shape->dim[shape->n_dims++]))
            return false;
    }
    return true;
}

/* "4x8:i64" */
static bool read_shape(Str text, Shape *shape, Dtype *dtype, Error *err)
{
    Str rest = text, sizes = str_take(&rest, ':');
    bool typed = sizes.n < text.n;
    *shape = (Shape){0};
    *dtype = typed ? dtype_from_name(rest) : DT_F32;
    if (!str_eq(sizes, STR("scalar")) && !read_sizes(sizes, shape))
        return no_operand(text, err);
    if (*dtype != DT_NONE)
        return shape_check(shape, err);
    error_kind(err, ERROR_USAGE, "'%.*s': there is no element type '%.*s'", STR_ARG(text),
               STR_ARG(rest));
    error_hint(err, "bool, str, i8 to i64, u8 to u64, f16, bf16, f32, f64, c64, c128");
    return false;
}

/* Reads a known value after the sign: "=3", "=[2,3]". */
static bool read_known(Arena *arena, Str text, Shape *shape, const int64_t **value, Error *err)
{
    IntList list = {0};
    int64_t one;
    bool scalar = str_to_int(text, &one);
    if (scalar)
        vec_push(arena, &list, one);
    else if (!read_list(arena, text, &list))
        return no_operand(text, err);
    *shape = (Shape){.n_dims = !scalar, .dim = {scalar ? 0 : list.n}};
    *value = list.n > 0 ? list.at : arena_array(arena, int64_t, 1);
    return true;
}

/* Removes one operand from *text, up to the next comma outside brackets. */
static Str next_operand(Str *text)
{
    size_t n = 0;
    for (int depth = 0; n < text->n && (depth > 0 || text->s[n] != ','); n++)
        depth += text->s[n] == '[' ? 1 : text->s[n] == ']' ? -1 : 0;
    Str part = {text->s, n};
    size_t taken = n + (n < text->n);
    *text = (Str){text->s + taken, text->n - taken};
    return part;
}

typedef struct {
    Vec(Shape) shape;
    Vec(Dtype) dtype;
    Vec(const int64_t *) value;
} OperandList;

static bool read_operand(Arena *arena, Str text, OperandList *out, Error *err)
{
    Shape shape = {.n_dims = -1};
    Dtype dtype = DT_F32;
    const int64_t *value = NULL;
    if (str_starts(text, STR("="))) {
        if (!read_known(arena, (Str){text.s + 1, text.n - 1}, &shape, &value, err))
            return false;
        dtype = DT_I64;
    } else if (!str_eq(text, STR("-")) && !read_shape(text, &shape, &dtype, err)) {
        return false;
    }
    vec_push(arena, &out->shape, shape);
    vec_push(arena, &out->dtype, dtype);
    vec_push(arena, &out->value, value);
    return true;
}

static bool read_operands(Arena *arena, Str text, OperandList *out, Error *err)
{
    while (text.n > 0) {
        if (out->shape.n == OPERANDS_MAX)
            return error_kind(err, ERROR_USAGE, "an op has at most %d operands", OPERANDS_MAX);
        if (!read_operand(arena, str_trim(next_operand(&text)), out, err))
            return false;
    }
    return true;
}

/* Returns the part before the arrow; *text becomes the part after it. */
static Str next_side(Str *text, bool *arrow)
{
    for (size_t i = 0; i + 1 < text->n; i++) {
        if (text->s[i] != '-' || text->s[i + 1] != '>')
            continue;
        Str inputs = {text->s, i};
        *text = (Str){text->s + i + 2, text->n - i - 2};
        *arrow = true;
        return inputs;
    }
    *arrow = false;
    return *text;
}

bool one_op_operands(Arena *arena, Str text, OneOp *op, Error *err)
{
    OperandList inputs = {0}, outputs = {0};
    bool arrow;
    Str before = next_side(&text, &arrow);
    if (!read_operands(arena, before, &inputs, err) ||
        (arrow && !read_operands(arena, text, &outputs, err)))
        return false;
    op->n_inputs = inputs.shape.n;
    op->shape = inputs.shape.at;
    op->dtype = inputs.dtype.at;
    op->value = inputs.value.at;
    if (arrow) {
        op->n_outputs = outputs.shape.n;
        op->out_shape = outputs.shape.at;
        op->out_dtype = outputs.dtype.at;
    }
    return true;
}

/* ---- attributes from a text ---- */

/* ["add","mul"], as in JSON. */
static bool read_texts(Arena *arena, Str value, Attr *attr)
{
    Source source = {.name = "a list of texts", .text = value};
    Json *list = str_starts(value, STR("[\"")) ? json_parse(&source, NULL) : NULL;
    bool texts = list && json_is_array(list);
    for (int i = 0; texts && i < json_size(list); i++)
        texts = json_is_string(json_at(list, i));
    if (texts) {
        Str *strings = arena_array(arena, Str, json_size(list));
        for (int i = 0; i < json_size(list); i++)
            strings[i] = str_from(arena_str(arena, json_str(json_at(list, i), "")));
        attr->type = ATTR_STRINGS;
        attr->n = json_size(list);
        attr->strings = strings;
    }
    json_free(list);
    return texts;
}

void one_op_attr_value(Arena *arena, Str value, Attr *attr)
{
    char *end;
    bool yes = str_eq(value, STR("true"));
    attr->type = ATTR_INT;
    if (str_to_int(value, &attr->i))
        return;
    if (yes || str_eq(value, STR("false"))) {
        attr->i = yes;
        return;
    }
    IntList list = {0};
    if (read_list(arena, value, &list)) {
        attr->type = ATTR_INTS;
        attr->n = list.n;
        attr->ints = list.at;
        return;
    }
    if (read_texts(arena, value, attr))
        return;
    attr->type = ATTR_FLOAT;
    attr->f = strtod(value.s, &end);
    if (value.n > 0 && !*end && isfinite(attr->f))
        return;
    attr->type = ATTR_STRING;
    attr->s = value;
}

/* Reads "[[0,1],[2]]": the ints of all lists, and the length of each. */
static bool read_lists(Arena *arena, Str text, IntList *ints, IntList *lengths)
{
    if (!str_starts(text, STR("[[")) || !str_ends(text, STR("]]")))
        return false;
    text = (Str){text.s + 1, text.n - 2};
    while (text.n > 0) {
        Str part = str_trim(next_operand(&text));
        int before = ints->n;
        if (!read_list(arena, part, ints))
            return false;
        vec_push(arena, lengths, ints->n - before);
    }
    return true;
}

bool one_op_attr_text(OneOpBuilder *builder, const char *given, Error *err)
{
    Str value = str_from(arena_str(builder->arena, str_from(given))), key = str_take(&value, '=');
    if (key.n == 0 || key.n == strlen(given))
        return error_kind(err, ERROR_USAGE, "an attribute is NAME=VALUE, not '%s'", given);
    IntList ints = {0}, lengths = {0};
    if (read_lists(builder->arena, value, &ints, &lengths)) {
        push_lists(builder, arena_str(builder->arena, key), &ints, &lengths);
        return true;
    }
    Attr attr = {.name = intern(builder, key)};
    one_op_attr_value(builder->arena, value, &attr);
    vec_push(builder->arena, &builder->attrs, attr);
    return true;
}

/* ---- attributes from JSON ---- */

static Str copy_str(Arena *arena, const Json *value)
{
    return str_from(arena_str(arena, json_str(value, "")));
}

static int64_t whole_number(const Json *value)
{
    return json_is_bool(value) ? json_bool(value, false) : json_int(value, 0);
}

/* Whether all items are of one kind: integers or bools, numbers, strings. */
static bool all_are(const Json *list, bool (*is)(const Json *))
{
    for (int i = 0; i < json_size(list); i++)
        if (!is(json_at(list, i)))
            return false;
    return true;
}

static bool is_whole(const Json *value)
{
    return json_is_int(value) || json_is_bool(value);
}

static bool is_ints(const Json *value)
{
    return json_is_array(value) && all_are(value, is_whole);
}

static void add_lists(OneOpBuilder *builder, const char *name, const Json *lists)
{
    IntList ints = {0}, lengths = {0};
    for (int i = 0; i < json_size(lists); i++) {
        const Json *list = json_at(lists, i);
        vec_push(builder->arena, &lengths, json_size(list));
        for (int k = 0; k < json_size(list); k++)
            vec_push(builder->arena, &ints, whole_number(json_at(list, k)));
    }
    push_lists(builder, name, &ints, &lengths);
}

static void add_list(OneOpBuilder *builder, const char *name, const Json *list)
{
    Arena *arena = builder->arena;
    Attr attr = {.name = intern(builder, str_from(name)), .n = json_size(list)};
    if (all_are(list, is_whole)) {
        int64_t *ints = arena_array(arena, int64_t, attr.n);
        for (int i = 0; i < attr.n; i++)
            ints[i] = whole_number(json_at(list, i));
        attr.type = ATTR_INTS;
        attr.ints = ints;
    } else if (all_are(list, json_is_number)) {
        double *floats = arena_array(arena, double, attr.n);
        for (int i = 0; i < attr.n; i++)
            floats[i] = json_real(json_at(list, i), 0);
        attr.type = ATTR_FLOATS;
        attr.floats = floats;
    } else if (all_are(list, json_is_string)) {
        Str *strings = arena_array(arena, Str, attr.n);
        for (int i = 0; i < attr.n; i++)
            strings[i] = copy_str(arena, json_at(list, i));
        attr.type = ATTR_STRINGS;
        attr.strings = strings;
    } else {
        if (all_are(list, is_ints))
            add_lists(builder, name, list);
        return;
    }
    vec_push(arena, &builder->attrs, attr);
}

bool one_op_attr_json(OneOpBuilder *builder, const Json *attrs, Error *err)
{
    if (attrs && !json_is_object(attrs) && !json_is_null(attrs))
        return error_set(err, "\"attrs\" must be an object");
    for (int i = 0; i < json_size(attrs); i++) {
        const char *name = json_key_at(attrs, i);
        const Json *value = json_get(attrs, name);
        Attr attr = {.name = intern(builder, str_from(name))};
        if (is_whole(value)) {
            attr.type = ATTR_INT;
            attr.i = whole_number(value);
        } else if (json_is_number(value)) {
            attr.type = ATTR_FLOAT;
            attr.f = json_real(value, 0);
        } else if (json_is_string(value)) {
            attr.type = ATTR_STRING;
            attr.s = copy_str(builder->arena, value);
        } else {
            if (json_is_array(value))
                add_list(builder, name, value);
            continue;
        }
        vec_push(builder->arena, &builder->attrs, attr);
    }
    return true;
}

bool one_op_attr_list(Arena *arena, GraphBuilder *graph, const Json *attrs, int32_t *out,
                      Error *err)
{
    OneOpBuilder builder = {.arena = arena, .graph = graph};
    if (!one_op_attr_json(&builder, attrs, err))
        return false;
    *out = graph_add_attrs(graph, builder.attrs.at, builder.attrs.n);
    return true;
}

bool one_op_shape_json(const Json *list, int64_t least, Shape *out, Error *err)
{
    *out = (Shape){0};
    if (!json_is_array(list))
        return error_set(err, "a shape is a list of sizes");
    if (json_size(list) > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "a shape has at most %d dims", DIMS_MAX);
    out->n_dims = json_size(list);
    for (int d = 0; d < out->n_dims; d++) {
        out->dim[d] = json_int(json_at(list, d), least - 1);
        if (out->dim[d] < least)
            return error_set(err, "dim %d of a shape is not a size", d);
    }
    return true;
}

/* ---- the graph ---- */

static int32_t numbered(OneOpBuilder *builder, const char *what, int i)
{
    const char *name = arena_printf(builder->arena, "%s %d", what, i);
    return graph_tensor(builder->graph, str_from(name));
}

static void add_input(OneOpBuilder *builder, int i, int32_t tensor)
{
    const OneOp *op = &builder->op;
    Dtype dtype = op->dtype ? op->dtype[i] : DT_F32;
    DeclaredDim dims[DIMS_MAX];
    const int64_t *value = op->value ? op->value[i] : NULL;
    if (!value) {
        for (int64_t d = 0; d < op->shape[i].n_dims; d++)
            dims[d] = (DeclaredDim){.size = op->shape[i].dim[d]};
        graph_add_input(builder->graph, tensor, dtype, dims, (int)op->shape[i].n_dims);
        return;
    }
    size_t n = (size_t)shape_elements(&op->shape[i]) * sizeof(int64_t);
    const char *bytes = arena_str(builder->arena, (Str){(const char *)value, n});
    TensorData data = {.form = DATA_RAW, .bytes = {bytes, n}};
    graph_add_initializer(builder->graph, tensor, DT_I64, &op->shape[i], data);
}

static void declare_output(OneOpBuilder *builder, int o, int32_t tensor)
{
    const Shape *shape = &builder->op.out_shape[o];
    DeclaredDim dims[DIMS_MAX];
    for (int64_t d = 0; d < shape->n_dims; d++)
        dims[d] = (DeclaredDim){.size = shape->dim[d]};
    graph_declare(builder->graph, tensor, builder->op.out_dtype[o], dims, (int)shape->n_dims);
}

Graph *one_op_graph(OneOpBuilder *builder, Error *err)
{
    const OneOp *op = &builder->op;
    int32_t *inputs = arena_array(builder->arena, int32_t, op->n_inputs);
    int32_t *outputs = arena_array(builder->arena, int32_t, op->n_outputs);
    for (int i = 0; i < op->n_inputs; i++) {
        inputs[i] = -1;
        if (op->shape[i].n_dims < 0)
            continue;
        inputs[i] = numbered(builder, "input", i);
        add_input(builder, i, inputs[i]);
    }
    for (int o = 0; o < op->n_outputs; o++) {
        outputs[o] = numbered(builder, "output", o);
        if (op->out_shape)
            declare_output(builder, o, outputs[o]);
        graph_add_output(builder->graph, outputs[o]);
    }
    graph_add_op(builder->graph, op->op_type, STR("op"), STR(""), inputs, op->n_inputs, outputs,
                 op->n_outputs,
                 graph_add_attrs(builder->graph, builder->attrs.at, builder->attrs.n));
    graph_builder_graph(builder->graph)->opset = op->opset;
    return graph_seal(builder->graph, err);
}
