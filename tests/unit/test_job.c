/* Work beside the screen: short work is done when it returns, long work is polled, stopped, refused
 * beside other work, and ended with the explorer. The same while a session is opened. */
#include "tests/unit/unit.h"

#include "scripts/hooks.h"
#include "tui/app/app.h"

#include <stdlib.h>
#include <unistd.h>

static Session *open_tiny(void *context, Progress *progress, Error *err)
{
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx",
                              .mesh = "dp=2,tp=2",
                              .policy = "scripts/policies/megatron.lua",
                              .progress = progress};
    const SessionHooks *hooks = context;
    return session_open(&options, hooks, err);
}

typedef struct {
    Arena *arena;
    Scripts *scripts;
    SessionHooks hooks;
    Session *session;
    App *app;
} Fixture;

static int setup(void **state)
{
    Arena *arena = arena_new();
    Fixture *f = arena_make(arena, Fixture);
    Error err = {0};
    AppOptions options = {0};
    *f = (Fixture){.arena = arena, .scripts = scripts_new(arena, ".")};
    f->hooks = scripts_hooks(f->scripts);
    f->session = open_tiny(&f->hooks, NULL, &err);
    assert_non_null(f->session);
    f->app = app_new(f->session, &options, NULL, 80, 24);
    f->app->ui.jobs.quiet_ms = JOB_QUIET_MS; /* as on a terminal */
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    Fixture *f = *state;
    app_free(f->app);
    session_close(f->session);
    scripts_free(f->scripts);
    arena_free(f->arena);
    return 0;
}

/* ---- work made for it ---- */

typedef struct {
    atomic_bool go_on; /* the work ends */
    bool fails;
    int n_done;
    bool ok;
    ErrorKind kind;
    bool starts_next;
} Piece;

static bool work_until_told(void *context, Progress *progress, Error *err)
{
    Piece *piece = context;
    progress_stage(progress, "waiting", 4);
    progress_add(progress, 1);
    while (!atomic_load(&piece->go_on))
        if (!progress_goes_on(progress, err))
            return false;
        else
            usleep(100);
    return !piece->fails || error_set(err, "it went wrong");
}

static void piece_done(Ui *ui, void *context, bool ok, const Error *err)
{
    Piece *piece = context;
    piece->n_done++;
    piece->ok = ok;
    piece->kind = err->kind;
    if (!ok)
        ui_error(ui, err);
    if (piece->starts_next) {
        piece->starts_next = false;
        atomic_store(&piece->go_on, false);
        assert_true(
            job_start(ui, &(JobWork){"next", work_until_told, piece_done, piece, false, false}));
    }
}

static bool start(Fixture *f, Piece *piece)
{
    return job_start(&f->app->ui,
                     &(JobWork){"piece", work_until_told, piece_done, piece, false, false});
}

static void wait_for_job(Fixture *f)
{
    while (!job_poll(&f->app->ui))
        usleep(100);
}

static void short_work_is_done_at_once(void **state)
{
    Fixture *f = *state;
    Piece piece = {.go_on = true};
    assert_true(start(f, &piece));
    assert_int_equal(piece.n_done, 1);
    assert_true(piece.ok);
    assert_false(job_runs(&f->app->ui));
    assert_false(job_poll(&f->app->ui));
}

static void long_work_is_polled(void **state)
{
    Fixture *f = *state;
    Piece piece = {0};
    assert_true(start(f, &piece));
    assert_true(job_runs(&f->app->ui));
    assert_false(job_poll(&f->app->ui));
    Buf text = buf_new(f->arena);
    job_format(&f->app->ui, &text);
    assert_non_null(strstr(text.s, "piece: waiting 25%"));
    app_type(f->app, STR("jj/c_fc<Enter>5")); /* all else goes on */
    atomic_store(&piece.go_on, true);
    wait_for_job(f);
    assert_int_equal(piece.n_done, 1);
    assert_true(piece.ok);
}

