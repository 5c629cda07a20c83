/* optimizer.c - updates by the optimizers of core/rules/optimizer.h, the factor that clips
 * gradients, and the optimizers of ai.onnx.preview.training: Adagrad, Adam, Momentum.
 *
 * Inputs of the latter: rate, step, then per role (weights x, gradients g, moments) one tensor per
 * parameter; outputs: new weights and moments. Elementwise, in double.
 */
#include "core/rules/args.h"
#include "core/rules/optimizer.h"
#include "core/run/kernel.h"

#include <math.h>

enum { ROLES_MAX = 4 };

typedef struct {
    double rate, alpha, beta, epsilon, decay, norm, norm_after;
    bool nesterov, first; /* first: step 0 */
    double step;
} OptimizerSetting;

/* Values of one element by role; x and moments are updated. */
typedef void UpdateFn(const OptimizerSetting *setting, double value[ROLES_MAX]);

typedef struct {
    UpdateFn *update;
    int roles; /* inputs a parameter; one more than outputs */
    double alpha, beta;
} OptimizerRow;

static void adagrad(const OptimizerSetting *s, double value[ROLES_MAX])
{
    double gradient = s->norm * value[0] + value[1];
    value[2] += gradient * gradient;
    value[0] -= s->rate / (1 + s->step * s->decay) * gradient / (sqrt(value[2]) + s->epsilon);
}

static void adam(const OptimizerSetting *s, double value[ROLES_MAX])
{
    double gradient = s->norm * value[0] + value[1], rate = s->rate;
    value[2] = s->alpha * value[2] + (1 - s->alpha) * gradient;
    value[3] = s->beta * value[3] + (1 - s->beta) * gradient * gradient;
    if (!s->first)
        rate *= sqrt(1 - pow(s->beta, s->step)) / (1 - pow(s->alpha, s->step));
    value[0] -= rate * value[2] / (sqrt(value[3]) + s->epsilon);
    value[0] *= 1 - s->norm_after;
}

static void momentum(const OptimizerSetting *s, double value[ROLES_MAX])
{
    double gradient = s->norm * value[0] + value[1];
    value[2] = s->alpha * value[2] + (s->first ? 1 : s->beta) * gradient;
    value[0] -= s->rate * (s->nesterov ? gradient + s->alpha * value[2] : value[2]);
}

