/* The search of whole configurations: bounds against plans, the best against all of them. */
#include "tests/unit/unit.h"

#include "core/cost/pipeline.h"
#include "core/plan/stage.h"
#include "core/search/config_search.h"
#include "scripts/hooks.h"

#include <math.h>

enum { SETS = 8 };

/* Spaces small enough to plan every configuration. */
typedef struct {
    const char *title, *model, *machine;
    int64_t n_devices; /* without a mesh */
    const char *mesh;  /* or NULL */
    const char *set[SETS];
} Space;

static Space spaces[] = {
    {"stages of layers that are alike",
     "samples/models/llama-3-8b.json",
     "h100x8",
     8,
     NULL,
     {"layers=6", "global_batch=8", "seq=512", "cp=1", "recompute=none", "sequence_parallel=true",
      "zero=1"}},
    {"states on two nodes",
     "samples/models/llama-3-8b.json",
     "h100x8",
     16,
     NULL,
     {"layers=5", "global_batch=16", "seq=512", "schedule=1f1b", "pp=2", "recompute=none",
      "micro_batch=1", "cp=1"}},
    {"what is made again",
     "samples/models/llama-3-8b.json",
     "h100x8",
     4,
     NULL,
     {"layers=5", "global_batch=4", "seq=256", "schedule=1f1b", "attention=eager", "cp=1",
      "zero=0"}},
    {"zero bubbles",
     "samples/models/llama-3-8b.json",
     "a100x8",
     4,
     NULL,
     {"layers=8", "global_batch=8", "seq=256", "pp=4", "micro_batch=1", "zero=0"}},
    {"a graph without a config",
     "samples/models/tiny-gpt.onnx",
     "h100x8",
     4,
     NULL,
     {"global_batch=8", "micro_batch=1", "cp=1", "zero=1"}},
    {"experts",
     "samples/models/mixtral-8x7b.json",
     "h100x8",
     8,
     NULL,
     {"layers=2", "global_batch=8", "seq=256", "cp=1", "recompute=none", "micro_batch=1",
      "zero=1"}},
    {"axes that leave a node of two",
     "samples/models/llama-3-8b.json",
     "tests/training/pairs.lua",
     8,
     NULL,
     {"layers=2", "global_batch=4", "seq=4096", "recompute=none", "schedule=1f1b", "micro_batch=2",
      "sequence_parallel=false", "zero=1"}},
    {"hops that take long",
     "samples/models/llama-3-8b.json",
     "tests/training/far.lua",
     8,
     NULL,
     {"layers=2", "global_batch=8", "seq=256", "recompute=none", "schedule=1f1b", "micro_batch=2",
      "pp=1", "sequence_parallel=true"}},
    {"a mesh with dp inside of tp",
     "samples/models/llama-3-8b.json",
     "tests/training/pairs.lua",
     0,
     "tp=2,cp=2,dp=4",
     {"layers=2", "micro_batches=2", "micro_batch=1", "seq=256", "recompute=none", "zero=1",
      "sequence_parallel=true"}},
    {"gradients that are kept",
     "samples/models/llama-3-tiny.json",
     "tests/training/pairs.lua",
     4,
     NULL,
     {"global_batch=4", "seq=16", "pp=1", "micro_batch=2", "recompute=none", "zero=1"}},
    {"stages on devices of two kinds",
     "samples/models/llama-3-8b.json",
     "tests/training/kinds.lua",
     16,
     NULL,
     {"layers=6", "global_batch=16", "seq=512", "micro_batch=1", "cp=1", "recompute=none", "zero=1",
      "sequence_parallel=true"}},
    {"stages that have devices of both kinds",
     "samples/models/llama-3-8b.json",
     "tests/training/pairs_of_kinds.lua",
     8,
     NULL,
     {"layers=4", "global_batch=8", "seq=256", "micro_batch=1", "recompute=none", "zero=1",
      "schedule=1f1b", "sequence_parallel=true"}},
    {"a mesh that is given",
     "samples/models/llama-3-8b.json",
     "h100x8",
     0,
     "dp=2,tp=4,pp=2",
     {"layers=5", "micro_batches=4", "micro_batch=2", "seq=256", "recompute=none",
      "schedule=1f1b"}},
};

typedef struct {
    Arena *arena;
    Scripts *scripts;
    SessionHooks hooks;
    SessionOptions options;
    ConfigRequest request;
    ConfigSearch *search;
} Opened;

static Opened *open_space(const Space *space, Error *err)
{
    Arena *arena = arena_new();
    Opened *opened = arena_make(arena, Opened);
    opened->arena = arena;
    opened->scripts = scripts_new(arena, ".");
    opened->hooks = scripts_hooks(opened->scripts);
    opened->options =
        (SessionOptions){.model = space->model, .machine = space->machine, .mesh = space->mesh};
    for (int i = 0; i < SETS && space->set[i]; i++)
        assert_true(policy_settings_with(arena, &opened->options.settings, str_from(space->set[i]),
                                         &opened->options.settings, err));
    opened->request = (ConfigRequest){
        .options = &opened->options, .hooks = &opened->hooks, .n_devices = space->n_devices};
    opened->search = config_search_new(arena, &opened->request, err);
    return opened;
}

