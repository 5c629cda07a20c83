/* A run in a child: what its ranks do to it is told, and does nothing to us. */
#include "tests/unit/opened_op.h"

#include "core/run/run.h"
#include "core/run/supervise.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHILD_STALL_S = 1 };

#define SCRIPT(symbol)                                                                             \
    "register_op('b s -> b s', {name = 'my::op', kernel = {plugin = '%s', symbol = '" symbol       \
    "'}})\n"                                                                                       \
    "function PAS(graph)\n"                                                                        \
    "  for _, node in ipairs(graph:nodes()) do\n"                                                  \
    "    graph:partition(node, node:algorithm('dim'), {idx = 0, dim = 0, num = 4})\n"              \
    "  end\n"                                                                                      \
    "  return graph\n"                                                                             \
    "end\n"

typedef struct {
    const char *name, *symbol;
    bool runs; /* and differs */
    const char *text;
} Fault;

static const Fault faults[] = {
    {"a crash", "crash", false, "rank 1 in my::op 'op': died of signal 6 (Aborted)"},
    {"no memory", "exhaust", false, "rank 1 in my::op 'op': out of memory"},
    {"a rank that waits for ever", "hang", false,
     "rank 1 in my::op 'op': nothing has happened for 1."},
    {"a rank that computes for ever", "spin", false, "rank 1 in my::op 'op': nothing has happened"},
    {"a kernel that ends the process", "leave", false, ": ended with code 0"},
    {"a killed process", "killed", false, "died of signal 9 (Killed)"},
    {"garbage", "garbage", true, "op"},
};

static char library[64];

static int build_library(void **state)
{
    char command[200];
    (void)state;
    snprintf(library, sizeof library, "/tmp/test_supervise_%d.so", (int)getpid());
    snprintf(command, sizeof command, "cc -shared -fPIC -I core/run -o %s tests/native/faulty.c",
             library);
    return system(command);
}

static int drop_library(void **state)
{
    (void)state;
    return unlink(library);
}

static Opened open_faulty(const char *symbol)
{
    char script[1000];
    static const char parts[] = SCRIPT("@");
    const char *at = strchr(parts, '@'), *path = strstr(parts, "%s");
    snprintf(script, sizeof script, "%.*s%s%.*s%s%s", (int)(path - parts), parts, library,
             (int)(at - path - 2), path + 2, symbol, at + 1);
    Opened opened = open_allowing("8x6", "", "tp=4", script, true);
    must_open(&opened);
    return opened;
}

static void a_fault_is_named(void **state)
{
    const Fault *fault = *state;
    Opened opened = open_faulty(fault->symbol);
    RunOptions options = {.verify = fault->runs, .isolated = true, .stall_s = CHILD_STALL_S};
    RunReport report;
    bool ran = run_plan(opened.arena, opened.session->plan, &options, &report, &opened.err);
    assert_int_equal(ran, fault->runs);
    if (!ran) {
        assert_int_equal(opened.err.kind, ERROR_RUN);
        /* others may be in the op too: who ends its process is not seen doing so */
        if (!strstr(opened.err.text, fault->text) ||
            !strstr(opened.err.text, "rank 1 in my::op 'op'"))
            fail_msg("%s", opened.err.text);
    } else {
        assert_false(report.ok);
        assert_int_equal(report.wrong.rank, 1);
        assert_int_equal(opened.session->graph->tensors[report.first_bad].maker, 0);
    }
    close_op(&opened);
}

enum { N_BUSY = 8 };

/* Processes that compute for ever on the one core that this one may use. */
static void begin_busy(pid_t *busy)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    for (int i = 0; i < N_BUSY; i++) {
        busy[i] = fork();
        assert_true(busy[i] >= 0);
        if (busy[i] > 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (volatile long n = 0;; n++)
            continue;
    }
}

/* 0.3 s of computing take 2.7 s of time, more than the limit of one second. */
static void waiting_for_a_core_is_no_stall(void **state)
{
    (void)state;
    pid_t busy[N_BUSY];
    cpu_set_t all;
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    Opened opened = open_faulty("slow");
    RunOptions options = {.isolated = true, .stall_s = CHILD_STALL_S};
    RunReport report;
    begin_busy(busy);
    bool ran = run_plan(opened.arena, opened.session->plan, &options, &report, &opened.err);
    for (int i = 0; i < N_BUSY; i++) {
        kill(busy[i], SIGKILL);
        waitpid(busy[i], NULL, 0);
    }
    sched_setaffinity(0, sizeof all, &all);
    if (!ran)
        fail_msg("%s", opened.err.text);
    close_op(&opened);
}

