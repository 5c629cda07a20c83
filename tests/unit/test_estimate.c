/* Where the time of a step goes, in parts that add up; what other settings would change. */
#include "tests/unit/unit.h"

#include "core/cost/exposed.h"
#include "core/cost/step_comm.h"
#include "core/cost/step_parts.h"
#include "core/plan/stage.h"
#include "core/session/schedule_json.h"
#include "core/summary/estimate.h"
#include "scripts/hooks.h"

#include <math.h>

typedef struct {
    const char *title, *model, *mesh, *policy, *train;
    const char *set[3];
    bool waits, once; /* whether there are such parts */
    bool each;        /* gradients are reduced in each micro-batch, not once */
} PartsRow;

static PartsRow rows[] = {
    {"forward alone",
     "samples/models/gpt2.onnx",
     "dp=2,tp=4",
     "megatron",
     NULL,
     {0},
     false,
     false,
     false},
    {"a step of one stage",
     "samples/models/gpt2.onnx",
     "dp=2,tp=4",
     "megatron",
     "adamw",
     {0},
     false,
     true,
     false},
    {"gathered parameters",
     "samples/models/gpt2.onnx",
     "dp=8",
     "fsdp",
     "adamw",
     {0},
     false,
     true,
     false},
    {"one stage, four micro-batches",
     "samples/models/gpt2.onnx",
     "dp=4",
     "dp",
     "adamw",
     {"micro_batches=4"},
     false,
     true,
     false},
    {"gathered parameters, four micro-batches",
     "samples/models/gpt2.onnx",
     "dp=8",
     "fsdp",
     "adamw",
     {"micro_batches=4"},
     false,
     true,
     true},
    {"1f1b",
     "samples/models/llama-3-8b.json",
     "pp=4,dp=2,tp=2",
     "hybrid3d",
     "adamw",
     {"micro_batches=8"},
     true,
     true,
     false},
    {"two stages a device",
     "samples/models/llama-3-8b.json",
     "pp=4,dp=2,tp=2",
     "hybrid3d",
     "adamw",
     {"micro_batches=8", "schedule=1f1b_interleaved", "virtual=2"},
     true,
     true,
     false},
    {"a schedule that trains without a backward graph",
     "samples/models/gpt2.onnx",
     "pp=2,dp=2",
     "hybrid3d",
     NULL,
     {"micro_batches=8"},
     true,
     false,
     false},
};

static Session *open_row(Arena *arena, Scripts *scripts, const PartsRow *row,
                         SessionOptions *options)
{
    SessionHooks hooks = scripts_hooks(scripts);
    Error err = {0};
    *options = (SessionOptions){
        .model = row->model, .mesh = row->mesh, .policy = row->policy, .train = row->train};
    for (int i = 0; i < 3 && row->set[i]; i++)
        assert_true(policy_settings_with(arena, &options->settings, str_from(row->set[i]),
                                         &options->settings, &err));
    Session *session = session_open(options, &hooks, &err);
    if (!session)
        print_error("%s: %s\n", row->title, err.text);
    assert_non_null(session);
    return session;
}

static double us_of(const StepParts *parts, PartKind kind)
{
    double us = 0;
    for (int i = 0; i < parts->n; i++)
        us += parts->part[i].kind == kind ? parts->part[i].us : 0;
    return us;
}

/* As JSON has it: causes make the bubble, and the waits of the busiest lane are the parts'. */
static void assert_bubble_adds_up(const Plan *plan, const StepParts *parts)
{
    Json *json = schedule_json(plan, false), *causes = json_get(json, "bubble_by_cause");
    Json *waits = json_get(json_at(json_get(json, "lanes"), parts->lane), "waits_us");
    double bubble = 0, waits_us = 0;
    for (int cause = 0; cause < N_IDLE_CAUSES; cause++) {
        const char *key = idle_cause_key((IdleCause)cause);
        bubble += json_real(json_get(causes, key), NAN);
        waits_us += json_real(json_get(waits, key), NAN);
    }
    assert_true(fabs(bubble - json_real(json_get(json, "bubble"), NAN)) < 1e-9);
    assert_true(fabs(waits_us - us_of(parts, PART_WAIT)) <= 1e-9 * parts->us);
    json_free(json);
}

