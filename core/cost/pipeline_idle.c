#include "core/cost/pipeline_idle.h"

#include "core/plan/stage.h"

StageTime *pipeline_times(Arena *arena, const Pipeline *pipeline, int n_stages)
{
    StageTime *takes = arena_array(arena, StageTime, n_stages);
    for (int s = 0; s < n_stages; s++) {
        const StagePrice *stage = &pipeline->stage[s];
        takes[s] = (StageTime){.forward_us = stage_forward_us(stage),
                               .backward_us = stage_backward_us(stage),
                               .receive_us = stage->receive_us,
                               .return_us = stage_return_us(stage),
                               .weight_us = stage_weight_us(stage)};
    }
    return takes;
}

ScheduleIdle pipeline_idle(Arena *arena, const Plan *plan)
{
    Arena *scratch = arena_new();
    const Pipeline *pipeline = plan->priced->pipeline;
    const StageTime *takes = pipeline_times(scratch, pipeline, plan->decided->stages->n);
    ScheduleIdle idle = schedule_idle(arena, pipeline->table, takes);
    arena_free(scratch);
    return idle;
}
