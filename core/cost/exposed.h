/* exposed.h - how long ops wait for each reshard of a plan, under the time model that prices the
 * plan.
 *
 *     training step with stages   a collective between ops as long as it takes; one of a bucket its
 *                                 part, by bytes, of what streams.h exposes of that kind, axes and
 *                                 time; a send not at all: lanes wait for it (schedule_idle.h)
 *     other plans                 cost_exposed(): two queues, at best
 *
 * Over the reshards of a stage, those of each pass times its micro-batches plus those once a step
 * sum to the collectives and reductions of step_parts.h, except the collectives inside ops.
 */
#ifndef CORE_COST_EXPOSED_H
#define CORE_COST_EXPOSED_H

#include "core/plan/plan.h"

/* Fills us[n_reshards]: for one micro-batch, or for a step if the value is moved once a step. */
void reshards_exposed(const Plan *plan, double *us);

/* Returns whether the plan is of the first kind. */
bool exposed_by_streams(const Plan *plan);

#endif
