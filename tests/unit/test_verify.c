/* Verification of runs: kernels broken on one rank in ten ways are caught at the op that is broken,
 * beside elements of any size; right plans of every float type pass; NaN proves nothing. */
#include "tests/unit/planning_text.h"

#include "core/run/run.h"
#include "core/run/rounding.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SUMMED = -1 }; /* the index dim that is summed over */

static void pin_index(Planning *p, int32_t op, int index)
{
    const OpSpace *space = inferred_space(p->inferred, op);
    for (int i = 0; index == SUMMED && i < space->n_index; i++)
        index = space->index[i].role == ROLE_REDUCE ? i : index;
    assert_int_not_equal(index, SUMMED);
    Decision pin = {.kind = PIN_INDEX_DIM, .place = op, .dim = index};
    pin.cut = (Cut[]){planning_cut(p, space->index[index].size, "tp", 1)};
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    journal_add(&p->journal, p->arena, &pin);
}

static RunReport run_verified(Planning *p)
{
    static const RunOptions verified = {.verify = true, .seed = 3, .repeat = 1};
    RunReport report;
    Error err = {0};
    planning_make(p);
    if (!run_plan(p->arena, p->plan, &verified, &report, &err))
        planning_fail(&err);
    return report;
}

/* ---- broken kernels ---- */

/* ORDER BREAK */
typedef enum {
    BREAK_ONE_ELEMENT,
    BREAK_NAN,
    BREAK_INFINITE,
    BREAK_NOTHING_WRITTEN,
    BREAK_DOUBLED,
    BREAK_OFF_BY_ONE,
    BREAK_NEIGHBOURS_SWAPPED,
    BREAK_NEGATED,
    BREAK_LOW_PRECISION,
    BREAK_LAST_LOST,
    BREAK_KINDS
} BreakKind;

static const char *const break_names[] = {
    "one element", "NaN",     "infinite", "nothing written", "doubled",
    "off by one",  "swapped", "negated",  "low precision",   "last lost"};

typedef struct {
    const Kernel *base;
    BreakKind kind;
    bool outlier; /* element 0 of the whole is 1e4, on one device too */
} Broken;

static void edit(Local *out, int64_t i, double x)
{
    local_store(out, i, 1, NUMBER_F64, &x);
}

static double at(const Local *out, int64_t i)
{
    double x;
    local_load(out, i, 1, 1, NUMBER_F64, &x);
    return x;
}

/* The element of the part, after the first, with the largest magnitude. */
static int64_t largest_of(const Local *out, int64_t n)
{
    int64_t most = n - 1;
    for (int64_t i = 1; i < n; i++)
        most = fabs(at(out, i)) > fabs(at(out, most)) ? i : most;
    return most;
}

static void break_output(Local *out, BreakKind kind)
{
    int64_t n = shape_elements(&out->shape), m = largest_of(out, n);
    double x = at(out, m), next = at(out, m - 1);
    switch (kind) {
    case BREAK_ONE_ELEMENT:
        edit(out, m, x * 1.03 + 0.01);
        break;
    case BREAK_NAN:
        edit(out, m, NAN);
        break;
    case BREAK_INFINITE:
        edit(out, m, INFINITY);
        break;
    case BREAK_NOTHING_WRITTEN:
        for (int64_t i = 0; i < n; i++)
            edit(out, i, 0);
        break;
    case BREAK_DOUBLED:
        edit(out, m, 2 * x);
        break;
    case BREAK_OFF_BY_ONE:
        for (int64_t i = n - 1; i > 0; i--)
            edit(out, i, at(out, i - 1));
        break;
    case BREAK_NEIGHBOURS_SWAPPED:
        edit(out, m, next);
        edit(out, m - 1, x);
        break;
    case BREAK_NEGATED:
        edit(out, m, -x);
        break;
    case BREAK_LOW_PRECISION: /* 4 bits */
        for (int64_t i = 0; i < n; i++) {
            int exponent;
            double fraction = frexp(at(out, i), &exponent);
            edit(out, i, ldexp(rint(fraction * 16) / 16, exponent));
        }
        break;
    case BREAK_LAST_LOST:
        edit(out, m, 0);
        break;
    case BREAK_KINDS:
        break;
    }
}

