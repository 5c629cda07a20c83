/* Kernels of training on whole tensors: losses, optimizers, statistics; and ops that draw numbers,
 * on parts too: every plan draws what one device draws, and what is drawn has the moments it
 * should. */
#include "tests/unit/kernel_rows.h"

/* clang-format off */
static OpRow rows[] = {
    /* losses: a label's log probability, weighted */
    {"loss of each", "y <- NegativeLogLikelihoodLoss f32[2,3] i64[2] reduction=\"none\"", {"1 2 3 4 5 6", "2 0"}, "f32[2] -3 -4", 0},
    {"loss, summed", "y <- NegativeLogLikelihoodLoss f32[2,3] i64[2] reduction=\"sum\"", {"1 2 3 4 5 6", "2 0"}, "f32[] -7", 0},
    {"loss, a mean", "y <- NegativeLogLikelihoodLoss f32[2,3] i64[2]", {"1 2 3 4 5 6", "2 0"}, "f32[] -3.5", 0},
    {"a mean divides by the weights", "y <- NegativeLogLikelihoodLoss f32[2,3] i64[2] f32[3]", {"1 2 3 4 5 6", "2 0", "3 9 1"}, "f32[] -3.75", 0},
    {"an ignored label", "y <- NegativeLogLikelihoodLoss f32[2,3] i32[2] ignore_index=-5", {"1 2 3 4 5 6", "-5 1"}, "f32[] -5", 0},
    {"an ignored label has no loss", "y <- NegativeLogLikelihoodLoss f32[2,3] i64[2] ignore_index=0 reduction=\"none\"", {"1 2 3 4 5 6", "0 1"}, "f32[2] 0 -5", 0},
    {"all are ignored", "y <- NegativeLogLikelihoodLoss f32[1,2] i64[1] ignore_index=1", {"1 2", "1"}, "f32[] nan", 0},
    {"loss at each pixel", "y <- NegativeLogLikelihoodLoss f32[1,2,2] i64[1,2] reduction=\"none\"", {"1 2 3 4", "1 0"}, "f32[1,2] -3 -2", 0},
    {"a label too large", "y <- NegativeLogLikelihoodLoss f32[1,2] i64[1]", {"1 2", "2"}, "label 2 is outside of 2 classes", 0},
    {"a label below 0", "y <- NegativeLogLikelihoodLoss f32[1,2] i64[1]", {"1 2", "-1"}, "label -1 is outside of 2 classes", 0},
    {"loss in double", "y <- NegativeLogLikelihoodLoss f64[1,2] i64[1]", {"1 2", "1"}, "f64[] -2", 0},
    {"loss in half", "y <- NegativeLogLikelihoodLoss f16[1,2] i64[1]", {"1 2.5", "1"}, "f16[] -2.5", 0},
    {"cross entropy", "y <- SoftmaxCrossEntropyLoss f32[2,2] i64[2] reduction=\"none\"", {"0 0 1000 1001", "0 1"}, "f32[2] 0.693147 0.313262", 0},
    {"cross entropy tells", "y p <- SoftmaxCrossEntropyLoss f32[1,2] i64[1]", {"0 0", "1"}, "f32[] 0.693147; f32[1,2] -0.693147 -0.693147", 0},
    {"cross entropy of NaN", "y <- SoftmaxCrossEntropyLoss f32[1,2] i64[1]", {"nan 0", "1"}, "f32[] nan", 0},

    /* optimizers: rate, step, then x, g and moments */
    {"adagrad", "x h <- ai.onnx.preview.training::Adagrad f32[] i64[] f32[2] f32[2] f32[2] epsilon=0.0 decay_factor=0.5", {"2", "2", "1 1", "3 -4", "16 9"}, "f32[2] 0.4 1.8; f32[2] 25 25", 0},
    {"adagrad of two", "x y g h <- ai.onnx.preview.training::Adagrad f32[] i64[] f32[1] f32[] f32[1] f32[] f32[1] f32[] epsilon=0.0", {"1", "0", "1", "2", "3", "4", "16", "9"}, "f32[1] 0.4; f32[] 1.2; f32[1] 25; f32[] 25", 0},
    {"adam, first step", "x v h <- ai.onnx.preview.training::Adam f32[] i64[] f32[1] f32[1] f32[1] f32[1] alpha=0.5 beta=0.75 epsilon=0.0", {"1", "0", "1", "2", "4", "4"}, "f32[1] -0.5; f32[1] 3; f32[1] 4", 0},
    {"adam, later", "x v h <- ai.onnx.preview.training::Adam f32[] i64[] f32[1] f32[1] f32[1] f32[1] alpha=0.5 beta=0.75 epsilon=0.0 norm_coefficient_post=0.5", {"1", "1", "2", "2", "4", "4"}, "f32[1] 0.25; f32[1] 3; f32[1] 4", 0},
    {"momentum, first step", "x v <- ai.onnx.preview.training::Momentum f32[] i64[] f32[1] f32[1] f32[1] alpha=0.5 beta=0.25 norm_coefficient=1.0 mode=\"standard\"", {"0.1", "0", "10", "2", "4"}, "f32[1] 8.6; f32[1] 14", 0},
    {"momentum, later", "x v <- ai.onnx.preview.training::Momentum f32[] i64[] f32[1] f32[1] f32[1] alpha=0.5 beta=0.25 norm_coefficient=0.0 mode=\"standard\"", {"0.1", "3", "10", "8", "4"}, "f32[1] 9.6; f32[1] 4", 0},
    {"momentum that looks ahead", "x v <- ai.onnx.preview.training::Momentum f32[] i64[] f64[1] f64[1] f64[1] alpha=0.5 beta=0.25 norm_coefficient=0.0 mode=\"nesterov\"", {"0.1", "3", "10", "8", "4"}, "f64[1] 9; f64[1] 4", 0},

    /* core/rules/optimizer.h: parameter, gradient, rate, step, factor, states */
    {"sgd of a scaled gradient", "p <- SgdUpdate f32[2] f32[2] f32[] i64[] f32[] weight_decay=0.5", {"4 8", "2 4", "0.5", "1", "0.5"}, "f32[2] 2.5 5", 0},
    {"sgd without a factor", "p <- SgdUpdate f32[1] f32[1] f32[] i64[] maximize=1", {"4", "2", "0.5", "1"}, "f32[1] 5", 0},
    {"momentum begins with the gradient", "p m <- MomentumUpdate f32[1] f32[1] f32[] i64[] - f32[1] dampening=0.5", {"4", "2", "0.5", "1", "9"}, "f32[1] 3; f32[1] 2", 0},
    {"momentum goes on", "p m <- MomentumUpdate f32[1] f32[1] f32[] i64[] - f32[1] momentum=0.5 dampening=0.5", {"4", "2", "0.5", "2", "8"}, "f32[1] 1.5; f32[1] 5", 0},
    {"nesterov looks ahead", "p m <- NesterovUpdate f32[1] f32[1] f32[] i64[] - f32[1] momentum=0.5", {"4", "2", "0.5", "2", "8"}, "f32[1] 1.5; f32[1] 6", 0},
    {"adam corrects its averages", "p m v <- AdamUpdate f64[1] f64[1] f64[] i64[] - f64[1] f64[1] eps=0.0", {"4", "2", "0.5", "1", "0", "0"}, "f64[1] 3.5; f64[1] 0.2; f64[1] 0.004", 0},
    {"adamw decays the parameter", "p m v <- AdamWUpdate f64[1] f64[1] f64[] i64[] - f64[1] f64[1] eps=0.0 weight_decay=0.5", {"4", "2", "0.5", "1", "0", "0"}, "f64[1] 2.5; f64[1] 0.2; f64[1] 0.004", 0},
    {"amsgrad keeps the largest", "p m v w <- AdamWUpdate f64[1] f64[1] f64[] i64[] - f64[1] f64[1] f64[1] eps=0.0 weight_decay=0.0 amsgrad=1", {"4", "2", "1", "1", "0", "0", "0.016"}, "f64[1] 3.5; f64[1] 0.2; f64[1] 0.004; f64[1] 0.016", 0},
    {"adagrad adds squares", "p s <- AdagradUpdate f32[1] f32[1] f32[] i64[] - f32[1] eps=0.0 lr_decay=1.0", {"4", "4", "1", "2", "9"}, "f32[1] 3.6; f32[1] 25", 0},
    {"rmsprop, centered", "p v m g <- RmspropUpdate f64[1] f64[1] f64[] i64[] - f64[1] f64[1] f64[1] alpha=0.5 eps=0.0 momentum=0.5 centered=1", {"4", "2", "1", "1", "0", "1", "0"}, "f64[1] 1.5; f64[1] 2; f64[1] 2.5; f64[1] 1", 0},
    {"a gradient in half", "p <- SgdUpdate f32[1] f16[1] f32[] i64[]", {"4", "2", "0.5", "1"}, "f32[1] 3", 0},
    {"a clip factor", "f n <- ClipFactor f32[] clip=1.0", {"16"}, "f32[] 0.25; f32[] 4", 0},
    {"a clip factor of scaled gradients", "f n <- ClipFactor f32[] f32[] clip=1.0 scale=4.0", {"4096", "2"}, "f32[] 0.015625; f32[] 8", 0},
    {"nothing to clip", "f n <- ClipFactor f32[] clip=8.0", {"16"}, "f32[] 1; f32[] 4", 0},
    {"a clip factor of sizes", "f n <- ClipFactor f32[] clip=8.0 norm_type=1.0", {"16"}, "f32[] 0.5; f32[] 16", 0},
    {"a factor of gradients that are not finite", "f n <- ClipFactor f32[] f32[] clip=1.0 checked=1", {"inf", "2"}, "f32[] nan; f32[] inf", 0},
    {"a checked factor of finite ones", "f n <- ClipFactor f32[] f32[] checked=1", {"16", "2"}, "f32[] 0.5; f32[] 2", 0},
    {"a step is skipped", "p m v <- AdamWUpdate f64[2] f64[2] f64[] i64[] f64[] f64[2] f64[2]", {"4 5", "2 inf", "0.5", "1", "nan", "1 2", "3 4"}, "f64[2] 4 5; f64[2] 1 2; f64[2] 3 4", 0},
    {"the loss scale halves", "s g <- LossScaleUpdate f32[] f32[1] f32[1]", {"nan", "1024", "7"}, "f32[1] 512; f32[1] 0", 0},
    {"the loss scale stays", "s g <- LossScaleUpdate f32[] f32[1] f32[1]", {"3", "1024", "7"}, "f32[1] 1024; f32[1] 8", 0},
    {"the loss scale doubles", "s g <- LossScaleUpdate f32[] f32[1] f32[1] growth_interval=8", {"3", "1024", "7"}, "f32[1] 2048; f32[1] 0", 0},
    {"the loss scale does not overflow", "s g <- LossScaleUpdate f32[] f32[1] f32[1] growth_interval=8", {"3", "3e38", "7"}, "f32[1] 3e+38; f32[1] 0", 0},

    /* cross entropy: scores, maximum, sum of exponentials, labels; log(sum) + maximum is 3.40760596 */
    {"loss of a label", "y <- TokenLoss f64[1,3] f64[1,1] f64[1,1] i64[1]", {"1 2 3", "3", "1.5032147244080551", "0"}, "f64[1] 2.40761", 0},
    {"a label that does not count", "y <- TokenLoss f64[1,3] f64[1,1] f64[1,1] i64[1] ignore_index=-100", {"1 2 3", "3", "1.5", "-100"}, "f64[1] 0", 0},
    {"a smoothed label", "y <- TokenLoss f64[1,3] f64[1,1] f64[1,1] i64[1] label_smoothing=0.3", {"1 2 3", "3", "1.5032147244080551", "0"}, "f64[1] 2.10761", 0},
    {"a label out of range", "y <- TokenLoss f64[1,3] f64[1,1] f64[1,1] i64[1]", {"1 2 3", "3", "1.5", "3"}, "label 3 is not one of the 3 classes", 0},
    {"an ignored label where none is", "y <- TokenLoss f64[1,3] f64[1,1] f64[1,1] i64[1]", {"1 2 3", "3", "1.5", "-100"}, "label -100 is not one of the 3 classes", 0},

    /* statistics: of a channel over all samples */
    {"batch norm in training", "y m v <- BatchNormalization f32[2,1,2] f32[1] f32[1] f32[1] f32[1] training_mode=1 epsilon=0.0 momentum=0.75", {"1 3 1 3", "10", "5", "4", "8"}, "f32[2,1,2] -5 15 -5 15; f32[1] 3.5; f32[1] 6.25", 15},
    {"batch norm of two channels", "y m v <- BatchNormalization f32[2,2] f32[2] f32[2] f32[2] f32[2] training_mode=1 epsilon=0.0 momentum=0.0", {"1 10 3 30", "1 1", "0 0", "0 0", "0 0"}, "f32[2,2] -1 -1 1 1; f32[2] 2 20; f32[2] 1 100", 15},
    {"batch norm tells, before opset 14", "y m v s t <- BatchNormalization f32[2,1] f32[1] f32[1] f32[1] f32[1] epsilon=0.0 momentum=0.5", {"1 3", "1", "0", "4", "3"}, "f32[2,1] -1 1; f32[1] 3; f32[1] 2; f32[1] 2; f32[1] 1", 9},
    {"batch norm of each element", "y <- BatchNormalization f32[2,1,2] f32[1,2] f32[1,2] f32[1,2] f32[1,2] is_test=0 spatial=0 epsilon=0.0", {"1 10 3 30", "1 1", "0 0", "0 0", "0 0"}, "f32[2,1,2] -1 -1 1 1", 6},

    /* what is dropped */
    {"dropout drops nothing", "y m <- Dropout f32[2] f32[]", {"1 2", "0.5"}, "f32[2] 1 2; bool[2] 1 1", 0},
    {"dropout is told not to train", "y m <- Dropout f32[2] f32[] bool[]", {"1 2", "0.5", "0"}, "f32[2] 1 2; bool[2] 1 1", 0},
    {"dropout of nothing", "y m <- Dropout f32[2] f32[] bool[]", {"1 2", "0", "1"}, "f32[2] 1 2; bool[2] 1 1", 0},
    {"dropout of everything", "y <- Dropout f32[2] f32[] bool[]", {"1 2", "1", "1"}, "invalid dropout ratio 1", 0},
    {"no chance, and certainty", "y <- Bernoulli f32[4] dtype=6", {"0 1 0 1"}, "i32[4] 0 1 0 1", 0},
    {"one class to choose", "y <- Multinomial f32[1,3] sample_size=4", {"-inf 0 -inf"}, "i32[1,4] 1 1 1 1", 0},
};
/* clang-format on */