static void close_space(Opened *opened)
{
    config_search_free(opened->search);
    scripts_free(opened->scripts);
    arena_free(opened->arena);
}

/* ---- every configuration ---- */

typedef struct {
    Opened *opened;
    const char *title;
    int n, n_legal;
    Vec(const ConfigPlan *) plans;
} All;

static void check_bounds(const All *all, const ConfigPlan *plan, const ConfigRound *bound)
{
    for (int i = 0; i < CONFIG_ROUNDS; i++)
        if (bound[i].us > plan->step_us * (1 + 1e-9) || bound[i].bytes > plan->peak_bytes)
            print_error("%s: %s %s: bound %d is %.3f us of %.3f, %lld B of %lld\n", all->title,
                        plan->mesh, plan->text, i, bound[i].us, plan->step_us,
                        (long long)bound[i].bytes, (long long)plan->peak_bytes);
    for (int i = 0; i < CONFIG_ROUNDS; i++) {
        assert_true(bound[i].us <= plan->step_us * (1 + 1e-9));
        assert_true(bound[i].bytes <= plan->peak_bytes);
    }
}

static void check_one(void *context, const Configuration *config)
{
    All *all = context;
    Error err = {0};
    ConfigRound bound[CONFIG_ROUNDS];
    assert_true(config_bounds_of(all->opened->search, config, bound, &err));
    const ConfigPlan *plan = config_plan(all->opened->search, config, &err);
    assert_non_null(plan);
    all->n++;
    if (plan->failed || !plan->legal)
        return;
    all->n_legal++;
    check_bounds(all, plan, bound);
    vec_push(all->opened->arena, &all->plans, plan);
}

static void check_states(void *context, const Configuration *config)
{
    All *all = context;
    config_each_state(config_space_of(all->opened->search), config, check_one, all);
}

static All check_all(Opened *opened, const char *title)
{
    All all = {.opened = opened, .title = title};
    ConfigGroups groups = {0};
    int64_t left[LEFT_COUNT];
    Error err = {0};
    const ConfigSpace *space = config_space_of(opened->search);
    assert_true(config_groups(opened->arena, space, &groups, left, &err));
    for (int i = 0; i < groups.n; i++)
        config_each_schedule(space, &groups.at[i], check_states, &all);
    assert_true(all.n_legal > 0);
    return all;
}

/* The least time of those within the limit, or the least memory; INFINITY if there are none. */
static double least_of(const All *all, ConfigAim aim, int64_t limit)
{
    double least = INFINITY;
    for (int i = 0; i < all->plans.n; i++)
        if (all->plans.at[i]->peak_bytes <= limit)
            least = fmin(least, aim == LEAST_TIME ? all->plans.at[i]->step_us
                                                  : (double)all->plans.at[i]->peak_bytes);
    return least;
}

static void check_answer(const Space *space, const All *all, ConfigAim aim, int64_t limit)
{
    Error err = {0};
    Opened *opened = open_space(space, &err);
    assert_non_null(opened->search);
    ConfigQuestion question = {.aim = aim, .max_peak_bytes = limit};
    ConfigAnswer answer;
    assert_true(config_search(opened->search, &question, &answer, &err));
    double least = least_of(all, aim, limit);
    const ConfigCounts *n = &answer.counts;
    assert_int_equal(n->all,
                     n->by_memory + n->by_time + n->by_schedule + n->planned + n->same + n->failed);
    if (isinf(least)) {
        assert_int_equal(answer.outcome, SEARCH_INFEASIBLE);
    } else {
        assert_int_equal(answer.outcome, SEARCH_PLAN);
        assert_true(answer.proven);
        double found = aim == LEAST_TIME ? answer.best->step_us : (double)answer.best->peak_bytes;
        if (found != least)
            print_error("%s: %s %s is %.3f, the best is %.3f\n", space->title, answer.best->mesh,
                        answer.best->text, found, least);
        assert_true(found == least);
        assert_true(answer.best->peak_bytes <= limit);
    }
    close_space(opened);
}

/* No plan is below its bounds, and the search finds what planning all of them finds: without a
 * limit, with one that half of them meet, with one that none meets. */
static void best_is_best_of_all(void **state)
{
    const Space *space = *state;
    Error err = {0};
    Opened *opened = open_space(space, &err);
    if (!opened->search)
        print_error("%s: %s\n", space->title, err.text);
    assert_non_null(opened->search);
    All all = check_all(opened, space->title);
    double least = least_of(&all, LEAST_MEMORY, INT64_MAX), most = 0;
    for (int i = 0; i < all.plans.n; i++)
        most = fmax(most, (double)all.plans.at[i]->peak_bytes);
    print_message("%s: %d configurations, %d legal\n", space->title, all.n, all.n_legal);
    check_answer(space, &all, LEAST_TIME, INT64_MAX);
    check_answer(space, &all, LEAST_TIME, (int64_t)(least + (most - least) / 8));
    check_answer(space, &all, LEAST_TIME, (int64_t)least - 1);
    check_answer(space, &all, LEAST_MEMORY, INT64_MAX);
    close_space(opened);
}

