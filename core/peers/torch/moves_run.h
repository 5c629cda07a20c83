/* moves_run.h - runs the steps of a redistribution on index lists to check that they give the
 * target.
 *
 * Each rank holds indices in place of elements, a list per dim, and applies each step to its own
 * memory: a gather joins the parts of its group as the placement divides a whole, a slice keeps its
 * part of what is there. At the end the lists are compared with those of the target's placements.
 * This finds, for instance, that gathering an axis gives wrong data when another axis shards the
 * same dim inside it.
 *
 * A dim that all axes and factors divide is run at the smallest size that they divide, which does
 * not change the result.
 */
#ifndef CORE_PEERS_TORCH_MOVES_RUN_H
#define CORE_PEERS_TORCH_MOVES_RUN_H

#include "core/peers/torch/redistribute.h"
#include "core/reshard/compare.h"

MovesOutcome moves_run(const Redistribution *redistribution, const TorchMoves *moves);

/* True if the steps treat the source's strided shards as plain ones in another order of axes. */
bool moves_are_ordered(const Redistribution *redistribution, const TorchMoves *moves);

#endif
