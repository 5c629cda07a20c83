/* changed.h - the ops that a change of the plan affects: one bit per op.
 *
 * An op has changed if one of these has: the cut of an index dim, the sharding in which an output
 * is made or stored, or in which an input is read or, if no op makes it, stored. Both plans have
 * the same graph and mesh; layouts are compared once per distinct pair, so that an op costs only a
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
