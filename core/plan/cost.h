/* cost.h - time of a step: compute by roofline, communication by the reshards' alpha-beta sums.
 *
 *     compute_us(op) = max(flops / flops_per_s, bytes read and written / memory_bytes_per_s) +
 * launch_us on rank 0, which holds the largest parts; views cost nothing. step_us = compute_us +
 * comm_us: no overlap is assumed, and the views say so. What is in a loop counts as often as it
 * runs, once where only the run tells; both branches of an If count.
 */
#ifndef CORE_PLAN_COST_H
#define CORE_PLAN_COST_H

#include "core/plan/plan.h"

/* Fills plan->op_us and plan->totals but for peak_bytes. Needs sharding, need, cut, reshards. */
void cost_fill(Plan *plan);

double op_flops_local(const Plan *plan, int32_t op); /* flops on rank 0, once */

/* How often a step moves the value: as often as it is made. */
double reshard_repeat(const Plan *plan, const Reshard *reshard);

#endif
