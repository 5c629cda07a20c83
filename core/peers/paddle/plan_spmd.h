/* plan_spmd.h - the propagator `spmd`: plans from Paddle's completion of dims_mappings.
 *
 * Pins become marks. A pinned tensor is marked as a whole, dims without a pin as unsplit, as
 * shard_tensor does; with an open pin it may still get more axes. A pinned index dim marks the
 * operands that have it. Parameters and inputs are sharded as marked; results of ops are sharded as
 * the op produces them, and readers that need the marked sharding reshard.
 *
 * The cut of an op follows from its operands' mappings: reduce dims first, by the axes over which
 * the rule makes the result partial, then the dims of the results. Axes that no cut of the op can
 * express are left out with a finding: the op then reads or produces more than the mapping
 * requires, never other values.
 *
 * code             level     when
 * spmd-mark        warning   a pin that no dims_mapping can express (interleaved, a part of an
 *                            axis), or on something that completion leaves out: ignored
 *                  note      one that Paddle refuses, as its axes do not divide the dim
 * spmd-decision    note      a priority: completion applies all pins at once
 * spmd-overruled   note      a marked tensor is produced differently: its readers reshard
 * spmd-no-rule     note      an operator without a rule: dim 0 is treated as the batch
 * spmd-refused     warning   a rule refuses, where Paddle stops
 * spmd-rejected    note      an answer that Paddle discards (completion.h)
 * spmd-lost        note      a mapping that no cut of the op can express
 * spmd-steps       warning   no fixed point after 500 double sweeps
 * Similar findings are one with a count.
 */
#ifndef CORE_PEERS_PADDLE_PLAN_SPMD_H
#define CORE_PEERS_PADDLE_PLAN_SPMD_H

#include "core/propagate/propagators.h"

extern const Propagator propagator_spmd;

#endif
