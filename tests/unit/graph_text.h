/* graph_text.h - small graphs written as text, for tests.
 *
 *     r <- Range i64[]{0} i64[]{4} i64[]{1}; y <- Gather f32[8,4]! r axis=0
 *
 * Statements stand between `;`, tokens between blanks: outputs (`-`: absent), `<-`, the operator,
 * then operands and attributes. An operand is a tensor made before, `-`, or a new one: an input
 * f32[8,4] (a free dim by its name, f32[batch,4]; without brackets' content f32[] is a scalar), a
 * parameter without data f32[8,4]!, a constant i64[2]{0,1}. Attributes are axis=1, perm=[0,2,1],
 * alpha=0.5, weights=[0.5,2.0], equation="ij->ji", value=i64[1]{5}. Every result that nobody reads
 * is an output.
 */
#ifndef TESTS_UNIT_GRAPH_TEXT_H
#define TESTS_UNIT_GRAPH_TEXT_H

#include "core/model/graph.h"

#include <stdlib.h>

typedef struct {
    Arena *arena;
    GraphBuilder *builder;
    int n_literals;
    Vec(int32_t) written, read; /* tensors, as operands stand in the text */
} GraphText;

static inline Str next_token(Str *text, const char *ends)
{
    size_t at = 0, n = 0;
    while (at < text->n && strchr(ends, text->s[at]))
        at++;
    for (bool quoted = false; at + n < text->n; n++) {
        char c = text->s[at + n];
        quoted ^= c == '"';
        if (!quoted && strchr(ends, c))
            break;
    }
    Str token = {text->s + at, n};
    *text = (Str){text->s + at + n, text->n - at - n};
    return token;
}

static inline int64_t int_in(Str text)
{
    return strtoll(text.s, NULL, 10);
}

/* What stands between the brackets at text.s, which move behind them. */
static inline Str inside(Str *text, char open, char close)
{
    Str none = {text->s, 0};
    if (text->n == 0 || text->s[0] != open)
        return none;
    const char *end = memchr(text->s, close, text->n);
    Str part = {text->s + 1, (size_t)(end - text->s) - 1};
    *text = (Str){end + 1, text->n - part.n - 2};
    return part;
}

static inline int add_sizes(GraphText *made, Str sizes, DeclaredDim *dims)
{
    Names *names = graph_builder_graph(made->builder)->names;
    int n = 0;
    while (sizes.n > 0) {
        Str size = next_token(&sizes, ",");
        bool number = size.s[0] >= '0' && size.s[0] <= '9';
        dims[n++] = number
                        ? (DeclaredDim){int_in(size), 0}
                        : (DeclaredDim){-1, str_eq(size, STR("?")) ? 0 : names_intern(names, size)};
    }
    return n;
}

static inline TensorData constant_bytes(GraphText *made, Dtype dtype, Str elements)
{
    size_t n = 0, size = (size_t)dtype_bytes(dtype, 1);
    char *bytes = arena_alloc(made->arena, elements.n * 8 + 8);
    for (; elements.n > 0; n++) {
        Str element = next_token(&elements, ",");
        int64_t integer = int_in(element);
        double real = strtod(element.s, NULL);
        float single = (float)real;
        const void *from = dtype == DT_F32   ? (const void *)&single
                           : dtype == DT_F64 ? (const void *)&real
                                             : (const void *)&integer;
        memcpy(bytes + n * size, from, size);
    }
    return (TensorData){.form = DATA_RAW, .bytes = {bytes, n * size}};
}

/* dtype[sizes], dtype[sizes]! or dtype[sizes]{elements}: the shape, and the data if there is some.
 */
static inline Dtype read_literal(GraphText *made, Str text, DeclaredDim *dims, int *n_dims,
                                 TensorData *data)
{
    Str head = text, name = next_token(&head, "[");
    Dtype dtype = dtype_from_name(name);
    *n_dims = add_sizes(made, inside(&head, '[', ']'), dims);
    *data = (TensorData){.form = DATA_ABSENT};
    if (head.n > 0 && head.s[0] == '{')
        *data = constant_bytes(made, dtype, inside(&head, '{', '}'));
    else if (head.n == 0)
        data->length = -1; /* an input */
    return dtype;
}

static inline Shape sizes_of(const DeclaredDim *dims, int n_dims)
{
    Shape shape = {.n_dims = n_dims};
    for (int d = 0; d < n_dims; d++)
        shape.dim[d] = dims[d].size;
    return shape;
}

static inline int32_t read_operand(GraphText *made, Str text)
{
    DeclaredDim dims[DIMS_MAX];
    TensorData data;
    int n_dims;
    if (str_eq(text, STR("-")))
        return -1;
    if (!memchr(text.s, '[', text.n))
        return graph_tensor(made->builder, text);
    Dtype dtype = read_literal(made, text, dims, &n_dims, &data);
    const char *name = arena_printf(made->arena, "in%d", made->n_literals++);
    int32_t tensor = graph_tensor(made->builder, str_from(name));
    Shape shape = sizes_of(dims, n_dims);
    if (data.length < 0)
        graph_add_input(made->builder, tensor, dtype, dims, n_dims);
    else
        graph_add_initializer(made->builder, tensor, dtype, &shape, data);
    return tensor;
}

