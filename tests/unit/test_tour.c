/* The tour: each step's keys, pressed on a small screen, bring what its text speaks of. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "tui/app/app.h"

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
    App *app;
} Fixture;

static Fixture start(int w, int h)
{
    Fixture f = {.arena = arena_new()};
    f.scripts = scripts_new(f.arena, ".");
    SessionHooks hooks = scripts_hooks(f.scripts);
    SessionOptions options = {.model = tour_model, .mesh = tour_mesh, .policy = tour_policy};
    Error err = {0};
    f.session = session_open(&options, &hooks, &err);
    assert_non_null(f.session);
    f.app = app_new(f.session, &(AppOptions){.tour = true}, NULL, w, h);
    return f;
}

static void stop(Fixture *f)
{
    app_free(f->app);
    session_close(f->session);
    scripts_free(f->scripts);
    arena_free(f->arena);
}

static const char *screen(Fixture *f)
{
    Buf text = buf_new(f->arena);
    grid_format(app_draw(f->app), &text);
    return text.s;
}

static void every_step_brings_its_fact(void **state)
{
    (void)state;
    Fixture f = start(80, 24);
    for (int i = 0; tour_steps[i].text; i++) {
        assert_int_equal(f.app->tour.step, i);
        app_type(f.app, str_from(tour_steps[i].keys));
        f.app = app_reopened(f.app); /* a training step opens the model again */
        f.session = f.app->ui.session;
        const char *text = screen(&f);
        if (!strstr(text, tour_steps[i].fact))
            fail_msg("step %d: '%s' is not on the screen:\n%s", i + 1, tour_steps[i].fact, text);
        assert_null(strstr(text, "error"));
    }
    stop(&f);
}

static void one_key_does_a_step(void **state)
{
    (void)state;
    Fixture f = start(80, 24);
    app_type(f.app, STR("<C-n>"));
    assert_int_equal(f.app->tour.step, 1);
    app_type(f.app, STR("<C-n>"));
    assert_int_equal(f.app->tour.step, 2);
    assert_non_null(strstr(screen(&f), "[5 Comm]"));
    stop(&f);
}

/* A menu that a step opens and leaves stays until Esc is pressed. */
static void what_a_step_opens_is_seen(void **state)
{
    (void)state;
    Fixture f = start(80, 24);
    int at = 0;
    while (!strstr(tour_steps[at].keys, "x<Esc>"))
        at++;
    for (int i = 0; i <= at; i++)
        app_type(f.app, STR("<C-n>"));
    assert_int_equal(f.app->tour.step, at);
    assert_non_null(strstr(screen(&f), "as now"));
    assert_null(strstr(screen(&f), "C-n does it"));
    app_type(f.app, STR("<Esc>"));
    assert_int_equal(f.app->tour.step, at + 1);
    assert_null(strstr(screen(&f), "as now"));
    stop(&f);
}

/* What is typed beside the steps does what it always does, and the step waits. */
static void one_may_look_about(void **state)
{
    (void)state;
    Fixture f = start(80, 24);
    app_type(f.app, STR("j4j1"));
    assert_int_equal(f.app->tour.step, 0);
    app_type(f.app, STR("kjj"));
    assert_int_equal(f.app->tour.step, 1);
    stop(&f);
}

static void its_box_hides_nothing(void **state)
{
    (void)state;
    for (int w = 1; w < 200; w += 13) {
        for (int h = 1; h < 60; h += 3) {
            Tour tour = {.on = true};
            int n = tour_lines(&tour, w, h);
            assert_true(n == 0 || h - n >= LAYOUT_MIN_H);
        }
    }
    Fixture f = start(40, 12);
    assert_non_null(strstr(screen(&f), "move"));
    stop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_brings_its_fact), cmocka_unit_test(one_key_does_a_step),
        cmocka_unit_test(what_a_step_opens_is_seen),  cmocka_unit_test(one_may_look_about),
        cmocka_unit_test(its_box_hides_nothing),
    };
    return cmocka_run_group_tests_name("tour", tests, NULL, NULL);
}
