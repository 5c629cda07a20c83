/* Parts of given sizes: where they reach, what is moved, and that ranks compute what one device
 * does, forward and in a step of training. */
#include "tests/unit/planning_text.h"

#include "tests/unit/random.h"
#include "tests/unit/sizes.h"

static PlanRow rows[] = {
    {"a column of matmuls, then a row",
     "x <- Neg f32[4,6]; h <- MatMul x f32[6,16]!; r <- Relu h; z <- MatMul r f32[16,5]!", "a=3",
     "h 4,16/a{9,4,3}", "r 4,16/a{9,4,3}; z 4,5", "all_reduce a 1 x 80"},
    {"a batch", "x <- Neg f32[8,6]; h <- MatMul x f32[6,16]!; z <- Softmax h axis=1", "a=3",
     "x 8/a{1,5,2},6", "z 8/a{1,5,2},16", ""},
    {"by two axes, beside a third", "x <- Neg f32[10,6]; h <- MatMul x f32[6,16]!", "a=2,b=2,c=2",
     "x 10/b.a{1,2,3,4},6/c", "x 10/b.a{1,2,3,4},6/c", NULL},
    {"heads are flattened", "x <- Neg f32[2,8,4]; y <- Reshape x i64[2]{2,32}; z <- Neg y", "a=3",
     "x 2,8/a{5,2,1},4", "z 2,32/a{20,8,4}", ""},
    {"heads are split off", "x <- Neg f32[2,32]; y <- Reshape x i64[3]{2,8,4}; z <- Neg y", "a=3",
     "x 2,32/a{20,8,4}", "z 2,8/a{5,2,1},4", ""},
    {"sizes that divide heads are gathered",
     "x <- Neg f32[2,32]; y <- Reshape x i64[3]{2,8,4}; z <- Neg y", "a=3", "x 2,32/a{19,9,4}",
     "z 2,8,4", "all_gather a 1 x 256"},
    {"other sizes are one all-to-all", "x <- Neg f32[8,6]; y <- Neg x; z <- Neg y", "a=3",
     "x 8/a{5,2,1},6; y 8/a{1,6,1},6", "z 8/a{1,6,1},6", "all_to_all a 1 x 120"},
    {"chunks are other sizes", "x <- Neg f32[8,6]; y <- Neg x; z <- Neg y", "a=2",
     "x 8/a{5,3},6; y 8/a,6", "z 8/a,6", "all_to_all a 1 x 120"},
    {"another dim", "x <- Neg f32[8,6]; y <- Neg x; z <- Neg y", "a=2", "x 8/a{5,3},6; y 8,6/a",
     "z 8,6/a", "all_to_all a 1 x 120"},
    {"a sum is scattered", "x <- Neg f32[8,6]; y <- MatMul x f32[6,16]!; z <- Neg y", "a=2",
     "x 8,6/a; z 8/a{5,3},16", "z 8/a{5,3},16", "reduce_scatter a 1 x 512"},
    {"a convolution reads its neighbours",
     "x <- Neg f32[2,8,64,64]; y <- Conv x f32[8,8,3,3]! pads=[1,1,1,1]", "a=4",
     "x 2,8,64/a{30,20,6,8},64", "y 2,8,64/a{30,20,6,8},64", "halo_exchange a 1 x 8192"},
    {"a pool of windows by two",
     "x <- Neg f32[2,8,64,4]; y <- MaxPool x kernel_shape=[3,1] pads=[1,0,1,0] strides=[2,1]",
     "a=3", "x 2,8,64/a{40,16,8},4", "y 2,8,32/a{20,8,4},4", NULL},
    {"a part that is narrower than the halo: gathered",
     "x <- Neg f32[2,8,16,8]; y <- Conv x f32[8,8,7,1]! pads=[3,0,3,0]", "a=3",
     "x 2,8,16/a{8,2,6},8", "y 2,8,16,8", "all_gather a 1 x 8192"},
    {"a running sum", "x <- Neg f32[2,16]; y <- CumSum x i64[]{1}; z <- Neg y", "a=3",
     "x 2,16/a{9,4,3}", "z 2,16/a{9,4,3}", NULL},
    {"a part of a dim", "x <- Neg f32[2,12]; y <- Slice x i64[1]{0} i64[1]{6} i64[1]{1}", "a=2",
     "x 2,12/a{8,4}", "y 2,6", NULL},
    {"an embedding by its rows", "e <- Gather f32[32,16]! i64[4,8] axis=0; z <- Neg e", "a=3",
     "e 4,8,16/a{8,6,2}", "z 4,8,16/a{8,6,2}", ""},
    {"attention by heads",
     "q <- Neg f32[2,4,16,8]; k <- Neg f32[2,4,16,8]; v <- Neg f32[2,4,16,8]; "
     "y <- Attention q k v is_causal=1; z <- Neg y",
     "a=3", "q 2,4/a{2,1,1},16,8", "z 2,4/a{2,1,1},16,8", ""},
    {"a norm over the sharded dim",
     "x <- Neg f32[4,16]; y <- LayerNormalization x f32[16]! axis=1; z <- Neg y", "a=3",
     "x 4,16/a{9,4,3}; z 4,16/a{9,4,3}", "z 4,16/a{9,4,3}", NULL},
};

