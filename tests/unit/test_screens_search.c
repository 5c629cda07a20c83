/* The search in the explorer: what it shows, what a key does to the plan, and what stays a pin. */
#include "core/cost/pipeline.h"
#include "tests/unit/screen.h"
#include "tui/app/reload.h"
#include "tui/state/compare.h"
#include "tui/state/jobs/search_devices.h"

#include <math.h>

static ScreenRow rows[] = {
    {"the plan with its proof", 80, 24, "gs", 2, {"[Search]", "PROVEN optimal", "AS A POLICY"}},
    {"another limit",
     80,
     24,
     ":search max-peak=900MiB<Enter>",
     -1,
     {"limit 900.0 MiB", "STEP     CHANGE       PEAK"}},
    {"no plan within a limit",
     80,
     24,
     ":search max-peak=10KiB<Enter>",
     -1,
     {"no plan keeps the limit of 10.0 KiB", "NO PLAN fits all of these"}},
    {"a frontier, and its chart",
     80,
     24,
     ":search frontier seconds=600<Enter>",
     -1,
     {"peak  ", "┴448.0 MiB", "+18.5 us", "*", "b", "far above: 17.5 ms, 1.1 GiB; a: 13.7 ms"}},
    {"the plan under the cursor against the others, and what it does unlike the fastest",
     120,
     40,
     ":search frontier seconds=600<Enter>jj",
     -1,
     {"PLAN c AGAINST", "the plan before, Y   −4.76 ms", "the fastest, e ", "the smallest, a",
      " ms for a GiB", "+ is not in the fastest plan", "         +  graph:"}},
    {"on a wide screen", 160, 50, "gs", 2, {"AFTER          BEST         BOUND", "OTHERWISE"}},
    {"what pins cost", 80, 24, "gsx", 3, {"PINS AND LIMIT", "megatron.lua:"}},
    {"the step can be undone", 80, 24, "gsu", 3, {"undone: step"}},
    {"and compared", 160, 50, "gsd", 3, {"differ from policy"}},
    {"a word that it does not know", 80, 24, ":search fast<Enter>", -1, {"has no option 'fast'"}},
    {"a pin of a configuration", 80, 24, ":search tp=8<Enter>", -1, {"add devices"}},
    {"devices of which there are none", 80, 24, ":search devices=0<Enter>", -1, {"from 1 to"}},
    {"a step of how many samples", 80, 24, ":search devices=8<Enter>", -1, {"how many samples"}},
    {"a limit that is none", 80, 24, ":search max-peak=much<Enter>", -1, {"max-peak=75GiB"}},
    {"in ASCII", 80, 24, "~:search frontier seconds=600<Enter>", -1, {"+448.0 MiB", "PROVEN"}},
};

static App *app_of(Session *session)
{
    static const AppOptions options = {.width = 80};
    return app_new(session, &options, NULL, 80, 24);
}

static int n_of(const Session *session, OriginKind kind)
{
    int n = 0;
    for (int i = 0; i < session->journal.n_done; i++)
        n += session->journal.decisions.at[i].origin.kind == kind;
    return n;
}

/* The result is decisions of origin search, one step of undo. */
static void a_search_is_one_step(void **state)
{
    (void)state;
    Session *session = open_gpt2();
    App *app = app_of(session);
    double before = plan_step_us(session->plan);
    int n = session->journal.n_done;
    app_type(app, STR("gs"));
    assert_true(plan_step_us(app->ui.session->plan) < before);
    assert_true(n_of(app->ui.session, ORIGIN_SEARCH) > 0);
    assert_int_equal(n_of(app->ui.session, ORIGIN_POLICY), n);
    app_type(app, STR("u"));
    assert_int_equal(app->ui.session->journal.n_done, n);
    assert_true(fabs(plan_step_us(app->ui.session->plan) - before) <= 1e-9 * before);
    app_free(app);
    session_close(session);
}

/* A pin between two searches holds in the second, which takes the place of the first. */
static void a_pin_holds_in_the_next_search(void **state)
{
    (void)state;
    Session *session = open_gpt2();
    App *app = app_of(session);
    app_type(app, STR("gs"));
    double first = plan_step_us(app->ui.session->plan);
    app_type(app, STR(":tensor transformer.h.3.mlp.c_fc.weight<Enter>:pin whole<Enter>gs"));
    const Session *now = app->ui.session;
    int32_t t = graph_find_tensor(now->graph, STR("transformer.h.3.mlp.c_fc.weight"));
    const Decision *pin = plan_pin_of(now->plan, PIN_TENSOR_DIM, t, app->ui.at.dim);
    assert_non_null(pin);
    assert_int_equal(pin->origin.kind, ORIGIN_USER);
    assert_true(cut_is_whole(decision_cut(pin)));
    assert_true(app->ui.plan_search->point[0].proven);
    assert_true(fabs(plan_step_us(now->plan) - app->ui.plan_search->point[0].cost_us) <=
                1e-6 * first);
    app_free(app);
    session_close(session);
}

