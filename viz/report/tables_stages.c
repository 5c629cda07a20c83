/* tables_stages.c - pipeline stages and their schedule. Plans without stages have no rows. */
#include "viz/report/cells.h"

#include "core/summary/sheets.h"
#include "core/cost/pipeline.h"

static bool rows_stages(const Session *session, Sheet *out, Error *err)
{
    (void)err;
    const Stages *stages = session->plan->decided->stages;
    const int32_t *program = session->inferred->program;

    for (int s = 0; stages && s < stages->n; s++) {
        const Stage *stage = &stages->at[s];
        const StagePrice *price = &session->plan->priced->pipeline->stage[s];
        sheet_number(out, s);
        table_put_devices(out, session, stage->devices);
        table_put_text(out, op_name(session->graph, program[stage->first]));
        table_put_text(out, op_name(session->graph, program[stage->last]));
        sheet_number(out, stage->last - stage->first + 1);
        table_put_bool(out, stage->relay);
        sheet_number(out, price->compute_us);
        sheet_number(out, price->comm_us);
        sheet_number(out, stage_forward_us(price));
        sheet_number(out, price->again_us);
        sheet_number(out, stage_backward_us(price));
        sheet_number(out, price->receive_us);
        sheet_number(out, (double)price->receive_bytes);
        table_put_bytes(out, plan_schedule(session->plan) != NULL,
                        plan_schedule(session->plan) ? plan_schedule(session->plan)->in_flight[s]
                                                     : 0);
    }
    return true;
}

static const SheetColumn stages_columns[] = {
    {"stage", true},         {"devices", false},    {"first", false},
    {"last", false},         {"ops", true},         {"relay", false},
    {"compute_us", true},    {"comm_us", true},     {"forward_us", true},
    {"again_us", true},      {"backward_us", true}, {"receive_us", true},
    {"receive_bytes", true}, {"in_flight", true},   {0},
};

const PlanTable table_stages = {"stages", "a pipeline stage; times of one micro-batch",
                                stages_columns, rows_stages};

static bool rows_schedule(const Session *session, Sheet *out, Error *err)
{
    if (!plan_schedule(session->plan))
        return true;
    if (!table_fits(plan_schedule(session->plan)->n_blocks, "schedule", err))
        return false;
    sheet_schedule_rows(session, plan_schedule(session->plan), out);
    return true;
}

const PlanTable table_schedule = {"schedule",
                                  "a block of the schedule: a stage's pass of a micro-batch",
                                  sheet_schedule_columns, rows_schedule};
