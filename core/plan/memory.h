/* memory.h - live bytes per device while a plan runs.
 *
 * The account follows the run (core/run/program.h) step by step, for rank 0, whose parts are the
 * largest. Parameters, as stored, and graph inputs live always, graph outputs from when they are
 * made. A value lives from its maker to its last reader, or to the step that moves it when nobody
 * reads it later; a moved copy from its step to its last reader, what lies between two steps of a
 * reshard while they run. Views are copies, as in the run. A constant lives from its first reader
 * to its last; the run holds a little less, since kernels take axes and sizes as numbers. Scratch
 * memory inside an op is not counted.
 */
#ifndef CORE_PLAN_MEMORY_H
#define CORE_PLAN_MEMORY_H

#include "core/plan/plan.h"

typedef struct {
    int64_t peak_bytes;
    int64_t
        *live_bytes; /* per place in the program: the most while that op, or a step for it, runs */
} MemoryUse;

/* Needs sharding, made and need. live_bytes lies in the arena. */
MemoryUse memory_use(Arena *arena, const Plan *plan);

#endif