static void work_is_stopped_by_a_key(void **state)
{
    Fixture *f = *state;
    Piece piece = {0};
    assert_true(start(f, &piece));
    app_type(f->app, STR("<C-c>"));
    wait_for_job(f);
    assert_int_equal(piece.n_done, 1);
    assert_false(piece.ok);
    assert_int_equal(piece.kind, ERROR_CANCELLED);
}

static void work_that_fails_says_why(void **state)
{
    Fixture *f = *state;
    Piece piece = {.go_on = true, .fails = true};
    assert_true(start(f, &piece));
    assert_false(piece.ok);
    assert_non_null(strstr(f->app->ui.messages.text, "it went wrong"));
    assert_int_equal(f->app->ui.messages.n_errors, 1);
}

static void a_second_job_is_refused(void **state)
{
    Fixture *f = *state;
    Piece piece = {0}, other = {0};
    assert_true(start(f, &piece));
    assert_false(start(f, &other));
    assert_int_equal(other.n_done, 0);
    assert_non_null(strstr(f->app->ui.messages.text, "wait for the piece, or stop it with C-c"));
    const Plan *plan = f->session->plan;
    app_type(f->app, STR(":mesh tp=4<Enter>"));
    assert_ptr_equal(f->session->plan, plan);
    atomic_store(&piece.go_on, true);
    wait_for_job(f);
}

static void the_end_of_one_starts_the_next(void **state)
{
    Fixture *f = *state;
    Piece piece = {.go_on = true, .starts_next = true};
    assert_true(start(f, &piece));
    assert_int_equal(piece.n_done, 1);
    assert_true(job_runs(&f->app->ui));
    atomic_store(&piece.go_on, true);
    wait_for_job(f);
    assert_int_equal(piece.n_done, 2);
}

/* teardown() closes the explorer under a job, which starts another one. */
static void closing_ends_what_runs(void **state)
{
    Fixture *f = *state;
    Piece *piece = arena_make(f->arena, Piece);
    piece->starts_next = true;
    assert_true(start(f, piece));
}

/* ---- changes of the plan ---- */

static void every_screen_is_drawn_while_a_plan_is_made(void **state)
{
    static const char *const walk[] = {
        "1jjl", "2jj",           "3j", "4", "5jj", "6j", "7", "8j", "9", "w", "Wd", "ge", "F",
        "zR1",  "/c_fc<Enter>n", "p",  "q", "x",   "u",  "P", "?",  "Z", "gg"};
    Fixture *f = *state;
    Ui *ui = &f->app->ui;
    ui->jobs.quiet_ms = 0; /* the screen goes on at once */
    static const char *const meshes[] = {"tp=4", "dp=4", "dp=2,tp=2", "dp=4,tp=2"};
    for (size_t i = 0; i < 40; i++) {
        Change mesh = {.kind = CHANGE_MESH, .text = meshes[i % COUNT_OF(meshes)]};
        Change policy = {.kind = CHANGE_POLICY};
        job_change(ui, i % 3 ? &policy : &mesh, NULL, NULL);
        for (size_t at = i; job_runs(ui); at++) {
            app_type(f->app, str_from(walk[at % COUNT_OF(walk)]));
            app_draw(f->app);
            f->app->quit = false;
            job_poll(ui);
        }
        app_draw(f->app);
    }
}

static void a_stopped_plan_is_as_before(void **state)
{
    Fixture *f = *state;
    char path[] = "/tmp/dimscope-job-XXXXXX";
    close(mkstemp(path));
    assert_true(file_write(path, STR("function PAS(g) while true do end end\n"), NULL));
    Ui *ui = &f->app->ui;
    const Plan *plan = f->session->plan;
    const char *policy = f->session->options.policy;
    job_change(ui, &(Change){.kind = CHANGE_POLICY, .text = path}, NULL, NULL);
    app_type(f->app, STR("w"));
    if (job_runs(ui)) {
        Buf text = buf_new(f->arena);
        grid_format(app_draw(f->app), &text);
        assert_non_null(strstr(text.s, "when the plan is ready"));
        app_type(f->app, STR("<C-c>"));
        wait_for_job(f);
        assert_string_equal(ui->messages.text, "stopped: the plan is unchanged");
    }
    assert_ptr_equal(f->session->plan, plan);
    assert_string_equal(f->session->options.policy, policy);
    unlink(path);
}

