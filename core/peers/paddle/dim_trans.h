/* dim_trans.h - maps the dims of a view to those of its source, and carries mappings through it.
 *
 * Each target dim comes from no source dim (a new dim of size 1), from merged source dims, or from
 * a piece of these. In Paddle's terms:
 *
 *   InputDim(i)              the source dim itself
 *   Singleton                no source
 *   Flatten(t0, t1, ..)      merged, major first
 *   Split(t, sizes, id)      piece id of t, whose pieces have these sizes
 *
 * An axis passes if it splits source and target into the same blocks. Of merged dims the leftmost
 * passes its axes, followed by those of its right neighbours as long as all divide it; of pieces
 * the leftmost that is not 1 gets them if they divide it. Axes that do not pass are removed from
 * the source.
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

/* The transforms, one per target dim, that reshape source to target. ERROR_INVALID if they differ
 * in number of elements. */
bool dim_trans_of_reshape(const Shape *source, const Shape *target, DimTrans *out, Error *err);

/* Carries the mapping of `source` through the transforms, one per dim of `shape`: *need is the
 * source with the axes that pass, *out the mapping of the target. Partial is kept on both. */
void dim_trans_apply(SpmdCall *call, const SpmdTensor *source, const DimTrans *trans,
                     const Shape *shape, SpmdTensor *need, SpmdTensor *out);

/* The same as Paddle's older backward rules: one axis a dim; merged dims get the axes of right
 * neighbours whether these divide or not, except for pieces. */
void dim_trans_apply_loosely(SpmdCall *call, const SpmdTensor *source, const DimTrans *trans,
                             const Shape *shape, SpmdTensor *need, SpmdTensor *out);

/* "Split(Flatten(0,1),[8,2],0)". */
void dim_trans_format(const DimTrans *trans, Buf *out);

#endif
