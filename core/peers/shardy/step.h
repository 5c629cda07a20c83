/* step.h - one visit of an op in Shardy's propagation: axes move along factors between its tensors.
 *
 * For each factor, the longest list of axes that no tensor of the op contradicts is propagated;
 * only tensors on the source side of the direction may extend it. The list ends before the first
 * axis that
 *   - the tensor may not have: replicated or unreduced there, the dim is closed, axes overflow, or
 *     the factor is not the minor-most of its dim and the axis does not divide its size;
 *   - overlaps an axis of another factor of the tensor.
 * Basic propagation checks all tensors of the op, which then all get the same list, factor by
 * factor in order of number. Aggressive propagation checks only the tensor that is written; factors
 * are tried by larger source tensor, more shards (elementwise ops), position of the source, number;
 * results come before operands, and an operand of an elementwise op never gets more than its
 * result. Source: Shardy's BasicFactorPropagation and AggressiveFactorPropagation.
 */
#ifndef CORE_PEERS_SHARDY_STEP_H
#define CORE_PEERS_SHARDY_STEP_H

#include "core/base/vec.h"
#include "core/plan/plan.h"
#include "core/peers/shardy/factor_sharding.h"
#include "core/plan/stop.h"

typedef struct {
    const FactorRule *rule;
    const Mesh *mesh;
    const Pass *direction; /* per factor; ignored for blocked factors */
    bool aggressive;
    bool elementwise;
    bool conservative; /* no sub-axes */
} FactorStep;

/* shardings: operands, then results; all are read before any is changed in place. Those that change
 * get changed[i] and the mesh number `mesh_of_op`. Returns true when any changed. */
bool factor_step(Arena *scratch, const FactorStep *step, int mesh_of_op,
                 TensorSharding *const *shardings, bool *changed);

/* The same on a projection, before dims are assembled again; updated[i] is set if tensor i gained
 * axes. */
void factor_propagate(Arena *scratch, const FactorStep *step, FactorProjection *projection,
                      bool *updated);

/* Why an axis that another tensor of the op has for a factor is missing on this one. */
typedef struct {
    int factor, tensor; /* of the op: operands, then results */
    int source;         /* a tensor that has the axis */
    AxisRef axis;
    Stop stop;
    int other; /* STOP_TAKEN: the factor that has it; STOP_ORDER: the tensor that contradicts; else
                * -1
                */
} FactorStop;

typedef Vec(FactorStop) FactorStops;

/* For shardings that a step does not change: for each tensor and factor, the first axis of the
 * others that it lacks. */
void factor_stops(Arena *arena, const FactorStep *step, const TensorSharding *const *shardings,
                  FactorStops *out);

#endif
