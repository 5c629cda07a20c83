#include "core/prove/gradient_model.h"

#include "core/model/onnx.h"
#include "core/model/wire.h"
#include "core/rules/one_op.h"
#include "core/run/element.h"

/* Fields of onnx.proto. */
enum {
    MODEL_IR = 1,
    MODEL_GRAPH = 7,
    MODEL_OPSET = 8,
    OPSET_DOMAIN = 1,
    OPSET_VERSION = 2,
    GRAPH_NODE = 1,
    GRAPH_NAME = 2,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    NODE_INPUT = 1,
    NODE_OUTPUT = 2,
    NODE_OP = 4,
    NODE_ATTRIBUTE = 5,
    NODE_DOMAIN = 7,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_FLOAT = 2,
    ATTRIBUTE_INT = 3,
    ATTRIBUTE_STRING = 4,
    ATTRIBUTE_GRAPH = 6,
    ATTRIBUTE_FLOATS = 7,
    ATTRIBUTE_INTS = 8,
    ATTRIBUTE_STRINGS = 9,
    ATTRIBUTE_TYPE = 20,
    TENSOR_DIM = 1,
    TENSOR_TYPE = 2,
    TENSOR_NAME = 8,
    TENSOR_RAW = 9,
    VALUE_NAME = 1,
    VALUE_TYPE = 2,
    TYPE_TENSOR = 1,
    TYPE_ELEMENT = 1,
    TYPE_SHAPE = 2,
    SHAPE_DIM = 1,
    DIM_VALUE = 1,
    IR_VERSION = 10,
    ONNX_TYPES = 64,
};

/* AttributeProto.AttributeType */
enum {
    OF_FLOAT = 1,
    OF_INT = 2,
    OF_STRING = 3,
    OF_GRAPH = 5,
    OF_FLOATS = 6,
    OF_INTS = 7,
    OF_STRINGS = 8
};

typedef struct {
    Arena *arena;
    Error *err;
    int depth;
} ModelWriter;

enum { BODIES_DEEP_MAX = 16 };

/* ---- tensors ---- */

bool gradient_tensor_elements(const Json *tensor, Dtype dtype, const Shape *shape, void *out,
                              Error *err)
{
    const Json *data = json_get(tensor, "data");
    int64_t n = shape_elements(shape);
    if (json_size(data) != n)
        return error_set(err, "a tensor has %d elements where its shape has another number",
                         json_size(data));
    for (int64_t i = 0; i < n; i++) {
        const Json *item = json_at(data, (int)i);
        double real = json_is_bool(item) ? json_bool(item, false) : json_real(item, 0);
        int64_t whole = json_is_bool(item) ? json_bool(item, false) : json_int(item, (int64_t)real);
        bool is_float = dtype_is_float(dtype);
        elements_store(dtype, (char *)out + i * element_bytes(dtype), 1,
                       is_float ? NUMBER_F64 : NUMBER_I64,
                       is_float ? (const void *)&real : (const void *)&whole);
    }
    return true;
}

bool gradient_tensor_type(const Json *tensor, Dtype *dtype, Shape *shape, Error *err)
{
    *dtype = dtype_from_name(json_str(json_get(tensor, "dtype"), "f64"));
    if (*dtype == DT_NONE || !dtype_is_computed(*dtype))
        return error_set(err, "a tensor has a \"dtype\" that is not computed");
    return one_op_shape_json(json_get(tensor, "shape"), 0, shape, err);
}

static int64_t onnx_number(Dtype dtype)
{
    int64_t number = 1;
    while (number < ONNX_TYPES && dtype_from_onnx(number) != dtype)
        number++;
    return number;
}

static bool put_initializer(ModelWriter *w, const char *name, const Json *tensor, Buf *graph)
{
    Dtype dtype;
    Shape shape;
    if (!gradient_tensor_type(tensor, &dtype, &shape, w->err))
        return false;
    size_t n_bytes = (size_t)(shape_elements(&shape) * element_bytes(dtype));
    char *bytes = arena_alloc(w->arena, n_bytes + 1);
    Buf out = buf_new(w->arena);
    for (int64_t d = 0; d < shape.n_dims; d++)
        wire_put_int(&out, TENSOR_DIM, shape.dim[d]);
    wire_put_int(&out, TENSOR_TYPE, onnx_number(dtype));
    wire_put_bytes(&out, TENSOR_NAME, str_from(name));
    if (!gradient_tensor_elements(tensor, dtype, &shape, bytes, w->err))
        return false;
    wire_put_bytes(&out, TENSOR_RAW, (Str){bytes, n_bytes});
    wire_put_bytes(graph, GRAPH_INITIALIZER, buf_str(&out));
    return true;
}

