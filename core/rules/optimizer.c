#include "core/rules/optimizer.h"

#include "core/rules/args.h"

#include <math.h>
#include <string.h>

/* ORDER HYPER */
static const char *const hyper_names[HYPER_COUNT] = {
    "lr",
    "beta1",
    "beta2",
    "eps",
    "weight_decay",
    "momentum",
    "dampening",
    "lr_decay",
    "initial_accumulator_value",
    "alpha",
    "momentum_decay",
    "amsgrad",
    "centered",
    "decoupled_weight_decay",
    "maximize",
};

const char *hyper_name(Hyper hyper)
{
    return hyper_names[hyper];
}

/* ---- updates: one element ---- */

static double blend(double old, double new, double keep)
{
    return keep * old + (1 - keep) * new;
}

/* The gradient to use: its sign, and weight decay, which is added to it or shrinks the parameter.
 */
static double decayed(const OptimizerStep *step, double *parameter, double gradient)
{
    double decay = step->hyper[HYPER_WEIGHT_DECAY];
    if (step->hyper[HYPER_MAXIMIZE] != 0)
        gradient = -gradient;
    if (step->hyper[HYPER_DECOUPLED] == 0)
        return gradient + decay * *parameter;
    *parameter *= 1 - step->rate * decay;
    return gradient;
}

static void update_sgd(const OptimizerStep *step, double *parameter, double gradient, double *state)
{
    (void)state;
    *parameter -= step->rate * decayed(step, parameter, gradient);
}

/* The first buffer is the gradient itself. */
static double sgd_buffer(const OptimizerStep *step, double gradient, double *state)
{
    double keep = step->hyper[HYPER_MOMENTUM], damped = 1 - step->hyper[HYPER_DAMPENING];
    return state[0] = step->step <= 1 ? gradient : keep * state[0] + damped * gradient;
}

static void update_momentum(const OptimizerStep *step, double *parameter, double gradient,
                            double *state)
{
    gradient = decayed(step, parameter, gradient);
    *parameter -= step->rate * sgd_buffer(step, gradient, state);
}

static void update_nesterov(const OptimizerStep *step, double *parameter, double gradient,
                            double *state)
{
    gradient = decayed(step, parameter, gradient);
    double buffer = sgd_buffer(step, gradient, state);
    *parameter -= step->rate * (gradient + step->hyper[HYPER_MOMENTUM] * buffer);
}

/* Averages of the gradient, state 0, and of its square, state 1. */
static void average(const OptimizerStep *step, double gradient, double *state)
{
    state[0] = blend(state[0], gradient, step->hyper[HYPER_BETA1]);
    state[1] = blend(state[1], gradient * gradient, step->hyper[HYPER_BETA2]);
}

/* adam and adamw; amsgrad keeps the largest average of squares, uncorrected. */
static void update_adam(const OptimizerStep *step, double *parameter, double gradient,
                        double *state)
{
    gradient = decayed(step, parameter, gradient);
    average(step, gradient, state);
    double square = state[1];
    if (step->hyper[HYPER_AMSGRAD] != 0)
        square = state[2] = fmax(state[2], square);
    *parameter -= step->rate / step->bias1 * state[0] /
                  (sqrt(square) / sqrt(step->bias2) + step->hyper[HYPER_EPS]);
}

static void update_adagrad(const OptimizerStep *step, double *parameter, double gradient,
                           double *state)
{
    gradient = decayed(step, parameter, gradient);
    state[0] += gradient * gradient;
    double rate = step->rate / (1 + (double)(step->step - 1) * step->hyper[HYPER_LR_DECAY]);
    *parameter -= rate * gradient / (sqrt(state[0]) + step->hyper[HYPER_EPS]);
}

/* States: the average of squares, momentum, the average (centered). */
static void update_rmsprop(const OptimizerStep *step, double *parameter, double gradient,
                           double *state)
{
    double keep = step->hyper[HYPER_ALPHA], momentum = step->hyper[HYPER_MOMENTUM];
    gradient = decayed(step, parameter, gradient);
    double square = state[0] = blend(state[0], gradient * gradient, keep);
    if (step->hyper[HYPER_CENTERED] != 0) {
        state[2] = blend(state[2], gradient, keep);
        square -= state[2] * state[2];
    }
    double move = gradient / (sqrt(square) + step->hyper[HYPER_EPS]);
    if (momentum > 0)
        move = state[1] = momentum * state[1] + move;
    *parameter -= step->rate * move;
}

