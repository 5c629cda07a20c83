/* exposed.h - how long ops wait for each reshard of a plan, under the time model that prices it.
 *
 *     training step with stages   a collective between ops as long as it takes; one of a bucket its
 *                                 part, by bytes, of what streams.h exposes of that kind, axes and
 *                                 time; a send not at all: lanes wait for it (schedule_idle.h)
 *     other plans                 cost_exposed(): two queues, at best
 *
 * Over the reshards of a stage, those of each pass times its micro-batches and those once a step
 * add up to the collectives and reductions of step_parts.h, without those inside ops.
 */
#ifndef CORE_COST_EXPOSED_H
#define CORE_COST_EXPOSED_H

#include "core/plan/plan.h"

/* Fills us[n_reshards]: of one micro-batch, or of a step where that moves the value once. */
void reshards_exposed(const Plan *plan, double *us);

/* Whether it is of the first kind. */
bool exposed_by_streams(const Plan *plan);

#endif
