/* plan_strategy.h - the propagator `strategy`: a program as DTensor dispatches it, op by op.
 *
 * Forward, in program order. Graph inputs and parameters lie as they are pinned, else replicated; a
 * pin of anything else is a redistribute() behind its maker; a pin of an index dim is one of the
 * operands that have the dim, in front of the op, and of its parameters from the start. Of each op
 * the operator's rows are asked with the placements at hand (whole.h, strategy.h), the chosen row
 * is stamped on the outputs, and what it is as a cut of the op's index dims is the plan's
 * (whole_cut.h). Nothing flows backward. Cases - an op space and how its operands lie - are
 * computed once.
 *
 *     profile            an input that would have to move
 *     torch              is moved (the price of torch's own steps decides which)
 *     torch, vescale     an error finding with the fix; the plan goes on as if it were made
 *     with no_redistribute
 *
 * Findings, alike ones once with a count:
 *     code               level     when
 *     no-strategy        warning   torch knows no rule: inputs and outputs are replicated
 *     strategy-refused   error     veScale, --no-redistribute, or a view that no shard goes through
 *     strategy-lost      note      what torch's placements say and no cut of index dims does, or a
 *                                  reduction that the cut does otherwise
 *     pin-unsaid         warning   no placement says a pinned cut: ops read it as if replicated
 *     pin-overruled      warning   a pinned index dim that the chosen row cuts otherwise
 */
#ifndef CORE_PEERS_TORCH_PLAN_STRATEGY_H
#define CORE_PEERS_TORCH_PLAN_STRATEGY_H

#include "core/propagate/propagators.h"

extern const Propagator propagator_torch, propagator_vescale;

#endif
