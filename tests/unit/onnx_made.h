/* onnx_made.h - ONNX files made in a test, as text of nodes.
 *
 *     Body body = body_new(arena);
 *     body_input(&body, "x", DT_F32, "batch,8");
 *     body_node(&body, "Add add: x w -> y");        operator, name or `-`, inputs, outputs
 *     body_output(&body, "y");
 *     Str model = model_bytes(&body, 18, functions, n);
 *
 * An operator may have a domain, "local::Block". Names of operands are parted by blanks, `_` is an
 * absent one.
 */
#ifndef TESTS_UNIT_ONNX_MADE_H
#define TESTS_UNIT_ONNX_MADE_H

#include "core/model/dtype.h"
#include "tests/unit/proto.h"

#include <stdlib.h>

typedef struct {
    Arena *arena;
    Buf graph; /* a GraphProto */
} Body;

static inline Body body_new(Arena *arena)
{
    return (Body){arena, buf_new(arena)};
}

static inline Str take_word(Str *text, char end)
{
    const char *at = text->n > 0 ? memchr(text->s, end, text->n) : NULL;
    Str word = {text->s, at ? (size_t)(at - text->s) : text->n};
    size_t skip = word.n + (at != NULL);
    *text = (Str){text->s + skip, text->n - skip};
    return str_trim(word);
}

static inline void put_words(Buf *out, uint32_t field, Str words)
{
    for (words = str_trim(words); words.n > 0; words = str_trim(words)) {
        Str word = take_word(&words, ' ');
        proto_bytes(out, field, str_eq(word, STR("_")) ? STR("") : word);
    }
}

/* "Add add: x w -> y", as a NodeProto without attributes. */
static inline Buf node_begin(Arena *arena, const char *text)
{
    Buf node = buf_new(arena);
    Str rest = str_from(text);
    Str head = take_word(&rest, ':');
    if (head.n > 0 && rest.n > 0 && rest.s[0] == ':') { /* "local::Block name: .." */
        take_word(&rest, ':');
        proto_bytes(&node, 7, head);
        head = take_word(&rest, ':');
    }
    Str op_type = take_word(&head, ' ');
    int64_t arrow = str_find(rest, STR("->"));
    put_words(&node, 1, (Str){rest.s, (size_t)arrow});
    put_words(&node, 2, (Str){rest.s + arrow + 2, rest.n - (size_t)arrow - 2});
    if (!str_eq(str_trim(head), STR("-")))
        proto_bytes(&node, 3, str_trim(head));
    proto_bytes(&node, 4, op_type);
    return node;
}

static inline void node_int(Buf *node, const char *name, int64_t value)
{
    Buf attr = buf_new(node->arena);
    proto_text(&attr, 1, name);
    proto_int(&attr, 3, value);
    proto_int(&attr, 20, 2);
    proto_message(node, 5, &attr);
}

/* The value of the function's attribute `from`. */
static inline void node_reference(Buf *node, const char *name, const char *from)
{
    Buf attr = buf_new(node->arena);
    proto_text(&attr, 1, name);
    proto_text(&attr, 21, from);
    proto_int(&attr, 20, 2);
    proto_message(node, 5, &attr);
}

static inline void node_graph(Buf *node, const char *name, const Body *body)
{
    Buf attr = buf_new(node->arena);
    proto_text(&attr, 1, name);
    proto_message(&attr, 6, &body->graph);
    proto_int(&attr, 20, 5);
    proto_message(node, 5, &attr);
}

static inline void body_add(Body *body, const Buf *node)
{
    proto_message(&body->graph, 1, node);
}

static inline void body_node(Body *body, const char *text)
{
    Buf node = node_begin(body->arena, text);
    body_add(body, &node);
}

