/* schedule_parts.h - the step of a plan under a schedule, as the search adds it up, and what
 * separates the two.
 *
 * The search adds up what each choice costs by itself. What a step takes depends on choices
 * together, in three ways:
 *
 *     step_us = model_us + sends_us + beside_us - joined_us
 *
 *     model_us    ops and moves, each as often as its pass is on the plan's own longest path
 *                 (stage_weights.h), one behind the other: what core/search/instance.h adds up
 *     sends_us    what that path waits for values sent from stage to stage
 *     beside_us   what the moves beside sends take more in the stages where they are made: the
 *                 search counts them in those of the ops they are for, and a move that several
 *                 stages make once
 *     joined_us   what traffic of parameters takes less than its moves one by one: they are joined
 *                 in buckets, which may run beside ops (core/cost/streams.h)
 *
 * The parts are computed from the plan, each by itself, and sum up to plan_step_us().
 */
#ifndef CORE_SEARCH_SCHEDULE_PARTS_H
#define CORE_SEARCH_SCHEDULE_PARTS_H

#include "core/plan/plan.h"

/* Microseconds; the last two may be negative. */
typedef struct {
    double model_us, sends_us, beside_us, joined_us;
} ScheduleParts;

/* Without a schedule all of the plan's time is model_us. */
ScheduleParts schedule_parts(const Plan *plan);

#endif
