/* A plan along time: it adds up, its letters are told apart, its trace can be read back. */
#include "tests/unit/unit.h"

#include "core/base/json.h"
#include "scripts/hooks.h"
#include "tui/app/app.h"
#include "tui/views/run_state.h"

#include <math.h>

static SessionHooks hooks;

typedef struct {
    const char *name, *model, *mesh, *policy, *dims;
} PlanRow;

static PlanRow plan_rows[] = {
    {"gpt2", "samples/models/gpt2.onnx", "dp=2,tp=4", "megatron", NULL},
    {"gpt2_stored", "samples/models/gpt2.onnx", "dp=4", "fsdp", NULL},
    {"llama", "samples/models/llama-tiny.onnx", "dp=2,tp=2", "megatron", NULL},
    {"one_device", "samples/models/tiny-gpt.onnx", "x=1", NULL, NULL},
    {"resnet", "samples/models/resnet50.onnx", "dp=3", "dp", NULL},
    {"loops", "tests/models/control.onnx", "x=2", NULL, "N=4,S=4"},
    {"stages", "samples/models/llama-3-tiny.json", "pp=2,dp=2,tp=2", "hybrid3d", NULL},
};

static Session *open_row(const PlanRow *row)
{
    SessionOptions options = {.model = row->model, .mesh = row->mesh, .policy = row->policy};
    Error err = {0};
    Arena *arena = arena_new();
    Source dims = {"dims", row->dims ? str_from(row->dims) : STR("")};
    assert_true(!row->dims || dims_parse(arena, &dims, &options.dims, &err));
    Session *session = session_open(&options, &hooks, &err);
    arena_free(arena);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static void spans_add_up_to_the_step(void **state)
{
    Session *session = open_row(*state);
    Timeline *line = timeline_new(session);
    double rows = 0, kinds = 0, step = session->plan->priced->totals.step_us;
    int n = 0;
    assert_int_equal(line->n, session->inferred->n_program + session->plan->moved->n_reshards);
    assert_true(fabs(line->us - step) <= 1e-9 * step);
    for (int r = 0; r < line->n_rows; r++) {
        rows += line->row[r].us;
        n += line->row[r].n;
        assert_int_equal(line->span[line->row[r].first].row, r);
        assert_true(r == 0 || line->row[r].us <= line->row[r - 1].us);
    }
    for (int k = 0; k < line->n_kinds; k++)
        kinds += line->kind[k].us;
    assert_int_equal(n, line->n);
    assert_true(fabs(rows - step) <= 1e-9 * step && fabs(kinds - step) <= 1e-9 * step);
    for (int i = 0; i < line->n; i++) {
        const TimeSpan *span = &line->span[i];
        assert_true((span->op < 0) == (span->kind == KIND_RESHARD));
        if (span->us > 0)
            assert_int_equal(timeline_at(line, span->start_us + span->us / 2), i);
    }
    timeline_free(line);
    session_close(session);
}

static void letters_are_told_apart(void **state)
{
    Session *session = open_row(*state);
    Timeline *line = timeline_new(session);
    bool seen[128] = {false};
    for (int k = 1; k < line->n_kinds; k++) {
        char letter = line->kind[k].letter;
        if (line->kind[k].us <= 0)
            continue;
        assert_false(seen[(int)letter]);
        seen[(int)letter] = true;
    }
    timeline_free(line);
    session_close(session);
}

/* Each op is on the devices that run it and no others; what is sent, on those that get it. */
static void stages_have_rows_of_their_own(void **state)
{
    (void)state;
    static const PlanRow tiny = {"tiny", "samples/models/llama-3-tiny.json", "pp=2,dp=2,tp=2",
                                 "hybrid3d", NULL};
    Session *session = open_row(&tiny);
    const Plan *plan = session->plan;
    Timeline *line = timeline_new(session);
    int sent = 0;
    assert_int_equal(line->n_parts, 2);
    for (int i = 0; i < line->n; i++) {
        const TimeSpan *span = &line->span[i];
        int devices = line->part[span->part];
        if (span->us <= 0)
            continue;
        if (span->op >= 0) {
            assert_int_equal(devices, plan->decided->devices[span->op]);
            continue;
        }
        assert_int_equal(devices, plan->moved->reshards[span->reshard].to_devices);
        sent += devices != plan->moved->reshards[span->reshard].from_devices;
    }
    assert_true(sent > 0);
    timeline_free(line);
    session_close(session);
}

/* ---- the trace ---- */

/* A slice around those of its ops. */
static bool is_module(const Json *event)
{
    return str_eq(json_str(json_get(event, "cat"), ""), STR("module"));
}

static int count_events(const Json *events, const char *phase, int pid)
{
    int n = 0;
    for (int i = 0; i < json_size(events); i++) {
        const Json *at = json_at(events, i);
        n += str_eq(json_str(json_get(at, "ph"), ""), str_from(phase)) &&
             json_int(json_get(at, "pid"), -1) == pid && !is_module(at);
    }
    return n;
}

/* Events of a thread come one after the other: none begins before the last has ended. */
static void check_nesting(const Json *events, int64_t n_threads)
{
    for (int pid = 1; pid <= 2; pid++)
        for (int64_t tid = 1; tid <= n_threads; tid++) {
            double end = 0;
            for (int i = 0; i < json_size(events); i++) {
                const Json *at = json_at(events, i);
                if (!str_eq(json_str(json_get(at, "ph"), ""), STR("X")) ||
                    json_int(json_get(at, "pid"), -1) != pid ||
                    json_int(json_get(at, "tid"), -1) != tid || is_module(at))
                    continue;
                double start = json_real(json_get(at, "ts"), -1);
                assert_true(start >= end - 1e-6);
                end = start + json_real(json_get(at, "dur"), -1);
                assert_true(json_str(json_get(at, "name"), "").n > 0);
            }
        }
}

static void a_trace_is_read_back(void **state)
{
    (void)state;
    static const PlanRow tiny = {"tiny", "samples/models/tiny-gpt.onnx", "dp=2,tp=2", "megatron",
                                 NULL};
    Session *session = open_row(&tiny);
    AppOptions options = {0};
    App *app = app_new(session, &options, NULL, 80, 24);
    app_type(app, STR("9:run repeat 1<Enter>"));
    Buf text = buf_new(app->ui.frame);
    run_put_trace(&app->ui, &text);
    Source source = {"trace", buf_str(&text)};
    Error err = {0};
    Json *root = json_parse(&source, &err);
    if (!root)
        fail_msg("%s", err.text);
    const Json *events = json_get(root, "traceEvents");
    const RunState *run = run_state(&app->ui);
    assert_non_null(run->report.trace);
    assert_int_equal(count_events(events, "X", 1), run->timeline->n);
    assert_int_equal(count_events(events, "X", 2), 4 * run->report.trace->n);
    assert_int_equal(count_events(events, "s", 1), count_events(events, "f", 1));
    assert_true(count_events(events, "s", 1) > 0);
    check_nesting(events, 8);
    json_free(root);
    app_free(app);
    session_close(session);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(stages_have_rows_of_their_own),
                                          cmocka_unit_test(a_trace_is_read_back)};

int main(void)
{
    Arena *arena = arena_new();
    Scripts *scripts = scripts_new(arena, ".");
    hooks = scripts_hooks(scripts);
    int failed = run_rows("spans add up", plan_rows, spans_add_up_to_the_step) +
                 run_rows("letters", plan_rows, letters_are_told_apart) +
                 cmocka_run_group_tests_name("trace", tests, NULL, NULL);
    scripts_free(scripts);
    arena_free(arena);
    return failed;
}
