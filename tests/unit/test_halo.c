/* Windows over a sharded dim: neighbours exchange the borders of their parts, where that is cheaper
 * than to gather the dim, and ranks compute what one device does. */
#include "tests/unit/planning_text.h"

#include "core/cost/traffic.h"
#include "core/explain/why_reshard.h"
#include "core/plan/json_forms.h"
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
     "x 2,8,64/a,64", "y 2,8,62/a,62", "halo_exchange a 1 x 4096"},
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
    {"strides that leave ranks without a window",
     "x <- Neg f32[2,8,8,4]; y <- MaxPool x kernel_shape=[3,1] strides=[3,1]", "a=4", "x 2,8,8/a,4",
     "x 2,8,8/a,4", NULL},
    {"parts of size 0", "x <- Neg f32[2,8,5,4]; y <- Conv x f32[8,8,3,1]! pads=[1,0,1,0]", "a=4",
     "x 2,8,5/a,4", "x 2,8,5/a,4", NULL},
    {"a layer after the other", IMAGE CONV3 "; z <- Conv y f32[8,8,5,5]! pads=[2,2,2,2]", "a=4",
     "x 2,8,64/a,64", "z 2,8,64/a,64", "halo_exchange a 1 x 8192; halo_exchange a 1 x 16384"},
};

#define UP "x <- Neg f32[2,4,16,8]; "
#define LINE "x <- Neg f32[2,64]; "
#define QKV "q <- Neg f32[2,4,32,8]; k <- Neg f32[2,4,32,8]; v <- Neg f32[2,4,32,8]; "

