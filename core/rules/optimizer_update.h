/* optimizer_update.h - what an optimizer does to one element of a parameter, for every back end.
 *
 * The host compiles these functions; a GPU gets them, and OPTIMIZER_STEP, as text, so they are both
 * C and CUDA. Everything is computed in double. The row in optimizer.h says which function an
 * optimizer uses.
 */
#ifndef CORE_RULES_OPTIMIZER_UPDATE_H
#define CORE_RULES_OPTIMIZER_UPDATE_H

#include "core/rules/optimizer.h"

#include <math.h>

#define OPTIMIZER_FUNCTIONS(INLINE)                                                                \
    INLINE double blend(double before, double now, double keep)                                    \
    {                                                                                              \
        return keep * before + (1 - keep) * now;                                                   \
    }                                                                                              \
    /* The gradient with its sign and with weight decay, which may shrink the parameter instead */ \
    INLINE double decayed(const OptimizerStep *step, double *parameter, double gradient)           \
    {                                                                                              \
        double decay = step->hyper[HYPER_WEIGHT_DECAY];                                            \
        if (step->hyper[HYPER_MAXIMIZE] != 0)                                                      \
            gradient = -gradient;                                                                  \
        if (step->hyper[HYPER_DECOUPLED] == 0)                                                     \
            return gradient + decay * *parameter;                                                  \
        *parameter *= 1 - step->rate * decay;                                                      \
        return gradient;                                                                           \
    }                                                                                              \
    INLINE void update_sgd(const OptimizerStep *step, double *parameter, double gradient,          \
                           double *state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        *parameter -= step->rate * decayed(step, parameter, gradient);                             \
    }                                                                                              \
    /* The first buffer is the gradient itself. */                                                 \
    INLINE double sgd_buffer(const OptimizerStep *step, double gradient, double *state)            \
    {                                                                                              \
        double keep = step->hyper[HYPER_MOMENTUM], damped = 1 - step->hyper[HYPER_DAMPENING];      \
        return state[0] = step->step <= 1 ? gradient : keep * state[0] + damped * gradient;        \
    }                                                                                              \
    INLINE void update_momentum(const OptimizerStep *step, double *parameter, double gradient,     \
                                double *state)                                                     \
    {                                                                                              \
        gradient = decayed(step, parameter, gradient);                                             \
        *parameter -= step->rate * sgd_buffer(step, gradient, state);                              \
    }                                                                                              \
    INLINE void update_nesterov(const OptimizerStep *step, double *parameter, double gradient,     \
                                double *state)                                                     \
    {                                                                                              \
        gradient = decayed(step, parameter, gradient);                                             \
        double buffer = sgd_buffer(step, gradient, state);                                         \
        *parameter -= step->rate * (gradient + step->hyper[HYPER_MOMENTUM] * buffer);              \
    }                                                                                              \
    /* Averages of the gradient, state 0, and of its square, state 1. */                           \
    INLINE void average(const OptimizerStep *step, double gradient, double *state)                 \
    {                                                                                              \
        state[0] = blend(state[0], gradient, step->hyper[HYPER_BETA1]);                            \
        state[1] = blend(state[1], gradient * gradient, step->hyper[HYPER_BETA2]);                 \
    }                                                                                              \
    /* adam and adamw; amsgrad keeps the largest average of squares, uncorrected. */               \
    INLINE void update_adam(const OptimizerStep *step, double *parameter, double gradient,         \
                            double *state)                                                         \
    {                                                                                              \
        gradient = decayed(step, parameter, gradient);                                             \
        average(step, gradient, state);                                                            \
        double square = state[1];                                                                  \
        if (step->hyper[HYPER_AMSGRAD] != 0)                                                       \
            square = state[2] = fmax(state[2], square);                                            \
        *parameter -= step->rate / step->bias1 * state[0] /                                        \
                      (sqrt(square) / sqrt(step->bias2) + step->hyper[HYPER_EPS]);                 \
    }                                                                                              \
    INLINE void update_adagrad(const OptimizerStep *step, double *parameter, double gradient,      \
                               double *state)                                                      \
    {                                                                                              \
        gradient = decayed(step, parameter, gradient);                                             \
        state[0] += gradient * gradient;                                                           \
        double rate = step->rate / (1 + (double)(step->step - 1) * step->hyper[HYPER_LR_DECAY]);   \
        *parameter -= rate * gradient / (sqrt(state[0]) + step->hyper[HYPER_EPS]);                 \
    }                                                                                              \
    /* States: the average of squares, momentum, the average (centered). */                        \
    INLINE void update_rmsprop(const OptimizerStep *step, double *parameter, double gradient,      \
                               double *state)                                                      \
    {                                                                                              \
        double keep = step->hyper[HYPER_ALPHA], momentum = step->hyper[HYPER_MOMENTUM];            \
        gradient = decayed(step, parameter, gradient);                                             \
        double square = state[0] = blend(state[0], gradient * gradient, keep);                     \
        if (step->hyper[HYPER_CENTERED] != 0) {                                                    \
            state[2] = blend(state[2], gradient, keep);                                            \
            square -= state[2] * state[2];                                                         \
        }                                                                                          \
        double move = gradient / (sqrt(square) + step->hyper[HYPER_EPS]);                          \
        if (momentum > 0)                                                                          \
            move = state[1] = momentum * state[1] + move;                                          \
        *parameter -= step->rate * move;                                                           \
    }                                                                                              \
    INLINE void update_adamax(const OptimizerStep *step, double *parameter, double gradient,       \
                              double *state)                                                       \
    {                                                                                              \
        gradient = decayed(step, parameter, gradient);                                             \
        state[0] = blend(state[0], gradient, step->hyper[HYPER_BETA1]);                            \
        state[1] =                                                                                 \
            fmax(step->hyper[HYPER_BETA2] * state[1], fabs(gradient) + step->hyper[HYPER_EPS]);    \
        *parameter -= step->rate / step->bias1 * state[0] / state[1];                              \
    }                                                                                              \
    INLINE void update_nadam(const OptimizerStep *step, double *parameter, double gradient,        \
                             double *state)                                                        \
    {                                                                                              \
        gradient = decayed(step, parameter, gradient);                                             \
        average(step, gradient, state);                                                            \
        double root = sqrt(state[1] / step->bias2) + step->hyper[HYPER_EPS];                       \
        *parameter -= (step->along_g * gradient + step->along_m * state[0]) / root;                \
    }                                                                                              \
    INLINE void update_radam(const OptimizerStep *step, double *parameter, double gradient,        \
                             double *state)                                                        \
    {                                                                                              \
        gradient = decayed(step, parameter, gradient);                                             \
        average(step, gradient, state);                                                            \
        double move = step->rate * state[0] / step->bias1;                                         \
        if (step->rectified > 0)                                                                   \
            move *=                                                                                \
                step->rectified * sqrt(step->bias2) / (sqrt(state[1]) + step->hyper[HYPER_EPS]);   \
        *parameter -= move;                                                                        \
    }

