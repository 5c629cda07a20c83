#include "core/prove/steps_eval.h"

#include "core/base/file.h"
#include "core/model/onnx.h"
#include "core/model/widen.h"
#include "core/prove/gradient_model.h"
#include "core/prove/simulated.h"
#include "core/prove/whole_run.h"
#include "core/fuse/for_gradients.h"
#include "core/run/verify/compare.h"
#include "core/step/backward.h"
#include "core/step/loss.h"
#include "core/step/step.h"

#include <math.h>

/* NO_LABEL: such labels count neither in the sum nor in the mean, as in torch's cross entropy. */
enum { FIRST = 4, STEPS_MAX = 1 << 16, NO_LABEL = -100 };

typedef struct {
    Arena *arena;
    const Json *request;
    FileMap map;
    const Registry *registry;
    DimBindings dims;
    Graph *graph;
    Inferred *inferred;
    Loss loss;
    TrainingStep step;
    Local **value; /* per tensor of the step */
    bool *given;   /* per tensor: kept from step to step */
} Trained;

/* ---- the model and its step ---- */

/* In f64: a parameter whose gradient is 0 but for rounding, as the bias of keys, would otherwise be
 * moved by Adam as rounding has it. Free dims have the sizes of the first batch. */
static bool open_model(Trained *t, Error *err)
{
    const char *path = json_str(json_get(t->request, "model"), "").s;
    const Json *inputs = json_get(json_at(json_get(t->request, "batches"), 0), "inputs");
    if (!(t->graph = onnx_open(t->arena, path, &t->map, err)) || !graph_widen(t->graph, err))
        return false;
    for (int i = 0; i < t->graph->n_inputs; i++) {
        const GraphTensor *input = &t->graph->tensors[t->graph->inputs[i]];
        const char *name = tensor_name(t->graph, t->graph->inputs[i]);
        Dtype dtype;
        Shape shape;
        if (!gradient_tensor_type(json_get(inputs, name), &dtype, &shape, err))
            return false;
        for (int d = 0; d < input->n_declared && d < shape.n_dims; d++) {
            DeclaredDim dim = t->graph->declared[input->declared + d];
            if (dim.size < 0 && dim.name > 0)
                vec_push(t->arena, &t->dims,
                         ((DimBinding){names_str(t->graph->names, dim.name), shape.dim[d]}));
        }
    }
    t->registry = registry_new(t->arena);
    t->inferred = infer(t->arena, t->graph, t->registry, &t->dims, false, err);
    return t->inferred && rewrite_for_gradients(&t->graph, &t->inferred, &t->dims, NULL, NULL, err);
}

static bool trains(const Trained *t, int32_t tensor)
{
    const Json *names = json_get(t->request, "trainable");
    for (int i = 0; i < json_size(names); i++)
        if (str_eq(json_str(json_at(names, i), ""), str_from(tensor_name(t->graph, tensor))))
            return true;
    return false;
}

/* "adamw,clip=1,lr=0.001" */
static const char *spec_of(const Trained *t)
{
    const Json *hyper = json_get(t->request, "hyper");
    Buf out = buf_new(t->arena);
    bool text = str_eq(json_str(json_get(t->request, "loss"), ""), STR("next_token"));
    buf_puts(&out, json_str(json_get(t->request, "optimizer"), "adamw").s);
    buf_printf(&out, ",clip=%.17g", json_real(json_get(t->request, "clip_norm"), 0));
    if (text)
        buf_printf(&out, ",ignore_index=%d", NO_LABEL);
    for (const char *key = json_key_after(hyper, NULL); key; key = json_key_after(hyper, key))
        buf_printf(&out, ",%s=%.17g", key, json_real(json_get(hyper, key), NAN));
    return out.s;
}

static bool make_step(Trained *t, Error *err)
{
    Vec(int32_t) frozen = {0};
    UpdateSpec spec;
    if (!update_spec_read(t->arena, spec_of(t), &spec, err) ||
        !loss_add(t->arena, t->inferred, &spec, &t->loss, err))
        return false;
    t->graph = t->loss.graph;
    for (int32_t i = 0; i < t->graph->n_tensors; i++)
        if (t->graph->tensors[i].kind == TENSOR_INITIALIZER && !trains(t, i))
            vec_push(t->arena, &frozen, i);
    t->inferred = infer(t->arena, t->graph, t->registry, &t->dims, false, err);
    return t->inferred && step_make(t->arena, t->inferred, &t->loss, frozen.at, frozen.n,
                                    (StepShape){0}, &spec, &t->step, err);
}

/* ---- values ---- */

static void put(Trained *t, int32_t tensor, Local *value)
{
    local_free(t->value[tensor]);
    t->value[tensor] = value;
}

static bool fill_constants(Trained *t, Error *err)
{
    const Inferred *inferred = t->step.inferred;
    const Graph *graph = t->step.graph;
    for (int32_t i = 0; i < graph->n_tensors; i++) {
        t->given[i] =
            inferred_shape(inferred, i) &&
            (graph->tensors[i].kind == TENSOR_INITIALIZER || tensor_is_known(inferred, i));
        if (t->given[i])
            put(t, i, local_new_whole((Dtype)inferred->dtype[i], inferred_shape(inferred, i)));
    }
    return simulated_fill(t->arena, inferred, t->given, 0, t->value, err);
}

