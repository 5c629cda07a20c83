/* Models, labels and specs that cannot be trained, or not as one expects: an error that says where
 * and why, or a finding, and what a run says. Operators
 * without derivative are in test_step.c. */
#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/run/run.h"
#include "core/run/runner.h"
#include "scripts/hooks.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define X "local x = model:input('x', 'f32', {8, 16})\n"
#define W "local w = model:param('w', {16, 4}, 'f32')\n"
#define LOSS(y) "model:output(model:op('ReduceMean', {" y "}, {keepdims = 0}), 'loss')\n"
#define HALF(scale)                                                                                \
    "local x = model:input('x', 'f16', {8, 4})\n"                                                  \
    "local w = model:param('w', {4, 4}, 'f16')\n"                                                  \
    "local c = model:constant('c', 'f16', {1}, {" scale "})\n"                                     \
    "local y = model:op('Mul', {model:op('MatMul', {x, w}), c})\n"                                 \
    "model:output(model:op('ReduceSum', {y}, {keepdims = 0}), 'loss')\n"
#define XW "model:op('MatMul', {x, w})"

typedef struct {
    const char *title, *model, *train;
    const char *policy;  /* "" : none */
    const char *refused; /* in the error of opening; NULL: it opens */
    const char *found;   /* the code of a finding; NULL: any */
    const char *run;     /* in the error of the run; NULL: it runs */
    RunVerdict verdict;  /* of the run */
} BadRow;