static void update_adamax(const OptimizerStep *step, double *parameter, double gradient,
                          double *state)
{
    gradient = decayed(step, parameter, gradient);
    state[0] = blend(state[0], gradient, step->hyper[HYPER_BETA1]);
    state[1] = fmax(step->hyper[HYPER_BETA2] * state[1], fabs(gradient) + step->hyper[HYPER_EPS]);
    *parameter -= step->rate / step->bias1 * state[0] / state[1];
}

static void update_nadam(const OptimizerStep *step, double *parameter, double gradient,
                         double *state)
{
    gradient = decayed(step, parameter, gradient);
    average(step, gradient, state);
    double root = sqrt(state[1] / step->bias2) + step->hyper[HYPER_EPS];
    *parameter -= (step->along_g * gradient + step->along_m * state[0]) / root;
}

static void update_radam(const OptimizerStep *step, double *parameter, double gradient,
                         double *state)
{
    gradient = decayed(step, parameter, gradient);
    average(step, gradient, state);
    double move = step->rate * state[0] / step->bias1;
    if (step->rectified > 0)
        move *= step->rectified * sqrt(step->bias2) / (sqrt(state[1]) + step->hyper[HYPER_EPS]);
    *parameter -= move;
}

/* ---- what depends on the step alone ---- */

/* Momentum decays with the step (Dozat 2016), and their product corrects the bias. */
static void prepare_nadam(OptimizerStep *step)
{
    double product = 1, mu = 0, next = 0;
    for (int64_t t = 1; t <= step->step + 1; t++) {
        mu = next;
        next = step->hyper[HYPER_BETA1] *
               (1 - 0.5 * pow(0.96, (double)t * step->hyper[HYPER_MOMENTUM_DECAY]));
        if (t <= step->step)
            product *= next;
    }
    step->along_g = step->rate * (1 - mu) / (1 - product);
    step->along_m = step->rate * next / (1 - product * next);
}

/* The length of the average, and what it does to the variance (Liu et al. 2020). */
static void prepare_radam(OptimizerStep *step)
{
    double beta2 = step->hyper[HYPER_BETA2], t = (double)step->step;
    double most = 2 / (1 - beta2) - 1, length = most - 2 * t * pow(beta2, t) / step->bias2;
    if (length > 5)
        step->rectified =
            sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length));
}

/* ---- the table ---- */

#define TAKES(hyper) (1u << HYPER_##hyper)
#define COMMON (TAKES(LR) | TAKES(WEIGHT_DECAY) | TAKES(MAXIMIZE))
#define AVERAGES (COMMON | TAKES(BETA1) | TAKES(BETA2) | TAKES(EPS))
#define AVERAGES_ARE [HYPER_BETA1] = 0.9, [HYPER_BETA2] = 0.999, [HYPER_EPS] = 1e-8