static bool put_input(ModelWriter *w, const char *name, const Json *tensor, Buf *graph)
{
    Dtype dtype;
    Shape shape;
    Buf dims = buf_new(w->arena), typed = buf_new(w->arena), type = buf_new(w->arena);
    Buf value = buf_new(w->arena);
    if (!gradient_tensor_type(tensor, &dtype, &shape, w->err))
        return false;
    for (int64_t d = 0; d < shape.n_dims; d++) {
        Buf dim = buf_new(w->arena);
        wire_put_int(&dim, DIM_VALUE, shape.dim[d]);
        wire_put_bytes(&dims, SHAPE_DIM, buf_str(&dim));
    }
    wire_put_int(&typed, TYPE_ELEMENT, onnx_number(dtype));
    wire_put_bytes(&typed, TYPE_SHAPE, buf_str(&dims));
    wire_put_bytes(&type, TYPE_TENSOR, buf_str(&typed));
    wire_put_bytes(&value, VALUE_NAME, str_from(name));
    wire_put_bytes(&value, VALUE_TYPE, buf_str(&type));
    wire_put_bytes(graph, GRAPH_INPUT, buf_str(&value));
    return true;
}

/* ---- graphs ---- */

static bool put_graph(ModelWriter *w, const Json *graph, Buf *out);

static void put_item(const Json *item, bool floats, Buf *out)
{
    if (json_is_string(item))
        wire_put_bytes(out, ATTRIBUTE_STRINGS, json_str(item, ""));
    else if (floats)
        wire_put_float(out, ATTRIBUTE_FLOATS, (float)json_real(item, 0));
    else
        wire_put_int(out, ATTRIBUTE_INTS, json_int(item, 0));
}

static void put_list(const Json *list, Buf *out)
{
    bool floats = false, texts = json_is_string(json_at(list, 0));
    for (int i = 0; i < json_size(list); i++)
        floats |= json_is_number(json_at(list, i)) && !json_is_int(json_at(list, i));
    for (int i = 0; i < json_size(list); i++)
        put_item(json_at(list, i), floats, out);
    wire_put_int(out, ATTRIBUTE_TYPE, texts ? OF_STRINGS : floats ? OF_FLOATS : OF_INTS);
}

static bool put_attribute(ModelWriter *w, const char *name, const Json *value, Buf *node)
{
    Buf out = buf_new(w->arena), graph = buf_new(w->arena);
    if (json_is_null(value))
        return true;
    wire_put_bytes(&out, ATTRIBUTE_NAME, str_from(name));
    if (json_is_object(value)) {
        if (!put_graph(w, value, &graph))
            return false;
        wire_put_bytes(&out, ATTRIBUTE_GRAPH, buf_str(&graph));
        wire_put_int(&out, ATTRIBUTE_TYPE, OF_GRAPH);
    } else if (json_is_array(value)) {
        put_list(value, &out);
    } else if (json_is_string(value)) {
        wire_put_bytes(&out, ATTRIBUTE_STRING, json_str(value, ""));
        wire_put_int(&out, ATTRIBUTE_TYPE, OF_STRING);
    } else if (json_is_int(value) || json_is_bool(value)) {
        wire_put_int(&out, ATTRIBUTE_INT,
                     json_is_bool(value) ? json_bool(value, false) : json_int(value, 0));
        wire_put_int(&out, ATTRIBUTE_TYPE, OF_INT);
    } else {
        wire_put_float(&out, ATTRIBUTE_FLOAT, (float)json_real(value, 0));
        wire_put_int(&out, ATTRIBUTE_TYPE, OF_FLOAT);
    }
    wire_put_bytes(node, NODE_ATTRIBUTE, buf_str(&out));
    return true;
}

