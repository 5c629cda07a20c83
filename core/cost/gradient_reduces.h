/* gradient_reduces.h - how often a training step reduces gradients of parameters.
 *
 * The gradient of a parameter is partial over axes that shard the batch, or that shard a part of
 * the model that uses it. It is reduced where it is needed: normally by the update, once a step. If
 * the backward pass needs it reduced, it is reduced for each micro-batch: for an op there, or for a
 * pin of how it is stored, as ZeRO's stages 2 and 3 pin it (each micro-batch is then added to a
 * shard).
 *
 * A parameter that several parts of the mesh hold, such as a tied embedding of a pipeline, has a
 * gradient on each part. The parts exchange sums in rounds (core/step/update.h), once a step:
 * together this is one all-reduce between the parts.
 */
#ifndef CORE_COST_GRADIENT_REDUCES_H
#define CORE_COST_GRADIENT_REDUCES_H

#include "core/plan/plan.h"

typedef struct {
    int n_once, n_each; /* all-reduces and reduce-scatters once a step, and for each micro-batch */
    int n_joined;       /* all-reduces between parts of the mesh, once a step */
    int n_micro_batches;
    int64_t each_bytes; /* the bytes that a rank sends in those of one micro-batch, and their
                           time; of the part of the mesh where they take most */
    double each_us;
    int32_t
        first_each; /* index in plan->moved->reshards of the first of those; -1: there is none */
} GradientReduces;

GradientReduces gradient_reduces(const Plan *plan);

/* The number of all reductions in a step. */
static inline int64_t gradient_reduces_count(const GradientReduces *reduces)
{
    return reduces->n_once + reduces->n_joined +
           (int64_t)reduces->n_each * reduces->n_micro_batches;
}

/* Whether the tensor is the gradient of a parameter, or of a value made of parameters alone. */
bool gradient_is_of_parameters(const Plan *plan, int32_t tensor);

/* The parameter whose gradient a reshard sends between parts that both hold the parameter; -1:
 * none. */
int32_t reshard_joins(const Plan *plan, const Reshard *reshard);

/* Whether an op of a training step runs once a step, not for each micro-batch. */
bool op_runs_once(const Plan *plan, int32_t op);

/* Whether a reshard of a training step runs once a step, not for each micro-batch: because such an
 * op reads it or, with a single micro-batch, because it moves a parameter's gradient after its
 * maker and no gradient op reads it. */
bool reshard_is_of_update(const Plan *plan, const Reshard *reshard);

#endif
