/* Stages: ops in a row on parts of the mesh. What crosses is sent, what lies there is counted
 * there, and the run on ranks equals one device, wherever stages are cut. */
#include "core/peers/propagators.h"
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/summary/diff.h"
#include "core/cost/memory.h"
#include "core/session/planfile.h"
#include "core/session/session.h"
#include "core/plan/stage.h"
#include "core/cost/traffic.h"
#include "core/run/run.h"
#include "scripts/hooks.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} Fixture;

static void show(const Error *err)
{
    Arena *arena = arena_new();
    Buf text = buf_new(arena);
    error_format(err, &text);
    print_error("%s", text.s);
    arena_free(arena);
}

static Fixture open_with(Arena *arena, SessionOptions options)
{
    Fixture f = {.arena = arena};
    f.scripts = scripts_new(f.arena, ".");
    SessionHooks hooks = scripts_hooks(f.scripts);
    Error err = {0};
    f.session = session_open(&options, &hooks, &err);
    if (!f.session)
        show(&err);
    assert_non_null(f.session);
    return f;
}

static Fixture open_model(const char *model, const char *mesh, const char *policy)
{
    Arena *arena = arena_new();
    SessionOptions options = {.mesh = mesh, .policy = policy};
    options.model = arena_printf(arena, "samples/models/%s.onnx", model);
    return open_with(arena, options);
}

static void close_model(Fixture *f)
{
    session_close(f->session);
    scripts_free(f->scripts);
    arena_free(f->arena);
}

static SubMesh part_of(const Fixture *f, const char *text)
{
    Source source = {"test", str_from(text)};
    SubMesh sub;
    assert_true(submesh_parse(f->session->mesh, &source, &sub, NULL));
    return sub;
}

/* Cuts the program at these shares of its ops into stages on these parts. */
static void cut_stages(Fixture *f, const double *at, const char *const *parts, int n, bool relay)
{
    const Inferred *inferred = f->session->inferred;
    Decision decisions[32];
    int n_decisions = 0;
    for (int s = 0; s < n; s++) {
        int first = s == 0 ? 0 : (int)(at[s - 1] * inferred->n_program);
        int last = s == n - 1 ? inferred->n_program - 1 : (int)(at[s] * inferred->n_program) - 1;
        if (last < first)
            continue; /* a program of few ops */
        Origin user = {.kind = ORIGIN_USER, .file = "", .text = ""};
        decisions[n_decisions++] = (Decision){
            .kind = PIN_STAGE, .place = inferred->program[first], .relay = relay, .origin = user};
        decisions[n_decisions++] = (Decision){.kind = PIN_DEVICES,
                                              .place = inferred->program[first],
                                              .last = inferred->program[last],
                                              .devices = part_of(f, parts[s]),
                                              .origin = user};
    }
    Error err = {0};
    bool ok = session_apply(f->session, decisions, n_decisions, &err);
    if (!ok)
        show(&err);
    assert_true(ok);
}

static void verify(const Fixture *f)
{
    RunOptions options = {.verify = true, .seed = 3, .repeat = 1};
    RunReport report;
    Error err = {0};
    bool ran = run_plan(f->arena, f->session->plan, &options, &report, &err);
    if (!ran)
        show(&err);
    assert_true(ran);
    if (report.first_bad >= 0)
        print_error("%s differs\n", tensor_name(f->session->graph, report.first_bad));
    assert_true(report.ok);
    assert_true(report.n_values_checked > 0);
    assert_true(report.predicted_peak_bytes >= report.peak_bytes);
}

static int count_sends(const Plan *plan)
{
    int n = 0;
    for (int r = 0; r < plan->moved->n_reshards; r++)
        for (int s = 0; s < plan->moved->reshards[r].path->n_steps; s++)
            n += plan->moved->reshards[r].path->step[s].kind == STEP_SEND;
    return n;
}

/* No op and no tensor is cut by an axis that tells the devices of its stage apart. */
static void check_axes(const Plan *plan)
{
    for (int i = 0; i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        const OpCut *cut = program_cut(plan, op);
        assert_int_equal(cuts_used(cut->index, (int)cut->n, -1) &
                             plan->decided->submeshes[plan_devices(plan, op)].fixed,
                         0);
    }
}

