/* op_part.h - what a rank has of an op under a cut, as a user's functions see it.
 *
 * A cut of an index dim into parts of equal size, one stretch of it each, is part `at` of `num`.
 * Any other cut, uneven or interleaved, has no such numbers: keyword arguments that follow the cut
 * cannot be told then, which is a finding of the plan and an error of the run.
 */
#ifndef CORE_COST_OP_PART_H
#define CORE_COST_OP_PART_H

#include "core/plan/plan.h"
#include "core/rules/user_op.h"

/* The same of all index dims. False with *err, which names it, where keyword arguments follow an
 * index dim whose parts are not even; a piece of 1 elsewhere. */
bool op_pieces(const OpSpace *space, const OpCut *cut, const Mesh *mesh, const Kwargs *kwargs,
               int64_t position, IndexPiece out[X_MAX], Error *err);

/* The part of rank 0, or the whole op (cut NULL). False as above. */
bool op_part(Arena *arena, const Inferred *inferred, int32_t op, const OpCut *cut, const Mesh *mesh,
             OpPart *out, Error *err);

/* The row of a user's operator that says more than its op space; NULL: none. */
const UserOp *op_user(const Inferred *inferred, int32_t op);

#endif