/* Breaks what the last rank makes. */
static bool run_broken(const KernelCall *call, Error *err)
{
    const Broken *broken = call->kernel->row;
    KernelCall base = *call;
    base.kernel = broken->base;
    if (!base.kernel->run(&base, err))
        return false;
    Local *out = call->output[0];
    if (broken->outlier && !call->reduce_cut && (!call->mesh || call->position == 0))
        edit(out, 0, 1e4);
    if (call->mesh && call->position == call->mesh->n_devices - 1)
        break_output(out, broken->kind);
    return true;
}

static void set_kernel(Planning *p, int32_t op, const Kernel *kernel)
{
    const OpSpace *space = inferred_space(p->inferred, op);
    OpSpace *writable;
    memcpy(&writable, &space, sizeof writable); /* no other op of these graphs has this space */
    writable->own = kernel;
}

typedef struct {
    const char *name, *text;
    int op, index; /* which op is broken, by which of its index dims it is sharded */
} BreakRow;

static BreakRow break_rows[] = {
    {"MatMul by rows", "y <- MatMul f32[8,64] f32[64,16]; z <- ReduceSum y", 0, 0},
    {"MatMul over what is summed", "y <- MatMul f32[8,64] f32[64,16]; z <- ReduceSum y", 0, SUMMED},
    {"MatMul f16", "y <- MatMul f16[8,64] f16[64,16]; z <- ReduceSum y", 0, 0},
    {"MatMul bf16", "y <- MatMul bf16[8,64] bf16[64,16]; z <- ReduceSum y", 0, 0},
    {"MatMul f64", "y <- MatMul f64[8,64] f64[64,16]; z <- ReduceSum y", 0, 0},
    {"Gemm", "y <- Gemm f32[8,64] f32[64,16] f32[16]; z <- ReduceSum y", 0, 0},
    {"Conv", "y <- Conv f32[4,3,8,8] f32[8,3,3,3]; z <- ReduceSum y", 0, 0},
    {"Add", "y <- Add f32[8,16] f32[8,16]; z <- ReduceSum y", 0, 0},
    {"Gelu", "y <- Gelu f32[8,16]; z <- ReduceSum y", 0, 0},
    {"Exp", "y <- Exp f32[8,16]; z <- ReduceSum y", 0, 0},
    {"Softmax", "y <- Softmax f32[8,16]; z <- ReduceSum y", 0, 0},
    {"LayerNormalization", "y <- LayerNormalization f32[8,16] f32[16] f32[16]; z <- ReduceSum y", 0,
     0},
    {"ReduceMean", "y <- ReduceMean f32[8,16,32] i64[1]{2}; z <- ReduceSum y", 0, 0},
    {"Transpose", "y <- Transpose f32[8,16] perm=[1,0]; z <- ReduceSum y", 0, 0},
    {"Cast", "y <- Cast f32[8,16] to=10; z <- ReduceSum y", 0, 0},
    {"last of a chain", "x <- MatMul f32[8,64] f32[64,16]; y <- Softmax x; z <- Exp y", 2, 0},
};

static void broken_kernel_is_caught(void **state)
{
    const BreakRow *row = *state;
    for (int k = 0; k < 2 * BREAK_KINDS; k++) {
        Planning *p = planning_text(row->text, "tp=2");
        const OpSpace *space = inferred_space(p->inferred, row->op);
        assert_non_null(space);
        Broken broken = {.kind = (BreakKind)(k / 2), .outlier = k % 2};
        broken.base = kernel_find(space, op_operator(p->graph, row->op));
        Kernel kernel = *broken.base;
        kernel.run = run_broken;
        kernel.row = &broken;
        pin_index(p, row->op, row->index);
        set_kernel(p, row->op, &kernel);
        RunReport report = run_verified(p);
        int32_t made = op_outputs(p->graph, row->op)[0];
        if (report.verdict != RUN_FAIL || report.first_bad != made || report.wrong.moved)
            fail_msg("%s%s: verdict %d, first bad %d (closest %g)", break_names[broken.kind],
                     broken.outlier ? " beside 1e4" : "", (int)report.verdict,
                     (int)report.first_bad, report.closest);
        assert_false(report.ok);
        planning_close(p);
    }
}

