/* The search of plans under a schedule: what it adds up is the plan's own step but for what
 * schedule_parts.h names, its bound is never more than a step of any plan takes, whichever plan's
 * longest path weighs the stages, and what it finds is within its own bound. */
#include "tests/unit/hooked.h"
#include "tests/unit/looks.h"

#include "core/cost/gradient_reduces.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"
#include "core/search/decide.h"
#include "core/search/schedule_parts.h"
#include "core/search/search.h"
#include "core/solve/solve.h"

#include <math.h>

#define LLAMA "samples/models/llama-3-tiny.json"
#define GPT "samples/models/tiny-gpt.onnx"
#define MIXTRAL "samples/models/mixtral-8x7b.json"

enum { SETS_MAX = 3 };

/* Plans on the same stages. */
typedef struct {
    const char *policy, *set[SETS_MAX];
} PlannedWay;

static const PlannedWay ways[] = {
    {"pipeline", {"stage_layers=1x2"}},
    {"hybrid3d", {"stage_layers=1x2"}},
    {"hybrid3d", {"stage_layers=1x2", "sequence_parallel=true"}},
    {"hybrid3d", {"stage_layers=1x2", "zero=3"}},
};

typedef struct {
    const char *title, *mesh, *schedule;
} StagedRow;

static StagedRow rows[] = {
    {"1f1b, weights sharded", "pp=2,tp=2", "schedule=1f1b"},
    {"1f1b, states sharded", "pp=2,dp=2", "schedule=1f1b"},
    {"gpipe", "pp=2,tp=2", "schedule=gpipe"},
    {"backwards split", "pp=2,dp=2", "schedule=zb1p"},
};

static Session *open_way(const Hooked *f, const PlannedWay *way, const char *train,
                         const StagedRow *row)
{
    SessionOptions options = {
        .model = LLAMA, .mesh = row->mesh, .policy = way->policy, .train = train};
    Error err = {0};
    const char *all[SETS_MAX + 1] = {row->schedule, way->set[0], way->set[1], way->set[2]};
    for (int i = 0; i <= SETS_MAX; i++)
        if (all[i])
            assert_true(policy_settings_with(f->arena, &options.settings, str_from(all[i]),
                                             &options.settings, &err));
    Session *session = session_open(&options, &f->hooks, &err);
    if (!session)
        print_message("%s\n", err.text);
    assert_non_null(session);
    assert_non_null(plan_schedule(session->plan));
    return session;
}

/* What the search adds up for the choices of the session's plan. */
static double added_up(const Hooked *f, const Session *session, const StageWeights *weights,
                       bool least)
{
    const Plan *own = session->plan;
    SearchMemo *memo = search_memo_new();
    InstanceOptions options = {.plans = &own, .n_plans = 1, .weights = weights, .memo = memo};
    Instance *instance = instance_make(f->arena, session, &options, NULL);
    assert_non_null(instance);
    prices_take(memo->prices, own);
    instance_weigh(instance, least ? COST_ON_PATHS : COST_OF_PLAN);
    const bool **allowed = arena_array(f->arena, const bool *, instance->nodes.n);
    assert_true(choices_of_plan(f->arena, instance, own, allowed));
    int32_t **kept;
    SolveProblem problem = instance_restricted(f->arena, instance, allowed, &kept);
    SolveAnswer answer;
    assert_true(solve(f->arena, &problem, &(SolveOptions){0}, &answer, NULL));
    assert_int_equal(answer.outcome, SOLVE_CHOICE);
    search_memo_free(memo);
    return answer.objective;
}

static StageWeights *weights_of(const Hooked *f, const Session *session)
{
    StageWeights *weights = stage_weights_new(f->arena, session->plan);
    stage_weights_add(weights, session->plan);
    return weights;
}

