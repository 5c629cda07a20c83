#include "core/prove/optimizer_eval.h"

#include "core/base/nearest.h"
#include "core/rules/optimizer.h"
#include "core/run/element.h"
#include "core/step/learning_rate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS_MAX = 1 << 16 };

/* A tensor that is trained; elements are kept as numbers of `dtype`. */
typedef struct {
    int64_t n;
    double *parameter, *gradient;
    double *state[OPTIMIZER_STATES_MAX];
    bool no_decay;
} Trained;

typedef struct {
    Arena *arena;
    const Json *request;
    const Optimizer *row;
    double hyper[HYPER_COUNT];
    Dtype dtype, model_dtype; /* DT_NONE: the parameters are those of the model */
    int n_steps, n;
    Trained *tensor;
    double clip, clip_value, scale, norm_type; /* 0: no clipping; norm_type INFINITY: the largest */
    int accumulate;
} Training;

/* ---- the request ---- */

static bool read_hyper(Training *t, Error *err)
{
    const Json *hyper = json_get(t->request, "hyper");
    memcpy(t->hyper, t->row->fallback, sizeof t->hyper);
    for (const char *key = json_key_after(hyper, NULL); key; key = json_key_after(hyper, key)) {
        Nearest nearest = nearest_to(str_from(key), 4);
        int found = -1;
        for (int i = 0; i < HYPER_COUNT && found < 0; i++) {
            if (!(t->row->takes >> i & 1))
                continue;
            if (strcmp(hyper_name((Hyper)i), key) == 0)
                found = i;
            nearest_try(&nearest, hyper_name((Hyper)i));
        }
        const Json *value = json_get(hyper, key);
        if (found < 0) {
            error_set(err, "%s has no hyper-parameter '%s'", t->row->name, key);
            return nearest.name ? error_hint(err, "did you mean %s?", nearest.name) : false;
        }
        t->hyper[found] = json_is_bool(value) ? json_bool(value, false) : json_real(value, NAN);
        if (!isfinite(t->hyper[found]))
            return error_set(err, "%s is not a number", key);
    }
    return true;
}

/* The numbers of a list, nested or not. */
static bool read_numbers(const Json *list, int64_t n, int64_t *at, double *out)
{
    if (!json_is_array(list)) {
        if (!json_is_number(list) || *at >= n)
            return false;
        out[(*at)++] = json_real(list, 0);
        return true;
    }
    for (int i = 0; i < json_size(list); i++)
        if (!read_numbers(json_at(list, i), n, at, out))
            return false;
    return true;
}

static bool read_tensor(const Json *list, int64_t n, double *out, Error *err)
{
    int64_t at = 0;
    return (json_is_array(list) && read_numbers(list, n, &at, out) && at == n) ||
           error_set(err, "a tensor has another number of elements than its parameter");
}

static double round_to(Dtype dtype, double value)
{
    char stored[8];
    elements_store(dtype, stored, 1, NUMBER_F64, &value);
    elements_load(dtype, stored, 1, 1, NUMBER_F64, &value);
    return value;
}

static int64_t count_numbers(const Json *list)
{
    if (!json_is_array(list))
        return 1;
    int64_t n = 0;
    for (int i = 0; i < json_size(list); i++)
        n += count_numbers(json_at(list, i));
    return n;
}

static bool read_parameters(Training *t, Error *err)
{
    const Json *params = json_get(t->request, "params");
    const Json *no_decay = json_get(t->request, "no_decay");
    t->n = json_size(params);
    t->tensor = arena_array(t->arena, Trained, t->n);
    for (int i = 0; i < t->n; i++) {
        Trained *tensor = &t->tensor[i];
        tensor->n = count_numbers(json_at(params, i));
        tensor->parameter = arena_array(t->arena, double, tensor->n);
        tensor->gradient = arena_array(t->arena, double, tensor->n);
        if (!read_tensor(json_at(params, i), tensor->n, tensor->parameter, err))
            return false;
        for (int s = 0; s < OPTIMIZER_STATES_MAX; s++) {
            tensor->state[s] = arena_array(t->arena, double, tensor->n);
            for (int64_t e = 0; e < tensor->n && t->row->state[s].name; e++)
                tensor->state[s][e] = optimizer_state_start(t->row, s, t->hyper);
        }
        for (int64_t e = 0; e < tensor->n; e++)
            tensor->parameter[e] = round_to(t->dtype, tensor->parameter[e]);
    }
    for (int i = 0; i < json_size(no_decay); i++) {
        int64_t at = json_int(json_at(no_decay, i), -1);
        if (at < 0 || at >= t->n)
            return error_set(err, "\"no_decay\" lists a tensor that is not there");
        t->tensor[at].no_decay = true;
    }
    return true;
}

