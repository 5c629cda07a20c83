/* ring.h - the time of ops whose parts go around a ring: what of the sending they hide, and what a
 * causal mask gives some ranks to do and others not.
 */
#ifndef CORE_COST_RING_H
#define CORE_COST_RING_H

#include "core/plan/plan.h"

/* Of the time of a reshard what its ring steps take while the op computes on the parts, for one run
 * of it: cost.h has the formula. Needs the op_us of plan->priced. */
double ring_hidden_us(const Plan *plan, const Reshard *reshard);

/* How much longer the turns of a ring take than if all ranks had equally much to do in each: a turn
 * ends with the rank that has most query and key pairs which the mask lets through. 1 if nothing
 * goes around, or nothing is masked by place. A causal mask over n contiguous parts gives
 * (2n - 1) / n, over parts dealt in a zigzag 1. (Ops that have all keys at once are priced by the
 * mean of the ranks.) Source: Zhu, ring-flash-attention; Brandon et al.
 * 2023, Striped Attention, arXiv 2311.09431. */
double ring_imbalance(const Plan *plan, int32_t op, const OpCut *cut);

#endif