typedef struct {
    const char *name, *net, *mesh, *pin;
} SizedStep;

#define TRAINED(shape) "Mul f32" shape " f32" shape "!"
#define LOSS "; w <- Mul z z; l <- ReduceMean w keepdims=0"

static SizedStep steps[] = {
    {"a column and a row",
     "x <- " TRAINED(
         "[4,6]") "; h <- MatMul x f32[6,16]!; r <- Relu h; z <- MatMul r f32[16,5]!" LOSS,
     "a=3", "h 4,16/a{9,4,3}"},
    {"a batch", "x <- " TRAINED("[8,6]") "; h <- MatMul x f32[6,16]!; z <- Softmax h axis=1" LOSS,
     "a=3", "x 8/a{1,5,2},6"},
    {"a convolution",
     "x <- " TRAINED("[2,4,16,8]") "; z <- Conv x f32[4,4,3,3]! pads=[1,1,1,1]" LOSS, "a=3",
     "x 2,4,16/a{8,3,5},8"},
    {"heads",
     "q <- " TRAINED("[2,4,8,4]") "; k <- " TRAINED("[2,4,8,4]") "; v <- " TRAINED(
         "[2,4,8,4]") "; z <- Attention q k v is_causal=1" LOSS,
     "a=3,b=2", "q 2/b,4/a{2,1,1},8,4"},
};

static void run_right(Planning *p)
{
    static const RunOptions verified = {.verify = true, .seed = 3, .repeat = 1};
    RunReport report;
    Error err = {0};
    if (!run_plan(p->arena, p->plan, &verified, &report, &err))
        planning_fail(&err);
    assert_true(report.ok);
}

static void the_step_is_that_of_one_device(void **state)
{
    const SizedStep *row = *state;
    Planning *p = planning_text(row->net, row->mesh);
    planning_train(p, "", "adamw");
    planning_each(p, row->pin, planning_pin_text);
    planning_make(p);
    run_right(p);
    planning_close(p);
}

/* A sharding by three ranks with random sizes, as text. */
static const char *random_sizes(Arena *arena, const Mesh *mesh, int size)
{
    Cut cut = cut_by(size, (const uint8_t[]){0}, 1, mesh);
    Buf text = buf_new(arena);
    some_sizes(&cut, mesh, 1);
    cut_format(&cut, mesh, &text);
    return text.s;
}

static void random_windows_run_as_on_one_device(void **state)
{
    (void)state;
    seed = 17;
    for (int i = 0; i < 40; i++) {
        Arena *arena = arena_new();
        int size = 12 + pick(40), kernel = 1 + pick(5), step = 1 + pick(2);
        const char *net = arena_printf(
            arena,
            "x <- Neg f32[2,3,%d,6]; y <- Conv x f32[4,3,%d,1]! strides=[%d,1] pads=[%d,0,%d,0]",
            size, kernel, step, pick(kernel), pick(kernel));
        Planning *p = planning_text(net, "a=3");
        planning_each(p, arena_printf(arena, "x 2,3,%s,6", random_sizes(arena, p->mesh, size)),
                      planning_pin_text);
        planning_make(p);
        run_right(p);
        planning_close(p);
        arena_free(arena);
    }
}

