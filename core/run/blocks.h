/* blocks.h - the blocks of a training step that runs: what a stage does forward and backward of one
 * micro-batch, and the update.
 *
 * An op is of the block of its phase and stage, a step of a reshard of that of its reader, or of
 * its value's maker if it is done before the micro-batches are added up; what is done to the sums,
 * as to the loss, is of the update. What all stages do, as counting steps, is in no block. Sends
 * are part of no block's work: they count as waiting, as in the schedule.
 *
 *     predicted_us   its ops (cost.h) and steps one after the other: nothing overlaps in a run
 */
#ifndef CORE_RUN_BLOCKS_H
#define CORE_RUN_BLOCKS_H

#include "core/plan/plan.h"

struct Program;

/* ORDER RUN_PASS. RUN_INPUT and RUN_WEIGHT are the parts of a backward pass that the schedule
 * splits. */
typedef enum { RUN_FORWARD, RUN_BACKWARD, RUN_INPUT, RUN_WEIGHT, RUN_UPDATE, N_RUN_PASSES } RunPass;

/* "F", "B", "I", "W", "update" */
const char *run_pass_name(RunPass pass);

typedef struct {
    RunPass pass;
    int stage, micro_batch; /* 0 of a step without stages; the update has no micro-batch: -1 */
    double predicted_us;
} ProgramBlock;

/* Fills program->blocks and program->block_of, of a training step; leaves a forward pass without.
 */
void program_blocks(Arena *arena, const Plan *plan, struct Program *program);

/* Whether a step's time is that of sending between stages. */
bool run_step_sends(const Step *step);

#endif
