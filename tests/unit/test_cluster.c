/* Devices of several kinds: what a stage does is priced as on a machine of its kind alone, and what
 * has devices of several kinds as on the slowest. */
#include "tests/unit/planning.h"
#include "tests/unit/shipped_machine.h"

#include "core/cost/cost.h"
#include "core/cost/pipeline.h"
#include "core/plan/plan_machine.h"
#include "core/plan/stage.h"
#include "core/reshard/cluster.h"
#include "core/search/decide.h"
#include "core/search/search.h"
#include "core/session/make.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

static const char mixed[] = "return {name = 'mixed', source = 'a test', kinds = {"
                            "{devices = 8, machine = include 'h100x8'}, "
                            "{devices = 8, machine = include 'a100x8'}}}";

static const char *write_machine(Arena *arena, const char *text)
{
    const char *path = arena_printf(arena, "/tmp/dimscope-cluster-%d.lua", (int)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* A session and the scripts that it asks, closed together. */
static Scripts *scripts_of_tests[8];
static int n_scripts;

static void close_all(Session *const *session, int n)
{
    for (int i = 0; i < n; i++)
        session_close(session[i]);
    while (n_scripts > 0)
        scripts_free(scripts_of_tests[--n_scripts]);
}

static Session *open_on(Arena *arena, const char *machine, const char *mesh, const char *policy)
{
    static DimBinding dim[2];
    dim[0] = (DimBinding){.name = STR("batch"), .size = 4};
    dim[1] = (DimBinding){.name = STR("seq"), .size = 16};
    SessionHooks hooks = scripts_hooks(scripts_of_tests[n_scripts++] = scripts_new(arena, "."));
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx",
                              .mesh = mesh,
                              .policy = policy,
                              .machine = machine,
                              .train = "adamw"};
    for (int i = 0; i < 2; i++)
        vec_push(arena, &options.dims, dim[i]);
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    return session;
}

static void assert_same(double got, double want)
{
    if (fabs(got - want) > 1e-9 * (1 + fabs(want)))
        fail_msg("%.12g, not %.12g", got, want);
}

static SearchResult search(Arena *arena, const Session *session)
{
    SearchResult found;
    Error err = {0};
    if (!search_plan(arena, &(SearchRequest){.session = session, .unfold = true}, &found, &err))
        fail_msg("%s", err.text);
    assert_int_equal(found.outcome, SEARCH_PLAN);
    return found;
}

/* The whole step against the steps of the same plan on each kind alone. */
static void a_stage_is_priced_on_its_own_devices(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *machine[] = {write_machine(arena, mixed), "h100x8", "a100x8"};
    Session *on[3];
    for (int i = 0; i < 3; i++)
        on[i] = open_on(arena, machine[i], "pp=2,dp=2,tp=4", "hybrid3d");
    const Plan *plan = on[0]->plan;
    assert_int_equal(plan->decided->stages->n, 2);
    int differ = 0;
    for (int i = 0; i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        int stage = stage_of(plan, op);
        assert_true(stage >= 0);
        double h100 = on[1]->plan->priced->op_us[op], a100 = on[2]->plan->priced->op_us[op];
        bool both = plan_devices(plan, op) == 0; /* the sum of gradients of the stages */
        assert_same(plan->priced->op_us[op], both ? fmax(h100, a100) : stage ? a100 : h100);
        differ += on[1]->plan->priced->op_us[op] != on[2]->plan->priced->op_us[op];
    }
    assert_true(differ > 100);
    int inside = 0, sent = 0;
    assert_int_equal(plan->moved->n_reshards, on[1]->plan->moved->n_reshards);
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Reshard *reshard = &plan->moved->reshards[i];
        double h100 = on[1]->plan->moved->reshards[i].path->us,
               a100 = on[2]->plan->moved->reshards[i].path->us;
        bool crosses = reshard->from_devices != reshard->to_devices;
        assert_same(reshard->path->us, crosses ? fmax(h100, a100)
                                       : plan_machine_of(plan, reshard->to_devices)->name[0] == 'h'
                                           ? h100
                                           : a100);
        inside += !crosses && h100 != a100;
        sent += crosses;
    }
    assert_true(inside > 10 && sent > 1);
    double step = plan_step_us(plan);
    assert_true(plan_step_us(on[1]->plan) < step && step < plan_step_us(on[2]->plan) * 1.01);
    close_all(on, 3);
    remove(machine[0]);
    arena_free(arena);
}