static bool put_node(ModelWriter *w, const Json *node, Buf *graph)
{
    const Json *inputs = json_get(node, "inputs"), *outputs = json_get(node, "outputs");
    const Json *attrs = json_get(node, "attrs");
    Buf out = buf_new(w->arena);
    for (int i = 0; i < json_size(inputs); i++)
        wire_put_bytes(&out, NODE_INPUT, json_str(json_at(inputs, i), ""));
    for (int i = 0; i < json_size(outputs); i++)
        wire_put_bytes(&out, NODE_OUTPUT, json_str(json_at(outputs, i), ""));
    wire_put_bytes(&out, NODE_OP, json_str(json_get(node, "op"), ""));
    wire_put_bytes(&out, NODE_DOMAIN, json_str(json_get(node, "domain"), ""));
    for (int i = 0; i < json_size(attrs); i++)
        if (!put_attribute(w, json_key_at(attrs, i), json_get(attrs, json_key_at(attrs, i)), &out))
            return false;
    wire_put_bytes(graph, GRAPH_NODE, buf_str(&out));
    return true;
}

static void put_named(ModelWriter *w, uint32_t field, Str name, Buf *graph)
{
    Buf value = buf_new(w->arena);
    wire_put_bytes(&value, VALUE_NAME, name);
    wire_put_bytes(graph, field, buf_str(&value));
}

static bool put_inputs(ModelWriter *w, const Json *inputs, Buf *out)
{
    for (int i = 0; json_is_array(inputs) && i < json_size(inputs); i++)
        put_named(w, GRAPH_INPUT, json_str(json_at(inputs, i), ""), out);
    for (int i = 0; json_is_object(inputs) && i < json_size(inputs); i++) {
        const char *name = json_key_at(inputs, i);
        const Json *tensor = json_get(inputs, name);
        bool floats = dtype_is_float(dtype_from_name(json_str(json_get(tensor, "dtype"), "f64")));
        if (!(floats ? put_input(w, name, tensor, out) : put_initializer(w, name, tensor, out)))
            return false;
    }
    return true;
}

static bool put_graph(ModelWriter *w, const Json *graph, Buf *out)
{
    const Json *constants = json_get(graph, "constants"), *nodes = json_get(graph, "nodes");
    const Json *outputs = json_get(graph, "outputs");
    if (++w->depth > BODIES_DEEP_MAX)
        return error_kind(w->err, ERROR_UNSUPPORTED, "graphs are more than %d deep in each other",
                          BODIES_DEEP_MAX);
    wire_put_bytes(out, GRAPH_NAME, STR("request"));
    if (!put_inputs(w, json_get(graph, "inputs"), out))
        return false;
    for (int i = 0; i < json_size(constants); i++) {
        const char *name = json_key_at(constants, i);
        if (!put_initializer(w, name, json_get(constants, name), out))
            return false;
    }
    for (int i = 0; i < json_size(nodes); i++)
        if (!put_node(w, json_at(nodes, i), out))
            return false;
    for (int i = 0; i < json_size(outputs); i++)
        put_named(w, GRAPH_OUTPUT, json_str(json_at(outputs, i), ""), out);
    w->depth--;
    return true;
}

static void put_opset(Arena *arena, const char *domain, int64_t version, Buf *model)
{
    Buf out = buf_new(arena);
    wire_put_bytes(&out, OPSET_DOMAIN, str_from(domain));
    wire_put_int(&out, OPSET_VERSION, version);
    wire_put_bytes(model, MODEL_OPSET, buf_str(&out));
}

Graph *gradient_model(Arena *arena, const Json *request, Error *err)
{
    ModelWriter w = {.arena = arena, .err = err};
    Buf graph = buf_new(arena), model = buf_new(arena);
    if (!put_graph(&w, request, &graph))
        return NULL;
    wire_put_int(&model, MODEL_IR, IR_VERSION);
    wire_put_bytes(&model, MODEL_GRAPH, buf_str(&graph));
    put_opset(arena, "", json_int(json_get(request, "opset"), 20), &model);
    put_opset(arena, "com.microsoft", 1, &model);
    return onnx_read(arena, "request", buf_str(&model), err);
}
