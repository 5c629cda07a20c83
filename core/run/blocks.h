/* blocks.h - the blocks of a training step in a run: the forward or backward work of a stage for
 * one micro-batch, and the update.
 *
 * An op belongs to the block of its phase and stage; a step of a reshard to the block of its
 * reader, or of its value's maker if it runs before the micro-batches are added up. Work on the
 * sums, such as on the loss, belongs to the update. Work that all stages do, such as counting
 * steps, is in no block. Sends are no work of a block: they count as waiting, as in the schedule.
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
    int stage, micro_batch; /* 0 in a step without stages; -1 for the update, which has no
                               micro-batch */
    double predicted_us;
} ProgramBlock;

/* Fills program->blocks and program->block_of for a training step; a forward pass has none. */
void program_blocks(Arena *arena, const Plan *plan, struct Program *program);

/* Returns whether the step is a send between stages. */
bool run_step_sends(const Step *step);

#endif
