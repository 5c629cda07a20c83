/* Gradients of every operator that has some, on its examples: by differences and under every cut;
 * and wrong gradients, which the check must find. */
#include "tests/unit/unit.h"

#include "core/prove/gradient_check.h"
#include "core/prove/rule_check.h"
#include "core/rules/derivative.h"
#include "core/rules/example.h"

#include <stdio.h>

typedef struct {
    const char *op_type, *example;
    bool runs; /* there is something to differentiate */
} Checked;

/* Forms that the examples do not have. */
static const Checked more[] = {
    {"Pad", "5x6x4,=[2,0,0,1,0,3],scalar", true},
    {"Pad", "5x6x4,=[2,1,0,1,0,2] mode=wrap", true},
    {"Pad", "5x6x4,=[-1,0,0,1,0,-1],scalar", true},
    {"Gather", "5x6x4,3x7:i64 axis=0", true},
    {"Gather", "5x6x4,3:i64 axis=2", true},
    {"GatherND", "5x6x4,3x7x3:i64", true},
    {"GatherElements", "5x6x4,5x3x4:i64 axis=1", true},
    {"GatherElements", "5x6,7x6:i64 axis=0", true},
    {"ScatterElements", "5x6,5x4:i64,5x4 axis=1 reduction=min", true},
    {"ScatterElements", "5x6x4,5x9x4:i64,5x9x4 axis=1 reduction=mul", true},
    {"ScatterND", "5x6x4,3x2:i64,3x4 reduction=mul", true},
    {"ScatterND", "5x6x4,9x1:i64,9x6x4 reduction=max", true},
    {"ScatterND", "5x6x4,9x1:i64,9x6x4", true},
    {"Trilu", "3x5x6,=2 upper=0", true},
    {"DepthToSpace", "2x8x3x5 blocksize=2 mode=CRD", true},
    {"TopK", "5x6x4,=[2] axis=0 largest=0 -> 2", true},
    {"ReverseSequence", "5x7x4,5:i64 time_axis=1 batch_axis=0", true},
    {"CenterCropPad", "5x8x6,=[9,3] axes=[0,2]", true},
    {"Resize", "1x2x4x4,-,-,=[1,2,7,3] mode=cubic cubic_coeff_a=-0.5 exclude_outside=1", true},
    {"Resize", "1x2x8x6,-,-,=[1,2,3,4] mode=linear antialias=1", true},
    {"Resize",
     "1x2x8x6,-,-,=[1,2,3,4] nearest_mode=floor coordinate_transformation_mode=asymmetric", true},
    {"GridSample", "2x3x4x5,2x3x4x2 mode=cubic padding_mode=border align_corners=1", true},
    {"GridSample", "2x3x4x5,2x3x4x2 mode=cubic padding_mode=reflection", true},
    {"GridSample", "2x3x4x5,2x3x4x2 mode=linear padding_mode=reflection align_corners=1", true},
    {"GridSample", "2x3x4x5x3,2x3x4x2x3 mode=linear padding_mode=border", true},
    {"GridSample", "2x3x4x5,2x3x4x2 mode=nearest", true},
    {"Conv", "2x4x9,6x2x3,6 group=2 dilations=[2] pads=[1,2]", true},
    {"Conv", "2x4x5x4x6,6x4x2x3x2,6 strides=[2,1,2] auto_pad=SAME_LOWER", true},
    {"Conv", "2x4x6x6,6x4x2x2 strides=[2,2]", true},
    {"ConvTranspose", "2x4x5x4x3,4x3x2x3x2,3 strides=[2,1,2]", true},
    {"ConvTranspose", "2x4x5x4,4x3x3x2,6 group=2 strides=[2,3] auto_pad=SAME_UPPER", true},
    {"ConvTranspose", "2x4x5,4x3x2 strides=[2]", true},
    {"com.microsoft::FusedConv", "3x4x7x8,6x4x3x3,6,3x6x5x6 activation=Tanh", true},
    {"com.microsoft::FusedConv", "3x4x7x8,6x4x3x3,6", true},
    {"com.microsoft::FusedGemm", "5x6,6x7,7 activation=Sigmoid alpha=0.5 beta=2.0", true},
    {"com.microsoft::CDist", "5x6,7x6 metric=euclidean", true},
    {"MaxPool", "2x3x9 kernel_shape=[3] strides=[1] dilations=[2]", true},
    {"MaxPool", "2x3x9x8 kernel_shape=[2,2] strides=[2,2] ceil_mode=1 -> 2", true},
    {"AveragePool", "2x3x9x8 kernel_shape=[3,2] strides=[2,2] auto_pad=SAME_UPPER", true},
    {"LpPool", "2x3x9x8 kernel_shape=[3,2] p=3", true},
    {"LpPool", "2x3x9x8 kernel_shape=[3,2] p=1", true},
    {"GlobalLpPool", "2x3x9x8 p=1", true},
    {"RoiAlign", "3x3x7x6,4x4,4:i64 output_height=2 output_width=3 mode=max", true},
    {"DFT", "3x7x1,-,=1", true},
    {"DFT", "3x7x2,=5,=1 inverse=1", true},
    {"DFT", "3x4x6x2,=10,=2", true},
    {"DFT", "3x5x2,-,=1 inverse=1 onesided=1", true},
    {"DFT", "3x5x2,=9,=1 inverse=1 onesided=1", true},
    {"STFT", "3x20x1,=4,8 onesided=0", true},
    {"STFT", "3x20x1,=3,-,=7", true},
    {"Einsum", "5x5 equation=ii->i", true},
    {"Einsum", "5x5 equation=ii->", true},
    {"Einsum", "5x6,6x7,7x3 equation=ij,jk,kl->il", true},
    {"Expand", "5x1x4,=[3,5,6,4]", true},
    {"Tile", "5x6,=[3,2]", true},
    {"com.microsoft::FusedMatMul", "3x6x5,3x7x6 transA=1 transB=1 alpha=0.5", true},
    {"AffineGrid", "3x2x3,=[3,2,5,4] align_corners=1", true},
    {"AffineGrid", "3x3x4,=[3,2,5,4,3]", true},
    {"Col2Im", "2x12x20,=[5,6],=[2,2]", true},
    {"Compress", "5x6,=[1,0,1,0,1]", true},
    {"OneHot", "5x6:i64,=7,2", true},
    {"Det", "4x4", true},
    {"DeformConv", "2x4x7,6x2x3,2x6x5,6,2x6x5 group=2 offset_group=2", true},
    {"DeformConv", "2x2x4x5x3,3x2x2x2x2,2x24x5x6x4 pads=[1,1,1,1,1,1]", true},
    {"stablehlo.pad", "5x6,scalar->6x14 padding=[[2,-1],[0,3]] interior=[0,1]", true},
    {"stablehlo.gather",
     "5x6x4,7x3:i64->7x3x6 offset_dims=[2] collapsed_slice_dims=[0,2] index_vector_dim=2 "
     "slice_sizes=[1,6,1] start_index_map=[0]",
     true},
    {"stablehlo.scatter",
     "5x6,7x1:i64,7x6->5x6 update_window_dims=[1] inserted_window_dims=[0] index_vector_dim=1 "
     "scatter_dims_to_operand_dims=[0] region=[\"return\\u00201\"]",
     true},
    {"stablehlo.reduce_window",
     "5x6,scalar->5x6 window_dimensions=[1,3] window_dilations=[1,2] padding=[0,0,2,2] "
     "reducers=[\"stablehlo.minimum\"]",
     true},
    {"stablehlo.convolution",
     "2x7x6x4,3x2x2x6->2x5x12x6 dim_numbers=[b,0,1,f]x[0,1,i,o]->[b,0,1,f] feature_group_count=2 "
     "lhs_dilation=[1,2] padding=[0,0,1,1]",
     true},
    {"Clip", "5x6", true},
    {"Clip", "5x6 min=-1.0 max=0.5", true},
    {"Elu", "5x6 alpha=2.5", true},
    {"Celu", "5x6 alpha=2.5", true},
    {"Selu", "5x6 alpha=2.5 gamma=0.5", true},
    {"Shrink", "5x6 bias=0.25 lambd=0.75", true},
    {"Gelu", "5x6 approximate=tanh", true},
    {"Swish", "5x6 alpha=1.5", true},
    {"SwiGLU", "5x6,5x6 alpha=1.5", true},
    {"com.microsoft::QuickGelu", "5x6 alpha=0.5", true},
    {"Pow", "5x1,6", true},
    {"Mod", "5x6,6 fmod=1", true},
    {"Max", "5x6,6,5x1", true},
    {"Mean", "5x6,6,5x1", true},
    {"ReduceMax", "5x6x4 keepdims=0", true},
    {"ReduceL2", "5x6x4,=[0,2] keepdims=1", true},
    {"ReduceLogSumExp", "5x6x4,=[0,2] keepdims=1", true},
    {"ReduceProd", "5x6 noop_with_empty_axes=1", true},
    {"CumSum", "5x6x4,=0 exclusive=1 reverse=1", true},
    {"CumProd", "5x6x4,=0 exclusive=1 reverse=1", true},
    {"LpNormalization", "5x6x4 axis=0 p=1", true},
    {"LayerNormalization", "5x6x4,6x4,6x4 axis=1 stash_type=11 -> 3", true},
    {"LayerNormalization", "5x6x4,6x1,4 axis=1", true},
    {"SimplifiedLayerNormalization", "5x6x4,6x4 axis=1 stash_type=11 -> 2", true},
    {"BatchNormalization", "3x5,5,5,5,5", true},
    {"BatchNormalization", "3x5x4,5,5,5,5 training_mode=1 momentum=0.75 -> 3", true},
    {"GroupNormalization", "3x6x4,6,6 num_groups=1", true},
    {"MeanVarianceNormalization", "3x5x4 axes=[1]", true},
    {"LRN", "3x7x5 size=4 alpha=0.5 beta=0.75 bias=1.5", true},
    {"com.microsoft::SkipLayerNormalization", "5x6x4,6x4,4", true},
    {"com.microsoft::SkipSimplifiedLayerNormalization", "5x6x4,1x6x4,4,4 -> 4", true},
    {"Attention", "3x4x5x6,3x2x7x6,3x2x7x8,5x7 softcap=2.0 scale=0.5", true},
    {"Attention", "3x5x24,3x7x12,3x7x16,3x4x5x7 q_num_heads=4 kv_num_heads=2 is_causal=1", true},
    {"Attention", "3x4x5x6,3x2x7x6,3x2x7x8,3x4x5x6:bool", true},
    {"Attention",
     "3x4x5x6,3x2x7x6,3x2x7x8,3x1x5x11,3x2x4x6,3x2x4x8 softcap=1.5 "
     "qk_matmul_output_mode=1 -> 4",
     true},
    {"Attention", "3x4x5x6,3x2x7x6,3x2x7x8,3x1x5x11,3x2x4x6,3x2x4x8 qk_matmul_output_mode=2 -> 4",
     true},
    {"Attention",
     "3x4x5x6,3x2x7x6,3x2x7x8,-,3x2x4x6,3x2x4x8 softcap=1.5 left_window_size=3 "
     "right_window_size=1 qk_matmul_output_mode=3 -> 4",
     true},
    {"com.microsoft::MultiHeadAttention", "3x5x24,3x7x24,3x7x32,80,-,1x4x5x7 num_heads=4", true},
    {"com.microsoft::GroupQueryAttention",
     "3x5x24,3x5x12,3x5x12,-,-,3:i32,=5,9x3,9x3 num_heads=4 "
     "kv_num_heads=2 do_rotary=1 softcap=2.0 local_window_size=3 -> 3",
     true},
    {"com.microsoft::Attention",
     "3x5x8,8x36,36,-,2x3x4x2x3,3x4x5x7 num_heads=4 unidirectional=1 -> 2", true},
    {"RotaryEmbedding", "3x4x5x6,3x5x2,1x5x2 rotary_embedding_dim=4 interleaved=1", true},
    {"com.microsoft::RotaryEmbedding", "3x4x5x6,1:i64,9x3,9x3 scale=0.5", true},
    {"RNN",
     "3x5x4,1x6x4,1x6x6,1x12,-,3x1x6 layout=1 direction=reverse "
     "hidden_size=6 -> 2",
     true},
    {"GRU",
     "5x3x4,2x18x4,2x18x6,2x36,3:i32,2x3x6 direction=bidirectional linear_before_reset=1 "
     "clip=0.5 hidden_size=6 -> 2",
     true},
    {"GRU", "5x3x4,1x18x4,1x18x6,1x36,3:i32,1x3x6 direction=reverse hidden_size=6 -> 2", true},
    {"LSTM",
     "5x3x4,2x24x4,2x24x6,2x48,3:i32,2x3x6,2x3x6,2x18 direction=bidirectional "
     "hidden_size=6 -> 3",
     true},
    {"LSTM",
     "5x3x4,1x24x4,1x24x6,1x48,-,1x3x6,1x3x6,1x18 clip=0.5 input_forget=1 hidden_size=6 "
     "-> 3",
     true},
    {"SoftmaxCrossEntropyLoss", "5x6x4,5x4:i64,6 ignore_index=1 -> 2", true},
    {"NegativeLogLikelihoodLoss", "5x6x4,5x4:i64,6 ignore_index=1", true},
};

