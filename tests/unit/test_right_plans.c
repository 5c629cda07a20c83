/* Right plans pass: random pins on small graphs of every float type and of integers, forward and as
 * a training step, run on ranks and verified. A plan that fails here is a bound that is too narrow,
 * or a plan that is wrong.
 *
 * 80 plans; 1,200 with DIMSCOPE_LONG=1, which prints their counts by type with DIMSCOPE_TABLE=1. */
#include "tests/unit/planning_text.h"

#include "tests/unit/random.h"

#include <stdlib.h>

/* T stands for the type. */
static const char *const nets[] = {
    "h <- MatMul T[6,10,8] T[8,12]!; s <- Softmax h axis=-1; m <- ReduceMax h axes=[1]; "
    "d <- Sub h m; e <- Exp d; a <- ReduceMean e axes=[0,2]; y <- Mul s e",
    "q <- MatMul T[4,6,24] T[24,24]!; r <- Reshape q i64[4]{4,6,4,6}; "
    "t <- Transpose r perm=[0,2,1,3]; u <- Transpose r perm=[0,2,3,1]; s <- MatMul t u; "
    "p <- Softmax s axis=3; o <- MatMul p t; b <- Transpose o perm=[0,2,1,3]; "
    "c <- Reshape b i64[3]{4,6,24}; y <- MatMul c T[24,24]!; z <- Add y T[24]!",
    "c <- Conv T[2,4,8,8] T[8,4,3,3]! T[8]! pads=[1,1,1,1]; r <- Relu c; "
    "p <- MaxPool r kernel_shape=[2,2] strides=[2,2]; g <- GlobalAveragePool r; m <- Mul r g; "
    "f <- Flatten p axis=1; y <- Gemm f T[10,128]! T[10]! transB=1",
    "l <- LayerNormalization T[4,6,16] T[16]! T[16]!; h <- MatMul l T[16,32]!; g <- Gelu h; "
    "y <- MatMul g T[32,16]!; z <- Add y l; n <- ReduceSum z axes=[2]; w <- Tanh n",
    "q <- Mul T[2,4,8,4] T[4]!; k <- Mul T[2,2,8,4] T[4]!; v <- Mul T[2,2,8,6] T[6]!; "
    "y <- Attention q k v is_causal=1; z <- Neg y",
    "x <- Mul T[2,4,12] T[12]!; c <- CumSum x i64[]{2}; s <- Sigmoid x; m <- Mul c s; "
    "u <- ConvTranspose m T[4,3,4]! strides=[2] pads=[1,1]; "
    "p <- AveragePool u kernel_shape=[3] pads=[1,1]; y <- Conv p T[2,3,3]! pads=[1,1]",
};
static const char *const integer_nets[] = {
    "q <- QuantizeLinear f32[6,8] f32[]{0.02} i8[]{0}; y <- MatMulInteger q i8[8,12]!; "
    "f <- Cast y to=1; z <- Mul f f32[12]!",
    "q <- QuantizeLinear f32[6,8] f32[]{0.05} i8[]{3}; d <- DequantizeLinear q f32[]{0.05} "
    "i8[]{3}; "
    "y <- MatMul d f32[8,10]!; r <- Relu y; e <- QuantizeLinear r f32[]{0.1} i8[]{0}",
    "s <- Add i32[6,8] i32[8]!; m <- ReduceMax s axes=[1]; t <- ReduceSum s i64[1]{0}; "
    "c <- Cast s to=3; n <- Mul c c",
};
static const char *const types[] = {"f32", "bf16", "f16", "f64", "i8"};
static const char *const meshes[] = {"a=2", "a=3", "a=2,b=2", "a=4", "a=3,b=2"};
enum { N_TYPES = COUNT_OF(types), INTEGERS = N_TYPES - 1 };

static Planning *open_net(int type)
{
    Arena *scratch = arena_new();
    const char *net =
        type == INTEGERS ? integer_nets[pick(COUNT_OF(integer_nets))] : nets[pick(COUNT_OF(nets))];
    Buf text = buf_new(scratch);
    for (; *net; net++)
        if (net[0] == 'T' && net[1] == '[')
            buf_printf(&text, "%s", types[type]);
        else
            buf_putc(&text, *net);
    Planning *p = planning_text(text.s, meshes[pick(COUNT_OF(meshes))]);
    arena_free(scratch);
    return p;
}

/* The graph becomes a step from gradients of its results that are given. */
static void add_gradients(Planning *p)
{
    Error err = {0};
    TrainingStep step;
    if (!step_make_from_outputs(p->arena, p->inferred, (StepShape){0}, &step, &err))
        planning_fail(&err);
    p->graph = step.graph;
    p->inferred = step.inferred;
    p->naming = naming_new(p->arena, p->inferred);
}

static void pin_something(Planning *p)
{
    int32_t tensor = pick(p->graph->n_tensors);
    const Shape *shape = inferred_shape(p->inferred, tensor);
    if (!shape || shape->n_dims == 0)
        return;
    Decision pin = {.kind = PIN_TENSOR_DIM, .place = tensor, .dim = pick((int)shape->n_dims)};
    const char *axes = p->mesh->n_axes > 1 && pick(2) ? "b" : "a";
    Cut cut = planning_cut(p, shape->dim[pin.dim], axes, 1);
    pin.cut = &cut;
    pin.origin = (Origin){.kind = ORIGIN_USER, .file = "", .text = ""};
    journal_add(&p->journal, p->arena, &pin);
}

/* Of a type: plans that ran, and those of them that were proven. */
typedef struct {
    int ran, passed;
} Counts;

static void run_one(uint32_t number, int type, Counts *counts)
{
    static const RunOptions verified = {.verify = true, .seed = 3, .repeat = 1};
    seed = number;
    Planning *p = open_net(type);
    if (type != INTEGERS && pick(3) == 0)
        add_gradients(p);
    for (int i = 1 + pick(4); i > 0; i--)
        pin_something(p);
    planning_make(p);
    RunReport report;
    Error err = {0};
    if (plan_is_legal(p->plan)) {
        if (!run_plan(p->arena, p->plan, &verified, &report, &err))
            fail_msg("plan %u, %s: %s", number, types[type], err.text);
        counts->ran++;
        counts->passed += report.verdict == RUN_PASS;
        if (report.verdict != RUN_PASS)
            print_message("plan %u, %s: verdict %d at %s: %g, should be %g +- %g\n", number,
                          types[type], (int)report.verdict,
                          report.first_bad < 0 ? "-" : tensor_name(p->graph, report.first_bad),
                          report.wrong.got, report.wrong.want, report.wrong.bound);
    }
    planning_close(p);
}

static void right_plans_pass(void **state)
{
    (void)state;
    const char *whole = getenv("DIMSCOPE_LONG");
    int n = whole && *whole ? 1200 : 80;
    Counts counts[N_TYPES] = {0};
    for (int i = 0; i < n; i++)
        run_one((uint32_t)i * 7919 + 1, i % N_TYPES, &counts[i % N_TYPES]);
    for (int t = 0; t < N_TYPES; t++) {
        if (getenv("DIMSCOPE_TABLE"))
            print_message("%s: %d plans ran, %d passed\n", types[t], counts[t].ran,
                          counts[t].passed);
        assert_true(counts[t].ran > n / N_TYPES / 2);
        assert_int_equal(counts[t].passed, counts[t].ran);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_plans_pass),
    };
    return cmocka_run_group_tests_name("right_plans", tests, NULL, NULL);
}