/* ---- run ---- */

typedef struct {
    const char *name, *model, *mesh, *policy;
    int n;
    double at[4];
    const char *parts[4];
    bool relay;
} Staged;

static Staged rows[] = {
    {"two stages", "tiny-gpt", "pp=2", NULL, 2, {.5}, {"pp=0", "pp=1"}, false},
    {"with tp", "tiny-gpt", "pp=2,tp=2", "megatron", 2, {.5}, {"pp=0", "pp=1"}, false},
    {"with dp and tp", "tiny-gpt", "pp=2,dp=2,tp=2", "megatron", 2, {.4}, {"pp=0", "pp=1"}, false},
    {"pp is minor", "tiny-gpt", "dp=2,pp=2", "dp", 2, {.7}, {"pp=0", "pp=1"}, false},
    {"fsdp", "tiny-gpt", "pp=2,dp=2", "fsdp", 2, {.5}, {"pp=0", "pp=1"}, false},
    {"four stages",
     "tiny-gpt",
     "pp=4,tp=2",
     "megatron",
     4,
     {.2, .5, .8},
     {"pp=0", "pp=1", "pp=2", "pp=3"},
     false},
    {"relayed",
     "tiny-gpt",
     "pp=4,tp=2",
     "megatron",
     4,
     {.2, .5, .8},
     {"pp=0", "pp=1", "pp=2", "pp=3"},
     true},
    {"interleaved",
     "tiny-gpt",
     "pp=2,tp=2",
     "megatron",
     4,
     {.2, .5, .8},
     {"pp=0", "pp=1", "pp=0", "pp=1"},
     true},
    {"backwards", "tiny-gpt", "pp=2,tp=2", "megatron", 2, {.5}, {"pp=1", "pp=0"}, false},
    {"unlike parts", "tiny-gpt", "pp=4", NULL, 3, {.3, .6}, {"pp:(1)2=0", "pp=2", "pp=3"}, true},
    {"whole in between",
     "tiny-gpt",
     "pp=2,tp=2",
     "megatron",
     3,
     {.3, .6},
     {"pp=0", "", "pp=1"},
     false},
    {"one device each", "tiny-gpt", "dp=2,tp=2", NULL, 2, {.5}, {"dp=0,tp=1", "dp=1,tp=0"}, false},
    {"llama", "llama-tiny", "pp=2,tp=2", "megatron", 2, {.5}, {"pp=0", "pp=1"}, false},
    {"convolutions", "tiny-conv", "pp=2,dp=2", "dp", 2, {.5}, {"pp=0", "pp=1"}, false},
};

static void equals_one_device(void **state)
{
    const Staged *row = *state;
    Fixture f = open_model(row->model, row->mesh, row->policy);
    cut_stages(&f, row->at, row->parts, row->n, row->relay);
    const Plan *plan = f.session->plan;
    assert_true(plan_is_legal(plan));
    assert_int_equal(plan->decided->stages->n, row->n);
    assert_true(count_sends(plan) >= row->n - 1);
    check_axes(plan);
    verify(&f);
    close_model(&f);
}

/* ---- anywhere ---- */

