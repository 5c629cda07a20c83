/* gradient_reduces.h - how often a training step reduces gradients of parameters.
 *
 * The gradient of a parameter is partial over axes that shard the batch, or a part of the model
 * that uses it. It is reduced where it is needed: by the update, once a step. What needs it reduced
 * in the backward pass reduces it for each micro-batch: an op there, or a pin of how it lies, as
 * ZeRO's levels 2 and 3 pin it (then each micro-batch is added to a shard).
 *
 * A parameter that several parts of the mesh hold, as a tied embedding of a pipeline, has a
 * gradient on each. The parts exchange sums in rounds (core/step/update.h), once a step: together
 * that is one all-reduce between the parts.
 */
#ifndef CORE_COST_GRADIENT_REDUCES_H
#define CORE_COST_GRADIENT_REDUCES_H

#include "core/plan/plan.h"

typedef struct {
    int n_once, n_each; /* all-reduces and reduce-scatters a step, and those a micro-batch */
    int n_joined;       /* all-reduces between parts of the mesh a step */
    int n_micro_batches;
    int64_t each_bytes; /* that a rank sends in those a micro-batch, and their time: of one */
    double each_us;
    int32_t
        first_each; /* place in plan->moved->reshards of the first of those; -1: there is none */
} GradientReduces;

GradientReduces gradient_reduces(const Plan *plan);

/* All of them in a step. */
static inline int64_t gradient_reduces_count(const GradientReduces *reduces)
{
    return reduces->n_once + reduces->n_joined +
           (int64_t)reduces->n_each * reduces->n_micro_batches;
}

/* Whether the tensor is the gradient of a parameter, or of a value made of parameters alone. */
bool gradient_is_of_parameters(const Plan *plan, int32_t tensor);

/* The parameter whose gradient a reshard sends between parts that both hold it; -1: of none. */
int32_t reshard_joins(const Plan *plan, const Reshard *reshard);

/* Whether an op of a training step runs once a step, not for each micro-batch. */
bool op_runs_once(const Plan *plan, int32_t op);

/* Whether a reshard of a training step runs once a step, not for each micro-batch: one that such an
 * op reads; and, with one micro-batch, that of a gradient of a parameter behind its maker which no
 * gradient op reads. */
bool reshard_is_of_update(const Plan *plan, const Reshard *reshard);

#endif
