/* dim_trans.h - how the dims of a view come from the dims of its source.
 *
 * Each target dim is made of nothing (a dim of size 1 that is new), or of some source dims merged,
 * and of these possibly a piece. In the words of Paddle's rules:
 *
 *   InputDim(i)              the source dim itself
 *   Singleton                no source
 *   Flatten(t0, t1, ..)      merged, major first
 *   Split(t, sizes, id)      piece id of t, whose pieces have these sizes
 *
 * An axis passes where it splits source and target in the same blocks. Of merged dims the leftmost
 * carries its axes, and takes those of its right neighbour, and so on, as long as all of them
 * divide it; of pieces the leftmost one that is not 1 gets them, if they divide it. Whatever does
 * not pass is taken off the source.
 */
#ifndef CORE_PEERS_PADDLE_DIM_TRANS_H
#define CORE_PEERS_PADDLE_DIM_TRANS_H

#include "core/peers/paddle/spmd.h"

typedef struct {
    int n_from; /* source dims merged, major first; 0: Singleton */
    int from[DIMS_MAX];
    int n_pieces, piece;    /* n_pieces < 2: no Split */
    int64_t size[DIMS_MAX]; /* of the pieces */
} DimTrans;

DimTrans dim_trans_of_dim(int from); /* InputDim */

/* The transforms, one per dim of target, that reshape source to target. ERROR_INVALID: they have
 * not as many elements. */
bool dim_trans_of_reshape(const Shape *source, const Shape *target, DimTrans *out, Error *err);

/* Carries the mapping of `source` through the transforms, one per dim of `shape`: *need is the
 * source with what passes, *out the mapping of the target. Partial is kept on both. */
void dim_trans_apply(SpmdCall *call, const SpmdTensor *source, const DimTrans *trans,
                     const Shape *shape, SpmdTensor *need, SpmdTensor *out);

/* The same as upstream's backward rules do it, which are older: one axis a dim; merged dims take
 * the axes of right neighbours whether these divide anything or not, but not where a piece is to
 * have them. */
void dim_trans_apply_loosely(SpmdCall *call, const SpmdTensor *source, const DimTrans *trans,
                             const Shape *shape, SpmdTensor *need, SpmdTensor *out);

/* "Split(Flatten(0,1),[8,2],0)". */
void dim_trans_format(const DimTrans *trans, Buf *out);

#endif
