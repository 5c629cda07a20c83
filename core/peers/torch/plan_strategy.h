/* plan_strategy.h - the propagator `strategy`: propagates op by op as DTensor dispatches.
 *
 * Ops are visited in program order. Graph inputs and parameters have their pinned placements, else
 * are replicated; a pin of any other tensor is a redistribute() after its producer; a pin of an
 * index dim pins the operands that have the dim before the op, and its parameters from the start.
 * For each op the operator's rows are tried with the current placements (whole.h, strategy.h); the
 * chosen row gives the placements of the outputs and, converted to a cut of the op's index dims
 * (whole_cut.h), the plan's cut. Nothing flows backward. A case (an op space and the placements of
 * its operands) is computed once.
 *
 *     profile            an input that would have to move
 *     torch              is moved (the price of torch's own steps decides which)
 *     torch, vescale     an error finding with the fix; the plan goes on as if it were made
 *     with no_redistribute
 *
 * Findings (similar ones once with a count):
 *     code               level     when
 *     no-strategy        warning   torch has no strategy: inputs and outputs are replicated
 *     strategy-refused   error     veScale, --no-redistribute, or a view that no shard can pass
 *     strategy-lost      note      placements that no cut of index dims expresses, or a
 *                                  reduction that the cut does not produce
 *     strategy-wrong     warning   a row that shards what the op needs whole: it is gathered here
 *     pin-inexpressible  warning   no placement expresses a pinned cut: ops see it replicated
 *     pin-overruled      warning   a pinned index dim that the chosen row shards differently
 */
#ifndef CORE_PEERS_TORCH_PLAN_STRATEGY_H
#define CORE_PEERS_TORCH_PLAN_STRATEGY_H

#include "core/propagate/propagators.h"

extern const Propagator propagator_torch, propagator_vescale;

#endif