/* ---- what a change changed ---- */

static void changed_ops_are_those_of_the_last_change(void **state)
{
    Fixture *f = *state;
    Ui *ui = &f->app->ui;
    ui->jobs.quiet_ms = -1;
    assert_int_equal(ui->changes.ops.n, 0);
    int32_t op = graph_find_op(f->session->graph, STR("/transformer/h.0/mlp/c_fc/Gemm"));
    assert_true(op >= 0);
    app_type(f->app, STR(":tensor transformer.h.0.mlp.c_fc.weight.1<Enter>:pin whole<Enter>"));
    assert_true(ui->changes.ops.n > 0);
    assert_true(ui_changed(ui, op));
    int n = ui->changes.ops.n, n_bits = 0;
    for (int32_t i = 0; i < f->session->graph->n_ops; i++)
        n_bits += ui_changed(ui, i);
    assert_int_equal(n, n_bits);
    assert_true(n < f->session->inferred->n_program);
    app_type(f->app, STR("u")); /* and back: the same ops */
    assert_int_equal(ui->changes.ops.n, n);
    assert_true(ui_changed(ui, op));
    app_type(f->app, STR("r")); /* the same plan again */
    assert_int_equal(ui->changes.ops.n, 0);
    assert_false(ui_changed(ui, op));
    assert_false(ui_changed(ui, -1));
}

/* ---- opening ---- */

static void an_opening_shows_stages_and_first_ops(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Progress *progress = arena_make(arena, Progress);
    AppOpener opener = {.model = "models/big.onnx", .policy = "megatron", .mesh = "dp=2"};
    Opening opening = {0};
    opening_see(&opening, progress, 0);
    assert_int_equal(opening.n_stages, 0);
    progress_stage(progress, "reading", 100);
    opening_see(&opening, progress, 0.5);
    progress_stage(progress, "inferring", 1000);
    progress_add(progress, 250);
    progress_line(progress, STR("transformer.h.0.mlp\x1b[31m"), STR("Gemm"));
    progress_findings(progress, 3);
    opening_see(&opening, progress, 1.5);
    opening_see(&opening, progress, 2.0);
    Buf text = buf_new(arena);
    Grid *grid = grid_new(arena, 80, 24, false);
    opening_draw(&opening, &opener, progress, 2.5, grid);
    grid_format(grid, &text);
    static const char *const facts[] = {" big.onnx │ megatron │ dp=2  opening",
                                        " reading                    1.0 s",
                                        " inferring                  1.0 s",
                                        " 25%  0:03 left",
                                        "transformer.h.0.mlp\\x1b[31m",
                                        "Gemm",
                                        "C-c stops",
                                        "3 findings so far"};
    for (size_t i = 0; i < COUNT_OF(facts); i++)
        if (!strstr(text.s, facts[i]))
            fail_msg("'%s' is not on:\n%s", facts[i], text.s);
    for (int w = 1; w < 100; w += 7)
        for (int h = 1; h < 30; h += 3)
            opening_draw(&opening, &opener, progress, 2.5, grid_new(arena, w, h, true));
    arena_free(arena);
}

#define WITH_APP(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_APP(short_work_is_done_at_once),
        WITH_APP(long_work_is_polled),
        WITH_APP(work_is_stopped_by_a_key),
        WITH_APP(work_that_fails_says_why),
        WITH_APP(a_second_job_is_refused),
        WITH_APP(the_end_of_one_starts_the_next),
        WITH_APP(closing_ends_what_runs),
        WITH_APP(every_screen_is_drawn_while_a_plan_is_made),
        WITH_APP(a_stopped_plan_is_as_before),
        WITH_APP(changed_ops_are_those_of_the_last_change),
        cmocka_unit_test(an_opening_shows_stages_and_first_ops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
