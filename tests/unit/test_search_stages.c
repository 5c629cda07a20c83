/* The search of plans under a schedule: what it adds up is never more than a step of the plan
 * takes, whichever plan's longest path weighs the stages, and what it finds is within its own
 * bound. */
#include "tests/unit/hooked.h"

#include "core/cost/pipeline.h"
#include "core/plan/stage.h"
#include "core/search/decide.h"
#include "core/search/search.h"
#include "core/solve/solve.h"

#include <math.h>

#define LLAMA "samples/models/llama-3-tiny.json"

enum { SETS_MAX = 3 };

/* Plans on the same stages. */
typedef struct {
    const char *policy, *set[SETS_MAX];
} Way;

static const Way ways[] = {
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

static Session *open_way(const Hooked *f, const Way *way, const char *train, const StagedRow *row)
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

/* Sends that the longest path may wait for. */
static double sends_us(const Plan *plan)
{
    double us = 0;
    const Stages *stages = plan->decided->stages;
    for (int s = 0; s < stages->n; s++)
        us += plan->priced->pipeline->stage[s].receive_us +
              plan->priced->pipeline->stage[s].return_us;
    return us * stages->n_micro_batches;
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
                double us = added_up(&f, session[j], weights_of(&f, session[i]), true);
                if (us > step_us * (1 + 1e-9))
                    print_error("%s %d on the path of %d: %.3f us of a step of %.3f\n", row->title,
                                j, i, us, step_us);
                assert_true(us <= step_us * (1 + 1e-9));
            }
        for (int i = 0; i < N;
             i++) { /* on its own path only sends and joined traffic are missing */
            double step_us = plan_step_us(session[i]->plan);
            double us = added_up(&f, session[i], weights_of(&f, session[i]), false);
            assert_true(us >= (step_us - sends_us(session[i]->plan)) * (1 - 1e-3));
        }
        for (int i = 0; i < N; i++)
            session_close(session[i]);
        hooked_free(&f);
    }
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
    return cmocka_run_group_tests_name("stages", tests, NULL, NULL);
}
