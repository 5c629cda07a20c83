/* op_part.h - the part of an op that a rank computes under a cut, in the form that users' functions
 * get.
 *
 * If an index dim is cut into equal contiguous parts, a rank computes part `at` of `num`. Uneven or
 * interleaved cuts have no such numbers; keyword arguments that depend on the cut are then
 * undefined, which is a finding of the plan and an error of the run.
 */
#ifndef CORE_COST_OP_PART_H
#define CORE_COST_OP_PART_H

#include "core/plan/plan.h"
#include "core/rules/user_op.h"

/* The parts of all index dims. Returns false with *err naming the index dim if keyword arguments
 * depend on one whose parts are not equal; other such dims count as one part. */
bool op_pieces(const OpSpace *space, const OpCut *cut, const Mesh *mesh, const Kwargs *kwargs,
               int64_t position, IndexPiece out[X_MAX], Error *err);

/* The part of rank 0, or the whole op if cut is NULL. Returns false as above. */
bool op_part(Arena *arena, const Inferred *inferred, int32_t op, const OpCut *cut, const Mesh *mesh,
             OpPart *out, Error *err);

/* The row of a user's operator that declares more than its op space; NULL if there is none. */
const UserOp *op_user(const Inferred *inferred, int32_t op);

#endif