static bool read_dtype(const Json *name, Dtype fallback, Dtype *out, Error *err)
{
    *out = fallback;
    if (!name || json_is_null(name))
        return true;
    *out = dtype_from_name(json_str(name, ""));
    return (dtype_is_float(*out) && dtype_is_computed(*out)) ||
           error_set(err, "a \"dtype\" is f64, f32, bf16 or f16");
}

static bool read_optimizer(Training *t, Error *err)
{
    Str kind = json_str(json_get(t->request, "kind"), "");
    t->row = optimizer_find(kind);
    if (t->row)
        return read_hyper(t, err);
    error_kind(err, ERROR_OUT_OF_RANGE, "there is no optimizer '%.*s'", STR_ARG(kind));
    return error_hint(err, "%s", optimizer_names());
}

static bool read_training(Training *t, Error *err)
{
    const Json *request = t->request, *norm_type = json_get(request, "norm_type");
    t->n_steps = (int)json_int(json_get(request, "steps"), 0);
    t->clip = json_real(json_get(request, "clip_norm"), 0);
    t->clip_value = json_real(json_get(request, "clip_value"), 0);
    t->scale = json_real(json_get(request, "loss_scale"), 1);
    t->norm_type = json_is_string(norm_type) ? (double)INFINITY : json_real(norm_type, 2);
    t->accumulate = (int)json_int(json_get(request, "accumulate"), 0);
    if (t->n_steps < 0 || t->n_steps > STEPS_MAX ||
        json_size(json_get(request, "grads")) != t->n_steps)
        return error_set(err, "\"grads\" has gradients for another number of steps");
    if (!(t->scale > 0) || !(t->norm_type > 0))
        return error_set(err, "\"loss_scale\" and \"norm_type\" are larger than 0");
    return read_optimizer(t, err) &&
           read_dtype(json_get(request, "dtype"), DT_F64, &t->dtype, err) &&
           read_dtype(json_get(request, "model_dtype"), DT_NONE, &t->model_dtype, err) &&
           read_parameters(t, err);
}

/* ---- a step ---- */

/* Gradients of a step: the mean over its micro-batches, without the loss scale. */
static bool read_gradients(Training *t, const Json *grads, Error *err)
{
    int n_batches = t->accumulate > 0 ? t->accumulate : 1;
    if (t->accumulate > 0 && json_size(grads) != n_batches)
        return error_set(err, "a step has gradients for another number of micro-batches");
    for (int i = 0; i < t->n; i++) {
        Trained *tensor = &t->tensor[i];
        double *one = arena_array(t->arena, double, tensor->n);
        memset(tensor->gradient, 0, (size_t)tensor->n * sizeof *tensor->gradient);
        for (int k = 0; k < n_batches; k++) {
            const Json *batch = t->accumulate > 0 ? json_at(grads, k) : grads;
            if (!read_tensor(json_at(batch, i), tensor->n, one, err))
                return false;
            for (int64_t e = 0; e < tensor->n; e++)
                tensor->gradient[e] += one[e] / t->scale / n_batches;
        }
    }
    return true;
}

static double norm_of(const Training *t)
{
    double sum = 0;
    for (int i = 0; i < t->n; i++)
        for (int64_t e = 0; e < t->tensor[i].n; e++) {
            double size = fabs(t->tensor[i].gradient[e]);
            sum = isinf(t->norm_type) ? fmax(sum, size) : sum + pow(size, t->norm_type);
        }
    return isinf(t->norm_type) ? sum : pow(sum, 1 / t->norm_type);
}

static void update_tensor(const Training *t, Trained *tensor, int step, double rate, double factor)
{
    double hyper[HYPER_COUNT];
    memcpy(hyper, t->hyper, sizeof hyper);
    if (tensor->no_decay)
        hyper[HYPER_WEIGHT_DECAY] = 0;
    OptimizerStep constants = optimizer_step(t->row, hyper, rate, step + 1);
    for (int64_t e = 0; e < tensor->n; e++) {
        double state[OPTIMIZER_STATES_MAX], gradient = tensor->gradient[e] * factor;
        if (t->clip_value > 0)
            gradient = fmax(-t->clip_value, fmin(t->clip_value, gradient));
        for (int s = 0; s < OPTIMIZER_STATES_MAX; s++)
            state[s] = tensor->state[s][e];
        t->row->update(&constants, &tensor->parameter[e], gradient, state);
        tensor->parameter[e] = round_to(t->dtype, tensor->parameter[e]);
        for (int s = 0; s < OPTIMIZER_STATES_MAX; s++)
            tensor->state[s][e] = round_to(t->dtype, state[s]);
    }
}

