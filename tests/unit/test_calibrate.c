/* A machine that is known is found again from the times it would take. */
#include "tests/unit/unit.h"

#include "core/cost/cost.h"
#include "core/run/calibrate.h"
#include "scripts/hooks.h"

#include <math.h>

typedef struct {
    const char *name, *mesh;
    double launch_us, matmul, memory, vector, gather_share, latency_us, link;
} Hidden;

static const Hidden machines[] = {
    {"a device", "x=8", 2, 60e12, 3e12, 40e12, 0.5, 2, 400e9},
    {"a core", "x=2", 0.4, 120e9, 9e9, 0, 0.7, 5, 4e9},
    {"a machine that computes slowly", "x=4", 10, 1e9, 50e9, 0.2e9, 1, 20, 1e9},
    {"a slow network", "x=3", 1, 1e12, 100e9, 0, 0.3, 500, 10e6},
};

static Machine machine_of(const Machine *base, const Hidden *hidden)
{
    Machine machine = *base;
    memset(machine.flops_per_s, 0, sizeof machine.flops_per_s);
    memset(machine.vector_flops_per_s, 0, sizeof machine.vector_flops_per_s);
    machine.launch_us = hidden->launch_us;
    machine.flops_per_s[DT_F32] = hidden->matmul;
    machine.vector_flops_per_s[DT_F32] = hidden->vector > 0 ? hidden->vector : 1e30;
    machine.memory_bytes_per_s = hidden->memory;
    machine.matmul_share = machine.memory_share = 1;
    machine.gather_share = hidden->gather_share;
    machine.inside = machine.between =
        (Link){.name = "hidden", .latency_us = hidden->latency_us, .bytes_per_s = hidden->link};
    machine.tuning = NULL;
    machine.matmul_us = machine.norm_share = machine.function_share = 0;
    machine.processors = 0;
    return machine;
}

/* The report of a run on that machine, in which every rank waits a second for the others. */
static RunReport report_of(Arena *arena, const Plan *plan, const Machine *machine)
{
    RunReport report = {.n_ranks = (int)plan->mesh->n_devices};
    report.op_us = arena_array(arena, double, plan->inferred->graph->n_ops);
    report.op_times = arena_array(arena, double, plan->inferred->graph->n_ops);
    report.reshard_times = arena_array(arena, double, plan->moved->n_reshards);
    report.reshard_us = arena_array(arena, double, plan->moved->n_reshards);
    report.reshard_move_us = arena_array(arena, double, plan->moved->n_reshards);
    for (int i = 0; i < plan->inferred->n_program; i++) {
        int32_t op = plan->inferred->program[i];
        OpCost cost = op_cost(plan, op);
        report.op_us[op] = op_cost_on(&cost, machine).us;
    }
    for (int i = 0; i < plan->moved->n_reshards; i++)
        for (int s = 0; s < plan->moved->reshards[i].path->n_steps; s++) {
            const Step *step = &plan->moved->reshards[i].path->step[s];
            double us = price_step(machine, plan->mesh, step->kind, step->atoms, step->bytes).us;
            report.reshard_move_us[i] += us;
            report.reshard_us[i] += us + 1e6;
        }
    return report;
}

static void assert_near(double got, double want)
{
    if (fabs(got - want) > 0.02 * want)
        fail_msg("%g is not %g", got, want);
}

