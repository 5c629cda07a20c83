#include "core/prove/gradient_eval.h"

#include "core/prove/gradient_model.h"
#include "core/prove/simulated.h"
#include "core/prove/whole_run.h"
#include "core/rules/one_op.h"
#include "core/rules/registry.h"
#include "core/fuse/for_gradients.h"
#include "core/fuse/write_out.h"
#include "core/step/backward.h"

/* A graph from a request, and the values that it gives. */
typedef struct {
    Arena *arena;
    GraphBuilder *builder; /* of one op */
    Graph *graph;
    Vec(int32_t) tensors; /* with a value of the request */
    Vec(const Json *) elements;
    Vec(int32_t) inputs, outputs; /* of the request, -1: absent */
    Vec(const Json *) cotangents; /* per output */
    Vec(int32_t) overwritten;     /* outputs whose values are given, since they are drawn */
    Vec(const Json *) overwriting;
} GradientCase;

/* ---- tensors ---- */

/* constant: known before the run; whole numbers always are. */
static bool add_tensor(GradientCase *c, Str name, const Json *tensor, bool constant, int32_t *out,
                       Error *err)
{
    Dtype dtype;
    Shape shape;
    if (!gradient_tensor_type(tensor, &dtype, &shape, err))
        return false;
    *out = graph_tensor(c->builder, name);
    if (!constant && dtype_is_float(dtype)) {
        DeclaredDim dims[DIMS_MAX];
        for (int64_t d = 0; d < shape.n_dims; d++)
            dims[d] = (DeclaredDim){.size = shape.dim[d]};
        graph_add_input(c->builder, *out, dtype, dims, (int)shape.n_dims);
        vec_push(c->arena, &c->tensors, *out);
        vec_push(c->arena, &c->elements, tensor);
        return true;
    }
    size_t n_bytes = (size_t)(shape_elements(&shape) * element_bytes(dtype));
    char *bytes = arena_alloc(c->arena, n_bytes + 1);
    graph_add_initializer(c->builder, *out, dtype, &shape,
                          (TensorData){.form = DATA_RAW, .bytes = {bytes, n_bytes}});
    return gradient_tensor_elements(tensor, dtype, &shape, bytes, err);
}

/* ---- graphs ---- */

static const char *op_type_of(Arena *arena, const Json *node)
{
    const char *op_type = arena_str(arena, json_str(json_get(node, "op"), ""));
    Str domain = json_str(json_get(node, "domain"), "");
    return domain.n == 0 || str_eq(domain, STR("ai.onnx"))
               ? op_type
               : arena_printf(arena, "%.*s::%s", STR_ARG(domain), op_type);
}

static bool add_node(GradientCase *c, const Json *node, const int32_t *inputs, int n_inputs,
                     const int32_t *outputs, int n_outputs, Error *err)
{
    const Json *attrs = json_get(node, "attrs");
    for (int i = 0; i < json_size(attrs); i++)
        if (json_is_object(json_get(attrs, json_key_at(attrs, i))))
            return error_kind(err, ERROR_UNSUPPORTED, "graphs inside of an op are not read here");
    int32_t list;
    if (!one_op_attr_list(c->arena, c->builder, attrs, &list, err))
        return false;
    graph_add_op(c->builder, str_from(op_type_of(c->arena, node)), STR(""), STR(""), inputs,
                 n_inputs, outputs, n_outputs, list);
    return true;
}

static bool read_op(GradientCase *c, const Json *request, Error *err)
{
    const Json *inputs = json_get(request, "inputs"), *cotangents = json_get(request, "cotangents");
    const Json *named = json_get(request, "outputs_named");
    const Json *given = json_get(json_get(request, "given"), "outputs");
    const Operator *row = operator_find(op_type_of(c->arena, request));
    for (int i = 0; i < json_size(inputs); i++) {
        const Json *tensor = json_at(inputs, i);
        int32_t t = -1;
        Str name = str_from(arena_printf(c->arena, "input %d", i));
        bool constant = row && i < 16 && (row->reads >> i & 1) != 0; /* shapes depend on it */
        if (!json_is_null(tensor) && !add_tensor(c, name, tensor, constant, &t, err))
            return false;
        vec_push(c->arena, &c->inputs, t);
    }
    for (int o = 0; o < json_size(cotangents); o++) {
        bool absent = json_is_array(named) && !json_bool(json_at(named, o), true);
        Str name = str_from(absent ? "" : arena_printf(c->arena, "output %d", o));
        int32_t t = graph_tensor(c->builder, name);
        vec_push(c->arena, &c->outputs, t);
        vec_push(c->arena, &c->cotangents, json_at(cotangents, o));
        if (t >= 0)
            graph_add_output(c->builder, t);
        if (t >= 0 && json_is_object(json_at(given, o))) {
            vec_push(c->arena, &c->overwritten, t);
            vec_push(c->arena, &c->overwriting, json_at(given, o));
        }
    }
    graph_builder_graph(c->builder)->opset = json_int(json_get(request, "opset"), 20);
    if (add_node(c, request, c->inputs.at, c->inputs.n, c->outputs.at, c->outputs.n, err))
        c->graph = graph_seal(c->builder, err);
    return c->graph;
}

