/* Attention whose keys and values go around a ring: what is moved, and that ranks compute what one
 * device does. */
#include "core/cost/cost.h"
#include "core/cost/ring.h"
#include "core/explain/why_reshard.h"
#include "tests/unit/planning_text.h"
#include "tests/unit/random.h"
#include "tests/unit/ring_pin.h"

#include "core/layout/runs.h"
#include "core/plan/op_cut.h"

#include <math.h>

typedef struct {
    const char *name, *net, *mesh, *axes, *pin;
    const char *moved; /* NULL: any */
    bool zigzag;
} RingRow;

#define CAUSAL " is_causal=1; z <- Neg y"

static RingRow rows[] = {
    {"four ranks",
     "q <- Neg f32[2,4,16,8]; k <- Neg f32[2,4,16,8]; v <- Neg f32[2,4,16,8]; "
     "y <- Attention q k v; z <- Neg y",
     "a=4", "a", "q 2,4,16/a,8", "ring a 2 x 1024", false},
    {"causal",
     "q <- Neg f32[2,4,16,8]; k <- Neg f32[2,4,16,8]; v <- Neg f32[2,4,16,8]; "
     "y <- Attention q k v" CAUSAL,
     "a=4", "a", "q 2,4,16/a,8", "ring a 2 x 1024", false},
    {"grouped queries, and heads by another axis",
     "q <- Neg f32[2,4,16,8]; k <- Neg f32[2,2,16,8]; v <- Neg f32[2,2,16,6]; "
     "y <- Attention q k v" CAUSAL,
     "a=4,b=2", "a", "q 2,4/b,16/a,8", "ring a 1 x 256; ring a 1 x 192", false},
    {"packed heads",
     "q <- Neg f32[2,16,24]; k <- Neg f32[2,12,12]; v <- Neg f32[2,12,12]; "
     "y <- Attention q k v q_num_heads=4 kv_num_heads=2; z <- Neg y",
     "a=2", "a", "q 2,16/a,24", "ring a 2 x 576", false},
    {"a mask",
     "q <- Neg f32[2,4,8,8]; k <- Neg f32[2,4,12,8]; v <- Neg f32[2,4,12,8]; "
     "m <- Neg f32[2,1,8,12]; y <- Attention q k v m; z <- Neg y",
     "a=4", "a", "q 2,4,8/a,8", NULL, false},
    {"two axes, uneven",
     "q <- Neg f32[1,2,13,4]; k <- Neg f32[1,2,14,4]; v <- Neg f32[1,2,14,4]; "
     "y <- Attention q k v left_window_size=5 right_window_size=3; z <- Neg y",
     "a=2,b=3", "a,b", "q 1,2,13/a.b,4", "ring a.b 2 x 96", false},
    {"a rank without keys",
     "q <- Neg f32[1,2,8,4]; k <- Neg f32[1,2,5,4]; v <- Neg f32[1,2,5,4]; "
     "y <- Attention q k v; z <- Neg y",
     "a=4", "a", "q 1,2,8/a,4", "ring a 2 x 64", false},
    {"queries that are not sharded: keys and values are gathered",
     "q <- Neg f32[1,2,8,4]; k <- Neg f32[1,2,8,4]; v <- Neg f32[1,2,8,4]; "
     "y <- Attention q k v" CAUSAL,
     "a=4", "a", "k 1,2,8/a,4", "all_gather a 2 x 256", false},
    {"a batch by the same axis: they are there already",
     "q <- Neg f32[4,2,8,4]; k <- Neg f32[4,2,8,4]; v <- Neg f32[4,2,8,4]; "
     "y <- Attention q k v" CAUSAL,
     "a=4", "a", "q 4/a,2,8,4", NULL, false},
    {"dealt in a zigzag",
     "q <- Neg f32[2,4,16,8]; k <- Neg f32[2,4,16,8]; v <- Neg f32[2,4,16,8]; "
     "y <- Attention q k v" CAUSAL,
     "a=4", "a", "q 2,4,(8|8~)/a,8", "ring a 2 x 1024", true},
};

enum { ZIGZAG = sizeof rows / sizeof *rows - 1 };

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