static bool stop_at_once(void *context, int done, int total)
{
    int *asked = context;
    assert_true(done <= total);
    return ++*asked < 2;
}

/* A rank that never comes is no reason not to stop when asked. */
static void a_stop_is_heard(void **state)
{
    (void)state;
    int asked = 0;
    Opened opened = open_faulty("hang");
    RunOptions options = {
        .isolated = true, .stall_s = 60, .progress = stop_at_once, .context = &asked};
    RunReport report;
    assert_false(run_plan(opened.arena, opened.session->plan, &options, &report, &opened.err));
    assert_int_equal(opened.err.kind, ERROR_CANCELLED);
    close_op(&opened);
}

#define PRODUCT                                                                                    \
    "register_op('b k+, k+ n -> b n', {name = 'my::op', kernel = function(inputs)\n"               \
    "  local x, w, out = inputs[1], inputs[2], {}\n"                                               \
    "  for b = 0, x.shape[1] - 1 do for n = 0, w.shape[2] - 1 do\n"                                \
    "    local sum = 0.0\n"                                                                        \
    "    for k = 0, x.shape[2] - 1 do sum = sum + x:get(b, k) * w:get(k, n) end\n"                 \
    "    out[#out + 1] = sum\n"                                                                    \
    "  end end\n"                                                                                  \
    "  return out\n"                                                                               \
    "end})\n"

/* The report of a child is the report of a run here. */
static void a_child_reports_alike(void **state)
{
    (void)state;
    Opened opened = open_op("8x6,6x4", "", "tp=2", PRODUCT);
    must_open(&opened);
    RunReport report[2];
    for (int i = 0; i < 2; i++) {
        RunOptions options = {.verify = true, .repeat = 3, .trace = true, .isolated = i == 1};
        if (!run_plan(opened.arena, opened.session->plan, &options, &report[i], &opened.err))
            fail_msg("%s", opened.err.text);
        assert_true(report[i].ok);
        assert_non_null(report[i].trace);
        assert_true(report[i].median_us > 0);
    }
    assert_int_equal(report[0].n_values_checked, report[1].n_values_checked);
    assert_int_equal(report[0].peak_bytes, report[1].peak_bytes);
    assert_int_equal(report[0].n_passes, report[1].n_passes);
    assert_int_equal(report[0].trace->n, report[1].trace->n);
    assert_true(report[0].outputs[0].max_abs == report[1].outputs[0].max_abs);
    close_op(&opened);
}

static void die_waiting(Team *team)
{
    for (int r = 0; r < team->n_ranks; r++)
        atomic_store(&team->results->rank[r].head->state, RANK_WAITING);
    raise(SIGKILL);
}

/* Where no rank works, what they wait in is said. */
static void a_death_while_all_wait_names_ranks(void **state)
{
    (void)state;
    Opened opened = open_op("8x6,6x4", "", "tp=2", PRODUCT);
    must_open(&opened);
    const Plan *plan = opened.session->plan;
    RunOptions options = {.isolated = true};
    Program program;
    Results results;
    assert_true(program_lower(opened.arena, plan, &program, &opened.err));
    assert_true(results_open(opened.arena, plan, &program, 2, &options, &results, &opened.err));
    Team team = {.plan = plan,
                 .program = &program,
                 .options = &options,
                 .results = &results,
                 .n_ranks = 2,
                 .n_passes = 1};
    assert_false(supervise(&team, die_waiting, &opened.err));
    if (!strstr(opened.err.text, "rank 0 ") || !strstr(opened.err.text, "rank 1 "))
        fail_msg("%s", opened.err.text);
    results_close(&results);
    close_op(&opened);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(faults) + 4];
    size_t n = 0;
    for (size_t i = 0; i < COUNT_OF(faults); i++)
        tests[n++] = (struct CMUnitTest){.name = faults[i].name,
                                         .test_func = a_fault_is_named,
                                         .initial_state = (void *)(uintptr_t)&faults[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(waiting_for_a_core_is_no_stall);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_stop_is_heard);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_child_reports_alike);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(a_death_while_all_wait_names_ranks);
    return _cmocka_run_group_tests("supervise", tests, n, build_library, drop_library);
}
