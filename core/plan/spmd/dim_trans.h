/* dim_trans.h - how the dims of a view come from the dims of its source.
 *
 * Each target dim is a chain over source dims: nothing (a new dim of size 1), some source dims
 * merged, and of the merged one possibly a piece. In the words people know from Paddle's rules:
 *
 *   InputDim(i)              the source dim itself
 *   Singleton                no source
 *   Flatten(t0, t1, ..)      merged, major first
 *   Split(t, sizes, id)      piece id of t, whose pieces have these sizes
 *
 * An axis passes from a source dim to a target dim if it splits the target in the same blocks: it
 * sits on the leftmost merged dim (or on the next one, when all before it are split so that the
 * parts divide), and goes to the leftmost piece, whose size the parts must divide.
 */
#ifndef CORE_PLAN_SPMD_DIM_TRANS_H
#define CORE_PLAN_SPMD_DIM_TRANS_H

#include "core/plan/spmd/spmd.h"

typedef struct {
    int n_from; /* source dims merged, major first; 0: Singleton */
    int from[DIMS_MAX];
    int n_pieces, piece;         /* 1: no Split */
    int64_t size[SPMD_DIMS_MAX]; /* of the pieces */
} DimTrans;

/* The transforms that make `target` of `source`; one -1 in target is filled in. Returns false, with
 * ERROR_INVALID, when the elements do not fit. */
bool dim_trans_of_reshape(const Shape *source, Shape *target, DimTrans *out, Error *err);

/* Carries the mapping of `source` (its shape too) through the n transforms: *need is the source
 * with what does not pass taken off, *out the mapping of the target. */
void dim_trans_apply(SpmdCall *call, const SpmdTensor *source, const DimTrans *trans, int n,
                     SpmdTensor *need, SpmdTensor *out);

/* "Split(Flatten(0,1),[8,2],0)". */
void dim_trans_format(const DimTrans *trans, Buf *out);

#endif