static Graph *graph_of(Arena *arena, const Checked *row, Error *err)
{
    Example example = example_read(arena, row->example);
    example.operands = example_operands(arena, example.operands, "f64");
    return example_op(arena, row->op_type, &example, err);
}

/* The gradients are the differences, under every cut. Examples without floats are not run. */
static void test_gradient(void **state)
{
    const Checked *row = *state;
    Arena *arena = arena_new();
    Error err = {0};
    GradientProof proof;
    Graph *graph = graph_of(arena, row, &err);
    if (!graph)
        fail_msg("%s %s: %s", row->op_type, row->example, err.text);
    bool ran = gradient_check(arena, graph, registry_new(arena), 1, NULL, &proof, &err);
    if (!ran && (row->runs || !proof.nothing))
        fail_msg("%s %s: %s", row->op_type, row->example, err.text);
    if (ran && !proof.proof.ok)
        fail_msg("%s %s: %s", row->op_type, row->example, proof.proof.text);
    if (ran)
        assert_true(proof.n_elements > 0);
    else
        print_message("not run: %s\n", err.text);
    arena_free(arena);
}

/* ---- wrong gradients ---- */

typedef struct {
    const char *kernel, *anno, *gradient, *example, *says;
} Wrong;

static Wrong wrongs[] = {
    {"Neg", "n d -> n d", "0: contract", "5x6", "by differences"},
    {"Neg", "n d -> n d", "0: zero", "5x6", "by differences"},
    {"Mul", "n d, n d -> n d", "0: contract(x1); 1: contract(x1)", "5x6,5x6", "'input 1' is"},
    {"Softmax", "n d -> n d", "0: SoftmaxBackward(y0)", "5x6", "d 6/"},
};

