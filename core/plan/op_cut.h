/* op_cut.h - how the index dims of an op are cut, and how its operands are sharded by that. */
#ifndef CORE_PLAN_OP_CUT_H
#define CORE_PLAN_OP_CUT_H

#include "core/layout/sharding.h"

/* The cuts of an op's index dims, interned. */
typedef struct {
    int64_t n;
    Cut index[X_MAX];
} OpCut;

/* The cut that the op's index dims give one dim of an operand. Returns false if the dim has no
 * index dim, or if the cut takes too many digits. */
bool op_cut_project(const OpSpace *space, const OpCut *cut, int operand, int dim, const Mesh *mesh,
                    Cut *out);

/* The sharding of an operand under the op's cut: as the op reads it, or as the op makes it, partial
 * over the axes that cut a reduce dim. The operand may be neither absent nor ignored. */
Sharding op_cut_sharding(const OpSpace *space, const OpCut *cut, int operand, const Mesh *mesh);

/* The axes that cut a dim which the op reduces. */
AtomSet op_cut_reduced(const OpSpace *space, const OpCut *cut);

#endif