static void adds_up_no_more_than_a_step(void **state)
{
    const StagedRow *row = *state;
    enum { N = COUNT_OF(ways) };
    static const char *const trains[] = {"adamw", NULL};
    for (size_t t = 0; t < COUNT_OF(trains); t++) {
        Hooked f = hooked_new();
        Session *session[N];
        for (int i = 0; i < N; i++)
            session[i] = open_way(&f, &ways[i], trains[t], row);
        for (int i = 0; i < N; i++)
            for (int j = 0; j < N; j++) {
                double step_us = plan_step_us(session[j]->plan);
                StageWeights *weights = weights_of(&f, session[i]);
                double us =
                    added_up(&f, session[j], weights, true) + stage_weights_sends_us(weights);
                if (us > step_us * (1 + 1e-9))
                    print_error("%s %d on the path of %d: %.3f us of a step of %.3f\n", row->title,
                                j, i, us, step_us);
                assert_true(us <= step_us * (1 + 1e-9));
            }
        for (int i = 0; i < N; i++)
            session_close(session[i]);
        hooked_free(&f);
    }
}

/* ---- what separates the sum from a step ---- */

static const struct {
    const char *model, *mesh, *policy, *train;
    const char *set[4];
} staged[] = {
    {LLAMA, "pp=2,tp=2", "pipeline", "adamw", {"stage_layers=1x2"}},
    {LLAMA, "pp=2,tp=2", "hybrid3d", "adamw", {"schedule=gpipe", "sequence_parallel=true"}},
    {LLAMA, "pp=2,dp=2", "hybrid3d", "adamw", {"schedule=1f1b", "zero=1", "micro_batches=4"}},
    {LLAMA, "pp=2,dp=2", "hybrid3d", "adamw", {"schedule=1f1b", "zero=2", "micro_batches=4"}},
    {LLAMA, "pp=2,dp=2", "hybrid3d", "adamw", {"schedule=1f1b", "zero=2", "micro_batches=1"}},
    {LLAMA, "pp=2,dp=2", "hybrid3d", "sgd", {"schedule=zb1p", "zero=3", "micro_batches=8"}},
    {LLAMA, "pp=2,dp=2,tp=2", "hybrid3d", "adamw", {"schedule=zb2p", "zero=1"}},
    {LLAMA, "pp=2,dp=2,tp=2", "hybrid3d", NULL, {"schedule=1f1b"}},
    {LLAMA, "dp=2,tp=2", "hybrid3d", "adamw", {"zero=2", "micro_batches=4"}},
    {GPT, "pp=2,dp=2,tp=2", "hybrid3d", "adamw", {"micro_batches=4", "recompute=layer"}},
    {GPT, "pp=2,dp=2", "pipeline", "sgd", {"schedule=gpipe"}},
    {GPT, "pp=2", "pipeline", NULL, {"schedule=infer_pipe"}},
    {GPT, "pp=2,tp=2", "hybrid3d", "adamw", {"schedule=dualpipev", "micro_batches=4"}},
    {MIXTRAL, "pp=4,dp=2,ep=2", "hybrid3d", "adamw", {"layers=4", "zero=1", "micro_batches=8"}},
    {MIXTRAL, "pp=2,dp=2,ep=2", "hybrid3d", "adamw", {"layers=2", "zero=2"}},
    {"samples/models/llama-3-8b.json", "pp=2,cp=2,tp=2", "hybrid3d", "adamw", {"layers=4"}},
    {"samples/models/llama-3-8b.json",
     "pp=4,tp=2",
     "hybrid3d",
     "adamw",
     {"layers=8", "schedule=1f1b_interleaved", "virtual=2", "micro_batches=8"}},
};

static Session *open_staged(const Hooked *f, size_t i)
{
    SessionOptions options = {.model = staged[i].model,
                              .mesh = staged[i].mesh,
                              .policy = staged[i].policy,
                              .train = staged[i].train};
    Error err = {0};
    for (int k = 0; k < 4 && staged[i].set[k]; k++)
        assert_true(policy_settings_with(f->arena, &options.settings, str_from(staged[i].set[k]),
                                         &options.settings, &err));
    Session *session = session_open(&options, &f->hooks, &err);
    if (!session)
        print_error("%zu: %s\n", i, err.text);
    assert_non_null(session);
    if (!plan_schedule(session->plan))
        print_error("%zu has no schedule\n", i);
    assert_non_null(plan_schedule(session->plan));
    return session;
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-6 * fabs(b);
}