static bool read_graph(GradientCase *c, const Json *request, Error *err)
{
    const Json *inputs = json_get(request, "inputs"), *outputs = json_get(request, "outputs");
    c->graph = gradient_model(c->arena, request, err);
    if (!c->graph)
        return false;
    for (int i = 0; i < json_size(inputs); i++) {
        const char *name = json_key_at(inputs, i);
        int32_t t = graph_find_tensor(c->graph, str_from(name));
        vec_push(c->arena, &c->inputs, t);
        if (t < 0 || c->graph->tensors[t].kind != TENSOR_INPUT)
            continue;
        vec_push(c->arena, &c->tensors, t);
        vec_push(c->arena, &c->elements, json_get(inputs, name));
    }
    for (int o = 0; o < json_size(outputs); o++) {
        Str name = json_str(json_at(outputs, o), "");
        vec_push(c->arena, &c->outputs, graph_find_tensor(c->graph, name));
        vec_push(c->arena, &c->cotangents, json_at(json_get(request, "cotangents"), o));
    }
    return true;
}

/* ---- running ---- */

static Local *value_of(const Json *tensor, Dtype dtype, const Shape *shape, Error *err)
{
    Local *value = local_new_whole(dtype, shape);
    if (gradient_tensor_elements(tensor, dtype, shape, value->data, err))
        return value;
    local_free(value);
    return NULL;
}

static bool set_value(const Inferred *inferred, int32_t tensor, const Json *from, Local **value,
                      Error *err)
{
    const Shape *shape = inferred_shape(inferred, tensor);
    if (!shape || json_size(json_get(from, "data")) != shape_elements(shape))
        return error_set(err, "the value of '%s' has another number of elements than it",
                         tensor_name(inferred->graph, tensor));
    local_free(value[tensor]);
    value[tensor] = value_of(from, (Dtype)inferred->dtype[tensor], shape, err);
    return value[tensor];
}

static bool *constants_read(Arena *arena, const Inferred *inferred, Local *const *value)
{
    const Graph *graph = inferred->graph;
    bool *wanted = arena_array(arena, bool, graph->n_tensors);
    for (int p = 0; p < inferred->n_program; p++)
        for (int i = 0; i < graph->ops[inferred->program[p]].n_inputs; i++) {
            int32_t t = op_inputs(graph, inferred->program[p])[i];
            if (t >= 0 && !value[t] && inferred_shape(inferred, t) &&
                (graph->tensors[t].kind == TENSOR_INITIALIZER || tensor_is_known(inferred, t)))
                wanted[t] = true;
        }
    return wanted;
}

typedef struct {
    const GradientCase *c;
    const Inferred *inferred;
    Local **value;
} CaseRun;

static bool overwrite(void *context, int32_t op, Error *err)
{
    const CaseRun *run = context;
    const GradientCase *c = run->c;
    for (int i = 0; i < c->overwritten.n; i++)
        if (run->inferred->graph->tensors[c->overwritten.at[i]].maker == op &&
            !set_value(run->inferred, c->overwritten.at[i], c->overwriting.at[i], run->value, err))
            return false;
    return true;
}

static bool run_case(const GradientCase *c, const Backward *backward, Local **value, Error *err)
{
    const Inferred *inferred = backward->inferred;
    const Graph *graph = backward->graph;
    for (int i = 0; i < c->tensors.n; i++)
        if (!set_value(inferred, c->tensors.at[i], c->elements.at[i], value, err))
            return false;
    int given = graph->n_inputs;
    for (int o = c->outputs.n - 1; o >= 0; o--)
        if (c->outputs.at[o] >= 0 && json_is_object(c->cotangents.at[o]) &&
            !set_value(inferred, graph->inputs[--given], c->cotangents.at[o], value, err))
            return false;
    bool *wanted = constants_read(c->arena, inferred, value);
    for (int32_t t = 0; t < graph->n_tensors; t++)
        if (wanted[t])
            value[t] = local_new_whole((Dtype)inferred->dtype[t], inferred_shape(inferred, t));
    CaseRun run = {c, inferred, value};
    return simulated_fill(c->arena, inferred, wanted, 0, value, err) &&
           whole_run(inferred, value, overwrite, &run, err);
}

