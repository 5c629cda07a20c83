/* optimizer.h - the optimizers: hyper-parameters, states and update of each, as torch.optim has
 * them.
 *
 * One table row an optimizer. Rules and kernels of the update operators, the training step
 * (core/step/optimizer.h) and the eval verb `optimizer.step` read it.
 *
 *     AdamWUpdate   parameter, gradient, rate, step, factor, m, v -> parameter, m, v
 *
 * The gradient is multiplied by `factor` before anything else: one scalar combines the clip factor,
 * the loss scale and the number of micro-batches. If it is NaN the step is skipped: nothing
 * changes. `step` counts from 1. Constants that depend on the step alone are computed once
 * (optimizer_step()), then elements are updated one by one.
 */
#ifndef CORE_RULES_OPTIMIZER_H
#define CORE_RULES_OPTIMIZER_H

#include "core/rules/registry.h"

/* start: the initial sum of adagrad; alpha: decay of rmsprop's average of squares; momentum_decay:
 * nadam's. From amsgrad on they are 0 or 1; decoupled: weight decay multiplies the parameter, as in
 * adamw. */
#define HYPER_ROWS(H)                                                                              \
    H(LR, "lr")                                                                                    \
    H(BETA1, "beta1")                                                                              \
    H(BETA2, "beta2")                                                                              \
    H(EPS, "eps")                                                                                  \
    H(WEIGHT_DECAY, "weight_decay")                                                                \
    H(MOMENTUM, "momentum")                                                                        \
    H(DAMPENING, "dampening")                                                                      \
    H(LR_DECAY, "lr_decay")                                                                        \
    H(START, "initial_accumulator_value")                                                          \
    H(ALPHA, "alpha")                                                                              \
    H(MOMENTUM_DECAY, "momentum_decay")                                                            \
    H(AMSGRAD, "amsgrad")                                                                          \
    H(CENTERED, "centered")                                                                        \
    H(DECOUPLED, "decoupled_weight_decay")                                                         \
    H(MAXIMIZE, "maximize")

typedef enum {
#define H(id, name) HYPER_##id,
    HYPER_ROWS(H)
#undef H
        HYPER_COUNT
} Hyper;

/* "lr", "beta1", .. */
const char *hyper_name(Hyper hyper);

enum { OPTIMIZER_STATES_MAX = 3 };

/* step: from 1; rate: the learning rate of this step; bias1, bias2: 1 - beta^step; along_m,
 * along_g: nadam's rates along the moment and along the gradient; rectified: radam's factor of the
 * variance, 0 if it is not yet tractable. */
#define OPTIMIZER_STEP                                                                             \
    typedef struct {                                                                               \
        double hyper[HYPER_COUNT];                                                                 \
        int64_t step;                                                                              \
        double rate, bias1, bias2, along_m, along_g, rectified;                                    \
    } OptimizerStep;
OPTIMIZER_STEP

/* Updates one element: its parameter and its states, in the order of the row. */
typedef void OptimizerUpdate(const OptimizerStep *step, double *parameter, double gradient,
                             double *state);

typedef struct {
    const char *name; /* "adamw" */
    const char *op;   /* "AdamWUpdate", an operator of core/rules/operators/training.c */
    OptimizerUpdate *update;
    const char *update_name;
    uint32_t takes;               /* hyper-parameters, bit i: Hyper i */
    double fallback[HYPER_COUNT]; /* torch's default; for a hyper-parameter that the optimizer
                                     lacks, the value to use */
    struct {
        const char *name; /* "m"; NULL ends the list */
        Hyper only_if;    /* the state exists only if this is not 0; HYPER_LR: always */
        Hyper start;      /* its initial value; HYPER_LR: 0 */
    } state[OPTIMIZER_STATES_MAX + 1];
    void (*prepare)(OptimizerStep *step); /* computes more constants of a step; NULL: none */
    const char *prepare_name;
} Optimizer;

const Optimizer *optimizers(int *n);
const Optimizer *optimizer_find(Str name); /* NULL if there is none */
const Optimizer *optimizer_of_op(const char *op);
const char *optimizer_names(void); /* separated by blanks */

/* The states that the optimizer keeps with these hyper-parameters: indices into row->state. */
int optimizer_states(const Optimizer *row, const double hyper[HYPER_COUNT],
                     int out[OPTIMIZER_STATES_MAX]);
/* The initial value of that state. */
double optimizer_state_start(const Optimizer *row, int state, const double hyper[HYPER_COUNT]);

/* `step` from 1. */
OptimizerStep optimizer_step(const Optimizer *row, const double hyper[HYPER_COUNT], double rate,
                             int64_t step);

/* ---- its operator ---- */

/* Inputs of the operator; states follow the factor, which may be absent. */
enum { UPDATE_PARAMETER, UPDATE_GRADIENT, UPDATE_RATE, UPDATE_STEP, UPDATE_FACTOR, UPDATE_STATES };

/* Reads the optimizer's hyper-parameters from the op's attributes of the same names; the learning
 * rate is an input. */
void optimizer_read_hyper(const RuleCall *call, const Optimizer *row, double out[HYPER_COUNT]);

/* ---- clipping ---- */

/* min(1, clip / (norm + 1e-6)), as torch's clip_grad_norm_; 1 if clip is 0. */
double optimizer_clip_factor(double norm, double clip);

#endif
