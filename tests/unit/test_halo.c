/* Windows over a sharded dim: neighbours exchange the borders of their parts, where that is cheaper
 * than to gather the dim, and ranks compute what one device does. */
#include "tests/unit/planning_text.h"

#include "core/cost/traffic.h"
#include "tests/unit/random.h"

#define IMAGE "x <- Neg f32[2,8,64,64]; "
#define CONV3 "y <- Conv x f32[8,8,3,3]! pads=[1,1,1,1]"
#define POOL3 "y <- MaxPool x kernel_shape=[3,3] pads=[1,1,1,1] strides=[2,2]"

/* Borders are 64 columns of 8 channels of 2 images, 4 B each: 4096 B a row. */
static PlanRow rows[] = {
    {"a row of each neighbour", IMAGE CONV3, "a=4", "x 2,8,64/a,64", "y 2,8,64/a,64",
     "halo_exchange a 1 x 8192"},
    {"back from the output", IMAGE CONV3, "a=4", "y 2,8,64/a,64", "x 2,8,64/a,64",
     "halo_exchange a 1 x 8192"},
    {"corners too", IMAGE CONV3, "a=4,b=4", "x 2,8,64/a,64/b", "y 2,8,64/a,64/b",
     "halo_exchange a.b 1 x 4352"},
    {"over two axes", IMAGE CONV3, "a=2,b=4", "x 2,8,64/a.b,64", "y 2,8,64/a.b,64",
     "halo_exchange a.b 1 x 8192"},
    {"windows of one need none", IMAGE "y <- Conv x f32[8,8,1,1]!", "a=4", "x 2,8,64/a,64",
     "y 2,8,64/a,64", ""},
    {"a step of two reaches to one side", IMAGE POOL3, "a=4", "x 2,8,64/a,64", "y 2,8,32/a,32",
     "halo_exchange a 1 x 4096"},
    {"no pad: all that is read lies behind", IMAGE "y <- Conv x f32[8,8,3,3]!", "a=2",
     "x 2,8,64/a,64", "y 2,8,62/a,62", "halo_exchange a 1 x 8192"},
    {"dilated", IMAGE "y <- Conv x f32[8,8,3,3]! pads=[4,4,4,4] dilations=[4,4]", "a=4",
     "x 2,8,64/a,64", "y 2,8,64/a,64", "halo_exchange a 1 x 32768"},
    {"causal", "x <- Neg f32[2,8,64]; y <- Conv x f32[8,8,4]! pads=[3,0]", "a=8", "x 2,8,64/a",
     "y 2,8,64/a", "halo_exchange a 1 x 192"},
    {"a sum over channels beside it", IMAGE CONV3, "a=4,b=2", "x 2,8/b,64/a,64", "x 2,8/b,64/a,64",
     NULL},
    {"uneven parts", "x <- Neg f32[2,8,30,64]; " CONV3, "a=4", "x 2,8,30/a,64", "y 2,8,30/a,64",
     "halo_exchange a 1 x 8192"},
    {"parts that are narrower than the halo are gathered",
     "x <- Neg f32[2,8,8,64]; y <- Conv x f32[8,8,7,1]! pads=[3,0,3,0]", "a=4", "x 2,8,8/a,64",
     "y 2,8,8,64", "all_gather a 1 x 32768"},
    {"a layer after the other", IMAGE CONV3 "; z <- Conv y f32[8,8,5,5]! pads=[2,2,2,2]", "a=4",
     "x 2,8,64/a,64", "z 2,8,64/a,64", "halo_exchange a 1 x 8192; halo_exchange a 1 x 16384"},
};

/* Ranks at the ends have one neighbour. */
static void what_is_read_ends_where_the_tensor_does(void **state)
{
    (void)state;
    Planning *p = planning_row(&rows[0]);
    const Reshard *reshard = &p->plan->moved->reshards[0];
    assert_int_equal(p->plan->moved->n_reshards, 1);
    assert_int_equal(reshard->path->step[0].kind, STEP_HALO);
    Buf to = buf_new(p->arena);
    Error err = {0};
    const Sharding *read = shardings_at(p->plan->shardings, reshard->to);
    assert_true(sharding_format(read, p->mesh, VIEW_OURS, &to, &err));
    assert_string_equal(to.s, "2,8,64/a[1,1],64");
    int64_t local[] = {17, 18, 18, 17};
    for (int64_t rank = 0; rank < 4; rank++)
        assert_int_equal(cut_local_size(&read->dim[2], p->mesh, rank), local[rank]);
    planning_close(p);
}