static Planning *ring_planned(const RingRow *row)
{
    int index;
    Planning *p = planning_text(row->net, row->mesh);
    planning_each(p, row->pin, planning_pin_text);
    int32_t op = find_ring_op(p, &index);
    pin_ring(p, op, index, row->axes, row->zigzag);
    planning_make(p);
    for (int i = 0; i < p->plan->findings.n; i++)
        if (p->plan->findings.at[i].level == LEVEL_ERROR)
            fail_msg("%s", p->plan->findings.at[i].text);
    return p;
}

static void it_runs_as_on_one_device(void **state)
{
    const RingRow *row = *state;
    Planning *p = ring_planned(row);
    if (row->moved)
        assert_string_equal(planning_collectives(p), row->moved);
    run_verified(p);
    planning_close(p);
}

typedef struct {
    const char *name, *net, *mesh, *axes, *pin;
    bool zigzag;
} TrainRow;

#define TRAINED(shape) "Mul f32" shape " f32" shape "!"
#define LOSS "; w <- Mul y y; l <- ReduceMean w keepdims=0"

static TrainRow train_rows[] = {
    {"four ranks",
     "q <- " TRAINED("[2,4,16,8]") "; k <- " TRAINED("[2,4,16,8]") "; v <- " TRAINED(
         "[2,4,16,8]") "; y <- Attention q k v" LOSS,
     "a=4", "a", "q 2,4,16/a,8; k 2,4,16/a,8; v 2,4,16/a,8", false},
    {"causal, grouped queries",
     "q <- " TRAINED("[2,4,12,8]") "; k <- " TRAINED("[2,2,12,8]") "; v <- " TRAINED(
         "[2,2,12,6]") "; y <- Attention q k v is_causal=1" LOSS,
     "a=4,b=2", "a", "q 2,4/b,12/a,8; k 2,2/b,12/a,8; v 2,2/b,12/a,6", false},
    {"uneven, with a window and a cap",
     "q <- " TRAINED("[1,2,7,4]") "; k <- " TRAINED("[1,2,10,4]") "; v <- " TRAINED(
         "[1,2,10,4]") "; y <- Attention q k v left_window_size=5 right_window_size=6 "
                       "softcap=2.0" LOSS,
     "a=3", "a", "q 1,2,7/a,4; k 1,2,10/a,4; v 1,2,10/a,4", false},
    {"packed, dealt in a zigzag",
     "q <- " TRAINED("[2,16,24]") "; k <- " TRAINED("[2,16,12]") "; v <- " TRAINED(
         "[2,16,12]") "; y <- Attention q k v q_num_heads=4 kv_num_heads=2 is_causal=1" LOSS,
     "a=4", "a", "q 2,(8|8~)/a,24; k 2,(8|8~)/a,12; v 2,(8|8~)/a,12", true},
};

/* Keys and values go around once in each pass, their gradients too. */
static void the_step_is_that_of_one_device(void **state)
{
    const TrainRow *row = *state;
    int index;
    Planning *p = planning_text(row->net, row->mesh);
    planning_train(p, "", "sgd");
    planning_each(p, row->pin, planning_pin_text);
    int32_t op = find_ring_op(p, &index);
    pin_ring(p, op, index, row->axes, row->zigzag);
    planning_make(p);
    for (int i = 0; i < p->plan->findings.n; i++)
        if (p->plan->findings.at[i].level == LEVEL_ERROR)
            fail_msg("%s", p->plan->findings.at[i].text);
    int64_t n = mesh_atoms_size(p->mesh, cut_atoms(&program_cut(p->plan, op)->index[index]));
    int seen[2] = {0}; /* parts, gradients */
    for (int r = 0; r < p->plan->moved->n_reshards; r++) {
        const ReshardPath *path = p->plan->moved->reshards[r].path;
        for (int s = 0; s < path->n_steps; s++) {
            const Step *step = &path->step[s];
            if (step->kind != STEP_RING)
                continue;
            seen[step->turns == n]++;
            assert_true(step->turns == n - 1 || step->turns == n);
            assert_true(step->wire_bytes == step->turns * step->bytes);
        }
    }
    assert_int_equal(seen[0], 4);
    assert_int_equal(seen[1], 2);
    run_verified(p);
    planning_close(p);
}

