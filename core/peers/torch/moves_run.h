/* moves_run.h - whether steps of a redistribution deliver what is asked, by running them.
 *
 * Each rank holds indices in place of elements, a list per dim, and does what a step does with what
 * lies in its memory: a gather takes the parts of its group apart as the placement says a whole is
 * put together, a slice takes its part of what is there, whatever that is. In the end the lists are
 * compared with those of the target's placements. So a gather of an axis that another one cuts
 * within is found to give wrong data, without a rule that says so.
 *
 * A dim that all axes and factors divide is run at the least size that they still divide: parts of
 * parts are then the same but for their size.
 */
#ifndef CORE_PEERS_TORCH_MOVES_RUN_H
#define CORE_PEERS_TORCH_MOVES_RUN_H

#include "core/peers/torch/redistribute.h"
#include "core/reshard/compare.h"

MovesOutcome moves_run(const Redistribution *redistribution, const Moves *moves);

/* The steps speak of the source's strided shards as of plain ones in another order of axes. */
bool moves_are_ordered(const Redistribution *redistribution, const Moves *moves);

#endif