/* Windows that step by a part of an element, shifts, and sums that run along a sharded dim. */
static PlanRow more_rows[] = {
    {"a transposed convolution", UP "y <- ConvTranspose x f32[4,3,3,3]! pads=[1,1,1,1]", "a=4",
     "x 2,4,16/a,8", "y 2,3,16/a,8", "halo_exchange a 1 x 512"},
    {"a transposed convolution by two",
     UP "y <- ConvTranspose x f32[4,3,4,4]! strides=[2,2] pads=[1,1,1,1]", "a=4", "x 2,4,16/a,8",
     "y 2,3,32/a,16", "halo_exchange a 1 x 512"},
    {"the same, back from its result",
     UP "y <- ConvTranspose x f32[4,3,4,4]! strides=[2,2] pads=[1,1,1,1]", "a=4", "y 2,3,32/a,16",
     "x 2,4,16/a,8", "halo_exchange a 1 x 512"},
    {"windows side by side need nothing", UP "y <- ConvTranspose x f32[4,3,2,2]! strides=[2,2]",
     "a=4", "x 2,4,16/a,8", "y 2,3,32/a,16", ""},
    {"a pool of means", UP "y <- AveragePool x kernel_shape=[3,3] pads=[1,1,1,1]", "a=4",
     "x 2,4,16/a,8", "y 2,4,16/a,8", "halo_exchange a 1 x 512"},
    {"a pool of powers", UP "y <- LpPool x kernel_shape=[3,3] pads=[1,1,1,1]", "a=4",
     "x 2,4,16/a,8", "y 2,4,16/a,8", "halo_exchange a 1 x 512"},
    {"neighbouring channels", "x <- Neg f32[2,16,4,8]; y <- LRN x size=3", "a=4", "x 2,16/a,4,8",
     "y 2,16/a,4,8", "halo_exchange a 1 x 512"},
    {"resized by two", UP "y <- Resize x - - i64[4]{2,4,32,16} mode=\"linear\"", "a=4",
     "x 2,4,16/a,8", "y 2,4,32/a,16", "halo_exchange a 1 x 512"},
    {"resized by three halves", UP "y <- Resize x - - i64[4]{2,4,24,8} mode=\"linear\"", "a=4",
     "x 2,4,16/a,8", "y 2,4,24/a,8", "halo_exchange a 1 x 768"},
    {"resized by a half", UP "y <- Resize x - - i64[4]{2,4,8,8} mode=\"cubic\"", "a=2",
     "x 2,4,16/a,8", "y 2,4,8/a,8", NULL},
    {"resized to corners that stay",
     UP "y <- Resize x - - i64[4]{2,4,24,8} mode=\"linear\" "
        "coordinate_transformation_mode=\"align_corners\"",
     "a=4", "x 2,4,16/a,8", "y 2,4,24/a,8", NULL},
    {"nearest, by five quarters", UP "y <- Resize x - - i64[4]{2,4,20,8} mode=\"nearest\"", "a=4",
     "x 2,4,16/a,8", "y 2,4,20/a,8", NULL},
    {"padded", LINE "y <- Pad x i64[4]{0,1,0,1}", "a=4", "x 2,64/a", "y 2,66/a",
     "halo_exchange a 1 x 16"},
    {"padded by what is reflected", LINE "y <- Pad x i64[4]{0,2,0,2} mode=\"reflect\"", "a=4",
     "x 2,64/a", "y 2,68/a", "halo_exchange a 1 x 16"},
    {"padded by the edge, unevenly",
     "x <- Neg f32[2,61,3]; y <- Pad x i64[6]{0,3,1,0,1,1} mode=\"edge\"", "a=4", "x 2,61/a,3",
     "y 2,65/a,5", "halo_exchange a 1 x 48"},
    {"padded by the other end", LINE "y <- Pad x i64[4]{0,1,0,1} mode=\"wrap\"", "a=4", "x 2,64/a",
     "y 2,66/a", "halo_exchange a 1 x 24"},
    {"reflected further than a part is gathered",
     "x <- Neg f32[2,16]; y <- Pad x i64[4]{0,9,0,0} mode=\"reflect\"", "a=8", "x 2,16/a", "y 2,25",
     "all_gather a 1 x 128"},
    {"rolled", LINE "y <- Roll x axes=[1] shifts=[3]", "a=4", "x 2,64/a", "y 2,64/a",
     "halo_exchange a 1 x 24"},
    {"rolled back, both dims", "x <- Neg f32[30,16]; y <- Roll x axes=[0,1] shifts=[-3,15]",
     "a=4,b=2", "x 30/a,16/b", "y 30/a,16/b", "halo_exchange a.b 1 x 140"},
    {"rolled, of a sum that another axis makes",
     "x <- Neg f32[2,12,8]; y <- MatMul x f32[8,3]!; z <- Roll y axes=[1] shifts=[1]", "a=3,b=2",
     "x 2,12/a,8/b", "y 2,12/a,3 Σb", NULL},
    {"rolled by more than a part is gathered", LINE "y <- Roll x axes=[1] shifts=[24]", "a=4",
     "x 2,64/a", "y 2,64", "all_gather a 1 x 512"},
    {"shifted by one", LINE "y <- Slice x i64[1]{1} i64[1]{64} i64[1]{1}", "a=4", "x 2,64/a",
     "y 2,63/a", "halo_exchange a 1 x 8"},
    {"a half is gathered", LINE "y <- Slice x i64[1]{0} i64[1]{32} i64[1]{1}", "a=4", "x 2,64/a",
     "y 2,32", "all_gather a 1 x 512"},
    {"keys in a window before each query",
     QKV "y <- Attention q k v is_causal=1 left_window_size=3; z <- Neg y", "a=4", "q 2,4,32/a,8",
     "z 2,4,32/a,8", "halo_exchange a 2 x 768"},
    {"on both sides, from the keys",
     QKV "m <- Neg f32[2,1,32,32]; y <- Attention q k v m left_window_size=2 right_window_size=1; "
         "z <- Neg y",
     "a=4", "k 2,4,32/a,8", "z 2,4,32/a,8", "halo_exchange a 2 x 768"},
    {"packed, heads of groups by another axis, uneven",
     "q <- Neg f32[2,30,24]; k <- Neg f32[2,30,12]; v <- Neg f32[2,30,12]; y <- Attention q k v "
     "q_num_heads=4 kv_num_heads=2 left_window_size=2 right_window_size=2; z <- Neg y",
     "a=4,b=2", "q 2,30/a,24/b", "z 2,30/a,24/b", "halo_exchange a 2 x 192"},
    {"a window wider than the part of a neighbour",
     QKV "y <- Attention q k v left_window_size=9 right_window_size=9; z <- Neg y", "a=4",
     "q 2,4,32/a,8; k 2,4,32/a,8; v 2,4,32/a,8", "z 2,4,32/a,8", NULL},
    {"causal without a state",
     "x <- Neg f32[2,4,64]; y <- CausalConvWithState x f32[4,1,4]! activation=\"silu\"", "a=8",
     "x 2,4,64/a", "y 2,4,64/a", "halo_exchange a 1 x 96"},
    {"a running sum", LINE "y <- CumSum x i64[]{1}; z <- Neg y", "a=4", "x 2,64/a", "z 2,64/a",
     "scan a 1 x 32"},
    {"from its end", LINE "y <- CumSum x i64[]{1} reverse=1; z <- Neg y", "a=4", "x 2,64/a",
     "z 2,64/a", "scan a 1 x 32"},
    {"over two axes, uneven", "x <- Neg f32[2,30]; y <- CumSum x i64[]{1}; z <- Neg y", "a=2,b=4",
     "x 2,30/a.b", "z 2,30/a.b", "scan a.b 1 x 64"},
    {"parts that are empty", "x <- Neg f32[2,5]; y <- CumSum x i64[]{1}; z <- Neg y", "a=4",
     "x 2,5/a", "z 2,5/a", "scan a 1 x 32"},
    {"along the first dim", "x <- Neg f32[16,3]; y <- CumSum x i64[]{0}; z <- Neg y", "a=4",
     "x 16/a,3", "z 16/a,3", "scan a 1 x 48"},
    {"one that leaves out itself", LINE "y <- CumSum x i64[]{1} exclusive=1; z <- Neg y", "a=4",
     "x 2,64/a", "z 2,64/a", "halo_exchange a 1 x 8; scan a 1 x 32"},
    {"one that leaves out itself, from the end of uneven parts",
     "x <- Neg f32[2,29]; y <- CumSum x i64[]{1} exclusive=1 reverse=1; z <- Neg y", "a=4",
     "x 2,29/a", "z 2,29/a", "halo_exchange a 1 x 8; scan a 1 x 32"},
    {"a U-Net",
     "x <- Conv f32[1,3,32,16] f32[8,3,3,3]! pads=[1,1,1,1]; d <- Relu x; "
     "p <- MaxPool d kernel_shape=[2,2] strides=[2,2]; m <- Conv p f32[16,8,3,3]! pads=[1,1,1,1]; "
     "n <- Relu m; u <- ConvTranspose n f32[16,8,2,2]! strides=[2,2]; c <- Concat u d axis=1; "
     "e <- Conv c f32[8,16,3,3]! pads=[1,1,1,1]; y <- Conv e f32[4,8,1,1]!",
     "a=2,b=2", "x 1,8,32/a,16/b", "y 1,4,32/a,16/b", NULL},
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

/* ---- the backward pass: addends that overlap at the borders go back to the neighbours ---- */

typedef struct {
    const char *name, *net, *mesh, *pin;
    const char *gradient, *made, *moved; /* of a value; NULL: any */
} TrainRow;

#define LOSS "; l <- ReduceMean z keepdims=0"

static TrainRow train_rows[] = {
    {"a convolution",
     "x <- Mul f32[2,3,16,8] f32[2,3,16,8]!; y <- Conv x f32[4,3,3,3]! pads=[1,1,1,1]; z <- Mul y "
     "y" LOSS,
     "a=4", "y 2,4,16/a,8", "x~grad", "2,3,16/a[1,1],8 Σa", "HX a"},
    {"both dims",
     "x <- Mul f32[2,3,16,8] f32[2,3,16,8]!; y <- Conv x f32[4,3,3,3]! pads=[1,1,1,1]; z <- Mul y "
     "y" LOSS,
     "a=2,b=2", "y 2,4,16/a,8/b", "x~grad", "2,3,16/a[1,1],8/b[1,1] Σa.b", "HX a.b"},
    {"a step of two",
     "x <- Mul f32[2,3,16,8] f32[2,3,16,8]!; y <- Conv x f32[4,3,3,1]! pads=[1,0,1,0] "
     "strides=[2,1]; z <- Mul y "
     "y" LOSS,
     "a=4", "y 2,4,8/a,8", "x~grad", "2,3,16/a[1,0],8 Σa", "HX a"},
    {"uneven parts",
     "x <- Mul f32[2,3,14,8] f32[2,3,14,8]!; y <- Conv x f32[4,3,3,1]! pads=[1,0,1,0]; z <- Mul y "
     "y" LOSS,
     "a=4", "y 2,4,14/a,8", "x~grad", "2,3,14/a[1,1],8 Σa", "HX a"},
    {"a pool of the greatest",
     "x <- Mul f32[2,3,16,8] f32[2,3,16,8]!; y <- MaxPool x kernel_shape=[3,1] pads=[1,0,1,0]; z "
     "<- Mul y y" LOSS,
     "a=4", "y 2,3,16/a,8", "x~grad", "2,3,16/a[1,1],8 Σa", "HX a"},
    {"a pool of means",
     "x <- Mul f32[2,3,16,8] f32[2,3,16,8]!; y <- AveragePool x kernel_shape=[3,1] strides=[2,1]; "
     "z <- Mul y y" LOSS,
     "a=2", "y 2,3,7/a,8", "x~grad", "2,3,16/a[0,1],8 Σa", "HX a"},
    {"a pool of powers",
     "x <- Mul f32[2,3,16,8] f32[2,3,16,8]!; y <- LpPool x kernel_shape=[3,1]; z <- Mul y y" LOSS,
     "a=2", "y 2,3,14/a,8", NULL, NULL, NULL},
    {"neighbouring channels",
     "x <- Mul f32[2,8,4,4] f32[2,8,4,4]!; y <- LRN x size=3; z <- Mul y y" LOSS, "a=2",
     "y 2,8/a,4,4", "x~grad", "2,8/a[1,1],4,4 Σa", "HX a"},
    {"read by two convolutions",
     "x <- Mul f32[2,3,16,8] f32[2,3,16,8]!; u <- Conv x f32[4,3,3,3]! pads=[1,1,1,1]; v <- Conv x "
     "f32[4,3,5,5]! "
     "pads=[2,2,2,2]; z <- Mul u v" LOSS,
     "a=4", "u 2,4,16/a,8", NULL, NULL, NULL},
    {"beside a sum over channels",
     "x <- Mul f32[2,4,16,8] f32[2,4,16,8]!; y <- Conv x f32[4,4,3,3]! pads=[1,1,1,1]; z <- Mul y "
     "y" LOSS,
     "a=4,b=2", "y 2,4/b,16/a,8", NULL, NULL, NULL},
    {"a transposed convolution",
     "x <- Mul f32[2,4,16,8] f32[2,4,16,8]!; y <- ConvTranspose x f32[4,3,4,4]! strides=[2,2] "
     "pads=[1,1,1,1]; z <- Mul y y" LOSS,
     "a=4", "y 2,3,32/a,16", "x~grad", "2,4,16/a[1,1],8 Σa", "HX a"},
    {"a resized image",
     "x <- Mul f32[2,4,16,8] f32[2,4,16,8]!; y <- Resize x - - i64[4]{2,4,24,8} mode=\"linear\"; "
     "z <- Mul y y" LOSS,
     "a=4", "y 2,4,24/a,8", "x~grad", "2,4,16/a[2,1],8 Σa", "HX a"},
    {"a shift",
     "x <- Mul f32[2,64] f32[2,64]!; y <- Slice x i64[1]{1} i64[1]{64} i64[1]{1}; z <- Mul y "
     "y" LOSS,
     "a=4", "y 2,63/a", "x~grad", "2,64/a[0,1] Σa", "HX a"},
    {"what is reflected",
     "x <- Mul f32[2,64] f32[2,64]!; y <- Pad x i64[4]{0,2,0,1} mode=\"reflect\"; z <- Mul y "
     "y" LOSS,
     "a=4", "y 2,67/a", "x~grad", "2,64/a[1,1] Σa", "HX a"},
    {"keys in a window",
     "q <- Mul f32[2,2,16,4] f32[2,2,16,4]!; k <- Mul f32[2,2,16,4] f32[2,2,16,4]!; v <- Mul "
     "f32[2,2,16,4] f32[2,2,16,4]!; y <- Attention q k v is_causal=1 left_window_size=2; z <- Mul "
     "y y" LOSS,
     "a=4", "y 2,2,16/a,4", "k~grad", "2,2,16/a[2,0],4 Σa", "HX a"},
    {"rolled", "x <- Mul f32[2,64] f32[2,64]!; y <- Roll x axes=[1] shifts=[3]; z <- Mul y y" LOSS,
     "a=4", "y 2,64/a", "x~grad", "2,64/a[3,0~] Σa", "HX a"},
    {"a running sum", "x <- Mul f32[2,64] f32[2,64]!; y <- CumSum x i64[]{1}; z <- Mul y y" LOSS,
     "a=4", "y 2,64/a", "x~grad", "2,64/a[<,] Σa", "SC a"},
    {"a running sum without its own element",
     "x <- Mul f32[2,64] f32[2,64]!; y <- CumSum x i64[]{1} exclusive=1; z <- Mul y y" LOSS, "a=4",
     "y 2,64/a", "x~grad", "2,64/a[<,] Σa", "SC a"},
    {"one from the end of uneven parts",
     "x <- Mul f32[2,29] f32[2,29]!; y <- CumSum x i64[]{1} exclusive=1 reverse=1; z <- Mul y "
     "y" LOSS,
     "a=4", "y 2,29/a", "x~grad", "2,29/a[,>] Σa", "SC a"},
    {"a U-Net",
     "x <- Conv f32[1,3,32,16] f32[8,3,3,3]! pads=[1,1,1,1]; d <- Relu x; "
     "p <- MaxPool d kernel_shape=[2,2] strides=[2,2]; m <- Conv p f32[16,8,3,3]! pads=[1,1,1,1]; "
     "n <- Relu m; u <- ConvTranspose n f32[16,8,2,2]! strides=[2,2]; c <- Concat u d axis=1; "
     "e <- Conv c f32[8,16,3,3]! pads=[1,1,1,1]; z <- Conv e f32[4,8,1,1]!" LOSS,
     "a=2,b=2", "x 1,8,32/a,16/b", NULL, NULL, NULL},
    {"a ViT",
     "x <- Conv f32[1,3,32,16] f32[8,3,4,4]! strides=[4,4]; r <- Reshape x i64[3]{1,8,32}; "
     "t <- Transpose r perm=[0,2,1]; q <- MatMul t f32[8,8]!; k <- MatMul t f32[8,8]!; "
     "u <- Transpose k perm=[0,2,1]; s <- MatMul q u; p <- Softmax s axis=2; o <- MatMul p t; "
     "z <- MatMul o f32[8,4]!" LOSS,
     "a=2,b=2", "x 1,8,8/a,4/b", NULL, NULL, NULL},
    {"windows that overlap nowhere, stored otherwise",
     "x <- Mul f32[2,1,4,11] f32[2,1,4,11]!; y <- Conv x f32[5,1,2,3]! strides=[3,2] "
     "dilations=[2,1] pads=[1,1,1,2]; z <- Mul y y" LOSS,
     "a=5,b=2", "x 2,1,4,11/a; y 2,5,2/b,6", "x~grad", "2,1,4/b,11", "SL"},
    {"a layer after the other",
     "x <- Mul f32[2,3,16,8] f32[2,3,16,8]!; u <- Conv x f32[4,3,3,3]! pads=[1,1,1,1]; y <- Conv u "
     "f32[4,4,5,5]! "
     "pads=[2,2,2,2]; z <- Mul y y" LOSS,
     "a=4", "y 2,4,16/a,8", "u~grad", "2,4,16/a[2,2],8 Σa", "HX a"},
};

static void the_step_is_that_of_one_device(void **state)
{
    static const RunOptions verified = {.verify = true, .seed = 3, .repeat = 1};
    const TrainRow *row = *state;
    Planning *p = planning_text(row->net, row->mesh);
    planning_train(p, "", "sgd");
    planning_each(p, row->pin, planning_pin_text);
    planning_make(p);
    int32_t gradient = row->gradient ? naming_find(p->naming, str_from(row->gradient), NULL) : -1;
    assert_true(!row->gradient || gradient >= 0);
    for (int r = 0; gradient >= 0 && r < p->plan->moved->n_reshards; r++) {
        const Reshard *reshard = &p->plan->moved->reshards[r];
        if (reshard->tensor != gradient)
            continue;
        Buf made = buf_new(p->arena), steps = buf_new(p->arena);
        sharding_format(shardings_at(p->plan->shardings, reshard->from), p->mesh, VIEW_OURS, &made,
                        NULL);
        reshard_format_steps(reshard->path, p->mesh, &steps);
        assert_string_equal(made.s, row->made);
        assert_string_equal(steps.s, row->moved);
        gradient = -2; /* found */
    }
    assert_true(!row->gradient || gradient == -2);
    RunReport report;
    Error err = {0};
    if (!run_plan(p->arena, p->plan, &verified, &report, &err))
        planning_fail(&err);
    assert_true(report.ok);
    planning_close(p);
}

/* Why a value whose reader, or whose maker, has halos is moved. */
static void the_reason_names_the_borders(void **state)
{
    (void)state;
    Planning *p = planning_text(train_rows[0].net, "a=4");
    planning_train(p, "", "sgd");
    planning_each(p, train_rows[0].pin, planning_pin_text);
    planning_make(p);
    int32_t x = naming_find(p->naming, STR("x"), NULL);
    Buf why = buf_new(p->arena);
    for (int r = 0; r < p->plan->moved->n_reshards; r++)
        if (p->plan->moved->reshards[r].tensor == x ||
            p->plan->inferred->graph->gradient_of[p->plan->moved->reshards[r].tensor] == x)
            why_reshard_format(p->plan, &p->plan->moved->reshards[r], &why);
    assert_non_null(strstr(why.s,
                           "its windows read 1 before and 1 after each shard of dim 2, by a: "
                           "the neighbours send it\n"));
    assert_non_null(
        strstr(why.s, "windows overlap: its results for 1 before and 1 after each shard of dim 2, "
                      "by a, go back to the neighbours, which add them\n"));
    planning_close(p);
}

/* What is gathered since its windows reach too far is said with their halo. */
static void a_halo_that_is_too_wide_is_said(void **state)
{
    (void)state;
    Planning *p =
        planning_text("x <- Neg f32[2,8,8,64]; y <- Conv x f32[8,8,7,1]! pads=[3,0,3,0]", "a=4");
    planning_each(p, "x 2,8,8/a,64", planning_pin_text);
    planning_make(p);
    int n_said = 0;
    for (int i = 0; i < p->plan->findings.n; i++)
        n_said += strstr(p->plan->findings.at[i].text,
                         "needs a halo of 3 before and 3 after, wider than a part of 2") != NULL;
    assert_int_equal(n_said, 1);
    planning_close(p);
}

/* Borders go back the way they came. */
static void what_is_sent_back_is_what_was_read(void **state)
{
    (void)state;
    Planning *p = planning_text(train_rows[0].net, "a=4");
    planning_train(p, "", "sgd");
    planning_each(p, train_rows[0].pin, planning_pin_text);
    planning_make(p);
    Sent sent = {0};
    for (int r = 0; r < p->plan->moved->n_reshards; r++)
        if (sharding_has_halo(shardings_at(p->plan->shardings, p->plan->moved->reshards[r].from)))
            traffic_transfers(p->plan, &p->plan->moved->reshards[r], 0, note_sent, &sent);
    assert_int_equal(sent.n, 6);
    for (int i = 0; i < 3; i++) {
        assert_true(sent.bytes[i][i + 1] == 2 * 3 * 8 * 4);
        assert_true(sent.bytes[i + 1][i] == 2 * 3 * 8 * 4);
    }
    planning_close(p);
}

static void add_bytes(void *sum, int64_t from, int64_t to, double bytes)
{
    (void)from;
    (void)to;
    *(double *)sum += bytes;
}

/* What all ranks receive when each value with a halo is gathered instead. */
static double gathered_bytes(const Planning *p, const Reshard *reshard)
{
    const Sharding *from = shardings_at(p->plan->shardings, reshard->from);
    double n = 0;
    for (int64_t rank = 0; rank < p->mesh->n_devices; rank++)
        n += (double)(shape_elements(inferred_shape(p->plan->inferred, reshard->tensor)) -
                      sharding_local_elements(from, p->mesh, rank));
    return n * (double)element_bytes((Dtype)p->plan->inferred->dtype[reshard->tensor]);
}

static void resnet_in_space_moves_a_twentieth_of_what_gathering_moves(void **state)
{
    (void)state;
    Planning *p = planning_open("resnet50", "batch=2", "h=2,w=2");
    planning_pin(p, "x", 2, "h", 1, false);
    planning_pin(p, "x", 3, "w", 1, false);
    planning_make(p);
    double sent = 0, gathered = 0;
    int n = 0;
    for (int r = 0; r < p->plan->moved->n_reshards; r++) {
        const Reshard *reshard = &p->plan->moved->reshards[r];
        if (reshard->path->step[0].kind != STEP_HALO)
            continue;
        traffic_transfers(p->plan, reshard, 0, add_bytes, &sent);
        gathered += gathered_bytes(p, reshard);
        n++;
    }
    assert_true(n >= 18); /* 16 convolutions of 3x3, the first of 7x7, the pool */
    assert_true(sent > 0 && sent < 0.05 * gathered);
    planning_close(p);
}

/* Other notations have no word for a halo, and nobody chooses one; JSON has a field for it. */
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
    Json *forms[] = {json_of_sharding(read, p->mesh), json_of_placements(read, p->mesh)};
    const char *wants[] = {
        "{\"dims\":[[],[],[\"a\"],[]],\"halo\":[{\"dim\":2,\"before\":1,\"after\":1}],"
        "\"text\":\"2,8,64/a[1,1],64\"}",
        "null"};
    for (int i = 0; i < 2; i++) {
        Buf text = buf_new(p->arena);
        json_write(forms[i], &text);
        assert_string_equal(text.s, wants[i]);
        json_free(forms[i]);
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
        cmocka_unit_test(a_halo_that_is_too_wide_is_said),
        cmocka_unit_test(what_is_sent_back_is_what_was_read),
        cmocka_unit_test(the_reason_names_the_borders),
        cmocka_unit_test(resnet_in_space_moves_a_twentieth_of_what_gathering_moves),
    };
    struct CMUnitTest steps[sizeof train_rows / sizeof *train_rows];
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        steps[i] = (struct CMUnitTest){train_rows[i].name, the_step_is_that_of_one_device, NULL,
                                       NULL, &train_rows[i]};
    return cmocka_run_group_tests_name("steps of training", steps, NULL, NULL) +
           run_rows("halos", rows, planning_row_runs) +
           run_rows("other windows", more_rows, planning_row_runs) +
           cmocka_run_group_tests_name("said", tests, NULL, NULL);
}
