/* Products whose operands come in parts, or whose results are summed up on their way: what is
 * moved, and that ranks compute what one device does. */
#include "core/cost/cost.h"
#include "core/cost/ring.h"
#include "tests/unit/planning_text.h"
#include "tests/unit/ring_pin.h"

#include "core/run/run.h"

#include <math.h>

typedef struct {
    const char *name, *net, *mesh, *axes, *pin;
    const char *op, *index; /* the index dim of the first op of that operator that goes around .. */
    const char *cut;        /* .. and the one that the axes shard */
    const char *moved;
} ProductRow;

#define LINEAR_OF(x, dtype)                                                                        \
    "x <- Neg " dtype x "; w <- Neg " dtype "[6,12]; y <- MatMul x w; z <- Neg y"
#define LINEAR LINEAR_OF("[2,8,6]", "f32")
#define GEMM "x <- Neg f32[8,6]; w <- Neg f32[6,12]; c <- Neg f32[12]; y <- Gemm x w c; z <- Neg y"

static ProductRow rows[] = {
    {"rows of x come", LINEAR, "a=4", "a", "x 2,8/a,6; z 2,8,12/a", "MatMul", "s", "n",
     "ring a 1 x 96"},
    {"sums of rows go around", LINEAR, "a=3", "a", "x 2,8,6/a; z 2,8/a,12", "MatMul", "s", "k",
     "ring a 1 x 288"},
    {"what is summed over comes in parts", LINEAR, "a=3", "a", "x 2,8,6/a; z 2,8,12/a", "MatMul",
     "k", "n", "ring a 1 x 128"},
    {"columns of w come", LINEAR, "a=4", "a", "x 2,8/a,6; w 6,12/a", "MatMul", "n", "s",
     "ring a 1 x 72"},
    {"rows of w come", LINEAR, "a=3", "a", "x 2,8/a,6; w 6/a,12", "MatMul", "k", "s",
     "ring a 1 x 96"},
    {"two axes, uneven, a batch by a third", LINEAR, "a=2,b=3,c=2", "a,b",
     "x 2/c,8/a.b,6; z 2/c,8,12/a.b", "MatMul", "s", "n", "ring a.b 1 x 48"},
    {"sums over two axes, uneven", LINEAR, "a=2,b=3", "a,b", "x 2,8,6/a.b; z 2,8/a.b,12", "MatMul",
     "s", "k", "ring a.b 1 x 192"},
    {"16 bits", LINEAR_OF("[2,8,6]", "bf16"), "a=4", "a", "x 2,8/a,6; z 2,8,12/a", "MatMul", "s",
     "n", "ring a 1 x 48"},
    {"16 bits, summed up", LINEAR_OF("[2,8,6]", "bf16"), "a=3", "a", "x 2,8,6/a; z 2,8/a,12",
     "MatMul", "s", "k", "ring a 1 x 144"},
    {"16 bits, summed up in place", LINEAR_OF("[2,8,6]", "bf16"), "a=3", "a",
     "x 2,8,6/a; z 2,8,12/a", "MatMul", "k", "n", "ring a 1 x 64"},
    {"an addend that is added once", GEMM, "a=3", "a", "x 8,6/a; z 8/a,12", "Gemm", "m", "k",
     "ring a 1 x 144"},
    {"an addend, where parts are summed up in place", GEMM, "a=3", "a", "x 8,6/a; z 8,12/a", "Gemm",
     "k", "n", "ring a 1 x 64"},
    {"an einsum",
     "x <- Neg f32[2,8,6]; w <- Neg f32[6,12]; y <- Einsum x w equation=\"bsk,kn->bsn\"; "
     "z <- Neg y",
     "a=4", "a", "x 2,8/a,6; z 2,8,12/a", "Einsum", "s", "n", "ring a 1 x 96"},
    {"fewer rows than ranks", LINEAR_OF("[1,3,6]", "f32"), "a=4", "a", "x 1,3/a,6; z 1,3,12/a",
     "MatMul", "s", "n", "ring a 1 x 24"},
};

static void run_verified(Planning *p)
{
    static const RunOptions verified = {.verify = true, .seed = 3, .repeat = 1};
    RunReport report;
    Error err = {0};
    if (!run_plan(p->arena, p->plan, &verified, &report, &err))
        planning_fail(&err);
    if (!report.ok && report.first_bad >= 0)
        fail_msg("%s is wrong: %g instead of %g, within %g",
                 tensor_name(p->graph, report.first_bad), report.wrong.got, report.wrong.want,
                 report.wrong.bound);
    assert_true(report.ok);
}

static void no_errors(const Planning *p)
{
    for (int i = 0; i < p->plan->findings.n; i++)
        if (p->plan->findings.at[i].level == LEVEL_ERROR)
            fail_msg("%s", p->plan->findings.at[i].text);
}

static void pin_cut(Planning *p, int32_t op, const char *name, const char *axes)
{
    int index = opspace_find_index(program_space(p->inferred, op), str_from(name));
    Cut cut = planning_cut(p, program_space(p->inferred, op)->index[index].size, axes, 1);
    Decision pin = {.kind = PIN_INDEX_DIM, .place = op, .dim = index, .cut = &cut};
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    journal_add(&p->journal, p->arena, &pin);
}