/* The label of a position of text is the next token; the last one has none. */
static bool next_tokens(Trained *t, int32_t labels, const Json *inputs, Error *err)
{
    const Local *ids = NULL;
    for (int i = 0; i < t->step.graph->n_inputs; i++) {
        int32_t input = t->step.graph->inputs[i];
        bool named = json_is_object(json_get(inputs, tensor_name(t->step.graph, input)));
        ids = named && !ids ? t->value[input] : ids;
    }
    Local *out = local_new_whole(DT_I64, inferred_shape(t->step.inferred, labels));
    if (!ids || !shape_equal(&ids->shape, &out->shape) || ids->shape.n_dims == 0) {
        local_free(out);
        return error_set(err, "next_token: no input has the shape of the labels");
    }
    int64_t width = ids->shape.dim[ids->shape.n_dims - 1], token, none = NO_LABEL;
    for (int64_t i = 0; i < local_count(ids); i++) {
        bool last = i % width == width - 1;
        local_load(ids, last ? i : i + 1, 1, 1, NUMBER_I64, &token);
        local_store(out, i, 1, NUMBER_I64, last ? &none : &token);
    }
    put(t, labels, out);
    return true;
}

static bool fill_input(const Json *given, const char *name, Local *value, Error *err)
{
    if (json_size(json_get(given, "data")) != local_count(value))
        return error_set(err, "'%s' has another number of elements in the batch", name);
    return gradient_tensor_elements(given, value->dtype, &value->shape, value->data, err);
}

static bool fill_inputs(Trained *t, const Json *batch, Error *err)
{
    const Inferred *inferred = t->step.inferred;
    const Graph *graph = t->step.graph;
    const Json *inputs = json_get(batch, "inputs");
    bool text = str_eq(json_str(json_get(t->request, "loss"), ""), STR("next_token"));
    for (int i = 0; i < graph->n_inputs; i++) {
        int32_t input = graph->inputs[i];
        bool labels = t->loss.added && i == graph->n_inputs - 1;
        if (labels && text)
            return next_tokens(t, input, inputs, err);
        const Json *given =
            json_get(labels ? batch : inputs, labels ? "labels" : tensor_name(graph, input));
        Local *value =
            local_new_whole((Dtype)inferred->dtype[input], inferred_shape(inferred, input));
        put(t, input, value);
        Json *tensor = json_is_array(given) ? json_object() : NULL;
        if (tensor)
            json_set(tensor, "data", json_copy(given));
        bool filled = fill_input(tensor ? tensor : given, tensor_name(graph, input), value, err);
        json_free(tensor);
        if (!filled)
            return false;
    }
    return true;
}

/* ---- steps ---- */

static double square_sum(const Local *value)
{
    double sum = 0, x;
    for (int64_t i = 0; value && i < local_count(value); i++) {
        local_load(value, i, 1, 1, NUMBER_F64, &x);
        sum += x * x;
    }
    return sum;
}

static void add_measures(const Trained *t, Json *losses, Json *norms)
{
    double squares = 0, loss;
    local_load(t->value[t->step.loss], 0, 1, 1, NUMBER_F64, &loss);
    for (int i = 0; i < t->step.n_parameters; i++) {
        int32_t gradient = t->step.gradient[t->step.parameter[i]];
        squares += gradient < 0 ? 0 : square_sum(t->value[gradient]);
    }
    json_add(losses, json_from_real(loss));
    json_add(norms, json_from_real(sqrt(squares)));
}

/* What the step leaves takes the place of what it read. */
static void carry(Trained *t)
{
    const Graph *graph = t->step.graph;
    for (int32_t i = 0; i < graph->n_tensors; i++)
        if (graph->next_of[i] >= 0) {
            put(t, graph->next_of[i], t->value[i]);
            t->value[i] = NULL;
        }
}

static Json *parameters_json(const Trained *t)
{
    Json *out = json_object();
    for (int i = 0; i < t->step.n_parameters; i++) {
        const Local *value = t->value[t->step.parameter[i]];
        Json *row = json_object(), *first = json_array();
        double sum = 0, x;
        for (int64_t k = 0; k < local_count(value); k++) {
            local_load(value, k, 1, 1, NUMBER_F64, &x);
            sum += x;
            if (k < FIRST)
                json_add(first, json_from_real(x));
        }
        json_set_real(row, "sum", sum);
        json_set_real(row, "sum_squares", square_sum(value));
        json_set(row, "first", first);
        json_set(out, tensor_name(t->step.graph, t->step.parameter[i]), row);
    }
    return out;
}

static bool run_steps(Trained *t, Json *answer, Error *err)
{
    const Json *batches = json_get(t->request, "batches");
    int n = (int)json_int(json_get(t->request, "steps"), 1);
    Json *losses = json_array(), *norms = json_array();
    bool ok = fill_constants(t, err);
    for (int i = 0; ok && i < n; i++) {
        ok = fill_inputs(t, json_at(batches, i % json_size(batches)), err) &&
             whole_run(t->step.inferred, t->value, NULL, NULL, err);
        if (!ok)
            break;
        add_measures(t, losses, norms);
        carry(t);
        if (i == 0 || i == n - 1)
            json_set(answer, arena_printf(t->arena, "after_%d", i + 1), parameters_json(t));
    }
    json_set(answer, "losses", losses);
    json_set(answer, "grad_norms", norms);
    return ok;
}

bool eval_train_steps(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb;
    Trained t = {.arena = arena, .request = request};
    int64_t steps = json_int(json_get(request, "steps"), 1);
    if (json_size(json_get(request, "batches")) < 1 || steps < 1 || steps > STEPS_MAX)
        return error_set(err, "train.steps takes one batch or more, and 1 to %d steps", STEPS_MAX);
    bool ok = open_model(&t, err) && make_step(&t, err);
    if (ok) {
        int32_t n = t.step.graph->n_tensors;
        t.value = arena_array(arena, Local *, n);
        t.given = arena_array(arena, bool, n);
        ok = run_steps(&t, answer, err);
        for (int32_t i = 0; i < n; i++)
            local_free(t.value[i]);
    }
    file_unmap(&t.map);
    return ok;
}