static void a_machine_is_found(void **state)
{
    const Hidden *hidden = *state;
    Arena *arena = arena_new();
    Error err = {0};
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {
        .model = "samples/calibrate.lua", .policy = "samples/calibrate.lua", .mesh = hidden->mesh};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    Machine machine = machine_of(session->machine, hidden), found;
    Calibration said;
    RunReport report = report_of(arena, session->plan, &machine);
    assert_true(calibrate(session->plan, &report, &found, &said, &err));
    assert_true(said.ops.n > 30 && said.reshards.n == 20);
    assert_true(said.ops.after < 1.02 && said.reshards.after < 1.02);
    assert_true(said.ops.before > said.ops.after);
    assert_near(found.flops_per_s[DT_F32] * found.matmul_share, hidden->matmul);
    if (hidden->vector > 0 && hidden->vector < hidden->memory / 12)
        assert_near(found.vector_flops_per_s[DT_F32], hidden->vector);
    else
        assert_near(found.memory_bytes_per_s * found.memory_share, hidden->memory);
    assert_near(found.inside.latency_us, hidden->latency_us);
    assert_near(found.inside.bytes_per_s, hidden->link);
    assert_true(machine_check(&found, &err));
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

/* What ops of a machine take that no formula of ours has: by operator, and by the 0.9th power of
 * the size. */
static double hidden_us(const OpCost *cost)
{
    double size[MEASURED_SIZES], all = 1, of = (double)(cost->op_type[0] % 7) + 1;
    int n = op_cost_sizes(cost, size);
    for (int i = 0; i < n; i++)
        all *= size[i];
    return of * pow(all, 0.9) * 1e-3;
}

/* Two micro-batches: op and reshard times of a report are sums over both. */
static void tables_hold_what_was_measured(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    Error err = {0};
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = "samples/models/tiny-gpt.onnx",
                              .policy = "megatron",
                              .mesh = "dp=2,tp=2",
                              .train = "adamw"};
    Session *session = session_open(&options, &hooks, &err);
    if (!session)
        fail_msg("%s", err.text);
    const Plan *plan = session->plan;
    Machine machine = *session->machine;
    RunReport report = report_of(arena, plan, &machine);
    int n_views = 0, n_ops = plan->inferred->graph->n_ops;
    for (int op = 0; op < n_ops; op++) {
        OpCost cost = op_cost_as_run(plan, op);
        report.op_times[op] = 2;
        report.op_us[op] = cost.op_type && cost.bytes > 0 ? 2 * hidden_us(&cost) : 0;
        n_views += report.op_us[op] > 0 && cost.work == WORK_VIEW;
    }
    assert_true(n_views > 0);
    for (int i = 0; i < plan->moved->n_reshards; i++) {
        const Step *step = &plan->moved->reshards[i].path->step[0];
        report.reshard_times[i] = 2;
        report.reshard_move_us[i] = 2 * (7 + (double)step->bytes * 1e6 / 3e9);
    }
    machine.measured = calibrate_tables(arena, &(CalibratedRun){plan, &report}, 1);
    assert_true(machine_check(&machine, &err));
    for (int op = 0; op < n_ops; op++) {
        OpCost cost = op_cost_as_run(plan, op);
        if (report.op_us[op] > 0)
            assert_near(op_cost_on(&cost, &machine).us, hidden_us(&cost));
    }
    const MeasuredStep *reduce = measured_step(machine.measured, STEP_ALL_REDUCE, 2);
    assert_non_null(reduce);
    assert_near(reduce->latency_us, 7);
    assert_near(reduce->bytes_per_s, 3e9);
    Price price = price_step(&machine, plan->mesh, STEP_ALL_REDUCE, 1, 3000);
    assert_near(price.us, 8);

    /* between and beyond its points */
    OpCost update = {
        .work = WORK_VECTOR, .dtype = DT_F32, .op_type = "AdamWUpdate", .bytes = 60000};
    assert_near(op_cost_on(&update, &machine).us, hidden_us(&update));
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(machines) + 1];
    for (size_t i = 0; i < COUNT_OF(machines); i++)
        tests[i] = (struct CMUnitTest){.name = machines[i].name,
                                       .test_func = a_machine_is_found,
                                       .initial_state = (void *)(uintptr_t)&machines[i]};
    tests[COUNT_OF(machines)] = (struct CMUnitTest)cmocka_unit_test(tables_hold_what_was_measured);
    return _cmocka_run_group_tests("calibrate", tests, COUNT_OF(tests), NULL, NULL);
}