static int32_t find_op(const Planning *p, const ProductRow *row, int *index)
{
    for (int i = 0; i < p->graph->n_ops; i++)
        if (strcmp(op_operator(p->graph, i), row->op) == 0) {
            *index = opspace_find_index(program_space(p->inferred, i), str_from(row->index));
            assert_true(*index >= 0);
            return i;
        }
    fail_msg("no %s", row->op);
    return -1;
}

static Planning *ring_planned(const ProductRow *row)
{
    int index = -1;
    Planning *p = planning_text(row->net, row->mesh);
    planning_each(p, row->pin, planning_pin_text);
    int32_t op = find_op(p, row, &index);
    pin_cut(p, op, row->cut, row->axes);
    pin_ring(p, op, index, row->axes, false);
    planning_make(p);
    no_errors(p);
    return p;
}

static void it_runs_as_on_one_device(void **state)
{
    const ProductRow *row = *state;
    Planning *p = ring_planned(row);
    assert_string_equal(planning_collectives(p), row->moved);
    run_verified(p);
    planning_close(p);
}

typedef struct {
    ProductRow row;
    int comes, goes; /* rings of shards, and of sums, in the forward and backward pass */
} TrainRow;

#define STEP                                                                                       \
    "x <- Mul f32[2,8,6] f32[6]!; y <- MatMul x f32[6,12]!; z <- Mul y y; "                        \
    "l <- ReduceMean z keepdims=0"

/* The backward pass of a product whose x comes in parts: dx = dy w^T is summed up on its way, and x
 * comes once more for dw = x^T dy. Of one whose result is summed up on its way dy comes, for both.
 */
static TrainRow train_rows[] = {
    {{"x comes", STEP, "a=4", "a", "x 2,8/a,6", "MatMul", "s", "n", NULL}, 2, 1},
    {{"y is summed up", STEP, "a=3", "a", "x 2,8,6/a; z 2,8/a,12", "MatMul", "s", "k", NULL}, 2, 1},
    {{"with a batch by another axis", STEP, "a=2,b=2", "a", "x 2/b,8/a,6", "MatMul", "s", "n",
      NULL},
     2,
     1},
};

static void the_step_is_that_of_one_device(void **state)
{
    const TrainRow *train = *state;
    const ProductRow *row = &train->row;
    int index = -1, seen[2] = {0};
    Planning *p = planning_text(row->net, row->mesh);
    planning_train(p, "", "sgd");
    planning_each(p, row->pin, planning_pin_text);
    int32_t op = find_op(p, row, &index);
    pin_cut(p, op, row->cut, row->axes);
    pin_ring(p, op, index, row->axes, false);
    planning_make(p);
    no_errors(p);
    for (int r = 0; r < p->plan->moved->n_reshards; r++) {
        const Reshard *reshard = &p->plan->moved->reshards[r];
        for (int i = 0; i < reshard->path->n_steps; i++)
            if (reshard->path->step[i].kind == STEP_RING)
                seen[sharding_has_ring(shardings_at(p->plan->shardings, reshard->from))]++;
    }
    assert_int_equal(seen[0], train->comes);
    assert_int_equal(seen[1], train->goes);
    run_verified(p);
    planning_close(p);
}

/* [8192, 4096] by [4096, 4096] on 4 devices of one node: each of 4 turns takes what its product
 * takes, and of 3 transfers those are hidden that the turns behind the first are long enough for.
 */
static void a_turn_takes_the_longer_of_product_and_transfer(void **state)
{
    (void)state;
    static const ProductRow row = {
        "",
        "x <- Neg bf16[8192,4096]; w <- Neg bf16[4096,4096]; y <- MatMul x w; z <- Neg y",
        "a=4",
        "a",
        "x 8192/a,4096",
        "MatMul",
        "m",
        "n",
        NULL};
    Planning *p = ring_planned(&row);
    int index = -1;
    int32_t op = find_op(p, &row, &index);
    OpCost cost = op_cost(p->plan, op);
    assert_true(cost.turns == 4);
    assert_true(cost.product.m == 2048 && cost.product.n == 1024 && cost.product.k == 4096);
    assert_true(cost.flops == 2.0 * 8192 * 1024 * 4096);
    const ReshardPath *path = p->plan->moved->reshards[0].path;
    assert_true(path->step[0].turns == 3 && path->wire_bytes == (int64_t)3 * 2048 * 4096 * 2);
    double turn = cost.us / 4, waits = fmax(turn, path->us / 3);
    assert_true(fabs(cost.us + path->us - ring_hidden_us(p->plan, &p->plan->moved->reshards[0]) -
                     (turn + 3 * waits)) < 1e-6);
    planning_close(p);
}

/* All ranks would make the same; nothing would go around. */
static void a_ring_that_is_none_is_said(void **state)
{
    (void)state;
    Planning *p = planning_text(LINEAR, "a=2,b=2");
    int index = -1;
    int32_t op = find_op(p, &rows[0], &index);
    pin_ring(p, op, index, "a", false);
    pin_cut(p, op, "n", "b");
    planning_make(p);
    const Finding *found = &p->plan->findings.at[p->plan->findings.n - 1];
    assert_string_equal(found->code, "idle-ring");
    run_verified(p);
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_turn_takes_the_longer_of_product_and_transfer),
        cmocka_unit_test(a_ring_that_is_none_is_said),
    };
    return run_rows("products", rows, it_runs_as_on_one_device) +
           run_rows("steps of training", train_rows, the_step_is_that_of_one_device) +
           cmocka_run_group_tests_name("said", tests, NULL, NULL);
}
