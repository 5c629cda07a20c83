#include "tests/bench/onnx_file.h"

#include "core/base/file.h"
#include "tests/unit/proto.h"

typedef struct {
    const Graph *graph;
    Buf out, part, inner, innermost; /* the graph; messages in it, from outer to inner */
} Writer;

static int64_t onnx_type(const GraphTensor *tensor)
{
    return tensor->dtype == DT_I64 ? 7 : 1;
}

static void put_attr(Writer *writer, const Attr *attr)
{
    Buf *out = &writer->inner;
    out->n = 0;
    proto_text(out, 1, names_text(writer->graph->names, attr->name));
    if (attr->type == ATTR_INT)
        proto_int(out, 3, attr->i);
    for (int i = 0; attr->type == ATTR_INTS && i < attr->n; i++)
        proto_int(out, 8, attr->ints[i]);
    proto_int(out, 20, attr->type == ATTR_INTS ? 7 : 2);
    proto_message(&writer->part, 5, out);
}

static void put_node(Writer *writer, int32_t op)
{
    const Graph *graph = writer->graph;
    const GraphOp *node = &graph->ops[op];
    Buf *out = &writer->part;
    Str path = str_from(op_path(graph, op)), name = str_from(op_name(graph, op));
    out->n = writer->inner.n = 0;
    for (int i = 0; i < node->n_inputs; i++)
        proto_text(out, 1, tensor_name(graph, op_inputs(graph, op)[i]));
    for (int o = 0; o < node->n_outputs; o++)
        proto_text(out, 2, tensor_name(graph, op_outputs(graph, op)[o]));
    buf_printf(&writer->inner, "/%.*s/%s", STR_ARG(path), name.s + path.n + 1);
    proto_message(out, 3, &writer->inner);
    proto_text(out, 4, op_operator(graph, op));
    AttrList attrs = graph->attr_lists[node->attrs];
    for (int i = 0; i < attrs.n; i++)
        put_attr(writer, &attrs.at[i]);
    proto_message(&writer->out, 1, out);
}

static void put_initializer(Writer *writer, int32_t tensor)
{
    const GraphTensor *at = &writer->graph->tensors[tensor];
    const TensorData *data = &writer->graph->data[at->data];
    Buf *out = &writer->part;
    out->n = 0;
    for (int d = 0; d < at->n_declared; d++)
        proto_int(out, 1, writer->graph->declared[at->declared + d].size);
    proto_int(out, 2, onnx_type(at));
    proto_text(out, 8, tensor_name(writer->graph, tensor));
    if (data->form == DATA_RAW)
        proto_bytes(out, 9, data->bytes);
    proto_message(&writer->out, 5, out);
}

static void put_value(Writer *writer, uint32_t field, int32_t tensor)
{
    const GraphTensor *at = &writer->graph->tensors[tensor];
    Buf *shape = &writer->inner, *dim = &writer->innermost, type = buf_new(writer->graph->arena);
    Buf tensor_type = buf_new(writer->graph->arena);
    shape->n = writer->part.n = 0;
    for (int d = 0; d < at->n_declared; d++) {
        dim->n = 0;
        proto_int(dim, 1, writer->graph->declared[at->declared + d].size);
        proto_message(shape, 1, dim);
    }
    proto_int(&tensor_type, 1, onnx_type(at));
    if (at->declared >= 0)
        proto_message(&tensor_type, 2, shape);
    proto_message(&type, 1, &tensor_type);
    proto_text(&writer->part, 1, tensor_name(writer->graph, tensor));
    proto_message(&writer->part, 2, &type);
    proto_message(&writer->out, field, &writer->part);
}

bool onnx_file_write(const Graph *graph, const char *path, Error *err)
{
    Arena *arena = graph->arena;
    Writer writer = {graph, buf_new(arena), buf_new(arena), buf_new(arena), buf_new(arena)};
    for (int32_t op = 0; op < graph->n_ops; op++)
        put_node(&writer, op);
    for (int32_t tensor = 0; tensor < graph->n_tensors; tensor++)
        if (graph->tensors[tensor].kind == TENSOR_INITIALIZER)
            put_initializer(&writer, tensor);
    for (int i = 0; i < graph->n_inputs; i++)
        put_value(&writer, 11, graph->inputs[i]);
    for (int i = 0; i < graph->n_outputs; i++)
        put_value(&writer, 12, graph->outputs[i]);
    Buf model = buf_new(arena), opset = buf_new(arena);
    proto_int(&opset, 2, graph->opset);
    proto_int(&model, 1, 10);
    proto_message(&model, 7, &writer.out);
    proto_message(&model, 8, &opset);
    return file_write(path, buf_str(&model), err);
}