static void test_wrong(void **state)
{
    const Wrong *wrong = *state;
    Arena *arena = arena_new();
    Error err = {0};
    GradientProof proof;
    const char *const annos[] = {wrong->anno, NULL};
    const AnnoSource source = {.annos = annos, .file = "test"};
    const Checked row = {"my.op", wrong->example, true};
    Registry *registry = registry_new(arena);
    registry_add(registry, &(Operator){.name = "my.op",
                                       .anno = &source,
                                       .own = kernel_find(NULL, wrong->kernel),
                                       .gradient = wrong->gradient});
    if (!gradient_check(arena, graph_of(arena, &row, &err), registry, 1, NULL, &proof, &err))
        fail_msg("%s", err.text);
    assert_false(proof.proof.ok);
    if (!strstr(proof.proof.text, wrong->says))
        fail_msg("%s", proof.proof.text);
    arena_free(arena);
}

/* Whether a gradient stops at the op of an example: it has inputs and outputs of floats, and none
 * of these inputs has a derivative. */
static bool refuses(Arena *arena, const Registry *registry, const Operator *row, const char *text)
{
    const Checked example = {row->name, text, true};
    const DimBindings none = {0};
    Error err = {0};
    Graph *graph = graph_of(arena, &example, &err);
    Inferred *inferred = graph ? infer(arena, graph, registry, &none, false, &err) : NULL;
    if (!inferred || inferred_is_host(inferred, 0))
        return false;
    const Derivative *derivative = derivative_find(registry, row, program_space(inferred, 0));
    bool reads = false, makes = false, passes = false;
    for (int i = 0; i < graph->ops[0].n_inputs; i++) {
        int32_t t = op_inputs(graph, 0)[i];
        if (t < 0 || !dtype_is_float((Dtype)inferred->dtype[t]) || tensor_is_known(inferred, t))
            continue;
        const DerivativeClause *clause = derivative ? derivative_clause(derivative, i) : NULL;
        reads = true;
        passes |= derivative && !(clause && clause->refused);
    }
    for (int o = 0; o < graph->ops[0].n_outputs; o++) {
        int32_t t = op_outputs(graph, 0)[o];
        makes |= t >= 0 && dtype_is_float((Dtype)inferred->dtype[t]);
    }
    return reads && makes && !passes;
}