static bool read_setting(const KernelCall *call, OptimizerSetting *out, Error *err)
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
static void update_block(const OptimizerRow *row, const OptimizerSetting *setting,
                         const Local *const *in, Local *const *out, int64_t at, int64_t n)
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
static bool update_parameter(const KernelCall *call, const OptimizerSetting *setting, int p, int n,
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
    OptimizerSetting setting;
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

/* ---- core/rules/optimizer.h ---- */

static bool read_scalar(const Local *local, double fallback, double *out, Error *err)
{
    *out = fallback;
    if (!local)
        return true;
    if (!kernel_computes(local, err))
        return false;
    if (shape_elements(&local->shape) != 1)
        return error_kind(err, ERROR_RUN, "an input is not a scalar");
    local_load(local, 0, 1, 1, NUMBER_F64, out);
    return true;
}

/* The parameter and its states, and where they are updated. */
typedef struct {
    const Optimizer *row;
    OptimizerStep step;
    double factor;
    const Local *gradient;
    int n;                          /* the parameter and its states */
    int slot[OPTIMIZER_STATES_MAX]; /* per state: its place in row->state */
    const Local *in[1 + OPTIMIZER_STATES_MAX];
    Local *out[1 + OPTIMIZER_STATES_MAX];
} Updating;

static void update_elements(const Updating *u, int64_t at, int64_t n)
{
    double block[1 + OPTIMIZER_STATES_MAX][ELEMENT_BLOCK], gradient[ELEMENT_BLOCK];
    for (int r = 0; r < u->n; r++)
        local_load(u->in[r], at, 1, n, NUMBER_F64, block[r]);
    local_load(u->gradient, at, 1, n, NUMBER_F64, gradient);
    for (int64_t i = 0; i < n && !isnan(u->factor); i++) {
        double state[OPTIMIZER_STATES_MAX] = {0};
        for (int r = 1; r < u->n; r++)
            state[u->slot[r - 1]] = block[r][i];
        u->row->update(&u->step, &block[0][i], u->factor * gradient[i], state);
        for (int r = 1; r < u->n; r++)
            block[r][i] = state[u->slot[r - 1]];
    }
    for (int r = 0; r < u->n; r++)
        if (u->out[r])
            local_store(u->out[r], at, n, NUMBER_F64, block[r]);
}

static bool read_update(const KernelCall *call, Updating *u, Error *err)
{
    RuleCall rule = kernel_rule_call(call);
    double hyper[HYPER_COUNT], rate;
    int64_t step;
    bool has_factor = call->n_inputs > UPDATE_FACTOR;
    u->row = optimizer_of_op(op_operator(call->inferred->graph, call->op));
    optimizer_read_hyper(&rule, u->row, hyper);
    if (!read_scalar(call->input[UPDATE_RATE], 0, &rate, err) ||
        !kernel_scalar(call->input[UPDATE_STEP], &step, err) ||
        !read_scalar(has_factor ? call->input[UPDATE_FACTOR] : NULL, 1, &u->factor, err))
        return false;
    u->step = optimizer_step(u->row, hyper, rate, step < 1 ? 1 : step);
    u->gradient = call->input[UPDATE_GRADIENT];
    u->n = 1 + optimizer_states(u->row, hyper, u->slot);
    for (int r = 0; r < u->n; r++) {
        u->in[r] = call->input[r == 0 ? UPDATE_PARAMETER : UPDATE_STATES + r - 1];
        u->out[r] = r < call->n_outputs ? call->output[r] : NULL;
    }
    return true;
}

/* Element by element, in double; stored in the type of each. A factor that is NaN skips the step.
 */
static bool update(const KernelCall *call, Error *err)
{
    Updating u = {0};
    if (!kernel_needs(call, UPDATE_FACTOR, err) || !read_update(call, &u, err))
        return false;
    for (int r = 0; r < u.n; r++) {
        if (!u.in[r] || !kernel_computes(u.in[r], err))
            return error_kind(err, ERROR_RUN, "a state is absent");
        if (!shape_equal(&u.in[r]->shape, &u.gradient->shape))
            return error_kind(err, ERROR_RUN, "the gradient and its parameter differ in shape");
    }
    if (!kernel_computes(u.gradient, err))
        return false;
    int64_t n = shape_elements(&u.gradient->shape);
    for (int64_t at = 0; at < n; at += ELEMENT_BLOCK)
        update_elements(&u, at, n - at < ELEMENT_BLOCK ? n - at : ELEMENT_BLOCK);
    return true;
}

/* As torch's amp_update_scale_: the scale shrinks when a gradient is not finite, and grows after so
 * many good steps in a row. */
static bool scale_update(const KernelCall *call, Error *err)
{
    RuleCall rule = kernel_rule_call(call);
    double sum, answer[2];
    if (!kernel_numeric(call, 3, err) || !read_scalar(call->input[0], 0, &sum, err) ||
        !read_scalar(call->input[1], 1, &answer[0], err) ||
        !read_scalar(call->input[2], 0, &answer[1], err))
        return false;
    double grown = answer[0] * args_float(&rule, "growth_factor", 2);
    bool full = answer[1] + 1 >= (double)args_int(&rule, "growth_interval", 2000);
    if (!isfinite(sum))
        answer[0] *= args_float(&rule, "backoff_factor", 0.5);
    else if (full && isfinite((float)grown))
        answer[0] = grown;
    answer[1] = !isfinite(sum) || full ? 0 : answer[1] + 1;
    for (int o = 0; o < call->n_outputs; o++)
        if (call->output[o])
            local_store(call->output[o], 0, 1, NUMBER_F64, &answer[o]);
    return true;
}

/* The norm is that of gradients without the loss scale. */
static bool clip_factor(const KernelCall *call, Error *err)
{
    RuleCall rule = kernel_rule_call(call);
    double sum, scale, answer[2];
    if (!kernel_numeric(call, 1, err) || !read_scalar(call->input[0], 0, &sum, err) ||
        !read_scalar(call->n_inputs > 1 ? call->input[1] : NULL, 1, &scale, err))
        return false;
    scale *= args_float(&rule, "scale", 1);
    answer[1] = pow(sum, 1 / args_float(&rule, "norm_type", 2)) / scale;
    answer[0] = optimizer_clip_factor(answer[1], args_float(&rule, "clip", 0)) / scale;
    if (args_int(&rule, "checked", 0) != 0 && !isfinite(sum))
        answer[0] = NAN;
    for (int o = 0; o < call->n_outputs; o++)
        if (call->output[o])
            local_store(call->output[o], 0, 1, NUMBER_F64, &answer[o]);
    return true;
}

static const OptimizerRow row_adagrad = {adagrad, 3, 0, 0}, row_adam = {adam, 4, 0.9, 0.999},
                          row_momentum = {momentum, 3, 0, 0};

const Kernel kernels_optimizer[] = {
    {"ai.onnx.preview.training::Adagrad", optimize, &row_adagrad, 0, ROUNDING_SENSITIVE},
    {"ai.onnx.preview.training::Adam", optimize, &row_adam, 0, ROUNDING_SENSITIVE},
    {"ai.onnx.preview.training::Momentum", optimize, &row_momentum, 0, ROUNDING_SENSITIVE},
    {"ClipFactor", clip_factor, NULL, 0, ROUNDING_SENSITIVE},
    {"LossScaleUpdate", scale_update, NULL, 0, ROUNDING_SENSITIVE},
    {"SgdUpdate", update, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