/* dp crosses the nodes: each op has devices of both kinds. */
static void the_slowest_kind_counts(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *path = write_machine(arena, mixed);
    Session *both = open_on(arena, path, "dp=2,tp=8", "megatron"),
            *slow = open_on(arena, "a100x8", "dp=2,tp=8", "megatron");
    for (int i = 0; i < both->plan->inferred->n_program; i++) {
        int32_t op = both->plan->inferred->program[i];
        assert_same(both->plan->priced->op_us[op], slow->plan->priced->op_us[op]);
    }
    Machine h100, a100;
    Error err = {0};
    assert_true(shipped_machine(arena, "h100x8", &h100, &err) &&
                shipped_machine(arena, "a100x8", &a100, &err));
    int64_t least = h100.memory_bytes < a100.memory_bytes ? h100.memory_bytes : a100.memory_bytes;
    assert_int_equal(plan_memory(both->plan), least);
    SearchResult found = search(arena, both), least_found = search(arena, slow);
    assert_true(found.proven);
    assert_same(found.cost_us, least_found.cost_us);
    close_all((Session *[]){both, slow}, 2);
    remove(path);
    arena_free(arena);
}

/* ---- the search, against every combination of cuts ---- */

static const char two_stages_model[] =
    "function MODEL(model)\n"
    "local x = model:input('x', 'f32', {64, 512})\n"
    "local y = model:op('MatMul', {x, model:param('w', {512, 2048}, 'f32')})\n"
    "local z = model:op('MatMul', {y, model:param('v', {2048, 512}, 'f32')})\n"
    "model:output(z, 'out')\nend\n"
    "function PAS(graph)\n"
    "graph:staging{graph:node(0), graph:node(1)}\n"
    "for i, stage in ipairs(graph:segments()) do graph:assign(stage, {pp = i - 1}) end\n"
    "graph:schedule('1f1b', {micro_batches = 2})\nreturn graph\nend\n";

typedef struct {
    Arena *arena;
    const Session *session;
    const Instance *instance;
    Decisions pins;
    double best_us;
    int n_plans;
} Brute;

/* Plans every combination of cuts of the ops from number `at` on. */
static void try_all(Brute *b, int at)
{
    const Inferred *inferred = b->instance->inferred;
    if (at == inferred->n_program) {
        Journal journal = session_journal_with(b->session, b->arena, b->pins.at, b->pins.n);
        PlanRequest request = session_request(b->session, &journal);
        Plan *plan = plan_make(&request, NULL);
        assert_non_null(plan);
        b->best_us = fmin(b->best_us, plan_step_us(plan));
        b->n_plans++;
        plan_free(plan);
        return;
    }
    int32_t op = inferred->program[at];
    const CutList *cuts = &b->instance->cuts[op];
    for (int c = 0; c < cuts->n; c++) {
        int n = b->pins.n;
        for (int j = 0; j < cuts->at[c]->n; j++)
            vec_push(b->arena, &b->pins,
                     (Decision){.kind = PIN_INDEX_DIM,
                                .place = op,
                                .dim = j,
                                .cut = &cuts->at[c]->index[j],
                                .origin = {.kind = ORIGIN_USER, .file = "", .text = ""}});
        try_all(b, at + 1);
        b->pins.n = n;
    }
}

/* One stage on each kind. */
static void a_search_prices_each_stage_on_its_own_devices(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *machine = write_machine(arena, mixed), *model = "/tmp/dimscope-two-stages.lua";
    assert_true(file_write(model, str_from(two_stages_model), NULL));
    SessionHooks hooks = scripts_hooks(scripts_of_tests[n_scripts++] = scripts_new(arena, "."));
    SessionOptions options = {
        .model = model, .mesh = "pp=2,dp=2,tp=4", .policy = model, .machine = machine};
    Error err = {0};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    SearchMemo *memo = search_memo_new();
    InstanceOptions how = {.unfold = true, .memo = memo};
    Brute brute = {arena, session, instance_make(arena, session, &how, NULL), {0}, INFINITY, 0};
    try_all(&brute, 0);
    assert_true(brute.n_plans > 100);
    SearchResult found = search(arena, session);
    assert_true(found.bound_us <= brute.best_us * (1 + 1e-9));
    assert_true(found.cost_us <= brute.best_us * (1 + 1e-6));
    search_memo_free(memo);
    close_all(&session, 1);
    remove(model);
    remove(machine);
    arena_free(arena);
}