static BadRow rows[] = {
    {"no output can be scores",
     "local n = model:input('n', 'i64', {8})\nmodel:output(model:op('Mul', {n, n}), 'y')\n", "sgd",
     "", "the model has no loss, and no output that can be scores", NULL, NULL, RUN_PASS},
    {"the loss is no scalar", X W "model:output(" XW ", 'y')\n", "sgd,loss=y", "",
     "'y' cannot be the loss: it is not one float", NULL, NULL, RUN_PASS},
    {"the loss is no tensor", X W LOSS(XW), "sgd,loss=los", "",
     "there is no tensor 'los' to be the loss", NULL, NULL, RUN_PASS},
    {"no samples", "local x = model:input('x', 'f32', {0, 16})\n" W LOSS(XW), "sgd", "",
     "a training step needs samples, and the input 'x' [0,16] has no element", NULL, NULL,
     RUN_PASS},
    {"all parameters are integers",
     X "local k = model:param('k', {16, 4}, 'i64')\n" LOSS(
         "model:op('MatMul', {x, model:op('Cast', {k}, {to = 1})})"),
     "sgd", "", "nothing of the model trains", NULL, NULL, RUN_PASS},
    {"an integer parameter beside one that trains",
     X W "local k = model:param('k', {16, 4}, 'i64')\n" LOSS(
         "model:op('Add', {" XW ", model:op('MatMul', {x, model:op('Cast', {k}, {to = 1})})})"),
     "sgd", "", NULL, "integer-parameter", NULL, RUN_PASS},
    {"a parameter that nothing reads", X W "model:param('u', {16, 4}, 'f32')\n" LOSS(XW), "sgd", "",
     NULL, "unread-parameter", NULL, RUN_PASS},
    {"a parameter behind a rounding",
     X W LOSS("model:op('MatMul', {model:op('Round', {" XW "}), model:param('v', {4, 4}, 'f32')})"),
     "sgd", "", NULL, "no-gradient", NULL, RUN_PASS},
    {"a parameter that the loss does not depend on",
     X W
     "model:output(model:op('MatMul', {x, model:param('u', {16, 4}, 'f32')}), 'aside')\n" LOSS(XW),
     "sgd", "", NULL, "no-gradient", NULL, RUN_PASS},
    {"the loss depends on nothing that trains",
     X W
     "model:output(model:op('MatMul', {x, model:param('u', {16, 4}, 'f32')}), 'aside')\n" LOSS(XW),
     "sgd,clip=1,freeze=w", "", "nothing of the model trains", NULL, NULL, RUN_PASS},
    {"a sum of gradients whose shape depends on data",
     X W
     "local y = model:op('Compress', {" XW ", model:op('Cast', {model:op('ReduceSum', {x, "
     "model:constant('one', 'i64', {1}, {1})}, {keepdims = 0})}, {to = 9})}, {axis = 0})\n" LOSS(
         "model:op('Add', {model:op('Exp', {y}), model:op('Tanh', {y})})"),
     "sgd", "", "its shape is known only at run time", NULL, NULL, RUN_PASS},
    {"a parameter that Identity gives another name",
     X W "local v = model:op('Identity', {w})\n" LOSS("model:op('Mul', {" XW
                                                      ", model:op('MatMul', {x, v})})"),
     "sgd", "", NULL, "merged-parameter", NULL, RUN_PASS},
    {"a graph that has gradients", X W "model:output(model:op('Mul', {w, w}), 'w~grad')\n" LOSS(XW),
     "sgd", "", NULL, "gradient-renamed", NULL, RUN_PASS},
    {"labels beyond the classes",
     X W "local l = model:input('l', 'i64', {8})\n"
         "local far = model:op('Add', {l, model:constant('far', 'i64', {1}, {100})})\n"
         "model:output(model:op('SoftmaxCrossEntropyLoss', {" XW ", far}), 'loss')\n",
     "sgd", "", NULL, NULL, "is outside of 4 classes", RUN_PASS},
    {"labels below zero",
     X W "local l = model:input('l', 'i64', {8})\n"
         "local far = model:op('Sub', {l, model:constant('far', 'i64', {1}, {100})})\n"
         "model:output(model:op('SoftmaxCrossEntropyLoss', {" XW ", far}), 'loss')\n",
     "sgd", "", NULL, NULL, "is outside of 4 classes", RUN_PASS},
    {"a loss that is no number",
     X W LOSS("model:op('Log', {model:op('Neg', {model:op('Exp', {" XW "})})})"), "sgd", "", NULL,
     NULL, NULL, RUN_NOT_PROVEN},
    {"states stored by an axis that does not shard the batch", X W LOSS(XW), "adamw",
     "graph:zero(1, 'tp')", NULL, "store-axis", NULL, RUN_PASS},
    {"states stored by the axis of the batch", X W LOSS(XW), "adamw",
     "graph:shard('x', {[0] = 'dp'})\ngraph:zero(1, 'dp')", NULL, NULL, NULL, RUN_PASS},
    {"a schedule of forwards alone", X W LOSS(XW), "sgd",
     "graph:schedule('infer_pipe', {micro_batches = 2})", NULL, "schedule-without-backward", NULL,
     RUN_PASS},
    {"addends of f16 whose magnitudes, added up, leave its range", HALF("30000"), "sgd",
     "graph:shard('x', {[0] = 'dp'})", NULL, NULL, NULL, RUN_PASS},
    {"addends of f16 that leave its range where one device's sum does not", HALF("60000"), "sgd",
     "graph:shard('x', {[0] = 'dp'})", NULL, NULL, NULL, RUN_FAIL},
};

static const char *made_file(Arena *arena, const char *text)
{
    char name[] = "/tmp/dimscope_bad_XXXXXX.lua";
    int fd = mkstemps(name, 4);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_true(file_write(name, str_from(text), NULL));
    return arena_str(arena, str_from(name));
}

static bool has_finding(const Session *session, const char *code)
{
    const Findings *findings = &session->plan->findings;
    for (int i = 0; i < findings->n; i++)
        if (strcmp(findings->at[i].code, code) == 0)
            return true;
    return false;
}

