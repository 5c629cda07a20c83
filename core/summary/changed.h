/* changed.h - the ops that a change of the plan affects: one bit per op.
 *
 * An op has changed if the cut of an index dim has, or the sharding in which an output is made or
 * stored, in which an input is read, or in which an input that no op makes is stored. Both plans
 * are of one graph and one mesh; layouts are compared once per distinct one, so that an op costs a
 * few look-ups.
 */
#ifndef CORE_SUMMARY_CHANGED_H
#define CORE_SUMMARY_CHANGED_H

#include "core/plan/plan.h"

typedef struct {
    int n;          /* number of changed ops */
    uint64_t *bits; /* per op of the graph, in the arena; NULL if the plans cannot be compared */
} ChangedOps;

ChangedOps plan_changed_ops(Arena *arena, const Plan *old, const Plan *new);

static inline bool op_has_changed(const ChangedOps *changed, int32_t op)
{
    return changed->bits && op >= 0 && (changed->bits[op / 64] >> (op % 64) & 1);
}

#endif