/* What depends on the step alone, and on the norm of all gradients. */
#define OPTIMIZER_CONSTANTS(INLINE)                                                                \
    /* Momentum decays with the step (Dozat 2016), and their product corrects the bias. */         \
    INLINE void prepare_nadam(OptimizerStep *step)                                                 \
    {                                                                                              \
        double product = 1, mu = 0, next = 0;                                                      \
        for (int64_t t = 1; t <= step->step + 1; t++) {                                            \
            mu = next;                                                                             \
            next = step->hyper[HYPER_BETA1] *                                                      \
                   (1 - 0.5 * pow(0.96, (double)t * step->hyper[HYPER_MOMENTUM_DECAY]));           \
            if (t <= step->step)                                                                   \
                product *= next;                                                                   \
        }                                                                                          \
        step->along_g = step->rate * (1 - mu) / (1 - product);                                     \
        step->along_m = step->rate * next / (1 - product * next);                                  \
    }                                                                                              \
    /* The length of the average, and what it does to the variance (Liu et al. 2020). */           \
    INLINE void prepare_radam(OptimizerStep *step)                                                 \
    {                                                                                              \
        double beta2 = step->hyper[HYPER_BETA2], t = (double)step->step;                           \
        double most = 2 / (1 - beta2) - 1, length = most - 2 * t * pow(beta2, t) / step->bias2;    \
        if (length > 5)                                                                            \
            step->rectified =                                                                      \
                sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length));     \
    }                                                                                              \
    /* Corrections of averages that begin with 0. */                                               \
    INLINE void optimizer_bias(OptimizerStep *step)                                                \
    {                                                                                              \
        step->bias1 = 1 - pow(step->hyper[HYPER_BETA1], (double)step->step);                       \
        step->bias2 = 1 - pow(step->hyper[HYPER_BETA2], (double)step->step);                       \
    }                                                                                              \
    /* As torch's clip_grad_norm_ */                                                               \
    INLINE double clip_factor_of(double norm, double clip)                                         \
    {                                                                                              \
        return clip > 0 ? fmin(1, clip / (norm + 1e-6)) : 1;                                       \
    }

#endif