typedef struct {
    int64_t n;
    double bytes[4][4];
} Sent;

static void note_sent(void *context, int64_t from, int64_t to, double bytes)
{
    Sent *sent = context;
    sent->n++;
    sent->bytes[from][to] += bytes;
}

static void neighbours_alone_send(void **state)
{
    (void)state;
    Planning *p = planning_row(&rows[0]);
    Sent sent = {0};
    traffic_transfers(p->plan, &p->plan->moved->reshards[0], 0, note_sent, &sent);
    assert_int_equal(sent.n, 6);
    for (int i = 0; i < 3; i++) {
        assert_true(sent.bytes[i][i + 1] == 4096);
        assert_true(sent.bytes[i + 1][i] == 4096);
    }
    planning_close(p);
}

/* Windows of any size, step, spread and pads, over parts that need not be even: in a convolution, a
 * pool, and the two behind each other. */
static void any_window_runs_as_on_one_device(void **state)
{
    (void)state;
    static const RunOptions verified = {.verify = true, .seed = 5, .repeat = 1};
    int n_halos = 0;
    seed = 11;
    for (int i = 0; i < 60; i++) {
        Arena *arena = arena_new();
        int size = 8 + pick(40), kernel = 1 + pick(5), spread = 1 + pick(2);
        int reach = spread * (kernel - 1), step = 1 + pick(3), pool = 1 + pick(3);
        Buf net = buf_new(arena);
        buf_printf(
            &net,
            "x <- Neg f32[2,3,%d,6]; y <- Conv x f32[4,3,%d,1]! strides=[%d,1] dilations=[%d,1] "
            "pads=[%d,0,%d,0]; z <- MaxPool y kernel_shape=[%d,1] strides=[%d,1]",
            size, kernel, step, spread, pick(reach + 1), reach, pool, 1 + pick(2));
        Planning *p = planning_text(net.s, arena_printf(arena, "a=%d", 2 + pick(4)));
        planning_pin(p, "x", 2, "a", 1, false);
        planning_make(p);
        for (int r = 0; r < p->plan->moved->n_reshards; r++)
            for (int s = 0; s < p->plan->moved->reshards[r].path->n_steps; s++)
                n_halos += p->plan->moved->reshards[r].path->step[s].kind == STEP_HALO;
        RunReport report;
        Error err = {0};
        if (!run_plan(p->arena, p->plan, &verified, &report, &err))
            planning_fail(&err);
        if (!report.ok)
            fail_msg("%s", net.s);
        planning_close(p);
        arena_free(arena);
    }
    assert_true(n_halos > 20);
}

/* Other notations have no word for a halo, and nobody chooses one. */
static void only_our_notation_says_it(void **state)
{
    (void)state;
    Planning *p = planning_row(&rows[0]);
    const Sharding *read = shardings_at(p->plan->shardings, p->plan->moved->reshards[0].to);
    for (ShardingView view = VIEW_DIMS_MAPPING; view < VIEW_COUNT; view++) {
        Buf text = buf_new(p->arena);
        Error err = {0};
        assert_false(sharding_format(read, p->mesh, view, &text, &err));
        assert_non_null(strstr(err.text, "halo"));
    }
    Source source = {.name = "pin", .text = STR("2,8,64/a[1,1],64")};
    Sharding sharding;
    Error err = {0};
    Shape shape = {4, {2, 8, 64, 64}};
    assert_false(sharding_parse(&source, &shape, p->mesh, VIEW_OURS, &sharding, &err));
    assert_non_null(strstr(err.text, "halo"));
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_ends_where_the_tensor_does),
        cmocka_unit_test(neighbours_alone_send),
        cmocka_unit_test(any_window_runs_as_on_one_device),
        cmocka_unit_test(only_our_notation_says_it),
    };
    return run_rows("halos", rows, planning_row_runs) +
           cmocka_run_group_tests_name("said", tests, NULL, NULL);
}