/* What a model is refused for that trains through it: operators that run, without those that are a
 * step's own (core/step/update.h), those of StableHLO, whose modules have their gradients in them,
 * and those of tables, which are not trained by gradients. */
static void these_float_operators_have_no_derivative(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    Buf found = buf_new(arena);
    for (int i = 0; i < registry_count(registry); i++) {
        const Operator *row = registry_at(registry, i);
        const char *example = example_next(row->name, NULL);
        if (!row->rule || !example || !kernel_find(NULL, row->name) ||
            strcmp(row->family, "training") == 0 || strstr(row->name, "stablehlo.") ||
            strstr(row->name, "ai.onnx.ml::"))
            continue;
        if (refuses(arena, registry, row, example))
            buf_printf(&found, "%s%s", found.n > 0 ? " " : "", row->name);
    }
    assert_string_equal(found.s,
                        "DynamicQuantizeLinear Unique MelWeightMatrix "
                        "ai.onnx.preview.training::Adagrad ai.onnx.preview.training::Momentum "
                        "ai.onnx.preview.training::Adam LoopResult LoopCarry LoopSlice "
                        "ReducePrecision Swiglu");
    arena_free(arena);
}

int main(void)
{
    enum { TESTS_MAX = 1024 };
    static struct CMUnitTest tests[TESTS_MAX];
    static Checked rows[TESTS_MAX];
    static char names[TESTS_MAX][80];
    int n = 0;
    Arena *arena = arena_new();
    const Registry *registry = registry_new(arena);
    for (int i = 0; i < registry_count(registry); i++) {
        const Operator *row = registry_at(registry, i);
        bool alone = row->gradient && gradient_check_runs_alone(row->name);
        for (const char *e = alone ? example_next(row->name, NULL) : NULL; e;
             e = example_next(row->name, e))
            rows[n++] = (Checked){row->name, e, false};
    }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        rows[n++] = more[i];
    for (int i = 0; i < n; i++) {
        snprintf(names[i], sizeof names[i], "%s %.*s", rows[i].op_type,
                 (int)strcspn(rows[i].example, ";"), rows[i].example);
        tests[i] = (struct CMUnitTest){names[i], test_gradient, NULL, NULL, &rows[i]};
    }
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++)
        tests[n++] = (struct CMUnitTest){arena_printf(arena, "%s is not the gradient of %s",
                                                      wrongs[i].gradient, wrongs[i].kernel),
                                         test_wrong, NULL, NULL, &wrongs[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(these_float_operators_have_no_derivative);
    int failed = _cmocka_run_group_tests("gradient", tests, (size_t)n, NULL, NULL);
    arena_free(arena);
    return failed;
}