static bool run_steps(Training *t, Json *norms, Error *err)
{
    const Json *grads = json_get(t->request, "grads");
    const Json *rates = json_get(t->request, "lr_per_step");
    for (int step = 0; step < t->n_steps; step++) {
        if (!read_gradients(t, json_at(grads, step), err))
            return false;
        double norm = norm_of(t), factor = optimizer_clip_factor(norm, t->clip);
        double rate = json_real(json_at(rates, step), t->hyper[HYPER_LR]);
        json_add(norms, json_from_real(norm));
        for (int i = 0; i < t->n; i++)
            update_tensor(t, &t->tensor[i], step, rate, factor);
    }
    return true;
}

/* ---- the answer ---- */

/* With 12 digits, as the facts give numbers; 16-bit floats differ in the first five. */
static double twelve_digits(double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.12g", value);
    return strtod(text, NULL);
}

static Json *write_numbers(const double *value, int64_t n, Dtype dtype)
{
    Json *out = json_array();
    for (int64_t e = 0; e < n; e++)
        json_add(out, json_from_real(dtype == DT_NONE ? value[e]
                                                      : twelve_digits(round_to(dtype, value[e]))));
    return out;
}

static Json *write_parameters(const Training *t, Dtype dtype)
{
    Json *out = json_array();
    for (int i = 0; i < t->n; i++)
        json_add(out, write_numbers(t->tensor[i].parameter, t->tensor[i].n, dtype));
    return out;
}

static Json *write_states(const Training *t)
{
    Json *out = json_object();
    int states[OPTIMIZER_STATES_MAX], n = optimizer_states(t->row, t->hyper, states);
    for (int s = 0; s < n; s++) {
        Json *list = json_array();
        for (int i = 0; i < t->n; i++)
            json_add(list, write_numbers(t->tensor[i].state[states[s]], t->tensor[i].n, DT_NONE));
        json_set(out, t->row->state[states[s]].name, list);
    }
    return out;
}

bool eval_optimizer_step(const char *verb, Arena *arena, const Json *request, Json *answer,
                         Error *err)
{
    (void)verb;
    Training training = {.arena = arena, .request = request};
    if (!read_training(&training, err))
        return false;
    Json *norms = json_array();
    json_set(answer, "grad_norm", norms);
    if (!run_steps(&training, norms, err))
        return false;
    json_set(answer, "params", write_parameters(&training, training.model_dtype));
    if (training.model_dtype != DT_NONE)
        json_set(answer, "master", write_parameters(&training, DT_NONE));
    json_set(answer, "state", write_states(&training));
    return true;
}

/* ---- lr.schedule ---- */

/* A parameter under one of its names. */
static const Json *param_value(const Json *hyper, const char *names)
{
    for (const char *key = json_key_after(hyper, NULL); key; key = json_key_after(hyper, key))
        if (str_has_word(str_from(names), str_from(key)))
            return json_get(hyper, key);
    return NULL;
}

static bool read_rate_params(const RateKind *kind, const Json *request, RateParams *out, Error *err)
{
    const Json *hyper = json_get(request, "hyper"), *list = json_get(hyper, "milestones");
    Str anneal = json_str(json_get(hyper, "anneal"), "cos");
    *out = (RateParams){.lr = json_real(json_get(request, "lr"), NAN),
                        .linear = str_eq(anneal, STR("linear")),
                        .n_milestones = json_size(list)};
    if (!isfinite(out->lr))
        return error_set(err, "\"lr\" is not a number");
    for (int i = 0; i < RATE_PARAMS_MAX && kind->param[i].names; i++) {
        const Json *value = param_value(hyper, kind->param[i].names);
        out->param[i] = json_real(value, kind->param[i].fallback);
        if ((value && !json_is_number(value)) || (kind->param[i].positive && !(out->param[i] > 0)))
            return error_set(err, "\"%s\" of %s is not a number%s", kind->param[i].names,
                             kind->name, kind->param[i].positive ? " above 0" : "");
    }
    if (out->n_milestones > RATE_MILESTONES_MAX)
        return error_set(err, "there are more than %d milestones", RATE_MILESTONES_MAX);
    for (int i = 0; i < out->n_milestones; i++)
        out->milestone[i] = json_int(json_at(list, i), 0);
    return true;
}

bool eval_lr_schedule(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err)
{
    (void)verb, (void)arena;
    const RateKind *kind = rate_kind(json_str(json_get(request, "kind"), ""), err);
    RateParams params;
    int64_t n = json_int(json_get(request, "steps"), -1);
    if (!kind || !read_rate_params(kind, request, &params, err))
        return false;
    if (n < 0 || n > STEPS_MAX)
        return error_set(err, "\"steps\" is a number from 0 to %d", STEPS_MAX);
    Json *rates = json_array();
    for (int64_t step = 0; step < n; step++)
        json_add(rates, json_from_real(rate_at(kind, &params, step)));
    json_set(answer, "lr", rates);
    return true;
}
