/* ring.h - the time of ops whose parts go around a ring: how much of the sending they hide, and how
 * unevenly a causal mask distributes the work over ranks.
 */
#ifndef CORE_COST_RING_H
#define CORE_COST_RING_H

#include "core/plan/plan.h"

/* The time of a reshard's ring steps that is hidden behind computation on the parts, for one run;
 * the formula is in cost.h. Needs op_us in plan->priced. */
double ring_hidden_us(const Plan *plan, const Reshard *reshard);

/* In how many turns an op computes under a cut; 1 if nothing goes around, or cut is NULL. */
double ring_turns(const Plan *plan, int32_t op, const OpCut *cut);

/* How often a result is read or written once more because the turns of a product add to it. */
double ring_rewrites(const Plan *plan, int32_t op, const OpCut *cut, int output);

/* How much longer the turns of a ring take than if all ranks had equal work in each: a turn ends
 * with the rank that has the most query and key pairs that the mask lets through. 1 if nothing goes
 * around, or nothing is masked by place. A causal mask over n contiguous parts gives (2n - 1) / n,
 * over parts distributed in a zigzag 1. (Ops that have all keys at once are priced by the mean over
 * the ranks.) Source: Zhu, ring-flash-attention; Brandon et al. 2023, Striped Attention, arXiv
 * 2311.09431. */
double ring_imbalance(const Plan *plan, int32_t op, const OpCut *cut);

#endif