/* Memory and time count the largest part, wherever it is; each rank has its own bytes. */
static void the_largest_part_counts(void **state)
{
    (void)state;
    Planning *p = planning_text("x <- Neg f32[16,64]; y <- MatMul x f32[64,64]!", "a=3");
    Planning *even = planning_text("x <- Neg f32[15,64]; y <- MatMul x f32[64,64]!", "a=3");
    planning_each(p, "x 16/a{3,3,10},64", planning_pin_text);
    planning_each(even, "x 15/a,64", planning_pin_text);
    planning_make(p);
    planning_make(even);
    assert_true(p->plan->priced->totals.flops == 2 * even->plan->priced->totals.flops);
    assert_true(p->plan->priced->totals.peak_bytes > even->plan->priced->totals.peak_bytes);
    planning_close(p);
    planning_close(even);
}

/* What is written is read back to an equal sharding; other systems' notations refuse it. */
static void the_text_is_read_back(void **state)
{
    (void)state;
    Planning *p = planning_text("x <- Neg f32[16,64]", "a=3,b=2");
    static const char *const texts[] = {"16/a{3,3,10},64", "16,(2)(32/a.b{1,2,3,4,5,17})",
                                        "16/b{15,1},64/a{32,16,16}"};
    const Shape shape = {.n_dims = 2, .dim = {16, 64}};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        Source source = {"text", str_from(texts[i])};
        Sharding sharding;
        Buf back = buf_new(p->arena);
        Error err = {0};
        assert_true(sharding_parse_any(&source, &shape, p->mesh, &sharding, &err));
        assert_true(sharding_format(&sharding, p->mesh, VIEW_OURS, &back, &err));
        assert_string_equal(back.s, texts[i]);
        for (ShardingView view = VIEW_DIMS_MAPPING; view < VIEW_COUNT; view++) {
            Error refused = {0};
            assert_false(sharding_format(&sharding, p->mesh, view, &back, &refused));
            assert_int_equal(refused.kind, ERROR_UNSUPPORTED);
        }
    }
    planning_close(p);
}

static void bad_sizes_are_errors(void **state)
{
    (void)state;
    Planning *p = planning_text("x <- Neg f32[16,64]", "a=3");
    static const char *const texts[] = {"16/a{3,3},64",     "16/a{3,3,9},64",  "16/a{3,3,10,1},64",
                                        "16/a{0,6,10},64",  "16/a{},64",       "16/a{3,3,10,64",
                                        "16/a{-1,7,10},64", "16{3,3,10}/a,64", "16{16},64"};
    const Shape shape = {.n_dims = 2, .dim = {16, 64}};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        Source source = {"text", str_from(texts[i])};
        Sharding sharding;
        Error err = {0};
        assert_false(sharding_parse_any(&source, &shape, p->mesh, &sharding, &err));
        assert_true(err.text[0] != '\0');
    }
    planning_close(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_windows_run_as_on_one_device),
        cmocka_unit_test(the_largest_part_counts),
        cmocka_unit_test(the_text_is_read_back),
        cmocka_unit_test(bad_sizes_are_errors),
    };
    struct CMUnitTest trained[COUNT_OF(steps)];
    for (size_t i = 0; i < COUNT_OF(steps); i++)
        trained[i] = (struct CMUnitTest){steps[i].name, the_step_is_that_of_one_device, NULL, NULL,
                                         &steps[i]};
    return run_rows("parts of given sizes", rows, planning_row_runs) +
           cmocka_run_group_tests_name("steps of training", trained, NULL, NULL) +
           cmocka_run_group_tests_name("counted and written", tests, NULL, NULL);
}