static Json *tensor_json(const Local *value)
{
    if (!value)
        return json_null();
    Json *out = json_object(), *data = json_array();
    json_set(out, "shape", json_ints(value->shape.dim, (int)value->shape.n_dims));
    for (int64_t i = 0; i < shape_elements(&value->shape); i++) {
        double x;
        local_load(value, i, 1, 1, NUMBER_F64, &x);
        json_add(data, json_from_real(x));
    }
    json_set(out, "data", data);
    return out;
}

/* ---- verbs ---- */

static void find_again(const Graph *from, const Graph *to, int32_t *tensors, int n)
{
    for (int i = 0; i < n; i++)
        if (tensors[i] >= 0)
            tensors[i] = graph_find_tensor(to, str_from(tensor_name(from, tensors[i])));
}

/* Loops are unrolled; those that cannot be are refused, since ops are run one after the other. */
static const Inferred *infer_case(GradientCase *c, Error *err)
{
    DimBindings none = {0};
    Findings notes = {0};
    Graph *given = c->graph;
    Inferred *inferred = infer_written(c->arena, &c->graph, registry_new(c->arena), &none, NULL,
                                       false, NULL, &notes, err);
    if (!inferred || !rewrite_for_gradients(&c->graph, &inferred, &none, NULL, NULL, err))
        return NULL;
    if (c->graph != given) {
        find_again(given, c->graph, c->tensors.at, c->tensors.n);
        find_again(given, c->graph, c->inputs.at, c->inputs.n);
        find_again(given, c->graph, c->outputs.at, c->outputs.n);
    }
    for (int b = 0; b < c->graph->n_bodies; b++)
        if (c->graph->bodies[b].kind == BODY_LOOP || c->graph->bodies[b].kind == BODY_SCAN) {
            error_kind(err, ERROR_UNSUPPORTED, "a loop runs as often as values say");
            return NULL;
        }
    return inferred;
}

static bool derive_case(GradientCase *c, const Inferred *inferred, Backward *out, Error *err)
{
    Vec(int32_t) given = {0}, wanted = {0};
    for (int o = 0; o < c->outputs.n; o++)
        if (c->outputs.at[o] >= 0 && json_is_object(c->cotangents.at[o]))
            vec_push(c->arena, &given, c->outputs.at[o]);
    for (int i = 0; i < c->inputs.n; i++)
        if (c->inputs.at[i] >= 0 && dtype_is_float((Dtype)inferred->dtype[c->inputs.at[i]]))
            vec_push(c->arena, &wanted, c->inputs.at[i]);
    BackwardRequest asked = {
        .given = given.at, .n_given = given.n, .wanted = wanted.at, .n_wanted = wanted.n};
    return backward_derive(c->arena, inferred, &asked, out, err);
}

typedef bool ReadFn(GradientCase *c, const Json *request, Error *err);

/* Fills value[] by tensor of the graph with gradients; which the caller frees. */
static Local **answer_case(GradientCase *c, ReadFn *read, const Json *request, Backward *backward,
                           Error *err)
{
    c->builder = graph_builder_new(c->arena, "request");
    const Inferred *inferred = read(c, request, err) ? infer_case(c, err) : NULL;
    if (!inferred || !derive_case(c, inferred, backward, err))
        return NULL;
    Local **value = arena_array(c->arena, Local *, backward->graph->n_tensors);
    bool ok = run_case(c, backward, value, err);
    for (int32_t t = 0; !ok && t < backward->graph->n_tensors; t++)
        local_free(value[t]);
    return ok ? value : NULL;
}

static const Local *gradient_value(const Backward *backward, Local *const *value, int32_t tensor)
{
    int32_t gradient = tensor < 0 ? -1 : backward->gradient[tensor];
    return gradient < 0 ? NULL : value[gradient];
}

static void free_values(const Backward *backward, Local **value)
{
    for (int32_t t = 0; t < backward->graph->n_tensors; t++)
        local_free(value[t]);
}

bool eval_grad(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb;
    GradientCase c = {.arena = arena};
    Backward backward;
    Local **value = answer_case(&c, read_op, request, &backward, err);
    if (!value)
        return false;
    Json *grads = json_array();
    for (int i = 0; i < c.inputs.n; i++)
        json_add(grads, tensor_json(gradient_value(&backward, value, c.inputs.at[i])));
    json_set(answer, "grads", grads);
    free_values(&backward, value);
    return true;
}

bool eval_grad_graph(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb;
    GradientCase c = {.arena = arena};
    Backward backward;
    Local **value = answer_case(&c, read_graph, request, &backward, err);
    if (!value)
        return false;
    Json *grads = json_object();
    for (int i = 0; i < c.inputs.n; i++)
        json_set(grads, json_key_at(json_get(request, "inputs"), i),
                 tensor_json(gradient_value(&backward, value, c.inputs.at[i])));
    json_set(answer, "grads", grads);
    free_values(&backward, value);
    return true;
}
