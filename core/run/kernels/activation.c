#include "core/run/kernels/activation.h"

#include "core/rules/args.h"

#include <math.h>

typedef double ActivationFn(double x, const double *p);

/* f(x), and f'(x) from y = f(x). */
typedef struct {
    const char *name;
    ActivationFn *of, *derivative;
    double params[2]; /* where they are not given */
} ActivationRow;

#define F(name, expression)                                                                        \
    static double name(double x, const double *p)                                                  \
    {                                                                                              \
        (void)p, (void)x;                                                                          \
        return (expression);                                                                       \
    }
F(same, x)
F(one, 1)
F(relu, x > 0 ? x : x != x ? x : 0)
F(relu_slope, x > 0)
F(tanh_slope, 1 - x * x)
F(tangent, tanh(x))
F(sigmoid, 1 / (1 + exp(-x)))
F(sigmoid_slope, x *(1 - x))
F(leaky, x < 0 ? p[0] * x : x)
F(leaky_slope, x > 0 ? 1 : p[0])
F(clip, fmin(fmax(x, p[0]), p[1]))
F(between, x > p[0] && x < p[1])
F(hard_sigmoid, fmin(fmax(p[0] * x + p[1], 0), 1))
F(hard_sigmoid_slope, x > 0 && x < 1 ? p[0] : 0)
#undef F

static const ActivationRow activations[] = {
    {"", same, one, {0, 0}},
    {"Relu", relu, relu_slope, {0, 0}},
    {"Tanh", tangent, tanh_slope, {0, 0}},
    {"Sigmoid", sigmoid, sigmoid_slope, {0, 0}},
    {"LeakyRelu", leaky, leaky_slope, {0.01, 0}},
    {"Clip", clip, between, {-INFINITY, INFINITY}},
    {"HardSigmoid", hard_sigmoid, hard_sigmoid_slope, {0.2, 0.5}},
};

static const ActivationRow *find_activation(const KernelCall *call, double params[2], Error *err)
{
    RuleCall rule = kernel_rule_call(call);
    Str name = args_text(&rule, "activation", "");
    const Attr *list = op_attr(kernel_graph(call), call->op, "activation_params");
    for (size_t i = 0; i < sizeof activations / sizeof *activations; i++) {
        const ActivationRow *found = &activations[i];
        if (!str_eq(name, str_from(found->name)))
            continue;
        params[0] = args_float(
            &rule, str_eq(name, STR("LeakyRelu")) ? "leaky_relu_alpha" : "activation_alpha",
            args_float(&rule, "activation_alpha", found->params[0]));
        params[1] = args_float(&rule, "activation_beta", found->params[1]);
        for (int k = 0; list && list->type == ATTR_FLOATS && k < list->n && k < 2; k++)
            params[k] = list->floats[k];
        return found;
    }
    error_kind(err, ERROR_RUN, "unknown activation '%.*s'", STR_ARG(name));
    return NULL;
}

bool activation_finish(const KernelCall *call, const Local *addend, Error *err)
{
    double params[2], x[ELEMENT_BLOCK], more[ELEMENT_BLOCK];
    const ActivationRow *found = find_activation(call, params, err);
    Local *out = call->output[0];
    if (!found)
        return false;
    if (addend && (!kernel_computes(addend, err) || !shape_equal(&addend->shape, &out->shape)))
        return error_kind(err, ERROR_RUN, "its addend has another size");
    int64_t n_all = shape_elements(&out->shape);
    for (int64_t i = 0; i < n_all; i += ELEMENT_BLOCK) {
        int64_t n = n_all - i < ELEMENT_BLOCK ? n_all - i : ELEMENT_BLOCK;
        local_load(out, i, 1, n, NUMBER_F64, x);
        if (addend)
            local_load(addend, i, 1, n, NUMBER_F64, more);
        for (int64_t k = 0; k < n; k++)
            x[k] = found->of(x[k] + (addend ? more[k] : 0), params);
        local_store(out, i, n, NUMBER_F64, x);
    }
    return true;
}

const Local *activation_gradient(const KernelCall *forward, const Local *grad,
                                 const KernelCall *call, Error *err)
{
    double params[2], x[ELEMENT_BLOCK], y[ELEMENT_BLOCK];
    const ActivationRow *found = find_activation(forward, params, err);
    const Local *result = call->input[call->n_inputs - 1];
    if (!found)
        return NULL;
    if (!grad->data || !result || !shape_equal(&result->shape, &grad->shape)) {
        error_kind(err, ERROR_RUN, "its result is absent, or has another size");
        return NULL;
    }
    Local *out = arena_make(call->scratch, Local);
    int64_t n_all = shape_elements(&grad->shape);
    *out = *grad;
    out->own = NULL;
    out->data = arena_alloc(call->scratch,
                            arena_array_bytes((size_t)n_all, (size_t)element_bytes(grad->dtype)));
    for (int64_t i = 0; i < n_all; i += ELEMENT_BLOCK) {
        int64_t n = n_all - i < ELEMENT_BLOCK ? n_all - i : ELEMENT_BLOCK;
        local_load(grad, i, 1, n, NUMBER_F64, x);
        local_load(result, i, 1, n, NUMBER_F64, y);
        for (int64_t k = 0; k < n; k++)
            x[k] *= found->derivative(y[k], params);
        local_store(out, i, n, NUMBER_F64, x);
    }
    return out;
}
