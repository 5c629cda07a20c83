/* memory.h - live bytes per device over the program.
 *
 * Parameters live always, as stored. A value lives from its maker to its last reader; each
 * resharded copy from its first use to its last. Views share their input's bytes only where the
 * runner does (it copies): so they count. Host constants count where an op reads them. Peak is over
 * ops, on rank 0, whose parts are the largest.
 */
#ifndef CORE_PLAN_MEMORY_H
#define CORE_PLAN_MEMORY_H

#include "core/plan/plan.h"

struct MemoryUse {
    int64_t peak_bytes, parameter_bytes;
    int32_t peak_op;     /* where the peak is; -1 for an empty program */
    int64_t *live_bytes; /* per place in the program: live while that op runs */
};

/* An item alive at an op: a tensor, as made or as a resharded copy. */
typedef struct {
    int32_t tensor, sharding;
    int64_t bytes;
    bool parameter, copy;
} LiveItem;

MemoryUse memory_use(Arena *arena, const Plan *plan);
int memory_live_at(Arena *arena, const Plan *plan, int32_t op, LiveItem **out); /* largest first */

#endif
