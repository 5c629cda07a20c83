#include "core/model/widen.h"

/* Attributes that are the number of an element type, as ONNX counts them. */
static bool is_dtype(const char *name)
{
    return strcmp(name, "to") == 0 || strcmp(name, "dtype") == 0;
}

static void widen_data(TensorData *data)
{
    if (data->form != DATA_FILL)
        data->stored = DT_F32;
}

/* Constant's value_float and value_floats: a tensor, which has a type. */
static void widen_floats(const Graph *graph, Attr *attr)
{
    bool list = attr->type == ATTR_FLOATS;
    TensorData *data = arena_make(graph->arena, TensorData);
    Shape shape = {.n_dims = list, .dim = {list ? attr->n : 0}};
    size_t n = list ? (size_t)attr->n : 1;
    double *elements = arena_array(graph->arena, double, n);
    for (size_t i = 0; i < n; i++)
        elements[i] = list ? attr->floats[i] : attr->f;
    *data = (TensorData){.form = DATA_RAW, .bytes = {(char *)elements, n * sizeof *elements}};
    *attr = (Attr){.name = names_intern(graph->names, STR("value")),
                   .type = ATTR_TENSOR,
                   .dtype = DT_F64,
                   .shape = shapes_put(graph->shapes, &shape),
                   .tensor = data};
}

static void widen_attr(const Graph *graph, Attr *attr)
{
    const char *name = names_text(graph->names, attr->name);
    if (attr->type == ATTR_TENSOR && attr->dtype == DT_F32) {
        TensorData *data = arena_make(graph->arena, TensorData);
        *data = *attr->tensor;
        widen_data(data);
        attr->tensor = data;
        attr->dtype = DT_F64;
    } else if (strcmp(name, "value_float") == 0 || strcmp(name, "value_floats") == 0) {
        widen_floats(graph, attr);
    } else if (attr->type == ATTR_INT && is_dtype(name) && attr->i == dtype_to_onnx(DT_F32)) {
        attr->i = dtype_to_onnx(DT_F64);
    }
}

static void widen_attrs(Graph *graph, int32_t list, bool *done)
{
    AttrList *attrs = &graph->attr_lists[list];
    if (done[list] || attrs->n == 0)
        return;
    done[list] = true;
    Attr *copy = arena_array(graph->arena, Attr, attrs->n);
    memcpy(copy, attrs->at, (size_t)attrs->n * sizeof *copy);
    for (int i = 0; i < attrs->n; i++)
        widen_attr(graph, &copy[i]);
    attrs->at = copy;
}

bool graph_widen(Graph *graph, Error *err)
{
    int32_t n_lists = 0;
    for (int32_t op = 0; op < graph->n_ops; op++)
        n_lists = graph->ops[op].attrs >= n_lists ? graph->ops[op].attrs + 1 : n_lists;
    bool *done = arena_array(graph->arena, bool, n_lists);
    for (int32_t op = 0; op < graph->n_ops; op++)
        widen_attrs(graph, graph->ops[op].attrs, done);
    for (int32_t t = 0; t < graph->n_tensors; t++) {
        GraphTensor *tensor = &graph->tensors[t];
        if (tensor->dtype == DT_F16 || tensor->dtype == DT_BF16)
            return error_kind(err, ERROR_UNSUPPORTED,
                              "'%s' is %s, and only models of f32 are computed as f64",
                              tensor_name(graph, t), dtype_name((Dtype)tensor->dtype));
        if (tensor->dtype != DT_F32)
            continue;
        tensor->dtype = DT_F64;
        if (tensor->data >= 0)
            widen_data(&graph->data[tensor->data]);
    }
    graph->widened = true;
    return true;
}
