/* step.h - one visit of an op, in Shardy's manner: axes go along a factor from tensor to tensor.
 *
 * Per factor, what goes along is the longest list of axes that no tensor of the op contradicts;
 * only tensors that the direction lets may make it longer. Then it is cut short, at the first axis
 * that
 *   - the tensor may not have: replicated or unreduced there, the dim is closed, axes overflow, or
 *     the factor is not the minor-most of its dim and the axis does not divide its size;
 *   - overlaps an axis of another factor of the tensor.
 * Basic asks this of all tensors of the op, which then all get the same list, factor after factor
 * in order of number. Aggressive asks it of the tensor alone that is written; the factors are tried
 * in the order: larger source tensor, (elementwise ops) more shards, source's place, number;
 * results before operands, and an operand of an elementwise op never gets more than its result has.
 * Source: Shardy's BasicFactorPropagation and AggressiveFactorPropagation.
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
    const Pass *direction; /* per factor; blocked ones go nowhere whatever it says */
    bool aggressive;
    bool elementwise;
    bool conservative; /* no sub-axes */
} FactorStep;

/* shardings: operands, then results; changed in place, all seen as they were before. Those that
 * change have changed[i], and belong to `mesh_of_op`, a number. True when any did. */
bool factor_step(Arena *scratch, const FactorStep *step, int mesh_of_op,
                 TensorSharding *const *shardings, bool *changed);

/* The same on factors, before dims are put together again: updated[i], tensor i has more axes. */
void factor_propagate(Arena *scratch, const FactorStep *step, FactorProjection *projection,
                      bool *updated);

/* Why an axis that another tensor of the op has along a factor is not on this one. */
typedef struct {
    int factor, tensor; /* of the op: operands, then results */
    int source;         /* a tensor that has the axis */
    AxisRef axis;
    Stop stop;
    int other; /* STOP_TAKEN: the factor that has it; STOP_ORDER: the tensor that says otherwise; -1
                */
} FactorStop;

typedef Vec(FactorStop) FactorStops;

/* Of shardings among which a step changes nothing: of each tensor and factor, the first axis of
 * others that it has not. */
void factor_stops(Arena *arena, const FactorStep *step, const TensorSharding *const *shardings,
                  FactorStops *out);

#endif