/* dims: "batch,8"; "" is a scalar; NULL: the shape is not declared. */
static inline Buf value_of(Arena *arena, const char *name, Dtype dtype, const char *dims)
{
    Buf value = buf_new(arena), type = buf_new(arena), tensor = buf_new(arena),
        shape = buf_new(arena);
    static const int onnx[DT_COUNT] = {[DT_F32] = 1, [DT_I64] = 7, [DT_BOOL] = 9};
    proto_int(&tensor, 1, onnx[dtype]);
    for (Str rest = str_from(dims ? dims : ""); rest.n > 0;) {
        Buf dim = buf_new(arena);
        Str word = take_word(&rest, ',');
        bool number = word.n > 0 && word.s[0] >= '0' && word.s[0] <= '9';
        if (number)
            proto_int(&dim, 1, strtoll(word.s, NULL, 10));
        else
            proto_bytes(&dim, 2, word);
        proto_message(&shape, 1, &dim);
    }
    if (dims)
        proto_message(&tensor, 2, &shape);
    proto_message(&type, 1, &tensor);
    proto_text(&value, 1, name);
    proto_message(&value, 2, &type);
    return value;
}

static inline void body_input(Body *body, const char *name, Dtype dtype, const char *dims)
{
    Buf value = value_of(body->arena, name, dtype, dims);
    proto_message(&body->graph, 11, &value);
}

static inline void body_output(Body *body, const char *name)
{
    Buf value = buf_new(body->arena);
    proto_text(&value, 1, name);
    proto_message(&body->graph, 12, &value);
}

/* An initializer of integers: "" for a scalar of one. */
static inline void body_ints(Body *body, const char *name, const char *elements, bool scalar)
{
    Buf tensor = buf_new(body->arena);
    int64_t n = 0;
    for (Str rest = str_from(elements); rest.n > 0; n++)
        proto_int(&tensor, 7, strtoll(take_word(&rest, ',').s, NULL, 10));
    if (!scalar)
        proto_int(&tensor, 1, n);
    proto_int(&tensor, 2, 7);
    proto_text(&tensor, 8, name);
    proto_message(&body->graph, 5, &tensor);
}

/* A weight without elements. */
static inline void body_weight(Body *body, const char *name, const char *dims)
{
    Buf tensor = buf_new(body->arena);
    for (Str rest = str_from(dims); rest.n > 0;)
        proto_int(&tensor, 1, strtoll(take_word(&rest, ',').s, NULL, 10));
    proto_int(&tensor, 2, 1);
    proto_text(&tensor, 8, name);
    proto_message(&body->graph, 5, &tensor);
}

static inline Buf opset_of(Arena *arena, const char *domain, int64_t version)
{
    Buf opset = buf_new(arena);
    proto_text(&opset, 1, domain);
    proto_int(&opset, 2, version);
    return opset;
}

/* "Block x w -> y" as a FunctionProto of the domain "local", without nodes. */
static inline Buf function_begin(Arena *arena, const char *text, int64_t version)
{
    Buf function = buf_new(arena), opset = opset_of(arena, "", version);
    Str rest = str_from(text);
    proto_bytes(&function, 1, take_word(&rest, ' '));
    int64_t arrow = str_find(rest, STR("->"));
    put_words(&function, 4, (Str){rest.s, (size_t)arrow});
    put_words(&function, 5, (Str){rest.s + arrow + 2, rest.n - (size_t)arrow - 2});
    proto_message(&function, 9, &opset);
    proto_text(&function, 10, "local");
    return function;
}

static inline void function_node(Buf *function, const Buf *node)
{
    proto_message(function, 7, node);
}

static inline Str model_bytes(const Body *body, int64_t version, const Buf *functions, int n)
{
    Buf model = buf_new(body->arena), opset = opset_of(body->arena, "", version);
    proto_int(&model, 1, 10);
    proto_message(&model, 7, &body->graph);
    proto_message(&model, 8, &opset);
    for (int i = 0; i < n; i++)
        proto_message(&model, 25, &functions[i]);
    return buf_str(&model);
}

#endif