static bool parts_sum_up(const ScheduleParts *parts, double step_us)
{
    return near(parts->model_us + parts->sends_us + parts->beside_us - parts->joined_us, step_us);
}

/* The search's sum for a plan, and each part that separates it from the step. */
static void agrees_with_the_plan(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(staged); i++) {
        Hooked f = hooked_new();
        Session *session = open_staged(&f, i);
        StageWeights *weights = weights_of(&f, session);
        ScheduleParts parts = schedule_parts(session->plan);
        double us = added_up(&f, session, weights, false), step_us = plan_step_us(session->plan);
        double least_us = added_up(&f, session, weights, true) + stage_weights_sends_us(weights);
        if (!near(us, parts.model_us) || !parts_sum_up(&parts, step_us))
            print_error("%zu: %.6f us added up, %.6f + %.6f + %.6f - %.6f for a step of %.6f\n", i,
                        us, parts.model_us, parts.sends_us, parts.beside_us, parts.joined_us,
                        step_us);
        assert_true(near(us, parts.model_us));
        assert_true(parts_sum_up(&parts, step_us));
        assert_true(least_us <= step_us * (1 + 1e-9));
        session_close(session);
        hooked_free(&f);
    }
}

/* The same of the plan that a search finds, with and without a limit of memory, and with it its
 * bound. */
static void says_what_separates_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(staged); i++) {
        Hooked f = hooked_new();
        Session *session = open_staged(&f, i);
        double own_us = plan_step_us(session->plan);
        SearchRequest request = {.session = session, .seconds = 5};
        for (int limited = 0; limited < 2; limited++) {
            SearchResult found;
            assert_true(search_plan(f.arena, &request, &found, NULL));
            if (limited && found.outcome != SEARCH_PLAN)
                break;
            assert_int_equal(found.outcome, SEARCH_PLAN);
            assert_true(parts_sum_up(&found.parts, found.cost_us));
            assert_true(found.bound_us <= found.cost_us * (1 + 1e-9));
            if (!limited)
                assert_true(found.bound_us <= own_us * (1 + 1e-9));
            Session *replayed = open_staged(&f, i);
            assert_true(session_apply(replayed, found.decisions, found.n_decisions, NULL));
            assert_true(near(plan_step_us(replayed->plan), found.cost_us));
            assert_true(!limited || found.peak_bytes <= request.max_peak_bytes);
            session_close(replayed);
            request.max_peak_bytes = found.peak_bytes * 9 / 10;
        }
        session_close(session);
        hooked_free(&f);
    }
}

/* Whatever look at the clock ends a search under a limit of memory: few looks are taken after it,
 * and its bound holds for the plan that a whole search finds. */
static void ends_in_time_with_a_bound_that_holds(void **state)
{
    (void)state;
    static const size_t limited[] = {1, 3};
    enum { FEW = 30 };
    for (size_t i = 0; i < COUNT_OF(limited); i++) {
        Hooked f = hooked_new();
        Session *session = open_staged(&f, limited[i]);
        SearchRequest request = {.session = session};
        SearchResult whole, found;
        assert_true(search_plan(f.arena, &request, &whole, NULL));
        request.max_peak_bytes = whole.peak_bytes * 9 / 10;
        assert_true(search_plan(f.arena, &request, &whole, NULL));
        assert_int_equal(whole.outcome, SEARCH_PLAN);
        found.time_over = true;
        for (int64_t looks = 1; found.time_over; looks += 1 + looks / 4) {
            looks_from_now(true);
            request.seconds = (double)looks * LOOK_S;
            assert_true(search_plan(f.arena, &request, &found, NULL));
            assert_true(n_looks < looks + FEW);
            assert_true(found.bound_us <= whole.cost_us * (1 + 1e-9));
        }
        looks_from_now(false);
        session_close(session);
        hooked_free(&f);
    }
}