/* Shapes, groups, masks, windows and parts that need not be even. */
static void any_attention_runs_around_a_ring(void **state)
{
    (void)state;
    seed = 17;
    for (int i = 0; i < 40; i++) {
        Arena *arena = arena_new();
        int keys = 2 + pick(20), queries = 1 + pick(20), heads = 1 + pick(2), group = 1 + pick(2);
        int ranks = 2 + pick(4), d = 1 + pick(6), e = 1 + pick(6);
        bool mask = pick(3) == 0;
        Buf net = buf_new(arena);
        buf_printf(&net, "q <- Neg f32[2,%d,%d,%d]; k <- Neg f32[2,%d,%d,%d]; ", heads * group,
                   queries, d, heads, keys, d);
        buf_printf(&net, "v <- Neg f32[2,%d,%d,%d]; ", heads, keys, e);
        if (mask)
            buf_printf(&net, "m <- Neg f32[%d,%d]; ", queries, keys);
        buf_printf(&net, "y <- Attention q k v %s is_causal=%d", mask ? "m" : "", pick(2));
        if (pick(3) == 0)
            buf_printf(&net, " left_window_size=%d", pick(8));
        if (pick(3) == 0)
            buf_puts(&net, " softcap=1.5");
        RingRow row = {"", net.s, arena_printf(arena, "a=%d", ranks), "a", NULL, NULL, false};
        row.pin = arena_printf(arena, "q 2,%d,%d/a,%d", heads * group, queries, d);
        Planning *p = ring_planned(&row);
        run_verified(p);
        planning_close(p);
        arena_free(arena);
    }
}

/* The backward pass of the same. */
static void any_attention_trains_around_a_ring(void **state)
{
    (void)state;
    seed = 23;
    for (int i = 0; i < 24; i++) {
        Arena *arena = arena_new();
        int ranks = 2 + pick(4), keys = ranks + pick(12), queries = ranks + pick(12);
        int heads = 1 + pick(2), group = 1 + pick(2), d = 1 + pick(5), e = 1 + pick(5),
            all = heads * group;
        Buf net = buf_new(arena), pins = buf_new(arena);
        buf_printf(&net, "q <- Mul f32[2,%d,%d,%d] f32[2,%d,%d,%d]!; ", all, queries, d, all,
                   queries, d);
        buf_printf(&net, "k <- Mul f32[2,%d,%d,%d] f32[2,%d,%d,%d]!; ", heads, keys, d, heads, keys,
                   d);
        buf_printf(&net, "v <- Mul f32[2,%d,%d,%d] f32[2,%d,%d,%d]!; ", heads, keys, e, heads, keys,
                   e);
        buf_printf(&net, "y <- Attention q k v is_causal=%d", pick(2));
        if (pick(3) == 0)
            buf_printf(&net, " left_window_size=%d", pick(8));
        if (pick(3) == 0)
            buf_puts(&net, " softcap=1.5");
        buf_puts(&net, LOSS);
        buf_printf(&pins, "q 2,%d,%d/a,%d; k 2,%d,%d/a,%d; v 2,%d,%d/a,%d", all, queries, d, heads,
                   keys, d, heads, keys, e);
        TrainRow row = {"", net.s, arena_printf(arena, "a=%d", ranks), "a", pins.s, false};
        void *given = &row;
        the_step_is_that_of_one_device(&given);
        arena_free(arena);
    }
}

/* Liu et al. 2023, section 3: each of n devices sends its block of keys and of values n - 1 times,
 * 2 (n - 1) b (s / n) h d numbers, and where computing on a block takes longer than sending one,
 * all of it is hidden. */
static void long_contexts_are_planned_with_the_published_bytes(void **state)
{
    (void)state;
    static const RingRow row = {"",
                                "q <- Neg bf16[1,32,131072,128]; k <- Neg bf16[1,8,131072,128]; "
                                "v <- Neg bf16[1,8,131072,128]; y <- Attention q k v" CAUSAL,
                                "cp=8",
                                "cp",
                                "q 1,32,131072/cp,128",
                                NULL,
                                false};
    Planning *p = ring_planned(&row);
    const int64_t block = 131072 / 8 * 8 * 128 * 2;
    assert_true(p->plan->priced->totals.comm_bytes == 2 * 7 * block);
    const Totals *totals = &p->plan->priced->totals;
    assert_true(totals->comm_us > 0);
    assert_true(totals->step_us - totals->compute_us < 1e-6 * totals->compute_us);
    assert_true(totals->overlap_us - totals->compute_us < 1e-6 * totals->compute_us);
    planning_close(p);
}