/* The fullest rank is the one that needs most of its own device's memory. */
static void memory_is_that_of_the_rank_s_device(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *path = write_machine(
        arena,
        "local small = {}; for name, value in pairs(include 'h100x8') do small[name] = value "
        "end; small.memory_bytes = 40000; small.name = 'small'; "
        "return {name = 'mixed', source = 'a test', kinds = {"
        "{devices = 8, machine = include 'h100x8'}, {devices = 8, machine = small}}}");
    Session *session = open_on(arena, path, "pp=2,dp=2,tp=4", "hybrid3d");
    const Plan *plan = session->plan;
    assert_true(plan->priced->peak_rank >= 8);
    assert_int_equal(plan_memory(plan), 40000);
    assert_int_equal(plan_rank_memory(plan, 0), 80000000000);
    close_all(&session, 1);
    remove(path);
    arena_free(arena);
}

static const struct {
    const char *kinds, *said;
} refused[] = {
    {"{}", "'kinds' must be a list of 1 to 6 kinds"},
    {"3", "'kinds' must be a list of 1 to 6 kinds"},
    {"{{devices = 8}}", "a kind lacks 'machine'"},
    {"{{machine = include 'h100x8'}}", "a kind lacks 'devices'"},
    {"{{devices = 4, machine = include 'h100x8'}}",
     "devices must be a multiple of 8, the devices of a node of h100x8"},
    {"{{devices = 0, machine = include 'h100x8'}}",
     "devices must be a multiple of 8, the devices of a node of h100x8"},
    {"{{devices = 8, machine = include 'h100x8'}, {devices = 72, machine = include 'gb200x72'}}",
     "devices_per_node must be equal for all kinds: h100x8 has 8, gb200x72 72"},
    {"{{devices = 8, machine = 3}}", "machine is a number, not a table"},
    {"{{devices = 8, machine = include 'h100x8', speed = 2}}", "a kind has no field 'speed'"},
};

static void bad_kinds_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        Arena *arena = arena_new();
        const char *path = write_machine(
            arena,
            arena_printf(arena, "return {name = 'x', source = 'y', kinds = %s}", refused[i].kinds));
        Machine machine;
        Error err = {0};
        assert_false(shipped_machine(arena, path, &machine, &err));
        assert_string_equal(err.text, refused[i].said);
        assert_string_equal(err.file, path);
        remove(path);
        arena_free(arena);
    }
}

/* FILE:KIND is the machine of that kind alone. */
static void one_kind_is_named_behind_the_file(void **state)
{
    static const struct {
        const char *kind, *is, *said;
    } rows[] = {{"a100x8", "a100x8", ""},
                {"1", "h100x8", ""},
                {"2", "a100x8", ""},
                {"3", NULL, "mixed has no kind of devices '3'"},
                {"b200x8", NULL, "mixed has no kind of devices 'b200x8'"}};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Arena *arena = arena_new();
        const char *path = write_machine(arena, mixed);
        Machine machine;
        Error err = {0};
        bool ok = shipped_machine(arena, arena_printf(arena, "%s:%s", path, rows[i].kind), &machine,
                                  &err);
        assert_int_equal(ok, rows[i].is != NULL);
        assert_string_equal(err.text, rows[i].said);
        if (ok) {
            assert_string_equal(machine.name, rows[i].is);
            assert_null(machine.cluster);
        } else {
            assert_string_equal(err.hint, "its kinds: h100x8, a100x8");
        }
        remove(path);
        arena_free(arena);
    }
}

static void more_devices_than_the_machine_has_are_a_warning(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const char *path = write_machine(arena, mixed);
    Session *session = open_on(arena, path, "pp=4,dp=2,tp=4", "hybrid3d");
    int n = 0;
    for (int i = 0; i < session->plan->findings.n; i++)
        n += strcmp(session->plan->findings.at[i].code, "machine-devices") == 0;
    assert_int_equal(n, 1);
    close_all(&session, 1);
    remove(path);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stage_is_priced_on_its_own_devices),
        cmocka_unit_test(the_slowest_kind_counts),
        cmocka_unit_test(a_search_prices_each_stage_on_its_own_devices),
        cmocka_unit_test(memory_is_that_of_the_rank_s_device),
        cmocka_unit_test(bad_kinds_are_refused),
        cmocka_unit_test(one_kind_is_named_behind_the_file),
        cmocka_unit_test(more_devices_than_the_machine_has_are_a_warning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