/* Enter on a point of the frontier makes it the plan. */
static void points_can_be_taken(void **state)
{
    (void)state;
    Session *session = open_gpt2();
    App *app = app_of(session);
    app_type(app, STR(":search frontier seconds=600<Enter>j<Enter>"));
    const PlanSearch *search = app->ui.plan_search;
    assert_true(search->n > 1);
    const Plan *plan = app->ui.session->plan;
    assert_true(fabs(plan_step_us(plan) - search->point[1].cost_us) <= 1e-6 * plan_step_us(plan));
    assert_int_equal(plan->priced->totals.peak_bytes, search->point[1].peak_bytes);
    app_free(app);
    session_close(session);
}

/* `why` leads to the search's decision and says what the next best costs. */
static void why_names_the_price(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx", .mesh = "dp=2,tp=2"};
    Session *session = session_open(&options, &hooks, NULL);
    assert_non_null(session);
    App *app = app_of(session);
    app_type(app, STR("gs"));
    PlanSearch *search = app->ui.plan_search;
    search_price_choices(arena, &search->point[0], NULL); /* which is background work else */
    const SearchResult *result = &search->point[0];
    assert_true(result->price_of != NULL && result->n_decisions > 0);
    Buf text = buf_new(arena);
    for (int i = 0; i < app->ui.session->journal.n_done; i++)
        plan_search_put_price(&app->ui, &app->ui.session->journal.decisions.at[i], &text);
    assert_non_null(strstr(text.s, "otherwise"));
    app_free(app);
    session_close(session);
    arena_free(arena);
}

/* ---- on N devices ---- */

static Session *open_llama(void)
{
    SessionOptions options = {.model = "samples/models/llama-3-tiny.json", .mesh = "dp=4"};
    Session *session = session_open(&options, &hooks, NULL);
    assert_non_null(session);
    return session;
}

static void close_app(App *app)
{
    Session *session = app->ui.session;
    app_free(app);
    session_close(session);
}

/* The best with its proof, what one other choice costs, what the pin costs. */
static void configurations_are_shown(void **state)
{
    (void)state;
    App *app = app_of(open_llama());
    app_type(app, STR(":search devices=2 global_batch=4 tp=1<Enter>"));
    screen_says(app, (const char *const[]){"2 devices, 4 samples a step", "PROVEN optimal",
                                           "schedule=1f1b", "WITHOUT THE PIN", "-p hybrid3d",
                                           "WHERE THE STEP'S TIME GOES", NULL});
    app_type(app, STR("j"));
    screen_says(app, (const char *const[]){"BECAUSE, against the best", NULL});
    app_type(app, STR(":search devices=2 global_batch=2 frontier gap=5%<Enter>"));
    screen_says(app, (const char *const[]){"within 5% of the fastest", "peak  ", "┴4.0 MiB", NULL});
    app_type(app, STR(":search devices=2 global_batch=2 zero=0 dp=2 max-peak=6MiB<Enter>"));
    screen_says(app, (const char *const[]){"no configuration fits", "needs least",
                                           "zero=0, which conflicts", NULL});
    close_app(app);
}

/* Enter opens the plan whose time the row says; u and C-r go between it and the one before. */
static void a_configuration_is_opened_and_left(void **state)
{
    (void)state;
    App *app = app_of(open_llama());
    double before = plan_step_us(app->ui.session->plan);
    app_type(app, STR(":search devices=4 global_batch=8<Enter>"));
    const DevicesRow *best = &app->ui.plan_search->devices->row[0];
    double wanted = best->plan->step_us;
    int64_t peak = best->plan->peak_bytes;
    app_type(app, STR("<Enter>"));
    app = app_reopened(app);
    const Plan *plan = app->ui.session->plan;
    assert_true(fabs(plan_step_us(plan) - wanted) <= 1e-9 * wanted);
    assert_int_equal(plan->priced->totals.peak_bytes, peak);
    assert_non_null(app->ui.plan_search->devices); /* another can be opened */
    app_type(app, STR("u"));
    app = app_reopened(app);
    assert_true(plan_step_us(app->ui.session->plan) == before);
    app_type(app, STR("<C-r>"));
    app = app_reopened(app);
    assert_true(fabs(plan_step_us(app->ui.session->plan) - wanted) <= 1e-9 * wanted);
    app_type(app, STR("jd"));
    assert_non_null(app->ui.compare);
    app_type(app, STR("u"));
    app = app_reopened(app);
    assert_true(plan_step_us(app->ui.session->plan) == before);
    close_app(app);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_search_is_one_step),
        cmocka_unit_test(a_pin_holds_in_the_next_search),
        cmocka_unit_test(points_can_be_taken),
        cmocka_unit_test(why_names_the_price),
        cmocka_unit_test(configurations_are_shown),
        cmocka_unit_test(a_configuration_is_opened_and_left),
    };
    open_scripts(NULL);
    int failed = run_rows("search", rows, screen_has);
    failed += cmocka_run_group_tests(tests, NULL, NULL);
    close_scripts(NULL);
    return failed;
}
