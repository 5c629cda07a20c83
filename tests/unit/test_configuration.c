/* Configurations that cannot be, or that waste devices: findings by name, with numbers. */
#include "tests/unit/opened.h"

#include "core/cost/pipeline.h"
#include "core/plan/stage.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *title, *mesh;
    const char *set[4];
    const char *code;    /* of the finding; NULL: none of those below */
    const char *numbers; /* how its text begins, or NULL */
} CaseRow;

#define ZERO_3 "zero=3"
static CaseRow rows[] = {
    {"layers come out even", "pp=4,dp=2,tp=2", {"micro_batches=8"}, NULL, NULL},
    {"layers that do not divide",
     "pp=5,dp=2",
     {"micro_batches=8"},
     "uneven-stages",
     "32 layers on 5 stages: 7 on the fullest, 6.4 on average: other stages wait 8.6%"},
    {"one layer less at both ends", "pp=17", {"micro_batches=32"}, NULL, NULL},
    {"more stages than layers",
     "pp=64",
     {"micro_batches=64"},
     "more-stages-than-layers",
     "64 stages for 32 layers"},
    {"more chunks than layers",
     "pp=8",
     {"micro_batches=8", "virtual=8", "schedule=1f1b_interleaved"},
     "more-stages-than-layers",
     "64 stages for 32 layers"},
    {"more ranks than heads",
     "dp=2,tp=16",
     {NULL},
     "few-heads",
     "tp=16 is more than the heads of model.layers.*.self_attn.q_proj.weight (8 groups of 4 heads "
     "of 128)"},
    {"heads that do not divide", "dp=2,tp=3", {NULL}, "does-not-divide", "dim 2 of "},
    {"a batch that does not divide", "dp=16", {"micro_batch=0"}, "empty", "dim 0 of input_ids"},
    {"few micro-batches",
     "pp=8",
     {"micro_batches=4"},
     "few-micro-batches",
     "4 micro-batches for a pipeline of 8 devices: "},
    {"few micro-batches of interleaved stages",
     "pp=8",
     {"micro_batches=4", "virtual=2", "schedule=1f1b_interleaved"},
     "few-micro-batches",
     "4 micro-batches for a pipeline of 8 devices: "},
    {"one micro-batch", "pp=4", {"micro_batches=1"}, "few-micro-batches", "1 micro-batch for"},
    {"rounds that are not even",
     "pp=4",
     {"micro_batches=6", "virtual=2", "schedule=1f1b_interleaved"},
     "uneven-rounds",
     "6 micro-batches are not a multiple of the pipeline's 4 devices: a device changes stage every "
     "6"},
    {"parameters gathered for each micro-batch",
     "pp=4,dp=2",
     {"micro_batches=8", ZERO_3},
     "gathered-each-micro-batch",
     "stage "},
    {"parameters gathered without stages", "dp=8", {"micro_batches=8", ZERO_3}, NULL, NULL},
    {"groups that fit a node", "pp=4,tp=4", {"micro_batches=8"}, NULL, NULL},
    {"groups that lie on two nodes",
     "pp=4,tp=3",
     {"micro_batches=8"},
     "straddled-nodes",
     "1 of 4 groups of 3 devices along tp lie on two nodes, which have 8 devices each: "},
    {"states stored in parts", "pp=4,dp=2", {"micro_batches=8", "zero=2"}, NULL, NULL},
};

static Opened open_row(const CaseRow *row)
{
    Arena *arena = arena_new();
    Error err = {0};
    SessionOptions options = {.model = "samples/models/llama-3-8b.json",
                              .mesh = row->mesh,
                              .policy = "hybrid3d",
                              .train = "adamw"};
    assert_true(policy_settings_with(arena, &options.settings, STR("micro_batch=1"),
                                     &options.settings, &err));
    for (size_t i = 0; i < COUNT_OF(row->set) && row->set[i]; i++)
        assert_true(policy_settings_with(arena, &options.settings, str_from(row->set[i]),
                                         &options.settings, &err));
    return open_in(arena, &options);
}

static const Finding *find(const Session *session, const char *code)
{
    const Findings *all = &session->plan->findings;
    for (int i = 0; i < all->n; i++)
        if (strcmp(all->at[i].code, code) == 0)
            return &all->at[i];
    return NULL;
}

static void finds(void **state)
{
    const CaseRow *row = *state;
    static const char *const codes[] = {
        "uneven-stages",  "more-stages-than-layers", "few-heads",     "does-not-divide",
        "empty",          "few-micro-batches",       "uneven-rounds", "gathered-each-micro-batch",
        "straddled-nodes"};
    Opened o = open_row(row);
    for (size_t i = 0; !row->code && i < COUNT_OF(codes); i++)
        assert_null(find(o.session, codes[i]));
    if (row->code) {
        const Finding *finding = find(o.session, row->code);
        assert_non_null(finding);
        assert_true(str_starts(str_from(finding->text), str_from(row->numbers)));
    }
    close_opened(&o);
}

/* The bubbles that the finding names are those of the plan, and of a plan with so many. */
static void bubbles_are_of_plans(void **state)
{
    (void)state;
    Opened few = open_row(&(CaseRow){.mesh = "pp=8", .set = {"micro_batches=4"}});
    Opened more = open_row(&(CaseRow){.mesh = "pp=8", .set = {"micro_batches=32"}});
    const char *want = arena_printf(few.arena,
                                    "4 micro-batches for a pipeline of 8 devices: they idle %.1f%% "
                                    "of a step, with 32 micro-batches %.1f%%",
                                    100 * plan_schedule(few.session->plan)->idle,
                                    100 * plan_schedule(more.session->plan)->idle);
    assert_string_equal(find(few.session, "few-micro-batches")->text, want);
    close_opened(&few);
    close_opened(&more);
}

/* The gathers of the plan's reshards; each of seven matmuls in eight layers gathers its weight in
 * both passes. */
static void gathers_are_counted(void **state)
{
    (void)state;
    Opened o = open_row(&(CaseRow){.mesh = "pp=4,dp=2", .set = {"micro_batches=8", ZERO_3}});
    const Plan *plan = o.session->plan;
    int n[4] = {0};
    for (int r = 0; r < plan->moved->n_reshards; r++) {
        const Reshard *reshard = &plan->moved->reshards[r];
        for (int i = 0; i < reshard->path->n_steps && reshard->phase; i++)
            if (tensor_is_parameter(plan->inferred, reshard->tensor) && reshard->n_uses > 0 &&
                reshard->phase != 1 + PHASE_UPDATE)
                n[stage_of(plan, plan->moved->reshard_uses[reshard->use])] +=
                    reshard->path->step[i].kind == STEP_ALL_GATHER;
    }
    int stage, gathered;
    const Finding *finding = find(o.session, "gathered-each-micro-batch");
    assert_int_equal(sscanf(finding->text, "stage %d all-gathers its sharded parameters %d times",
                            &stage, &gathered),
                     2);
    assert_int_equal(gathered, n[stage]);
    assert_true(gathered >= 2 * 7 * 8);
    close_opened(&o);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bubbles_are_of_plans),
                                       cmocka_unit_test(gathers_are_counted)};
    return run_rows("configurations", rows, finds) +
           cmocka_run_group_tests_name("numbers", tests, NULL, NULL);
}