/* ---- drawn numbers ---- */

typedef struct {
    const char *name, *op;
    double mean, deviation; /* of the elements */
    double least, most;
} DrawRow;

static DrawRow draw_rows[] = {
    {"uniform", "y <- RandomUniform low=2.0 high=6.0 shape=[40000]", 4, 4 / 3.4641016, 2, 6},
    {"uniform, a half", "y <- RandomUniformLike f32[40000] dtype=10", 0.5, 1 / 3.4641016, 0, 1},
    {"normal", "y <- RandomNormal mean=3.0 scale=2.0 shape=[200,200]", 3, 2, -8, 14},
    {"normal, doubles", "y <- RandomNormalLike f64[200,200]", 0, 1, -6, 6},
    {"one in four", "y <- Bernoulli f32[40000]", 0.25, 0.4330127, 0, 1},
    {"one of three", "y <- Multinomial f32[1,3] sample_size=40000", 1, 0.8164966, 0, 2},
    {"what is kept", "y <- Dropout f32[40000] f32[]{0.75} bool[]{1}", 0.25, 0.4330127, 0, 1},
};

static Local *draw(Arena *arena, const char *text, const char *name, uint64_t seed,
                   int64_t iteration)
{
    DimBindings none = {0};
    Error err = {0};
    Graph *graph = graph_from_text(arena, arena_printf(arena, "%s%s", name, text + 1), 18);
    Inferred *inferred = infer(arena, graph, registry_new(arena), &none, false, &err);
    assert_non_null(inferred);
    Local **value = arena_array(arena, Local *, graph->n_tensors);
    for (int i = 0; i < graph->ops[0].n_inputs; i++) {
        int32_t t = op_inputs(graph, 0)[i];
        double fill = i == 0 ? 0.25 : i == 1 ? 0.75 : 1;
        value[t] = local_new_whole((Dtype)inferred->dtype[t], inferred_shape(inferred, t));
        for (int64_t k = 0; k < shape_elements(&value[t]->shape); k++)
            elements_store(value[t]->dtype, local_at(value[t], k), 1, NUMBER_F64, &fill);
    }
    const Kernel *kernel = kernel_find(NULL, op_operator(graph, 0));
    if (!kernel_run_whole(inferred, 0, kernel, NULL, seed, iteration, value, &err))
        fail_msg("%s", err.text);
    Local *out = value[op_outputs(graph, 0)[0]];
    for (int t = 0; t < graph->n_tensors; t++)
        if (value[t] != out)
            local_free(value[t]);
    return out;
}

