/* Long work that tells how far it is, and is stopped: at any moment it ends with ERROR_CANCELLED
 * and nothing left behind, and a session that a change was stopped in is as it was. */
#include "core/peers/propagators.h"
#include "tests/unit/unit.h"

#include "scripts/hooks.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define MODEL "samples/models/tiny-gpt.onnx"
#define MEGATRON "scripts/policies/megatron.lua"

static void counts_and_stages(void **state)
{
    (void)state;
    Progress progress = {.stage = NULL};
    assert_true(progress_share(&progress) < 0);
    progress_stage(&progress, "reading", 200);
    progress_add(&progress, 50);
    assert_true(progress_share(&progress) == 0.25);
    progress_stage(&progress, "inferring", 0);
    assert_true(progress_share(&progress) < 0);
    assert_string_equal(atomic_load(&progress.stage), "inferring");
    Error err = {0};
    assert_true(progress_goes_on(&progress, &err));
    progress_stop(&progress);
    assert_false(progress_goes_on(&progress, &err));
    assert_int_equal(err.kind, ERROR_CANCELLED);
}

static void nobody_watches(void **state)
{
    (void)state;
    progress_stage(NULL, "reading", 1);
    progress_add(NULL, 1);
    progress_line(NULL, STR("a"), STR("b"));
    progress_findings(NULL, 1);
    progress_stop(NULL);
    assert_true(progress_goes_on(NULL, NULL));
    assert_true(progress_share(NULL) < 0);
}

static void lines_are_cut_and_counted(void **state)
{
    (void)state;
    static Progress progress;
    char name[2 * PROGRESS_NAME];
    memset(name, 'x', sizeof name);
    for (int i = 0; i < PROGRESS_LINES + 5; i++)
        progress_line(&progress, (Str){name, sizeof name}, STR("MatMul"));
    assert_int_equal(atomic_load(&progress.n_lines), PROGRESS_LINES);
    assert_int_equal(strlen(progress.line[0].name), PROGRESS_NAME - 1);
    assert_string_equal(progress.line[PROGRESS_LINES - 1].kind, "MatMul");
}

/* ---- sessions ---- */

static Scripts *scripts;
static SessionHooks hooks;

static Session *open_watched(Progress *progress, const char *policy, const Propagator *propagator,
                             Error *err)
{
    SessionOptions options = {.model = MODEL,
                              .mesh = "dp=2,tp=2",
                              .policy = policy,
                              .propagator = propagator,
                              .progress = progress};
    return session_open(&options, &hooks, err);
}

static void opening_tells_of_the_first_ops(void **state)
{
    (void)state;
    Progress progress = {.stage = NULL};
    Error err = {0};
    Session *session = open_watched(&progress, MEGATRON, &propagator_explain, &err);
    assert_non_null(session);
    assert_true(atomic_load(&progress.n_lines) > 20);
    assert_true(progress.line[0].kind[0] != '\0');
    assert_string_equal(atomic_load(&progress.stage), "folding");
    assert_null(session->progress);
    assert_null(session->plan->progress);
    session_close(session);
}

typedef struct {
    Progress *progress;
    int after_us;
} Stopper;

static void *stop_later(void *argument)
{
    const Stopper *stopper = argument;
    if (stopper->after_us > 0)
        usleep((useconds_t)stopper->after_us);
    progress_stop(stopper->progress);
    return NULL;
}

/* From at once to after the end. */
static void opening_stops_at_any_moment(void **state)
{
    const Propagator *propagator = *(const Propagator **)*state;
    int n_stopped = 0;
    for (int after_us = 0; after_us < 40000; after_us = after_us * 5 / 4 + 50) {
        Progress progress = {.stage = NULL};
        Stopper stopper = {&progress, after_us};
        pthread_t thread;
        Error err = {0};
        assert_int_equal(pthread_create(&thread, NULL, stop_later, &stopper), 0);
        Session *session = open_watched(&progress, MEGATRON, propagator, &err);
        pthread_join(thread, NULL);
        if (!session)
            assert_int_equal(err.kind, ERROR_CANCELLED);
        n_stopped += session == NULL;
        session_close(session);
    }
    assert_true(n_stopped > 0);
}

static void a_stopped_change_leaves_the_session(void **state)
{
    (void)state;
    Error err = {0};
    Session *session = open_watched(NULL, MEGATRON, &propagator_explain, &err);
    assert_non_null(session);
    const Plan *plan = session->plan;
    int n_done = session->journal.n_done;
    for (int after_us = 0; after_us < 10000; after_us = after_us * 5 / 4 + 50) {
        Progress progress = {.stage = NULL};
        Stopper stopper = {&progress, after_us};
        pthread_t thread;
        err = (Error){0};
        assert_int_equal(pthread_create(&thread, NULL, stop_later, &stopper), 0);
        Change change = {.kind = after_us % 2 ? CHANGE_POLICY : CHANGE_MESH, .progress = &progress};
        change.text = change.kind == CHANGE_MESH ? "tp=4" : NULL;
        Session *next = session_prepare(session, &change, &err);
        pthread_join(thread, NULL);
        if (!next)
            assert_int_equal(err.kind, ERROR_CANCELLED);
        session_discard(session, next);
        assert_ptr_equal(session->plan, plan);
        assert_int_equal(session->journal.n_done, n_done);
    }
    assert_true(session_set_mesh(session, "tp=4", &err));
    session_close(session);
}

/* Before its instructions are used up, which would be an error of the script. */
static void a_script_without_an_end_is_stopped(void **state)
{
    (void)state;
    char path[] = "/tmp/dimscope-progress-XXXXXX.lua";
    close(mkstemps(path, 4));
    assert_true(file_write(
        path, STR("function PAS(graph)\n  while true do pcall(error) end\nend\n"), NULL));
    Progress progress = {.stage = NULL};
    Stopper stopper = {&progress, 20000};
    pthread_t thread;
    Error err = {0};
    assert_int_equal(pthread_create(&thread, NULL, stop_later, &stopper), 0);
    assert_null(open_watched(&progress, path, &propagator_explain, &err));
    pthread_join(thread, NULL);
    assert_int_equal(err.kind, ERROR_CANCELLED);
    assert_string_equal(err.text, "stopped");
    unlink(path);
}

static const Propagator *propagators[] = {&propagator_explain, &propagator_shardy, &propagator_spmd,
                                          &propagator_torch};

int main(void)
{
    Arena *arena = arena_new();
    scripts = scripts_new(arena, ".");
    hooks = scripts_hooks(scripts);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_and_stages),
        cmocka_unit_test(nobody_watches),
        cmocka_unit_test(lines_are_cut_and_counted),
        cmocka_unit_test(opening_tells_of_the_first_ops),
        cmocka_unit_test_prestate(opening_stops_at_any_moment, &propagators[0]),
        cmocka_unit_test_prestate(opening_stops_at_any_moment, &propagators[1]),
        cmocka_unit_test_prestate(opening_stops_at_any_moment, &propagators[2]),
        cmocka_unit_test_prestate(opening_stops_at_any_moment, &propagators[3]),
        cmocka_unit_test(a_stopped_change_leaves_the_session),
        cmocka_unit_test(a_script_without_an_end_is_stopped),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    scripts_free(scripts);
    arena_free(arena);
    return failed;
}
