/* Times of a step's blocks, measured and predicted, add up to those of its ops and reshards. */
#include "tests/unit/opened.h"

#include "core/cost/pipeline.h"
#include "core/run/run.h"

#include <math.h>

typedef struct {
    const char *name, *mesh, *policy, *schedule;
    int stages, micro_batches, passes; /* passes: blocks of a stage and micro-batch */
} BlockRow;

static const BlockRow rows[] = {
    {"one stage", "dp=2", "dp", NULL, 1, 1, 2},
    {"two stages", "pp=2", "pipeline", "schedule=1f1b", 2, 4, 2},
    {"the loss summed over ranks", "pp=2,dp=2", "pipeline", "schedule=1f1b", 2, 4, 2},
    {"weights apart", "pp=2", "pipeline", "schedule=zb1p", 2, 3, 3},
};

static Opened open_row(const BlockRow *row)
{
    static SessionOptions options;
    Arena *arena = arena_new();
    Error err = {0};
    options = (SessionOptions){.model = "samples/models/llama-3-tiny.json",
                               .mesh = row->mesh,
                               .policy = row->policy,
                               .train = "adamw"};
    const char *settings[] = {arena_printf(arena, "micro_batches=%d", row->micro_batches),
                              row->schedule};
    for (int i = 0; i < 2 && row->schedule; i++)
        if (!policy_settings_with(arena, &options.settings, str_from(settings[i]),
                                  &options.settings, &err))
            fail_msg("%s", err.text);
    Source source = {"--dim", STR("batch=2,seq=4")};
    if (!dims_parse(arena, &source, &options.dims, &err))
        fail_msg("%s", err.text);
    return open_in(arena, &options);
}

static void assert_same(double got, double want)
{
    if (fabs(got - want) > 1e-6 * (fabs(want) + 1))
        fail_msg("%g, want %g", got, want);
}

static void blocks_add_up(void **state)
{
    const BlockRow *row = *state;
    Opened o = open_row(row);
    const Plan *plan = o.session->plan;
    Error err = {0};
    RunReport report;
    RunOptions options = {.repeat = 1};
    if (!run_plan(o.arena, plan, &options, &report, &err))
        fail_msg("%s", err.text);
    assert_int_equal(report.n_blocks, row->passes * row->stages * row->micro_batches + row->stages);

    double us = 0, predicted = 0, ops = 0, ops_predicted = 0;
    for (int i = 0; i < report.n_blocks; i++) {
        us += report.blocks[i].us + report.blocks[i].wait_us;
        predicted += report.blocks[i].of.predicted_us;
        assert_true(report.blocks[i].us > 0);
    }
    for (int op = 0; op < o.session->graph->n_ops; op++) {
        if (strcmp(op_name(o.session->graph, op), "train~step~next") == 0 && row->stages > 1)
            continue; /* by all stages */
        ops += report.op_us[op];
        ops_predicted += plan->priced->op_us[op] * report.op_times[op];
    }
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *reshard = &plan->moved->reshards[i];
        ops += report.reshard_us[i];
        for (int s = 0; s < reshard->path->n_steps; s++)
            if (!run_step_sends(&reshard->path->step[s]))
                ops_predicted += reshard->path->step[s].us * report.reshard_times[i];
    }
    assert_same(predicted, ops_predicted);
    bool one_rank_each = plan->mesh->n_devices == row->stages;
    if (row->stages > 1 && one_rank_each) /* medians over ranks are its times */
        assert_same(us, ops);
    close_opened(&o);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){.name = rows[i].name,
                                       .test_func = blocks_add_up,
                                       .initial_state = (void *)(uintptr_t)&rows[i]};
    return _cmocka_run_group_tests("blocks", tests, COUNT_OF(rows), NULL, NULL);
}