/* The backward pass sends keys and values as often as the forward pass, and with them their
 * gradients, which come home: algorithm 1 of that paper. */
static void their_gradients_go_around_with_keys_and_values(void **state)
{
    (void)state;
    Planning *p = planning_text("q <- Mul bf16[1,32,131072,128] bf16[1,32,131072,128]!; "
                                "k <- Mul bf16[1,8,131072,128] bf16[1,8,131072,128]!; "
                                "v <- Mul bf16[1,8,131072,128] bf16[1,8,131072,128]!; "
                                "y <- Attention q k v is_causal=1" LOSS,
                                "cp=8");
    planning_train(p, "", "sgd");
    planning_each(p, "q 1,32,131072/cp,128; k 1,8,131072/cp,128; v 1,8,131072/cp,128",
                  planning_pin_text);
    int index;
    int32_t op = find_ring_op(p, &index);
    pin_ring(p, op, index, "cp", false);
    planning_make(p);
    const double block = 131072.0 / 8 * 8 * 128 * 2;
    double bytes = 0;
    for (int r = 0; r < p->plan->moved->n_reshards; r++) {
        const ReshardPath *path = p->plan->moved->reshards[r].path;
        for (int s = 0; s < path->n_steps; s++)
            bytes += path->step[s].kind == STEP_RING ? (double)path->step[s].wire_bytes : 0;
    }
    assert_true(bytes == 2 * 7 * block + 2 * 7 * block + 2 * 8 * block);
    planning_close(p);
}

/* What sending takes beyond the op's time is waited for. */
static void what_is_not_hidden_is_waited_for(void **state)
{
    (void)state;
    Planning *p = ring_planned(&rows[0]);
    const Moved *moved = p->plan->moved;
    double us = 0, hidden = 0;
    for (int r = 0; r < moved->n_reshards; r++) {
        us += moved->reshards[r].path->us;
        hidden += ring_hidden_us(p->plan, &moved->reshards[r]);
    }
    int index;
    double compute = p->plan->priced->op_us[find_ring_op(p, &index)] * 3 / 4;
    const Totals *totals = &p->plan->priced->totals;
    assert_true(us > compute);
    assert_true(fabs(hidden - compute) < 1e-9);
    assert_true(fabs(totals->step_us - totals->compute_us - us + hidden) < 1e-9);
    planning_close(p);
}

/* A turn takes as long as its busiest rank: with contiguous parts one has all of a block to do in
 * each but the first, in which all have half of one. */
static void a_zigzag_balances_a_causal_mask(void **state)
{
    (void)state;
    Planning *plain = ring_planned(&rows[1]), *dealt = ring_planned(&rows[ZIGZAG]);
    int index;
    int32_t op = find_ring_op(plain, &index);
    double uneven = ring_imbalance(plain->plan, op, program_cut(plain->plan, op));
    double even = ring_imbalance(dealt->plan, op, program_cut(dealt->plan, op));
    /* 4 ranks of 4 places: 10 pairs and 3 times 16, of 136 / 4 in the mean */
    assert_true(fabs(uneven - 58.0 / 34) < 1e-12);
    assert_true(even < 1.1);
    planning_close(plain);
    planning_close(dealt);
}

static bool read_sharding(Planning *p, const char *text, int64_t size, Sharding *out, Error *err)
{
    Source source = {.name = "cut", .text = str_from(text)};
    Shape shape = {.n_dims = 1, .dim = {size}};
    return sharding_parse(&source, &shape, p->mesh, VIEW_OURS, out, err);
}

