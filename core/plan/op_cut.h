/* op_cut.h - how the index dims of an op are cut, and the shardings this gives its operands. */
#ifndef CORE_PLAN_OP_CUT_H
#define CORE_PLAN_OP_CUT_H

#include "core/layout/sharding.h"

/* The cuts of an op's index dims, interned. */
typedef struct {
    int64_t n;
    Cut index[X_MAX];
} OpCut;

OpCut op_cut_whole(const OpSpace *space); /* no index dim is cut */

bool op_cut_equal(const OpCut *a, const OpCut *b); /* of one op space */

/* The cut that the op's index dims give to one dim of an operand. Returns false if the dim has no
 * index dim, if the dim is a part of an index dim (dim_part.h) and the cut divides that part, or if
 * it needs more than DIGITS_MAX digits. */
bool op_cut_project(const OpSpace *space, const OpCut *cut, int operand, int dim, const Mesh *mesh,
                    Cut *out);

/* The sharding of an operand under the op's cut, as the op reads or makes it: partial over the axes
 * that shard a reduce dim. The gradient of a window has the halo that the window reads, a running
 * sum carries, and an operand with an index dim that goes around a ring goes around, too. The
 * operand must not be absent or ignored. */
Sharding op_cut_sharding(const OpSpace *space, const OpCut *cut, int operand, const Mesh *mesh);

/* For dims of which the op needs only a part (Slice): reads them as `have` if that part is sharded
 * there as the op needs it. *need is the result of op_cut_sharding() for the operand. Returns true
 * if it changed. */
bool op_cut_read_parts(const OpSpace *space, const OpCut *cut, int operand, const Sharding *have,
                       const Mesh *mesh, Sharding *need);

/* The cut with which an op reads a dim of an input in windows, or shifted: sharded by the axes of
 * the one cut index dim that moves the window, with the halo that the windows reach into the
 * neighbours' parts. Returns false if no such index dim has a plain cut, if the dim is an index
 * dim, or if one is a part of the other (Slice, Pad) and the halo is wider than an eighth of a
 * part. */
bool op_cut_halo(const OpSpace *space, const OpCut *cut, int operand, int dim, const Mesh *mesh,
                 Cut *out);

/* Reads such dims with halos; they must be whole in *need, the result of op_cut_sharding() for the
 * operand. Returns true if it changed. */
bool op_cut_read_halos(const OpSpace *space, const OpCut *cut, int operand, const Mesh *mesh,
                       Sharding *need);

/* Whether a frozen index dim may have this cut. It may if operands hold parts of the index dim
 * (Split, Concat) and the cut keeps them apart, if it carries and the cut is plain, or if its parts
 * go around a ring. */
bool op_cut_of_frozen(const OpSpace *space, int index, const Cut *cut, const Mesh *mesh);

/* How often the parts of an index dim can go around a ring while the op computes on them: as its
 * kernel says of a frozen dim, once in a product (core/space/contraction.h); 0: they cannot. */
int op_cut_rounds(const OpSpace *space, int index);

/* The index dim whose parts go around a ring; -1: none. Its axes shard another index dim of the op,
 * or else all ranks would make the same in different orders. Where that does not hold the dim is
 * whole.
 *
 * Of attention keys and values go around: the axes shard no other dim of theirs. Of a product it is
 * one side, whichever the axes do not shard otherwise: an operand comes in parts instead of being
 * gathered, or the result is summed up part by part on its way instead of being reduce-scattered;
 * of operands and results that the axes shard otherwise a rank has all parts, and uses one in each
 * turn. This is the decomposition of Wang et al. 2023, Overlap Communication with Dependent
 * Computation via Decomposition in Large Deep Learning Models, ASPLOS. */
int op_cut_ring(const OpSpace *space, const OpCut *cut);

/* The cut of the forward op, restricted to the index dims of its gradient op. */
OpCut op_cut_of_forward(const OpSpace *space, const OpCut *cut);

/* The axes that shard index dims which the op reduces. */
AtomSet op_cut_reduced(const OpSpace *space, const OpCut *cut);

#endif
