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
        const Shape *shape = inferred_shape(model, t);
        if (is_float(model, t) && shape && shape->n_dims >= 2)
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

/* False of an output 'loss' that is not one float: a cross entropy of it would be no loss of the
 * model. */
static bool check_outputs(const Inferred *model, Error *err)
{
    int32_t t = graph_find_tensor(model->graph, STR("loss"));
    const Shape *shape =
        t < 0 || !model->graph->tensors[t].output ? NULL : inferred_shape(model, t);
    if (!shape)
        return true;
    Buf dims = buf_new(model->arena);
    shape_format(shape, &dims);
    error_kind(err, ERROR_USAGE, "the output 'loss' is %s[%s], and a loss is one float",
               dtype_name((Dtype)model->dtype[t]), dims.s);
    return error_hint(err, "end the model with its mean, or name another output; loss=NAME trains "
                           "by a tensor with one float");
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

/* The gradient of the loss: the loss scale, a constant or made of a state. -1 with *err. */
static int32_t add_seed(Adding *a, const UpdateSpec *spec, Dtype dtype, const Shape *shape,
                        int32_t *scale, Error *err)
{
    static const Shape one = {.n_dims = 1, .dim = {1}};
    *scale = -1;
    if ((spec->dynamic || spec->scale != 1) && dtype != DT_F64 && dtype != DT_F32) {
        error_kind(err, ERROR_UNSUPPORTED, "--train: scale needs a loss of 32 bits, and it is %s",
                   dtype_name(dtype));
        return -1;
    }
    if (spec->dynamic) {
        if (dtype != DT_F32 || shape->n_dims > 0) {
            error_kind(err, ERROR_UNSUPPORTED,
                       "--train: scale=dynamic needs a loss of f32 without dims");
            return -1;
        }
        *scale = new_tensor(a, "loss~scale");
        graph_add_initializer(a->builder, *scale, DT_F32, &one,
                              (TensorData){.form = DATA_FILL, .fill = spec->scale});
        return add_op(a, "Squeeze", "loss~grad", scale, 1, NULL, 0);
    }
    static const uint16_t one_f16 = 0x3c00, one_bf16 = 0x3f80;
    const float single = (float)spec->scale;
    const void *bytes = dtype == DT_F64    ? (const void *)&spec->scale
                        : dtype == DT_F16  ? (const void *)&one_f16
                        : dtype == DT_BF16 ? (const void *)&one_bf16
                                           : (const void *)&single;
    size_t n = (size_t)dtype_bits(dtype) / 8;
    char *copy = arena_alloc(a->arena, 8);
    memcpy(copy, bytes, n);
    int32_t seed = new_tensor(a, "loss~grad");
    graph_add_initializer(a->builder, seed, dtype, shape,
                          (TensorData){.form = DATA_RAW, .bytes = {copy, n}});
    return seed;
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

/* 1 for each label that counts, else 0. */
static int32_t add_counts(Adding *a, int32_t labels, int64_t ignored, Dtype dtype)
{
    int32_t without = new_tensor(a, "loss~ignored");
    int64_t *index = arena_make(a->arena, int64_t);
    static const Shape scalar = {0};
    *index = ignored;
    graph_add_initializer(
        a->builder, without, DT_I64, &scalar,
        (TensorData){.form = DATA_RAW, .bytes = {(const char *)index, sizeof *index}});
    int32_t same = add_op(a, "Equal", "loss~same", (int32_t[]){labels, without}, 2, NULL, 0);
    int32_t other = add_op(a, "Not", "loss~other", &same, 1, NULL, 0);
    Attr to = attr_int(a, "to", dtype_to_onnx(dtype));
    return add_op(a, "Cast", "loss~counts", &other, 1, &to, 1);
}

/* The mean of the labels' losses, over those that count. */
static int32_t add_mean(Adding *a, int32_t token, int32_t counts)
{
    Attr keep = attr_int(a, "keepdims", 0);
    if (counts < 0)
        return add_op(a, "ReduceMean", "loss", &token, 1, &keep, 1);
    int32_t sum = add_op(a, "ReduceSum", "loss~total", &token, 1, &keep, 1);
    int32_t n = add_op(a, "ReduceSum", "loss~count", &counts, 1, &keep, 1);
    return add_op(a, "Div", "loss", (int32_t[]){sum, n}, 2, NULL, 0);
}

static int32_t add_cross_entropy(Adding *a, int32_t scores, const UpdateSpec *spec)
{
    static const int64_t last = -1;
    Names *names = graph_builder_graph(a->builder)->names;
    Attr axes = {.name = names_intern(names, STR("axes")), .type = ATTR_INTS, .n = 1};
    axes.ints = &last;
    Attr over_last[2] = {axes, attr_int(a, "keepdims", 1)}, to = attr_int(a, "to", 1);
    Attr token_attr[2];
    int n_attrs = 0;
    if (spec->ignores)
        token_attr[n_attrs++] = attr_int(a, "ignore_index", spec->ignore_index);
    if (spec->smoothing > 0)
        token_attr[n_attrs++] = (Attr){.name = names_intern(names, STR("label_smoothing")),
                                       .type = ATTR_FLOAT,
                                       .f = spec->smoothing};
    Dtype dtype = (Dtype)a->model->dtype[scores];
    int32_t labels = add_labels(a, program_shape(a->model, scores));
    if (dtype != DT_F32 && dtype != DT_F64)
        scores = add_op(a, "Cast", "loss~scores", &scores, 1, &to, 1);
    int32_t most = add_op(a, "ReduceMax", "loss~max", &scores, 1, over_last, 2);
    int32_t sum = add_op(a, "SumExp", "loss~sum", (int32_t[]){scores, most}, 2, NULL, 0);
    int32_t token = add_op(a, "TokenLoss", "loss~token", (int32_t[]){scores, most, sum, labels}, 4,
                           token_attr, n_attrs);
    Dtype counted = dtype == DT_F64 ? DT_F64 : DT_F32;
    int32_t loss =
        add_mean(a, token, spec->ignores ? add_counts(a, labels, spec->ignore_index, counted) : -1);
    graph_add_output(a->builder, loss);
    return loss;
}

/* The ops of the loss come of the op that makes the scores: they run where it does. */
static void note_scores(Arena *arena, const Graph *model, int32_t scores, Graph *out)
{
    int32_t *of = arena_array(arena, int32_t, out->n_ops);
    for (int32_t op = 0; op < out->n_ops; op++)
        of[op] = op < model->n_ops ? -1 : model->tensors[scores].maker;
    out->of = of;
}

static bool has_samples(Arena *arena, const Inferred *model, Error *err)
{
    for (int i = 0; i < model->graph->n_inputs; i++) {
        int32_t t = model->graph->inputs[i];
        const Shape *shape = inferred_shape(model, t);
        if (!shape || shape_elements(shape) != 0)
            continue;
        Buf sizes = buf_new(arena);
        shape_format(shape, &sizes);
        error_kind(err, ERROR_OUT_OF_RANGE,
                   "a training step needs samples, and the input '%s' [%s] has no element",
                   tensor_name(model->graph, t), sizes.s);
        return error_hint(err, "give its free dims sizes of 1 or more: --dim batch=8,seq=1024");
    }
    return true;
}

bool loss_add(Arena *arena, const Inferred *model, const UpdateSpec *spec, Loss *out, Error *err)
{
    if (!has_samples(arena, model, err))
        return false;
    bool chosen = strcmp(spec->loss, "auto") != 0;
    *out = (Loss){.loss = chosen ? named_loss(model, spec->loss, err) : find_loss(model)};
    if (chosen && out->loss < 0)
        return false;
    if (out->loss < 0 && !check_outputs(model, err))
        return false;
    int32_t scores = out->loss >= 0 ? -1 : find_scores(model);
    if (out->loss < 0 && scores < 0) {
        error_kind(err, ERROR_USAGE, "the model has no loss, and no output that can be scores");
        return error_hint(err, "a loss is an output with one float; loss=NAME chooses a tensor");
    }
    if (out->loss >= 0 && (spec->ignores || spec->smoothing > 0)) {
        error_kind(err, ERROR_USAGE,
                   "--train: the model has its own loss, '%s': ignore_index and label_smoothing "
                   "apply only to a cross entropy that --train adds",
                   tensor_name(model->graph, out->loss));
        return false;
    }
    Adding a = {arena, model, graph_builder_from(arena, model->graph)};
    static const Shape scalar = {0};
    out->added = scores >= 0;
    if (out->added)
        out->loss = add_cross_entropy(&a, scores, spec);
    Dtype dtype = out->added ? (Dtype)model->dtype[scores] : (Dtype)model->dtype[out->loss];
    if (out->added && dtype != DT_F64)
        dtype = DT_F32;
    const Shape *shape = out->added ? &scalar : inferred_shape(model, out->loss);
    out->seed = add_seed(&a, spec, dtype, shape, &out->scale, err);
    if (out->seed < 0)
        return false;
    out->graph = graph_seal(a.builder, err);
    if (out->graph && scores >= 0)
        note_scores(arena, model->graph, scores, out->graph);
    return out->graph;
}
