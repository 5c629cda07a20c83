/* plan_spmd.h - the propagator `spmd`: a plan's cuts from Paddle's completion of the program.
 *
 * Pins are marks. A pinned tensor is marked as a whole, dims without a pin unsplit, as shard_tensor
 * does; with an open pin it may still take more. A pinned index dim marks the operands that have
 * it. A parameter or an input lies as it is marked; what an op makes lies as the op makes it, and
 * who reads it as it was marked reshards.
 *
 * An op is cut as its operands' mappings say. Axes of reduce dims come first, those the rule says
 * the result is partial over; then the results' dims. What no cut of the op can be stays out, and
 * is found: the op then reads or makes more than the mapping says, never other values.
 *
 * code             level     when
 * spmd-mark        warning   a pin that no dims_mapping can say (interleaved, a part of an axis)
 *                            does nothing, nor does one of what completion does not look at
 *                  note      one that upstream refuses, as its axes do not divide the dim
 * spmd-decision    note      a priority: completion applies all pins at once
 * spmd-overruled   note      what was marked is made otherwise: its readers reshard
 * spmd-no-rule     note      an operator without a rule: dim 0 is taken for the batch
 * spmd-refused     warning   a rule refuses what it is asked, where upstream stops
 * spmd-rejected    note      a rule's answer that upstream takes back (completion.h)
 * spmd-lost        note      a mapping that no cut of the op says
 * spmd-steps       warning   500 double sweeps, and no fixed point
 * Alike ones are one finding with a count.
 */
#ifndef CORE_PEERS_PADDLE_PLAN_SPMD_H
#define CORE_PEERS_PADDLE_PLAN_SPMD_H

#include "core/propagate/propagators.h"

extern const Propagator propagator_spmd;

#endif
