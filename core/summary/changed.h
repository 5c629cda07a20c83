/* changed.h - which ops a change of the plan touched: one bit an op.
 *
 * An op has changed when the cut of an index dim has, or how an output is made or lies, how an
 * input is read, or how one that no op makes lies. Both plans are of one graph and one mesh;
 * layouts are compared once per distinct one, so that an op costs a few look-ups.
 */
#ifndef CORE_SUMMARY_CHANGED_H
#define CORE_SUMMARY_CHANGED_H

#include "core/plan/plan.h"

typedef struct {
    int n;          /* how many have changed */
    uint64_t *bits; /* per op of the graph, in the arena; NULL: the plans cannot be compared */
} ChangedOps;

ChangedOps plan_changed_ops(Arena *arena, const Plan *old, const Plan *new);

static inline bool op_has_changed(const ChangedOps *changed, int32_t op)
{
    return changed->bits && op >= 0 && (changed->bits[op / 64] >> (op % 64) & 1);
}

#endif