/* Of a plan of one stage: what ops wait for each reshard makes the collectives of a step. */
static void assert_exposed_adds_up(Arena *arena, const Plan *plan, const StepParts *parts)
{
    double *us = arena_array(arena, double, plan->moved->n_reshards), sum = 0, inside = 0;
    reshards_exposed(plan, us);
    for (int32_t r = 0; r < plan->moved->n_reshards; r++) {
        bool once = reshard_pass(plan, &plan->moved->reshards[r]) == COMM_UPDATE;
        sum += us[r] * (once ? 1 : plan_micro_batches(plan));
    }
    for (int i = 0; i < parts->n; i++)
        inside += parts->part[i].atoms == 0 && (parts->part[i].kind == PART_COLLECTIVE ||
                                                parts->part[i].kind == PART_REDUCTION)
                      ? parts->part[i].us
                      : 0;
    double all = us_of(parts, PART_COLLECTIVE) + us_of(parts, PART_REDUCTION);
    assert_true(fabs(sum + inside - all) <= 1e-9 * parts->us);
}

static void parts_add_up(void **state)
{
    const PartsRow *row = *state;
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionOptions options;
    Session *session = open_row(arena, scripts, row, &options);
    StepParts parts = step_parts(arena, session->plan);
    double sum = 0;
    for (int i = 0; i < parts.n; i++) {
        assert_true(parts.part[i].us > 0);
        sum += parts.part[i].us;
    }
    assert_true(fabs(sum - plan_step_us(session->plan)) <= 1e-9 * sum);
    assert_true(us_of(&parts, PART_COMPUTE) > 0);
    assert_int_equal(us_of(&parts, PART_WAIT) > 1e-6 * sum, row->waits);
    assert_int_equal(us_of(&parts, PART_UPDATE) > 0, row->once);
    assert_int_equal(us_of(&parts, PART_REDUCTION) > 0, row->once && !row->each);
    double exposed = 0, all = us_of(&parts, PART_COLLECTIVE) + us_of(&parts, PART_REDUCTION);
    for (int i = 0; i < parts.n_exposed; i++) {
        exposed += parts.exposed[i].exposed_us;
        assert_true(parts.exposed[i].exposed_us <= parts.exposed[i].alone_us * (1 + 1e-9));
    }
    assert_true(fabs(exposed - all) <= 1e-9 * sum);
    if (plan_schedule(session->plan))
        assert_bubble_adds_up(session->plan, &parts);
    if (exposed_by_streams(session->plan) && session->plan->decided->stages->n == 1)
        assert_exposed_adds_up(arena, session->plan, &parts);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

/* What is said of a change is what a session with these settings has; the best come first. */
static void changes_are_plans(void **state)
{
    (void)state;
    static const PartsRow row = {.title = "changes",
                                 .model = "samples/models/llama-3-8b.json",
                                 .mesh = "pp=2,dp=2,tp=2",
                                 .policy = "hybrid3d",
                                 .train = "adamw",
                                 .set = {"micro_batch=2", "micro_batches=8"}};
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    SessionOptions options;
    Session *session = open_row(arena, scripts, &row, &options);
    EstimateChanges changes;
    Error err = {0};
    assert_true(estimate_changes(arena, session, NULL, &changes, &err));
    assert_true(changes.n > 5);
    bool larger = false, smaller = false, overlapped = false, helped = true;
    for (int i = 0; i < changes.n; i++) {
        const EstimateChange *change = &changes.change[i];
        PartsRow with = row;
        int n = 2;
        bool micro = strcmp(change->setting[0], "micro_batch=4") == 0;
        larger = larger || (micro && strcmp(change->setting[1], "micro_batches=4") == 0);
        micro = strcmp(change->setting[0], "micro_batch=1") == 0;
        smaller = smaller || (micro && strcmp(change->setting[1], "micro_batches=16") == 0);
        overlapped = overlapped || strcmp(change->setting[0], "overlap=both") == 0;
        assert_null(change->failed);
        assert_false(change->helps && !helped);
        helped = change->helps;
        if (change->setting[1])
            continue;
        with.set[n] = change->setting[0];
        SessionOptions of_change;
        Session *other = open_row(arena, scripts, &with, &of_change);
        assert_true(change->step_us == plan_step_us(other->plan));
        assert_true(change->peak_bytes == other->plan->priced->totals.peak_bytes);
        assert_int_equal(change->legal, plan_is_legal(other->plan));
        session_close(other);
    }
    assert_true(larger && smaller && overlapped);
    Progress stopped = {.stage = NULL};
    progress_stop(&stopped);
    assert_false(estimate_changes(arena, session, &stopped, &changes, &err));
    assert_int_equal(err.kind, ERROR_CANCELLED);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(rows)];
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        tests[i] = (struct CMUnitTest){rows[i].title, parts_add_up, NULL, NULL, &rows[i]};
    const struct CMUnitTest others[] = {cmocka_unit_test(changes_are_plans)};
    return cmocka_run_group_tests_name("parts", tests, NULL, NULL) +
           cmocka_run_group_tests_name("changes", others, NULL, NULL);
}
