/* memory_moments.h - live bytes of a rank along a whole training step: all micro-batches of the
 * schedule, then the update.
 *
 * memory.h counts one micro-batch, plus those in flight in the middle of a step. Here every block
 * of the schedule (schedule.h) on the rank's devices has its own time and its own number of
 * micro-batches in flight. While a block of stage s runs an op of it,
 *
 *     live = what memory.h counts at that op
 *            + sum over the rank's stages r of saved(r) * (others in flight now - others counted)
 *
 * saved(r) is memory_saved() of the stage. A micro-batch is in flight in a stage from the start of
 * its forward block to the end of its backward block; if that is split, of the block for the
 * weights. Between blocks, only the permanent values and saved(r) for each micro-batch in flight
 * are alive. Within a block an op is as wide as its share of the block's compute time; blocks that
 * run as a pair are drawn one after another, each with half of their time. Without stages one block
 * is the whole pass.
 */
#ifndef CORE_COST_MEMORY_MOMENTS_H
#define CORE_COST_MEMORY_MOMENTS_H

#include "core/cost/memory.h"

typedef struct {
    double from_us, to_us;
    int32_t block; /* of the schedule; -1: none, between blocks, in the update or without stages */
    int place;     /* in the program: the op with the most bytes in this time; -1 between blocks */
    int in_flight; /* number of micro-batches, over all stages of the rank */
    int64_t bytes;
    ClassBytes live;
} MemoryMoment;

typedef struct {
    int n;
    const MemoryMoment *at; /* in order of time, without gaps */
    double us;              /* plan_step_us() */
    int peak;               /* the first moment with the most bytes; -1 if n is 0 */
    int64_t saved;          /* of one micro-batch, in all stages of the rank */
} MemoryMoments;

/* In the arena; none if the plan is not of a training step. */
MemoryMoments memory_moments(Arena *arena, const MemoryAccount *account, int64_t rank);

#endif