/* ORDER OPTIMIZER: with optimizer_names(). */
static const Optimizer rows[] = {
    {"sgd", "SgdUpdate", update_sgd, COMMON, {[HYPER_LR] = 1e-3}, {{0}}, NULL},
    {"momentum",
     "MomentumUpdate",
     update_momentum,
     COMMON | TAKES(MOMENTUM) | TAKES(DAMPENING),
     {[HYPER_LR] = 1e-3, [HYPER_MOMENTUM] = 0.9},
     {{"momentum", 0, 0}},
     NULL},
    {"nesterov",
     "NesterovUpdate",
     update_nesterov,
     COMMON | TAKES(MOMENTUM),
     {[HYPER_LR] = 1e-3, [HYPER_MOMENTUM] = 0.9},
     {{"momentum", 0, 0}},
     NULL},
    {"adam",
     "AdamUpdate",
     update_adam,
     AVERAGES | TAKES(AMSGRAD) | TAKES(DECOUPLED),
     {AVERAGES_ARE, [HYPER_LR] = 1e-3},
     {{"m", 0, 0}, {"v", 0, 0}, {"v_max", HYPER_AMSGRAD, 0}},
     NULL},
    {"adamw",
     "AdamWUpdate",
     update_adam,
     AVERAGES | TAKES(AMSGRAD),
     {AVERAGES_ARE, [HYPER_LR] = 1e-3, [HYPER_WEIGHT_DECAY] = 0.01, [HYPER_DECOUPLED] = 1},
     {{"m", 0, 0}, {"v", 0, 0}, {"v_max", HYPER_AMSGRAD, 0}},
     NULL},
    {"adagrad",
     "AdagradUpdate",
     update_adagrad,
     COMMON | TAKES(EPS) | TAKES(LR_DECAY) | TAKES(START),
     {[HYPER_LR] = 1e-2, [HYPER_EPS] = 1e-10},
     {{"sum", 0, HYPER_START}},
     NULL},
    {"rmsprop",
     "RmspropUpdate",
     update_rmsprop,
     COMMON | TAKES(ALPHA) | TAKES(EPS) | TAKES(MOMENTUM) | TAKES(CENTERED),
     {[HYPER_LR] = 1e-2, [HYPER_ALPHA] = 0.99, [HYPER_EPS] = 1e-8},
     {{"v", 0, 0}, {"momentum", HYPER_MOMENTUM, 0}, {"g_avg", HYPER_CENTERED, 0}},
     NULL},
    {"adamax",
     "AdamaxUpdate",
     update_adamax,
     AVERAGES,
     {AVERAGES_ARE, [HYPER_LR] = 2e-3},
     {{"m", 0, 0}, {"u", 0, 0}},
     NULL},
    {"nadam",
     "NadamUpdate",
     update_nadam,
     AVERAGES | TAKES(MOMENTUM_DECAY) | TAKES(DECOUPLED),
     {AVERAGES_ARE, [HYPER_LR] = 2e-3, [HYPER_MOMENTUM_DECAY] = 4e-3},
     {{"m", 0, 0}, {"v", 0, 0}},
     prepare_nadam},
    {"radam",
     "RadamUpdate",
     update_radam,
     AVERAGES | TAKES(DECOUPLED),
     {AVERAGES_ARE, [HYPER_LR] = 1e-3},
     {{"m", 0, 0}, {"v", 0, 0}},
     prepare_radam},
};
enum { N_ROWS = sizeof rows / sizeof *rows };

const Optimizer *optimizers(int *n)
{
    *n = N_ROWS;
    return rows;
}

const Optimizer *optimizer_find(Str name)
{
    for (int i = 0; i < N_ROWS; i++)
        if (str_eq(str_from(rows[i].name), name))
            return &rows[i];
    return NULL;
}

const Optimizer *optimizer_of_op(const char *op)
{
    for (int i = 0; i < N_ROWS; i++)
        if (strcmp(rows[i].op, op) == 0)
            return &rows[i];
    return NULL;
}

const char *optimizer_names(void)
{
    return "sgd momentum nesterov adam adamw adagrad rmsprop adamax nadam radam";
}

int optimizer_states(const Optimizer *row, const double hyper[HYPER_COUNT],
                     int out[OPTIMIZER_STATES_MAX])
{
    int n = 0;
    for (int i = 0; row->state[i].name; i++)
        if (row->state[i].only_if == HYPER_LR || hyper[row->state[i].only_if] != 0)
            out[n++] = i;
    return n;
}

double optimizer_state_start(const Optimizer *row, int state, const double hyper[HYPER_COUNT])
{
    Hyper start = row->state[state].start;
    return start == HYPER_LR ? 0 : hyper[start];
}

OptimizerStep optimizer_step(const Optimizer *row, const double hyper[HYPER_COUNT], double rate,
                             int64_t step)
{
    OptimizerStep out = {.step = step, .rate = rate};
    memcpy(out.hyper, hyper, sizeof out.hyper);
    out.bias1 = 1 - pow(hyper[HYPER_BETA1], (double)step);
    out.bias2 = 1 - pow(hyper[HYPER_BETA2], (double)step);
    if (row->prepare)
        row->prepare(&out);
    return out;
}

void optimizer_read_hyper(const RuleCall *call, const Optimizer *row, double out[HYPER_COUNT])
{
    memcpy(out, row->fallback, sizeof row->fallback);
    for (int i = HYPER_LR + 1; i < HYPER_COUNT; i++) {
        if (!(row->takes >> i & 1))
            continue;
        if (i >= HYPER_AMSGRAD)
            out[i] = args_int(call, hyper_names[i], row->fallback[i] != 0) != 0;
        else
            out[i] = args_float(call, hyper_names[i], row->fallback[i]);
    }
}

double optimizer_clip_factor(double norm, double clip)
{
    return clip > 0 ? fmin(1, clip / (norm + 1e-6)) : 1;
}
