/* slot_pieces.h - what fills a slot of the schedule: the ops and collectives of a stage, in the
 * order of the program.
 *
 * A collective stands before the op that waits for it. Of traffic of parameters (streams.h) there
 * is what ops wait for: gathers at the begin of a pass, reductions at its end. The pieces add up to
 * stage_forward_us() or stage_backward_us() of pipeline.h, those of a split backward to its two
 * parts. Sends stand between slots, and are no pieces.
 */
#ifndef CORE_COST_SLOT_PIECES_H
#define CORE_COST_SLOT_PIECES_H

#include "core/cost/pipeline.h"

typedef struct {
    bool op;       /* else a collective */
    AtomSet atoms; /* that it goes over; 0: inside an op (op_declared.h) */
    double us;
    int32_t of; /* the op, or that which waits for the collective; -1: traffic of parameters */
    int kind;   /* StepKind of a collective; -1: of an op, or declared inside of one */
} SlotPiece;

typedef struct {
    int n;
    const SlotPiece *piece;
    double us; /* their sum */
} SlotPieces;

/* Of a plan with stages, in the arena. None for a backward pass that the graph does not have. */
SlotPieces slot_pieces(Arena *arena, const Plan *plan, int stage, BlockPass pass);

#endif
