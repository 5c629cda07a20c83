#include "core/step/loss.h"

#include "core/base/names.h"

/* The operator set by which the ops of the loss are read: ReduceMax and ReduceMean have `axes` as
 * an attribute. */
enum { LOSS_OPSET = 13 };

typedef struct {
    Arena *arena;
    const Inferred *model;
    GraphBuilder *builder;
} Adding;

static bool is_float(const Inferred *model, int32_t tensor)
{
    return dtype_is_float((Dtype)model->dtype[tensor]) && inferred_shape(model, tensor);
}

static bool is_one_float(const Inferred *model, int32_t tensor)
{
    return is_float(model, tensor) && shape_elements(inferred_shape(model, tensor)) == 1 &&
           !tensor_is_known(model, tensor);
}

/* -1 with *err. */
static int32_t named_loss(const Inferred *model, const char *name, Error *err)
{
    int32_t t = graph_find_tensor(model->graph, str_from(name));
    if (t >= 0 && is_one_float(model, t))
        return t;
    error_kind(err, ERROR_USAGE,
               t < 0 ? "there is no tensor '%s' to be the loss"
                     : "'%s' cannot be the loss: it is not one float",
               name);
    error_hint(err, "loss=NAME names a tensor with one float element; loss=auto adds a cross "
                    "entropy of the model's first output");
    return -1;
}

/* The first output with float elements and at least two dims. */
static int32_t find_scores(const Inferred *model)
{
    for (int i = 0; i < model->graph->n_outputs; i++) {
        int32_t t = model->graph->outputs[i];
        if (is_float(model, t) && inferred_shape(model, t)->n_dims >= 2)
            return t;
    }
    return -1;
}

static int32_t find_loss(const Inferred *model)
{
    for (int i = 0; i < model->graph->n_outputs; i++)
        if (is_one_float(model, model->graph->outputs[i]))
            return model->graph->outputs[i];
    return -1;
}

static int32_t new_tensor(Adding *a, const char *name)
{
    Buf text = buf_new(a->arena);
    buf_puts(&text, name);
    while (graph_has_tensor(a->builder, buf_str(&text)))
        buf_putc(&text, '_');
    return graph_tensor(a->builder, buf_str(&text));
}

static int32_t add_op(Adding *a, const char *op_type, const char *name, const int32_t *inputs,
                      int n_inputs, const Attr *attrs, int n_attrs)
{
    int32_t made = new_tensor(a, name);
    int32_t list = graph_add_attrs_of_opset(a->builder, attrs, n_attrs, LOSS_OPSET);
    graph_add_op(a->builder, str_from(op_type), str_from(name), STR("loss"), inputs, n_inputs,
                 &made, 1, list);
    return made;
}

static Attr attr_int(Adding *a, const char *name, int64_t value)
{
    Names *names = graph_builder_graph(a->builder)->names;
    return (Attr){.name = names_intern(names, str_from(name)), .type = ATTR_INT, .i = value};
}

/* An initializer with the one element 1. */
static int32_t add_one(Adding *a, Dtype dtype, const Shape *shape)
{
    static const float one_f32 = 1;
    static const double one_f64 = 1;
    static const uint16_t one_f16 = 0x3c00, one_bf16 = 0x3f80;
    const void *bytes = dtype == DT_F64    ? (const void *)&one_f64
                        : dtype == DT_F16  ? (const void *)&one_f16
                        : dtype == DT_BF16 ? (const void *)&one_bf16
                                           : &one_f32;
    size_t n = dtype == DT_F64 ? 8 : dtype == DT_F32 ? 4 : 2;
    int32_t one = new_tensor(a, "loss~grad");
    graph_add_initializer(a->builder, one, dtype, shape,
                          (TensorData){.form = DATA_RAW, .bytes = {bytes, n}});
    return one;
}

static int32_t add_labels(Adding *a, const Shape *scores)
{
    DeclaredDim dims[DIMS_MAX];
    int32_t labels = new_tensor(a, "labels");
    for (int64_t d = 0; d + 1 < scores->n_dims; d++)
        dims[d] = (DeclaredDim){.size = scores->dim[d]};
    graph_add_input(a->builder, labels, DT_I64, dims, (int)scores->n_dims - 1);
    return labels;
}

static int32_t add_cross_entropy(Adding *a, int32_t scores)
{
    static const int64_t last = -1;
    Names *names = graph_builder_graph(a->builder)->names;
    Attr axes = {.name = names_intern(names, STR("axes")), .type = ATTR_INTS, .n = 1};
    axes.ints = &last;
    Attr over_last[2] = {axes, attr_int(a, "keepdims", 1)}, to = attr_int(a, "to", 1);
    Attr to_one = attr_int(a, "keepdims", 0);
    Dtype dtype = (Dtype)a->model->dtype[scores];
    int32_t labels = add_labels(a, inferred_shape(a->model, scores));
    if (dtype != DT_F32 && dtype != DT_F64)
        scores = add_op(a, "Cast", "loss~scores", &scores, 1, &to, 1);
    int32_t most = add_op(a, "ReduceMax", "loss~max", &scores, 1, over_last, 2);
    int32_t sum = add_op(a, "SumExp", "loss~sum", (int32_t[]){scores, most}, 2, NULL, 0);
    int32_t token =
        add_op(a, "TokenLoss", "loss~token", (int32_t[]){scores, most, sum, labels}, 4, NULL, 0);
    int32_t loss = add_op(a, "ReduceMean", "loss", &token, 1, &to_one, 1);
    graph_add_output(a->builder, loss);
    return loss;
}

bool loss_add(Arena *arena, const Inferred *model, const char *name, Loss *out, Error *err)
{
    bool chosen = name && strcmp(name, "auto") != 0;
    *out = (Loss){.loss = chosen ? named_loss(model, name, err) : find_loss(model)};
    if (chosen && out->loss < 0)
        return false;
    int32_t scores = out->loss >= 0 ? -1 : find_scores(model);
    if (out->loss < 0 && scores < 0) {
        error_kind(err, ERROR_USAGE, "the model has no loss, and no output that can be scores");
        return error_hint(err, "a loss is an output with one float; loss=NAME chooses a tensor");
    }
    Adding a = {arena, model, graph_builder_from(arena, model->graph)};
    static const Shape scalar = {0};
    out->added = scores >= 0;
    if (out->added)
        out->loss = add_cross_entropy(&a, scores);
    Dtype dtype = out->added ? (Dtype)model->dtype[scores] : (Dtype)model->dtype[out->loss];
    if (out->added && dtype != DT_F64)
        dtype = DT_F32;
    out->seed = add_one(&a, dtype, out->added ? &scalar : inferred_shape(model, out->loss));
    out->graph = graph_seal(a.builder, err);
    return out->graph;
}