static void run_row(Arena *arena, const BadRow *row, const Session *session)
{
    RunReport report;
    Error err = {0};
    RunOptions options = {.verify = true, .repeat = 1, .seed = 3};
    bool ran = run_plan(arena, session->plan, &options, &report, &err);
    if (row->run && (ran || !strstr(err.text, row->run)))
        fail_msg("the run: '%s'", err.text);
    if (!row->run && (!ran || report.verdict != row->verdict))
        fail_msg("the run: verdict %d, '%s'", ran ? (int)report.verdict : -1, err.text);
}

static void is_reported(void **state)
{
    const BadRow *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    const char *model =
        made_file(arena, arena_printf(arena, "function MODEL(model)\n%send\n", row->model));
    const char *policy = made_file(
        arena, arena_printf(arena, "function PAS(graph)\n%s\nreturn graph\nend\n", row->policy));
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {
        .model = model, .policy = policy, .mesh = "dp=2,tp=2", .train = row->train};
    Session *session = session_open(&options, &hooks, &err);
    unlink(model);
    unlink(policy);
    if (!row->refused != !!session || (row->refused && !strstr(err.text, row->refused)))
        fail_msg("opening: '%s'", err.text);
    if (session && row->found && !has_finding(session, row->found))
        fail_msg("no finding '%s'", row->found);
    if (session)
        run_row(arena, row, session);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

/* The gradient of y is the loss scale times 1000 / 32: it leaves f16 until the scale has been
 * halved often enough. Then the scale stays. */
static void overflow_halves_the_scale_and_skips_the_step(void **state)
{
    (void)state;
    enum { STEPS = 24 };
    Arena *arena = arena_new();
    Error err = {0};
    const char *model = made_file(
        arena,
        "function MODEL(model)\n"
        "local x = model:input('x', 'f16', {8, 16})\n"
        "local w = model:param('w', {16, 4}, 'f16')\n"
        "local y = model:op('Cast', {model:op('MatMul', {x, w})}, {to = 1})\n"
        "y = model:op('Mul', {y, model:constant('c', 'f32', {1}, {1000})})\n" LOSS("y") "end\n");
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {.model = model, .mesh = "dp=1", .train = "adamw,scale=dynamic"};
    Session *session = session_open(&options, &hooks, &err);
    unlink(model);
    if (!session)
        fail_msg("%s", err.text);
    RunReport report;
    RunOptions run = {.verify = true, .steps = STEPS, .seed = 3};
    assert_true(run_plan(arena, session->plan, &run, &report, &err));
    assert_int_equal(report.verdict, RUN_PASS);
    assert_int_equal(report.n_steps, STEPS);
    double scale = 65536;
    int n_skipped = 0;
    for (int i = 0; i < STEPS; i++) {
        const RunStep *step = &report.steps[i];
        scale = step->skipped ? scale / 2 : scale;
        assert_true(step->scale == scale);
        n_skipped += step->skipped;
    }
    assert_true(n_skipped > 2 && n_skipped < STEPS / 2);
    assert_true(report.steps[0].skipped && !report.steps[STEPS - 1].skipped);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

/* With the scale 65536 the gradient of w is 8192 times each half of the batch, whose addends ranks
 * hold in f16. */
typedef struct {
    const char *title, *train;
    int first, second; /* the rows of both halves */
    RunVerdict verdict;
    bool skipped, overflows;                    /* overflows: on the ranks or on one device alone */
    bool (*op)(Rank *rank, const Instr *instr); /* NULL: as on the host */
    bool (*step)(Rank *rank, const Instr *instr, double *wait_us);
} HalfRow;

/* An element of a gradient, in f16 if an op makes it, is infinite on the last rank. */
static void make_infinite(Rank *rank, int32_t slot, bool made)
{
    const Graph *graph = rank->team->plan->inferred->graph;
    Local *part = slot < 0 ? NULL : rank->slot[slot];
    bool last = rank->position == rank->team->n_ranks - 1;
    const double infinite = INFINITY;
    if (last && part && (!made || part->dtype == DT_F16) &&
        graph->gradient_of[rank->team->program->slots[slot].tensor] >= 0)
        local_store(part, 0, 1, NUMBER_F64, &infinite);
}

static bool op_that_overflows(Rank *rank, const Instr *instr)
{
    const Team *team = rank->team;
    int32_t at = op_output_place(&team->plan->inferred->graph->ops[instr->op]);
    bool ok = host_op(rank, instr);
    make_infinite(rank, team->program->operand[at], true);
    return ok;
}

static bool step_that_overflows(Rank *rank, const Instr *instr, double *wait_us)
{
    bool ok = host_step(rank, instr, wait_us) && rank_meet(rank);
    make_infinite(rank, instr->slot, false);
    return ok && rank_meet(rank);
}

static HalfRow half_rows[] = {
    {"nothing overflows", "adamw,scale=dynamic", 3, 3, RUN_PASS, false, false, NULL, NULL},
    {"each rank's addend overflows, not their sum", "adamw,scale=dynamic", 10, -10, RUN_PASS, true,
     true, NULL, NULL},
    {"the sum overflows, no addend, and ranks add in f32", "adamw,scale=dynamic", 6, 6, RUN_PASS,
     false, true, NULL, NULL},
    {"ranks and one device overflow", "adamw,scale=dynamic", 10, 10, RUN_PASS, true, false, NULL,
     NULL},
    {"each rank's addend overflows, and the scale stays", "adamw,scale=65536", 10, -10, RUN_FAIL,
     false, false, NULL, NULL},
    {"an addend is infinite without a reason", "adamw,scale=dynamic", 3, 3, RUN_FAIL, true, false,
     op_that_overflows, NULL},
    {"a rank receives an infinite gradient", "adamw,scale=dynamic", 3, 3, RUN_FAIL, false, false,
     NULL, step_that_overflows},
};

static void overflow_of_addends_skips_the_step(void **state)
{
    const HalfRow *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    const char *model = made_file(
        arena,
        arena_printf(arena,
                     "function MODEL(model)\n"
                     "local x = model:input('x', 'f16', {8, 4})\n"
                     "local w = model:param('w', {4, 4}, 'f16')\n"
                     "local rows = {}\n"
                     "for i = 1, 32 do rows[i] = i <= 16 and %d or %d end\n"
                     "x = model:op('Mul', {x, model:constant('zero', 'f16', {1}, {0})})\n"
                     "x = model:op('Add', {x, model:constant('rows', 'f16', {8, 4}, rows)})\n"
                     "local y = model:op('Cast', {" XW "}, {to = 1})\n" LOSS("y") "end\n",
                     row->first, row->second));
    const char *policy = made_file(
        arena, "function PAS(graph)\ngraph:shard('x', {[0] = 'dp'})\nreturn graph\nend\n");
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    SessionOptions options = {
        .model = model, .policy = policy, .mesh = "dp=2", .train = row->train};
    Session *session = session_open(&options, &hooks, &err);
    unlink(model);
    unlink(policy);
    if (!session)
        fail_msg("%s", err.text);
    RunReport report;
    Runner runner = host_runner;
    runner.op = row->op ? row->op : runner.op;
    runner.step = row->step ? row->step : runner.step;
    RunOptions run = {.verify = true, .steps = 1, .seed = 3, .runner = &runner};
    assert_true(run_plan(arena, session->plan, &run, &report, &err));
    assert_int_equal(report.verdict, row->verdict);
    assert_int_equal(report.steps[0].skipped, row->skipped);
    assert_int_equal(report.overflowed >= 0, row->overflows);
    session_close(session);
    scripts_free(scripts);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overflow_halves_the_scale_and_skips_the_step),
    };
    return run_rows("bad training", rows, is_reported) +
           run_rows("overflow", half_rows, overflow_of_addends_skips_the_step) +
           cmocka_run_group_tests(tests, NULL, NULL);
}
