/* slot_pieces.h - what fills a slot of the schedule: the ops and collectives of a stage, in program
 * order.
 *
 * A collective precedes the op that waits for it. Of the traffic of parameters (streams.h) only the
 * time that ops wait is included: for gathers at the start of a pass, for reductions at its end.
 * The pieces sum to stage_forward_us() or stage_backward_us() of pipeline.h, for a split backward
 * to its two parts. Sends are between slots and are not pieces.
 */
#ifndef CORE_COST_SLOT_PIECES_H
#define CORE_COST_SLOT_PIECES_H

#include "core/cost/pipeline.h"

typedef struct {
    bool op;       /* else a collective */
    AtomSet atoms; /* its axes; 0: inside an op (op_declared.h) */
    double us;
    int32_t of; /* the op, or the op that waits for the collective; -1: traffic of parameters */
    int kind;   /* StepKind of a collective; -1: an op, or a collective declared inside one */
} SlotPiece;

typedef struct {
    int n;
    const SlotPiece *piece;
    double us; /* their sum */
} SlotPieces;

/* For a plan with stages, in the arena. Empty for a backward pass that the graph does not have. */
SlotPieces slot_pieces(Arena *arena, const Plan *plan, int stage, BlockPass pass);

#endif