/* Gradients that are stored sharded are reduced for each micro-batch, which takes longer than to
 * reduce them once: without a limit of memory no parameter that is searched stores them so. */
static void reduces_gradients_once(void **state)
{
    (void)state;
    Hooked f = hooked_new();
    SessionOptions options = {
        .model = LLAMA, .mesh = "pp=2,dp=2,tp=2", .policy = "pipeline", .train = "adamw"};
    Error err = {0};
    static const char *const set[] = {"layers=2", "stage_layers=1x2", "micro_batches=8"};
    for (size_t i = 0; i < COUNT_OF(set); i++)
        assert_true(policy_settings_with(f.arena, &options.settings, str_from(set[i]),
                                         &options.settings, &err));
    Session *session = session_open(&options, &f.hooks, &err);
    assert_non_null(session);
    SearchRequest request = {.session = session};
    SearchResult found;
    assert_true(search_plan(f.arena, &request, &found, &err));
    assert_true(found.n_decisions > found.n_lifted);
    assert_true(session_apply(session, found.decisions, found.n_decisions, &err));
    assert_int_equal(gradient_reduces(session->plan).n_each, 0);
    session_close(session);
    hooked_free(&f);
}

static void finds_what_it_says(void **state)
{
    const StagedRow *row = *state;
    Hooked f = hooked_new();
    Session *open = open_way(&f, &ways[0], "adamw", row);
    SearchRequest request = {.session = open};
    SearchResult result;
    Error err = {0};
    assert_true(search_plan(f.arena, &request, &result, &err));
    assert_int_equal(result.outcome, SEARCH_PLAN);
    assert_true(result.bound_us <= result.cost_us * (1 + 1e-9));
    for (size_t i = 1; i < COUNT_OF(ways); i++) {
        Session *other = open_way(&f, &ways[i], "adamw", row);
        assert_true(result.bound_us <= plan_step_us(other->plan));
        assert_true(result.cost_us <= plan_step_us(other->plan));
        session_close(other);
    }
    request.max_peak_bytes = result.peak_bytes - 1;
    double unlimited_us = result.cost_us;
    assert_true(session_apply(open, result.decisions, result.n_decisions, &err));
    assert_true(plan_is_legal(open->plan));
    assert_true(fabs(plan_step_us(open->plan) - unlimited_us) <= 1e-6 * unlimited_us);
    assert_int_equal(open->plan->priced->totals.peak_bytes, result.peak_bytes);
    assert_true(search_plan(f.arena, &request, &result, &err));
    if (result.outcome == SEARCH_PLAN) {
        assert_true(result.peak_bytes <= request.max_peak_bytes);
        assert_true(result.cost_us >= unlimited_us);
    }
    session_close(open);
    hooked_free(&f);
}

int main(void)
{
    struct CMUnitTest tests[2 * COUNT_OF(rows)];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tests[2 * i] =
            (struct CMUnitTest){rows[i].title, adds_up_no_more_than_a_step, NULL, NULL, &rows[i]};
        tests[2 * i + 1] =
            (struct CMUnitTest){rows[i].title, finds_what_it_says, NULL, NULL, &rows[i]};
    }
    static const struct CMUnitTest parts[] = {
        cmocka_unit_test(agrees_with_the_plan),
        cmocka_unit_test(says_what_separates_them),
        cmocka_unit_test(ends_in_time_with_a_bound_that_holds),
        cmocka_unit_test(reduces_gradients_once),
    };
    return cmocka_run_group_tests_name("stages", tests, NULL, NULL) +
           cmocka_run_group_tests_name("parts", parts, NULL, NULL);
}