static void draws_have_their_moments(void **state)
{
    const DrawRow *row = *state;
    Arena *arena = arena_new();
    Local *out = draw(arena, row->op, "y", 7, 0);
    double sum = 0, squares = 0;
    int64_t n = shape_elements(&out->shape);
    for (int64_t i = 0; i < n; i++) {
        double x;
        elements_load(out->dtype, local_at(out, i), 1, 1, NUMBER_F64, &x);
        assert_true(row->least <= x && x <= row->most);
        sum += x;
        squares += x * x;
    }
    double mean = sum / (double)n, deviation = sqrt(squares / (double)n - mean * mean);
    assert_true(fabs(mean - row->mean) < 0.02 * row->deviation);
    assert_true(fabs(deviation - row->deviation) < 0.02 * row->deviation);
    local_free(out);
    arena_free(arena);
}

/* Another seed, another name and another iteration draw other numbers; the same ones, the same. */
static void draws_are_of_seed_and_name(void **state)
{
    const DrawRow *row = *state;
    Arena *arena = arena_new();
    Local *first = draw(arena, row->op, "y", 7, 0), *again = draw(arena, row->op, "y", 7, 0);
    Local *seed = draw(arena, row->op, "y", 8, 0), *name = draw(arena, row->op, "z", 7, 0);
    size_t n_bytes = (size_t)local_bytes(first);
    assert_memory_equal(first->data, again->data, n_bytes);
    assert_true(memcmp(first->data, seed->data, n_bytes) != 0);
    assert_true(memcmp(first->data, name->data, n_bytes) != 0);
    Local *next = draw(arena, row->op, "y", 7, 1), *third = draw(arena, row->op, "y", 7, 2);
    assert_true(memcmp(first->data, next->data, n_bytes) != 0);
    assert_true(memcmp(next->data, third->data, n_bytes) != 0);
    local_free(next);
    local_free(third);
    local_free(first);
    local_free(again);
    local_free(seed);
    local_free(name);
    arena_free(arena);
}

static void a_given_seed_stands_before_the_runs(void **state)
{
    (void)state;
    static const char op[] = "y <- RandomUniform seed=3.0 shape=[100]";
    Arena *arena = arena_new();
    Local *first = draw(arena, op, "y", 7, 0), *again = draw(arena, op, "y", 8, 0);
    Local *other = draw(arena, "y <- RandomUniform seed=4.0 shape=[100]", "y", 7, 0);
    assert_memory_equal(first->data, again->data, (size_t)local_bytes(first));
    assert_true(memcmp(first->data, other->data, (size_t)local_bytes(first)) != 0);
    local_free(first);
    local_free(again);
    local_free(other);
    arena_free(arena);
}

/* That parts draw as the whole does is proven by test_rule_check, on every cut. */
int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_given_seed_stands_before_the_runs),
    };
    return run_rows("training", rows, op_is) +
           run_rows("moments", draw_rows, draws_have_their_moments) +
           run_rows("seeds", draw_rows, draws_are_of_seed_and_name) +
           cmocka_run_group_tests_name("seed", tests, NULL, NULL);
}