static inline Attr read_attr(GraphText *made, Str text)
{
    Graph *graph = graph_builder_graph(made->builder);
    Str name = next_token(&text, "=");
    Attr attr = {.name = names_intern(graph->names, name), .type = ATTR_INT, .n = 1};
    text = (Str){text.s + 1, text.n - 1};
    if (text.s[0] == '"') {
        attr.type = ATTR_STRING;
        attr.s = (Str){text.s + 1, text.n - 2};
    } else if (text.s[0] == '[' && text.n > 1 && text.s[1] == '"') {
        Str *strings = arena_array(made->arena, Str, text.n);
        attr.type = ATTR_STRINGS;
        attr.n = 0;
        for (Str list = inside(&text, '[', ']'); list.n > 0;) {
            Str quoted = next_token(&list, ",");
            strings[attr.n++] = (Str){quoted.s + 1, quoted.n - 2};
        }
        attr.strings = strings;
    } else if (text.s[0] == '[' && memchr(text.s, '.', text.n)) {
        double *floats = arena_array(made->arena, double, text.n);
        attr.type = ATTR_FLOATS;
        attr.n = 0;
        for (Str list = inside(&text, '[', ']'); list.n > 0;)
            floats[attr.n++] = strtod(next_token(&list, ",").s, NULL);
        attr.floats = floats;
    } else if (text.s[0] == '[') {
        int64_t *ints = arena_array(made->arena, int64_t, text.n);
        attr.type = ATTR_INTS;
        attr.n = 0;
        for (Str list = inside(&text, '[', ']'); list.n > 0;)
            ints[attr.n++] = int_in(next_token(&list, ","));
        attr.ints = ints;
    } else if (memchr(text.s, '[', text.n)) {
        TensorData *data = arena_make(made->arena, TensorData);
        DeclaredDim dims[DIMS_MAX];
        int n_dims;
        attr.type = ATTR_TENSOR;
        attr.dtype = (uint8_t)read_literal(made, text, dims, &n_dims, data);
        Shape shape = sizes_of(dims, n_dims);
        attr.shape = shapes_put(graph->shapes, &shape);
        attr.tensor = data;
    } else if (memchr(text.s, '.', text.n)) {
        attr.type = ATTR_FLOAT;
        attr.f = strtod(text.s, NULL);
    } else {
        attr.i = int_in(text);
    }
    return attr;
}

/* True for key=value; a constant's braces and brackets come before any '='. */
static inline bool is_attr(Str text)
{
    const char *equals = memchr(text.s, '=', text.n), *bracket = memchr(text.s, '[', text.n);
    return equals && (!bracket || equals < bracket);
}

static inline void read_statement(GraphText *made, Str text)
{
    enum { TOKENS = 64 };
    int32_t in[TOKENS], out[TOKENS];
    Attr attrs[TOKENS];
    int n_in = 0, n_out = 0, n_attrs = 0;
    Str token;
    while ((token = next_token(&text, " ")).n > 0 && !str_eq(token, STR("<-")))
        out[n_out++] = str_eq(token, STR("-")) ? -1 : graph_tensor(made->builder, token);
    Str op_type = next_token(&text, " ");
    while ((token = next_token(&text, " ")).n > 0)
        if (is_attr(token))
            attrs[n_attrs++] = read_attr(made, token);
        else
            in[n_in++] = read_operand(made, token);
    for (int i = 0; i < n_in; i++)
        vec_push(made->arena, &made->read, in[i]);
    for (int i = 0; i < n_out; i++)
        vec_push(made->arena, &made->written, out[i]);
    graph_add_op(made->builder, op_type, (Str){"", 0}, (Str){"", 0}, in, n_in, out, n_out,
                 graph_add_attrs(made->builder, attrs, n_attrs));
}

static inline bool is_read(const GraphText *made, int32_t tensor)
{
    for (int i = 0; i < made->read.n; i++)
        if (made->read.at[i] == tensor)
            return true;
    return false;
}

static inline Graph *graph_from_text(Arena *arena, const char *text, int64_t opset)
{
    GraphText made = {.arena = arena, .builder = graph_builder_new(arena, "test")};
    Str rest = str_from(text), statement;
    graph_builder_graph(made.builder)->opset = opset;
    while ((statement = next_token(&rest, ";")).n > 0)
        if (str_trim(statement).n > 0)
            read_statement(&made, statement);
    for (int i = 0; i < made.written.n; i++)
        if (made.written.at[i] >= 0 && !is_read(&made, made.written.at[i]))
            graph_add_output(made.builder, made.written.at[i]);
    Error err = {0};
    Graph *graph = graph_seal(made.builder, &err);
    if (!graph)
        fail_msg("%s: %s", text, err.text);
    return graph;
}

#endif