/* Each rank has a part of the first half, and the one that mirrors it of the second. */
static void a_zigzag_deals_mirrored_parts(void **state)
{
    (void)state;
    Planning *p = planning_text("x <- Neg f32[16]", "a=2,b=2");
    Sharding sharding;
    Error err = {0};
    assert_true(read_sharding(p, "(8|8~)/a.b[ring]", 16, &sharding, &err));
    Buf text = buf_new(p->arena);
    assert_true(sharding_format(&sharding, p->mesh, VIEW_OURS, &text, &err));
    assert_string_equal(text.s, "(8|8~)/a.b[ring]");
    for (int64_t rank = 0; rank < 4; rank++) {
        Runs runs = cut_runs(p->arena, &sharding.dim[0], p->mesh, rank);
        assert_int_equal(runs.local_size, 4);
        assert_int_equal(runs.at[0].start, 2 * rank);
        assert_int_equal(runs_find(&runs, 16 - 2 * rank - 1), 3);
    }
    Cut by_a = cut_without(&sharding.dim[0], (AtomSet)2, p->mesh);
    assert_int_equal(cut_local_size(&by_a, p->mesh, 0), 8);
    assert_false(read_sharding(p, "(6|6~)/a.b", 12, &sharding, &err));
    assert_non_null(strstr(err.text, "a mirrored block of 6 does not divide by 4"));
    planning_close(p);
}

static void the_reason_names_the_ring(void **state)
{
    (void)state;
    Planning *p = ring_planned(&rows[0]);
    Buf why = buf_new(p->arena);
    why_reshard_format(p->plan, &p->plan->moved->reshards[0], &why);
    assert_non_null(strstr(why.s, "shards of dim 2 go around a ring over a: the op computes on one "
                                  "shard while the next one is being sent; hidden "));
    planning_close(p);
}

static void only_what_can_be_combined_goes_around(void **state)
{
    (void)state;
    Planning *p = planning_text("x <- Neg f32[4,8]; y <- Softmax x axis=1; z <- Neg y", "a=2");
    int32_t op = p->inferred->program[1];
    const OpSpace *space = program_space(p->inferred, op);
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].role == ROLE_FROZEN)
            pin_ring(p, op, j, "a", false);
    planning_make(p);
    assert_false(plan_is_legal(p->plan));
    const Finding *found = &p->plan->findings.at[p->plan->findings.n - 1];
    assert_string_equal(found->code, "frozen-pin");
    assert_non_null(strstr(found->text, "has no parts that can go around a ring"));
    planning_close(p);
}

static void a_gradient_goes_around_only_with_its_forward_op(void **state)
{
    (void)state;
    Planning *p = planning_text(train_rows[0].net, train_rows[0].mesh);
    planning_train(p, "", "sgd");
    planning_each(p, train_rows[0].pin, planning_pin_text);
    int32_t gradient = -1;
    int index = 0;
    for (int i = 0; i < p->inferred->n_program; i++) {
        const OpSpace *space = program_space(p->inferred, p->inferred->program[i]);
        for (int j = 0; space->gradient && j < space->n_index; j++)
            if (space->index[j].rounds > 0) {
                gradient = p->inferred->program[i];
                index = j;
            }
    }
    assert_true(gradient >= 0);
    pin_ring(p, gradient, index, "a", false);
    planning_make(p);
    assert_false(plan_is_legal(p->plan));
    bool found = false;
    for (int i = 0; i < p->plan->findings.n; i++)
        found |=
            strstr(p->plan->findings.at[i].text, "only where it does in the forward op") != NULL;
    assert_true(found);
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_attention_runs_around_a_ring),
        cmocka_unit_test(long_contexts_are_planned_with_the_published_bytes),
        cmocka_unit_test(their_gradients_go_around_with_keys_and_values),
        cmocka_unit_test(a_gradient_goes_around_only_with_its_forward_op),
        cmocka_unit_test(any_attention_trains_around_a_ring),
        cmocka_unit_test(what_is_not_hidden_is_waited_for),
        cmocka_unit_test(a_zigzag_balances_a_causal_mask),
        cmocka_unit_test(a_zigzag_deals_mirrored_parts),
        cmocka_unit_test(the_reason_names_the_ring),
        cmocka_unit_test(only_what_can_be_combined_goes_around),
    };
    return run_rows("rings", rows, it_runs_as_on_one_device) +
           run_rows("steps of training", train_rows, the_step_is_that_of_one_device) +
           cmocka_run_group_tests_name("said", tests, NULL, NULL);
}
