/* What is found beside the screen: a view that waits for it says so, and shows afterwards what it
 * would have shown at once. Searches that go to the nearest hit go where counted ones do. */
#include "tests/unit/unit.h"

#include "core/explain/reason.h"
#include "scripts/hooks.h"
#include "tui/app/app.h"
#include "tui/state/search.h"
#include "tui/state/jobs/job.h"

#include <unistd.h>

typedef struct {
    Arena *arena;
    Scripts *scripts;
    SessionHooks hooks;
    Session *session;
} Fixture;

static void open_gpt2(Fixture *f)
{
    SessionOptions options = {.model = "samples/models/gpt2.onnx",
                              .mesh = "dp=2,tp=4",
                              .policy = "scripts/policies/megatron.lua"};
    Error err = {0};
    *f = (Fixture){.arena = arena_new()};
    f->scripts = scripts_new(f->arena, ".");
    f->hooks = scripts_hooks(f->scripts);
    f->session = session_open(&options, &f->hooks, &err);
    assert_non_null(f->session);
}

static void close_gpt2(Fixture *f)
{
    session_close(f->session);
    scripts_free(f->scripts);
    arena_free(f->arena);
}

/* ---- views ---- */

typedef struct {
    const char *name, *keys, *waiting;
    int w, h;
} ViewRow;

static const char finding[] = "tracing shardings", counting[] = "counting",
                  counted[] = "counting reshards";
static ViewRow view_rows[] = {
    {"why page", "jjw", finding, 80, 24}, {"why of a wide screen", "jjw", finding, 160, 50},
    {"op", "jj2j", finding, 160, 50},     {"tensor", "jj3", finding, 160, 50},
    {"reshards", "5", counted, 160, 50},  {"reshards on a small screen", "5", counted, 80, 24},
    {"memory", "6", counting, 160, 50},   {"memory on a small screen", "6", counting, 80, 24},
};

static Str screen(App *app, Arena *arena)
{
    Buf text = buf_new(arena);
    grid_format(app_draw(app), &text);
    return buf_str(&text);
}

/* Until nothing is left to do for the view. */
static void wait_for_all(App *app)
{
    for (app_draw(app); job_runs(&app->ui); app_draw(app))
        while (!job_poll(&app->ui))
            usleep(200);
}

static void view_waits_and_fills(void **state)
{
    const ViewRow *row = *state;
    Fixture f;
    AppOptions options = {0};
    open_gpt2(&f);
    App *app = app_new(f.session, &options, NULL, row->w, row->h);
    app->ui.jobs.quiet_ms = 0;
    app_type(app, str_from(row->keys));
    Str waiting = screen(app, f.arena);
    bool known = row->waiting == finding   ? reasons_known(f.session->plan)
                 : row->waiting == counted ? app->ui.comm->n_rows >= 0
                                           : false;
    wait_for_all(app);
    Str filled = screen(app, f.arena);
    if (!known && !str_eq(waiting, filled))
        assert_true(str_find(waiting, str_from(row->waiting)) >= 0);
    app_free(app);
    app = app_new(f.session, &options, NULL, row->w, row->h);
    app_type(app, str_from(row->keys));
    Str at_once = screen(app, f.arena);
    assert_string_equal(filled.s, at_once.s);
    app_free(app);
    close_gpt2(&f);
}

/* ---- searches ---- */

typedef struct {
    const char *pattern;
} PatternRow;

static PatternRow pattern_rows[] = {
    {"c_fc"},         {"h\\.3"},       {"wte|wpe"},   {"Gemm"},  {"mlp.c_proj.weight"},
    {"softmax"},      {"input"},       {"not_there"}, {"attn/"}, {"h.7.mlp.act"},
    {"^h\\.[0-9]+$"}, {"transformer"}, {".*"},
};

static void nearest_is_what_is_listed(void **state)
{
    Str pattern = str_from(((const PatternRow *)*state)->pattern);
    Fixture f;
    Error err = {0};
    open_gpt2(&f);
    Search *near = search_new(pattern, &err), *all = search_new(pattern, &err);
    const Hit *hits;
    int n = search_hits(all, f.session, &hits);
    assert_false(search_is_counted(near));
    for (int32_t place = -f.session->graph->n_inputs; place < f.session->groups->n_order; place++)
        for (int by = -1; by <= 1; by += 2) {
            Hit hit;
            SearchNear found = search_near(near, f.session, place, by, &hit);
            int at = search_from(all, f.session, place, by);
            assert_int_equal(found, n > 0 ? NEAR_FOUND : NEAR_NONE);
            if (n > 0)
                assert_memory_equal(&hit, &hits[at], sizeof hit);
        }
    search_free(near);
    search_free(all);
    close_gpt2(&f);
}

typedef struct {
    const char *name, *keys, *counting, *counted;
} SearchRow;

static SearchRow search_rows[] = {
    {"typed", "/c_fc", "/c_fc counting", "/c_fc 1/12"},
    {"entered", "/c_fc<Enter>", "/c_fc counting", "/c_fc 1/12"},
    {"again", "/c_fc<Enter>nn", "/c_fc counting", "/c_fc 3/12"},
    {"backward", "/c_fc<Enter>N", "/c_fc counting", "/c_fc 12/12"},
    {"no hit", "/not_there<Enter>", "no op, group", ""},
};

static void search_is_counted_beside(void **state)
{
    const SearchRow *row = *state;
    Fixture f;
    AppOptions options = {0};
    open_gpt2(&f);
    App *app = app_new(f.session, &options, NULL, 160, 50);
    app->ui.jobs.quiet_ms = 0;
    app_type(app, str_from(row->keys));
    Str now = screen(app, f.arena);
    if (job_runs(&app->ui))
        assert_true(str_find(now, str_from(row->counting)) >= 0 ||
                    str_find(now, str_from(row->counted)) >= 0);
    wait_for_all(app);
    assert_true(str_find(screen(app, f.arena), str_from(row->counted)) >= 0);
    app_free(app);
    close_gpt2(&f);
}

/* Their size is looked at before the library compiles them: some take all memory there. */
static void patterns_that_cannot_be_run_are_refused(void **state)
{
    static const char *const patterns[][2] = {
        {"h\\\\)", "/h\\\\): a ) has no matching ("},
        {"(a)b)", "/(a)b): a ) has no matching ("},
        {"(a)\\1", "/(a)\\1: back-references such as \\1 are not supported"},
        {"((a{99}){99}){99}", "/((a{99}){99}){99}: the repetition counts are too large"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(patterns); i++) {
        Error err = {0};
        assert_null(search_new(str_from(patterns[i][0]), &err));
        assert_string_equal(err.text, patterns[i][1]);
    }
    Error err = {0};
    Search *search = search_new(STR("(a\\\\)|b\\)|[)]"), &err);
    assert_non_null(search);
    search_free(search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(patterns_that_cannot_be_run_are_refused)};
    return cmocka_run_group_tests_name("patterns", tests, NULL, NULL) +
           run_rows("views", view_rows, view_waits_and_fills) +
           run_rows("nearest hits", pattern_rows, nearest_is_what_is_listed) +
           run_rows("counted hits", search_rows, search_is_counted_beside);
}
