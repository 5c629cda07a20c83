/* pipeline_idle.h - the bubble of a plan's schedule by cause. */
#ifndef CORE_COST_PIPELINE_IDLE_H
#define CORE_COST_PIPELINE_IDLE_H

#include "core/cost/pipeline.h"
#include "core/plan/schedule_idle.h"

/* The times of each stage in the schedule; in the arena. */
StageTime *pipeline_times(Arena *arena, const Pipeline *pipeline, int n_stages);

/* For plans with plan_schedule(); in the arena. Call it once a plan, not once a screen: it times
 * the schedule again. */
ScheduleIdle pipeline_idle(Arena *arena, const Plan *plan);

#endif
