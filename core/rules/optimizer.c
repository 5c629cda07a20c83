#include "core/rules/optimizer.h"

#include "core/rules/args.h"
#include "core/rules/optimizer_update.h"

#include <math.h>
#include <string.h>

static const char *const hyper_names[HYPER_COUNT] = {
#define H(id, name) [HYPER_##id] = name,
    HYPER_ROWS(H)
#undef H
};

const char *hyper_name(Hyper hyper)
{
    return hyper_names[hyper];
}

OPTIMIZER_FUNCTIONS(static inline)
OPTIMIZER_CONSTANTS(static inline)

/* ---- the table ---- */

#define BY(function) function, #function
#define TAKES(hyper) (1u << HYPER_##hyper)
#define COMMON (TAKES(LR) | TAKES(WEIGHT_DECAY) | TAKES(MAXIMIZE))
#define AVERAGES (COMMON | TAKES(BETA1) | TAKES(BETA2) | TAKES(EPS))
#define AVERAGES_ARE [HYPER_BETA1] = 0.9, [HYPER_BETA2] = 0.999, [HYPER_EPS] = 1e-8

/* ORDER OPTIMIZER: with optimizer_names(). */
static const Optimizer rows[] = {
    {"sgd", "SgdUpdate", BY(update_sgd), COMMON, {[HYPER_LR] = 1e-3}, {{0}}, NULL, NULL},
    {"momentum",
     "MomentumUpdate",
     BY(update_momentum),
     COMMON | TAKES(MOMENTUM) | TAKES(DAMPENING),
     {[HYPER_LR] = 1e-3, [HYPER_MOMENTUM] = 0.9},
     {{"momentum", 0, 0}},
     NULL,
     NULL},
    {"nesterov",
     "NesterovUpdate",
     BY(update_nesterov),
     COMMON | TAKES(MOMENTUM),
     {[HYPER_LR] = 1e-3, [HYPER_MOMENTUM] = 0.9},
     {{"momentum", 0, 0}},
     NULL,
     NULL},
    {"adam",
     "AdamUpdate",
     BY(update_adam),
     AVERAGES | TAKES(AMSGRAD) | TAKES(DECOUPLED),
     {AVERAGES_ARE, [HYPER_LR] = 1e-3},
     {{"m", 0, 0}, {"v", 0, 0}, {"v_max", HYPER_AMSGRAD, 0}},
     NULL,
     NULL},
    {"adamw",
     "AdamWUpdate",
     BY(update_adam),
     AVERAGES | TAKES(AMSGRAD),
     {AVERAGES_ARE, [HYPER_LR] = 1e-3, [HYPER_WEIGHT_DECAY] = 0.01, [HYPER_DECOUPLED] = 1},
     {{"m", 0, 0}, {"v", 0, 0}, {"v_max", HYPER_AMSGRAD, 0}},
     NULL,
     NULL},
    {"adagrad",
     "AdagradUpdate",
     BY(update_adagrad),
     COMMON | TAKES(EPS) | TAKES(LR_DECAY) | TAKES(START),
     {[HYPER_LR] = 1e-2, [HYPER_EPS] = 1e-10},
     {{"sum", 0, HYPER_START}},
     NULL,
     NULL},
    {"rmsprop",
     "RmspropUpdate",
     BY(update_rmsprop),
     COMMON | TAKES(ALPHA) | TAKES(EPS) | TAKES(MOMENTUM) | TAKES(CENTERED),
     {[HYPER_LR] = 1e-2, [HYPER_ALPHA] = 0.99, [HYPER_EPS] = 1e-8},
     {{"v", 0, 0}, {"momentum", HYPER_MOMENTUM, 0}, {"g_avg", HYPER_CENTERED, 0}},
     NULL,
     NULL},
    {"adamax",
     "AdamaxUpdate",
     BY(update_adamax),
     AVERAGES,
     {AVERAGES_ARE, [HYPER_LR] = 2e-3},
     {{"m", 0, 0}, {"u", 0, 0}},
     NULL,
     NULL},
    {"nadam",
     "NadamUpdate",
     BY(update_nadam),
     AVERAGES | TAKES(MOMENTUM_DECAY) | TAKES(DECOUPLED),
     {AVERAGES_ARE, [HYPER_LR] = 2e-3, [HYPER_MOMENTUM_DECAY] = 4e-3},
     {{"m", 0, 0}, {"v", 0, 0}},
     BY(prepare_nadam)},
    {"radam",
     "RadamUpdate",
     BY(update_radam),
     AVERAGES | TAKES(DECOUPLED),
     {AVERAGES_ARE, [HYPER_LR] = 1e-3},
     {{"m", 0, 0}, {"v", 0, 0}},
     BY(prepare_radam)},
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
    optimizer_bias(&out);
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
    return clip_factor_of(norm, clip);
}
