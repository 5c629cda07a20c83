/* pipeline_idle.h - the bubble of a plan's schedule by cause, from what its stages take. */
#ifndef CORE_COST_PIPELINE_IDLE_H
#define CORE_COST_PIPELINE_IDLE_H

#include "core/cost/pipeline.h"
#include "core/plan/schedule_idle.h"

/* What each stage takes in the schedule; in the arena. */
StageTime *pipeline_times(Arena *arena, const Pipeline *pipeline, int n_stages);

/* Of plans with plan_schedule(); in the arena. Once a plan, not once a screen: it times the
 * schedule anew. */
ScheduleIdle pipeline_idle(Arena *arena, const Plan *plan);

#endif