/* ---- layers by speed ---- */

static double longest_stage_us(const Plan *plan)
{
    double longest = 0;
    for (int i = 0; i < plan->decided->stages->n; i++) {
        const StagePrice *stage = &plan->priced->pipeline->stage[i];
        longest = fmax(longest, stage->compute_us + stage->comm_us + stage->backward_us);
    }
    return longest;
}

static double planned_longest_us(const Opened *opened, const SessionOptions *options, int layers)
{
    SessionOptions one = *options;
    Error err = {0};
    if (layers > 0)
        assert_true(policy_settings_with(
            opened->arena, &options->settings,
            str_from(arena_printf(opened->arena, "stage_layers=%d,%d", layers, 12 - layers)),
            &one.settings, &err));
    Session *session = session_open(&one, &opened->hooks, &err);
    assert_non_null(session);
    double us = longest_stage_us(session->plan);
    session_close(session);
    return us;
}

/* The faster kind has more layers: no other way to share them out makes the longest stage shorter.
 */
static void stages_of_unlike_devices_have_layers_by_their_speed(void **state)
{
    (void)state;
    static const Space space = {.model = "samples/models/llama-3-8b.json",
                                .machine = "tests/training/kinds.lua",
                                .mesh = "pp=2,dp=2,tp=4",
                                .set = {"layers=12", "micro_batches=8", "micro_batch=1", "seq=512",
                                        "recompute=none", "zero=1", "schedule=1f1b",
                                        "sequence_parallel=true"}};
    Error err = {0};
    Opened *opened = open_space(&space, &err);
    assert_non_null(opened->search);
    ConfigAnswer answer;
    assert_true(config_search(opened->search, &(ConfigQuestion){.max_peak_bytes = INT64_MAX},
                              &answer, &err));
    assert_true(answer.proven);
    SessionOptions options = config_options(opened->search, answer.best);
    double least = INFINITY;
    int first = 0;
    for (int layers = 1; layers < 12; layers++) {
        double us = planned_longest_us(opened, &options, layers);
        first = us < least ? layers : first;
        least = fmin(least, us);
    }
    assert_true(first > 6);
    assert_true(planned_longest_us(opened, &options, 0) <= least * (1 + 1e-9));
    close_space(opened);
}

/* ---- stopped ---- */

enum { STEPS_MAX = 1000 }; /* of 100,000 and more without an early plan */

typedef struct {
    Progress progress;
    int n;
} Watched;

/* Stops with the first plan, or when none came in time. */
static void watch(void *context, double cost, double bound)
{
    Watched *watched = context;
    (void)bound;
    if (++watched->n == STEPS_MAX || !isinf(cost))
        progress_stop(&watched->progress);
}

/* A search of many configurations has a plan long before its bounds lead to one. */
static void a_plan_comes_early(void **state)
{
    (void)state;
    static const Space space = {.model = "samples/models/llama-3-8b.json",
                                .machine = "h100x8",
                                .n_devices = 1024,
                                .set = {"global_batch=1024", "seq=4096"}};
    Error err = {0};
    Opened *opened = open_space(&space, &err);
    assert_non_null(opened->search);
    config_search_free(opened->search);
    Watched watched = {.n = 0};
    opened->request.progress = &watched.progress;
    opened->request.report = watch;
    opened->request.context = &watched;
    opened->search = config_search_new(opened->arena, &opened->request, &err);
    assert_non_null(opened->search);
    ConfigQuestion question = {.max_peak_bytes = config_memory_of(opened->search)};
    ConfigAnswer answer;
    assert_true(config_search(opened->search, &question, &answer, &err));
    assert_int_equal(answer.outcome, SEARCH_PLAN);
    assert_true(watched.n < STEPS_MAX && !answer.proven);
    assert_true(answer.best->legal && answer.best->peak_bytes <= question.max_peak_bytes);
    assert_true(answer.bound > 0 && answer.bound < answer.best->step_us);
    const ConfigCounts *n = &answer.counts;
    assert_int_equal(n->all, n->by_memory + n->by_time + n->by_schedule + n->planned + n->same +
                                 n->failed + n->left);
    close_space(opened);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(spaces)];
    for (size_t i = 0; i < COUNT_OF(spaces); i++)
        tests[i] =
            (struct CMUnitTest){spaces[i].title, best_is_best_of_all, NULL, NULL, &spaces[i]};
    const struct CMUnitTest stopped[] = {
        cmocka_unit_test(a_plan_comes_early),
        cmocka_unit_test(stages_of_unlike_devices_have_layers_by_their_speed)};
    return cmocka_run_group_tests_name("spaces", tests, NULL, NULL) +
           cmocka_run_group_tests_name("stopped", stopped, NULL, NULL);
}