/* ---- right plans ---- */

static const char *const right_rows[] = {
    "x <- MatMul @[8,96] @[96,64]; g <- Gelu x; y <- MatMul g @[64,32]; s <- Softmax y",
    "x <- LayerNormalization @[8,96] @[96] @[96]; y <- Sigmoid x; z <- Mul x y",
    "x <- Add @[8,96] @[96]; s <- Exp x; y <- MatMul s @[96,24]; z <- Sqrt s",
};
static const char *const right_types[] = {"f64", "f32", "f16", "bf16"};

/* The text with a type for each @. */
static void with_type(const char *text, const char *type, char *out)
{
    for (; *text; text++) {
        size_t n = *text == '@' ? strlen(type) : 1;
        memcpy(out, *text == '@' ? type : text, n);
        out += n;
    }
    *out = 0;
}

static void right_plans_pass(void **state)
{
    (void)state;
    for (size_t r = 0; r < sizeof right_rows / sizeof *right_rows; r++)
        for (size_t t = 0; t < sizeof right_types / sizeof *right_types; t++)
            for (int index = 0; index < 3; index++) {
                char text[300];
                with_type(right_rows[r], right_types[t], text);
                Planning *p = planning_text(text, "tp=4");
                for (int32_t op = 0; op < p->graph->n_ops; op++) {
                    const OpSpace *space = inferred_space(p->inferred, op);
                    if (index < space->n_index && space->index[index].role != ROLE_FROZEN)
                        pin_index(p, op, index);
                }
                RunReport report = run_verified(p);
                if (report.verdict != RUN_PASS)
                    fail_msg("'%s' by index %d: %s: got %g, want %g, bound %g", text, index,
                             report.first_bad < 0 ? "nothing"
                                                  : tensor_name(p->graph, report.first_bad),
                             report.wrong.got, report.wrong.want, report.wrong.bound);
                assert_true(report.closest <= 1);
                planning_close(p);
            }
}

/* ---- NaN ---- */

/* All NaN, everywhere or on the last rank alone. */
static bool run_nan(const KernelCall *call, Error *err)
{
    (void)err;
    bool everywhere = call->kernel->row != NULL;
    Local *out = call->output[0];
    for (int64_t i = 0; i < shape_elements(&out->shape); i++)
        edit(out, i, everywhere || (call->mesh && call->position > 0) ? NAN : 0.5);
    return true;
}

static RunVerdict nan_verdict(const void *everywhere)
{
    const Kernel kernel = {"nan", run_nan, everywhere, 0, ROUNDING_ULPS};
    Planning *p = planning_text("y <- Tanh f32[8,6]", "tp=2");
    pin_index(p, 0, 0);
    set_kernel(p, 0, &kernel);
    RunReport report = run_verified(p);
    assert_int_equal(report.unproven, everywhere ? op_outputs(p->graph, 0)[0] : -1);
    assert_false(report.ok);
    planning_close(p);
    return report.verdict;
}

static void nan_everywhere_proves_nothing(void **state)
{
    (void)state;
    assert_int_equal(nan_verdict("everywhere"), RUN_NOT_PROVEN);
}

static void nan_on_one_rank_is_wrong(void **state)
{
    (void)state;
    assert_int_equal(nan_verdict(NULL), RUN_FAIL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_plans_pass),
        cmocka_unit_test(nan_everywhere_proves_nothing),
        cmocka_unit_test(nan_on_one_rank_is_wrong),
    };
    return run_rows("broken kernel", break_rows, broken_kernel_is_caught) +
           cmocka_run_group_tests_name("verify", tests, NULL, NULL);
}
