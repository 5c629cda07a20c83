#include "core/session/schedule_json.h"

#include "core/cost/pipeline_idle.h"
#include "core/plan/stage.h"

enum { BLOCKS_WRITTEN_MAX = 10000 };

static Json *write_blocks(const Schedule *table)
{
    Json *out = json_array();
    for (int i = 0; i < table->n_blocks; i++) {
        const Block *block = &table->block[i];
        Json *row = json_object();
        json_set_int(row, "stage", block->stage);
        json_set_str(row, "pass", schedule_pass_name((BlockPass)block->pass));
        json_set_int(row, "micro_batch", block->micro_batch);
        json_set_int(row, "step", block->step);
        json_set_int(row, "span", block->span);
        json_set_real(row, "start_us", block->start_us);
        json_set_real(row, "end_us", block->end_us);
        json_add(out, row);
    }
    return out;
}

static Json *write_causes(const double *causes)
{
    Json *out = json_object();
    for (int cause = 0; cause < N_IDLE_CAUSES; cause++)
        json_set_real(out, idle_cause_key((IdleCause)cause), causes[cause]);
    return out;
}

static Json *write_lanes(const Schedule *table, const ScheduleIdle *idle)
{
    const Lanes *lanes = table->lanes;
    Json *out = json_array();
    for (int lane = 0; lane < lanes->n; lane++) {
        Json *row = json_object(), *stages = json_array();
        double busy_us = table->us;
        for (int s = 0; s < table->n_stages; s++)
            for (int32_t i = lanes->first[s]; i < lanes->first[s + 1]; i++)
                if (lanes->lane[i] == lane)
                    json_add(stages, json_from_int(s));
        for (int cause = 0; cause < N_IDLE_CAUSES; cause++)
            busy_us -= idle->lane_us[lane][cause];
        json_set(row, "stages", stages);
        json_set_int(row, "devices", lanes->n_devices[lane]);
        json_set_real(row, "busy_us", busy_us);
        json_set(row, "waits_us", write_causes(idle->lane_us[lane]));
        json_add(out, row);
    }
    return out;
}

Json *schedule_json(const Plan *plan, bool blocks)
{
    const Stages *stages = plan->decided->stages;
    const Schedule *table = plan_schedule(plan);
    if (!table)
        return json_null();
    Arena *scratch = arena_new();
    ScheduleIdle idle = pipeline_idle(scratch, plan);
    Json *out = json_object();
    json_set_str(out, "name", stages->schedule);
    json_set_int(out, "micro_batches", stages->n_micro_batches);
    json_set_bool(out, "trains", table->trains);
    json_set_int(out, "steps", table->n_steps);
    json_set_real(out, "us", table->us);
    json_set_real(out, "step_us", plan_step_us(plan));
    json_set_real(out, "bubble", table->idle);
    json_set_real(out, "even_bubble", plan->priced->pipeline->even_idle);
    json_set(out, "bubble_by_cause", write_causes(idle.share));
    json_set(out, "lanes", write_lanes(table, &idle));
    if (blocks && table->n_blocks <= BLOCKS_WRITTEN_MAX)
        json_set(out, "blocks", write_blocks(table));
    arena_free(scratch);
    return out;
}
