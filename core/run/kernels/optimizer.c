/* optimizer.c - the optimizers of ai.onnx.preview.training: Adagrad, Adam, Momentum.
 *
 * Inputs: rate, step, then per role (weights x, gradients g, moments) one tensor per parameter;
 * outputs: new weights and moments. Elementwise, in double.
 */
#include "core/rules/args.h"
#include "core/run/kernel.h"

#include <math.h>

enum { ROLES_MAX = 4 };

typedef struct {
    double rate, alpha, beta, epsilon, decay, norm, norm_after;
    bool nesterov, first; /* first: step 0 */
    double step;
} Setting;

/* Values of one element by role; x and moments are updated. */
typedef void UpdateFn(const Setting *setting, double value[ROLES_MAX]);

typedef struct {
    UpdateFn *update;
    int roles; /* inputs a parameter; one more than outputs */
    double alpha, beta;
} OptimizerRow;

static void adagrad(const Setting *s, double value[ROLES_MAX])
{
    double gradient = s->norm * value[0] + value[1];
    value[2] += gradient * gradient;
    value[0] -= s->rate / (1 + s->step * s->decay) * gradient / (sqrt(value[2]) + s->epsilon);
}

static void adam(const Setting *s, double value[ROLES_MAX])
{
    double gradient = s->norm * value[0] + value[1], rate = s->rate;
    value[2] = s->alpha * value[2] + (1 - s->alpha) * gradient;
    value[3] = s->beta * value[3] + (1 - s->beta) * gradient * gradient;
    if (!s->first)
        rate *= sqrt(1 - pow(s->beta, s->step)) / (1 - pow(s->alpha, s->step));
    value[0] -= rate * value[2] / (sqrt(value[3]) + s->epsilon);
    value[0] *= 1 - s->norm_after;
}

static void momentum(const Setting *s, double value[ROLES_MAX])
{
    double gradient = s->norm * value[0] + value[1];
    value[2] = s->alpha * value[2] + (s->first ? 1 : s->beta) * gradient;
    value[0] -= s->rate * (s->nesterov ? gradient + s->alpha * value[2] : value[2]);
}

static bool read_setting(const KernelCall *call, Setting *out, Error *err)
{
    const OptimizerRow *row = call->kernel->row;
    const Local *rate = call->input[0];
    RuleCall rule = kernel_rule_call(call);
    int64_t step;
    if (!kernel_computes(rate, err) || !kernel_scalar(call->input[1], &step, err))
        return false;
    if (shape_elements(&rate->shape) != 1)
        return error_kind(err, ERROR_RUN, "the rate is not a scalar");
    local_load(rate, 0, 1, 1, NUMBER_F64, &out->rate);
    out->step = (double)step;
    out->first = step <= 0;
    out->alpha = args_float(&rule, "alpha", row->alpha);
    out->beta = args_float(&rule, "beta", row->beta);
    out->epsilon = args_float(&rule, "epsilon", 1e-6);
    out->decay = args_float(&rule, "decay_factor", 0);
    out->norm = args_float(&rule, "norm_coefficient", 0);
    out->norm_after = args_float(&rule, "norm_coefficient_post", 0);
    out->nesterov = str_eq(args_text(&rule, "mode", "standard"), STR("nesterov"));
    return true;
}

/* n elements from place `at` on. */
static void update_block(const OptimizerRow *row, const Setting *setting, const Local *const *in,
                         Local *const *out, int64_t at, int64_t n)
{
    double block[ROLES_MAX][ELEMENT_BLOCK];
    for (int r = 0; r < row->roles; r++)
        local_load(in[r], at, 1, n, NUMBER_F64, block[r]);
    for (int64_t i = 0; i < n; i++) {
        double value[ROLES_MAX] = {0};
        for (int r = 0; r < row->roles; r++)
            value[r] = block[r][i];
        row->update(setting, value);
        for (int r = 0; r < row->roles; r++)
            block[r][i] = value[r];
    }
    for (int r = 0; r < row->roles; r++)
        if (out[r])
            local_store(out[r], at, n, NUMBER_F64, block[r]);
}

/* Updates parameter p of n; operands have equal shapes and are n apart by role. */
static bool update_parameter(const KernelCall *call, const Setting *setting, int p, int n,
                             Error *err)
{
    const OptimizerRow *row = call->kernel->row;
    const Local *in[ROLES_MAX] = {NULL};
    Local *out[ROLES_MAX] = {NULL};
    for (int r = 0; r < row->roles; r++) {
        in[r] = call->input[2 + r * n + p];
        int o = r == 0 ? p : (r - 1) * n + p; /* the gradient has no output */
        out[r] = r == 1 || o >= call->n_outputs ? NULL : call->output[o];
        if (!kernel_computes(in[r], err) || (out[r] && !kernel_computes(out[r], err)))
            return false;
        if (!shape_equal(&in[r]->shape, &in[0]->shape) ||
            (out[r] && !shape_equal(&out[r]->shape, &in[0]->shape)))
            return error_kind(err, ERROR_RUN, "tensors of parameter %d differ in shape", p);
    }
    int64_t n_elements = shape_elements(&in[0]->shape);
    for (int64_t at = 0; at < n_elements; at += ELEMENT_BLOCK)
        update_block(row, setting, in, out, at,
                     n_elements - at < ELEMENT_BLOCK ? n_elements - at : ELEMENT_BLOCK);
    return true;
}

static bool optimize(const KernelCall *call, Error *err)
{
    const OptimizerRow *row = call->kernel->row;
    int n = (call->n_inputs - 2) / row->roles;
    Setting setting;
    if (!kernel_needs(call, call->n_inputs, err))
        return false;
    if (n < 1 || call->n_inputs != 2 + n * row->roles)
        return error_kind(err, ERROR_RUN, "its inputs are not those of whole parameters");
    if (!read_setting(call, &setting, err))
        return false;
    for (int p = 0; p < n; p++)
        if (!update_parameter(call, &setting, p, n, err))
            return false;
    return true;
}

static const OptimizerRow row_adagrad = {adagrad, 3, 0, 0}, row_adam = {adam, 4, 0.9, 0.999},
                          row_momentum = {momentum, 3, 0, 0};

const Kernel kernels_optimizer[] = {
    {"ai.onnx.preview.training::Adagrad", optimize, &row_adagrad, 0, ROUNDING_SENSITIVE},
    {"ai.onnx.preview.training::Adam", optimize, &row_adam, 0, ROUNDING_SENSITIVE},
    {"ai.onnx.preview.training::Momentum", optimize, &row_momentum, 0, ROUNDING_SENSITIVE},
    {0},
};