static uint64_t draw(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

static void stages_anywhere(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-gpt", "llama-tiny", "tiny-conv"};
    static const char *const policies[] = {"megatron", "dp", "fsdp", "tp"};
    static const char *const of_convs[] = {"fsdp", "dp", "fsdp", "dp"}; /* no matmuls that pair */
    static const char *const parts[] = {"pp=0", "pp=1", "", "pp=1,dp=0", "pp=0,tp=1", "dp=1"};
    uint64_t seed = 7;
    for (int i = 0; i < 12; i++) {
        const char *const *of = i % 3 == 2 ? of_convs : policies;
        Fixture f = open_model(models[i % 3], "pp=2,dp=2,tp=2", of[draw(&seed) % 4]);
        const char *chosen[4];
        double at[3] = {.1 + .2 * (double)(draw(&seed) % 100) / 100, 0, 0};
        for (int s = 0; s < 4; s++)
            chosen[s] = parts[draw(&seed) % 6];
        at[1] = at[0] + .2 * (double)(1 + draw(&seed) % 100) / 100;
        at[2] = at[1] + .2 * (double)(1 + draw(&seed) % 100) / 100;
        cut_stages(&f, at, chosen, 4, draw(&seed) % 2);
        if (plan_is_legal(f.session->plan)) /* a policy may pin by an axis of stages */
            verify(&f);
        close_model(&f);
    }
}

/* ---- memory ---- */

/* Each parameter lies in one stage, or in several that read it: in all they hold what one device
 * would, and a rank holds its stage's alone. */
static void parameters_lie_in_stages(void **state)
{
    (void)state;
    Fixture f = open_model("tiny-gpt", "pp=2", NULL);
    InitMemory whole, part[2];
    memory_init(f.session->plan, 0, &whole);
    const char *const parts[] = {"pp=0", "pp=1"};
    cut_stages(&f, (double[]){.5}, parts, 2, false);
    const Plan *plan = f.session->plan;
    memory_init(plan, 0, &part[0]);
    memory_init(plan, 1, &part[1]);
    int32_t tied = naming_find(f.session->naming, STR("transformer.wte.weight"), NULL);
    assert_true(tied >= 0);
    int64_t twice = inferred_bytes(f.session->inferred, tied);
    assert_true(part[0].parts_bytes < whole.parts_bytes && part[1].parts_bytes < whole.parts_bytes);
    assert_true(part[0].parts_bytes + part[1].parts_bytes == whole.parts_bytes ||
                part[0].parts_bytes + part[1].parts_bytes == whole.parts_bytes + twice);
    close_model(&f);
}

/* What is given and handed out as it is lies everywhere, and once more where a stage reads it. */
static void given_outputs_lie_twice(void **state)
{
    (void)state;
    char path[] = "/tmp/dimscope_given_XXXXXX.lua";
    assert_true(mkstemps(path, 4) >= 0);
    assert_true(file_write(path,
                           STR("function MODEL(model)\n"
                               "    local x = model:input('x', 'f32', {64, 64})\n"
                               "    local y = model:op('Relu', {x})\n"
                               "    model:output(model:op('ReduceSum', {y}))\n"
                               "    model:output(x)\n"
                               "end\n"),
                           NULL));
    Fixture f = open_with(arena_new(), (SessionOptions){.model = path, .mesh = "pp=2"});
    cut_stages(&f, rows[0].at, rows[0].parts, 2, false);
    verify(&f);
    close_model(&f);
    unlink(path);
}

/* ---- kept ---- */

static void decide(Fixture *f, Decision decision)
{
    decision.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    assert_true(session_apply(f->session, &decision, 1, NULL));
}

/* A plan file opened again has the same stages, sends and schedule. */
static void plan_files_keep_stages(void **state)
{
    (void)state;
    char path[] = "/tmp/dimscope_stage_XXXXXX.json";
    assert_true(mkstemps(path, 5) >= 0);
    Fixture f = open_model("tiny-gpt", "pp=4,tp=2", "megatron");
    cut_stages(&f, rows[6].at, rows[6].parts, 4, true);
    const Inferred *inferred = f.session->inferred;
    decide(&f, (Decision){.kind = PIN_RECOMPUTE,
                          .place = inferred->program[3],
                          .last = inferred->program[9],
                          .number = 2});
    decide(&f, (Decision){.kind = PIN_SCHEDULE, .schedule = "1f1b", .number = 8});
    assert_true(planfile_save(f.session, path, false, NULL));
    Fixture again = open_with(arena_new(), (SessionOptions){.model = path});
    const Plan *a = f.session->plan, *b = again.session->plan;
    assert_int_equal(b->decided->stages->n, 4);
    assert_int_equal(count_sends(b), count_sends(a));
    assert_true(b->decided->stages->at[1].relay);
    assert_string_equal(b->decided->stages->schedule, "1f1b");
    assert_int_equal(b->decided->stages->n_micro_batches, 8);
    for (int i = 0; i < inferred->n_program; i++) {
        int32_t op = inferred->program[i];
        assert_int_equal(recompute_group(b, op), i >= 3 && i <= 9 ? 2 : -1);
        assert_int_equal(stage_of(b, op), stage_of(a, op));
    }
    assert_true(a->priced->totals.step_us == b->priced->totals.step_us);
    Arena *arena = arena_new();
    const PlanDiff *diff = plan_diff(arena, f.session, again.session);
    for (DiffListKind kind = DIFF_OPS; kind <= DIFF_RESHARDS; kind++)
        assert_int_equal(diff->list[kind].n_entries, 0);
    arena_free(arena);
    close_model(&again);
    close_model(&f);
    unlink(path);
}

/* Those of other systems run in stages too, as long as they leave the axis of stages alone. */
static void other_propagators(void **state)
{
    (void)state;
    static const Propagator *const propagators[] = {&propagator_spmd, &propagator_shardy,
                                                    &propagator_torch, &propagator_vescale};
    for (size_t i = 0; i < sizeof propagators / sizeof *propagators; i++) {
        Fixture f = open_with(arena_new(), (SessionOptions){.model = "samples/models/tiny-gpt.onnx",
                                                            .mesh = "pp=2,dp=2",
                                                            .policy = "dp",
                                                            .propagator = propagators[i],
                                                            .propagator_given = true});
        cut_stages(&f, rows[0].at, rows[0].parts, 2, false);
        const Plan *plan = f.session->plan;
        assert_true(count_sends(plan) >= 1);
        if (plan_is_legal(plan)) {
            check_axes(plan);
            verify(&f);
        }
        close_model(&f);
    }
}

/* An axis that tells the stages apart cuts nothing: the pin is refused by name, and does nothing.
 */
static void axes_of_stages_cut_nothing(void **state)
{
    (void)state;
    Fixture f = open_model("tiny-gpt", "pp=2,tp=2", NULL);
    cut_stages(&f, rows[0].at, rows[0].parts, 2, false);
    int32_t tensor = naming_find(f.session->naming, STR("input_ids"), NULL);
    uint8_t pp = 0;
    const Shape *shape = inferred_shape(f.session->inferred, tensor);
    Cut cut = cut_by(shape->dim[0], &pp, 1, f.session->mesh);
    decide(&f, (Decision){.kind = PIN_TENSOR_DIM, .place = tensor, .dim = 0, .cut = &cut});
    const Plan *plan = f.session->plan;
    const Finding *last = NULL;
    for (int i = 0; i < plan->findings.n; i++)
        if (strcmp(plan->findings.at[i].code, "axis-of-stages") == 0)
            last = &plan->findings.at[i];
    assert_non_null(last);
    assert_int_equal(last->level, LEVEL_ERROR);
    assert_non_null(strstr(last->text, "input_ids"));
    check_axes(plan);
    close_model(&f);
}

/* What goes from stage to stage is what the sends say. */
static void sends_are_traffic(void **state)
{
    (void)state;
    Fixture f = open_model("tiny-gpt", "pp=2,dp=2,tp=2", "megatron");
    cut_stages(&f, rows[2].at, rows[2].parts, 2, false);
    const Plan *plan = f.session->plan;
    Traffic traffic = traffic_of_plan(f.arena, plan, 8);
    double sent = 0, said = 0;
    for (int from = 0; from < 4; from++)
        for (int to = 4; to < 8; to++) {
            sent += traffic.pair[from * 8 + to];
            assert_true(traffic.pair[to * 8 + from] == 0);
            assert_true(to - from == 4 || traffic.pair[from * 8 + to] == 0);
        }
    for (int r = 0; r < plan->moved->n_reshards; r++)
        for (int s = 0; s < plan->moved->reshards[r].path->n_steps; s++)
            if (plan->moved->reshards[r].path->step[s].kind == STEP_SEND)
                said += 4 * (double)plan->moved->reshards[r].path->step[s].bytes;
    assert_true(said > 0 && sent == said);
    close_model(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(plan_files_keep_stages),
    cmocka_unit_test(other_propagators),
    cmocka_unit_test(axes_of_stages_cut_nothing),
    cmocka_unit_test(sends_are_traffic),
    cmocka_unit_test(stages_anywhere),
    cmocka_unit_test(parameters_lie_in_stages),
    cmocka_unit_test(given_outputs_lie_twice),
};

int main(void)
{
    return run_rows("stages", rows, equals_one_device) + cmocka_run_group_tests(tests, NULL, NULL);
}
