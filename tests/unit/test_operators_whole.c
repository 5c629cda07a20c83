/* Every operator has a rule, an example, a kernel that proves the rule, and a gradient, or is named
 * here with the reason. An operator that comes without one of these fails, and so does one that the
 * table says lacks what it has. */
#include "tests/unit/unit.h"

#include "core/rules/registry.h"
#include "core/rules/written/written.h"

/* ORDER LACK */
typedef enum { LACKS_RULE, LACKS_EXAMPLE, LACKS_KERNEL, LACKS_GRADIENT, LACKS_COUNT } Lack;

static const char *const lack_names[] = {"rule", "example", "kernel", "gradient"};

static const struct {
    Lack lack;
    const char *operators, *why;
} without[] = {
    {LACKS_EXAMPLE, "Constant Shape Size Range ConstantOfShape", "evaluated before the run"},
    {LACKS_EXAMPLE, "Loop Scan", "taken apart by the reader"},
    {LACKS_EXAMPLE,
     "SequenceConstruct SequenceEmpty SequenceInsert SequenceErase SequenceAt "
     "SequenceLength SequenceElement SequenceMap SplitToSequence "
     "ConcatFromSequence Optional OptionalHasElement OptionalGetElement",
     "their operands are sequences and optionals, which an example cannot write"},
    {LACKS_KERNEL,
     "ai.onnx.preview.training::Gradient Loop Scan stablehlo.all_gather "
     "stablehlo.all_reduce stablehlo.all_to_all stablehlo.batch_norm_inference "
     "stablehlo.bitcast_convert stablehlo.collective_broadcast "
     "stablehlo.collective_permute stablehlo.complex "
     "stablehlo.count_leading_zeros stablehlo.cross-replica-sum "
     "stablehlo.dot_general stablehlo.fft stablehlo.reduce_scatter "
     "stablehlo.reshape stablehlo.rng_bit_generator stablehlo.slice",
     "taken apart by the reader"},
    {LACKS_KERNEL,
     "StringConcat StringSplit StringNormalizer RegexFullMatch "
     "com.microsoft::Tokenizer ai.onnx.ml::CastMap ai.onnx.ml::CategoryMapper "
     "ai.onnx.ml::DictVectorizer ai.onnx.ml::ZipMap",
     "strings and maps, with which no kernel computes"},
    {LACKS_KERNEL, "sdy.manual_input sdy.manual_output",
     "around what each rank computes of its own part: planned, not run"},
    {LACKS_KERNEL, "ImageDecoder", "decodes the formats of image files"},
    {LACKS_KERNEL,
     "com.microsoft.nchwc::Conv com.microsoft.nchwc::MaxPool "
     "com.microsoft.nchwc::AveragePool com.microsoft.nchwc::GlobalAveragePool "
     "com.microsoft.nchwc::GlobalMaxPool com.microsoft.nchwc::ReorderInput "
     "com.microsoft.nchwc::ReorderOutput com.microsoft.nchwc::Upsample",
     "their weights are in blocks whose size is that of a processor's registers"},
    {LACKS_KERNEL, "com.microsoft::DynamicQuantizeLSTM",
     "it quantizes its state again in every step"},
    {LACKS_KERNEL, "com.microsoft::MaxpoolWithMask", "its schema does not say what the mask does"},
    {LACKS_KERNEL,
     "ScatterSome CrossEntropyWithSoftmax L1Loss MseLoss Dist TransposeBack "
     "SwapAxes MoveAxis BroadcastTo ExpandAs Repeat RepeatInterleave "
     "Select Unbind Chunk Stack PartScatter PadPairs Exp2 Frac "
     "HardShrink HardTanh Log10 Log2 LogSigmoid Logit NanToNum Poisson Relu6 "
     "ScaledTanh SoftShrink Square TanhShrink Trunc ConvertType Conj Scale "
     "Real Imag AddScalar PowScalar RemainderScalar MaxScalar MinScalar "
     "MulScalar DivScalar CompareScalar Polygamma CopySign "
     "FloorDiv FMax FMin Heaviside Hypot LogAddExp Remainder "
     "TruncDiv XLogY Compare IsClose Clamp Lerp AddCMul AddCDiv MaskedFill "
     "LabelSmooth CopyOnto FusedDropoutAdd Elementwise FillLike NewFull Full "
     "Arange Linspace Eye ViewAsComplex ViewAsReal ForeachUnary ForeachBinary "
     "ForeachNorm ElementwiseGrad BroadcastGrad WhereGrad SoftmaxGrad "
     "CumSumGrad ChosenGrad ReduceGrad NormGrad MatMulGrad EmbeddingGrad "
     "ConcatGrad SliceGrad RepeatGrad WholeGrad AttentionGrad PartGrad "
     "LossGrad GemmEpilogue Baddbmm Outer ScaledMatMul LinearGradAdd "
     "ScaledDotProductAttention FlashAttention FusedRotaryEmbedding "
     "LayerNormStats RmsNormStats GroupNormStats InstanceNormStats "
     "BatchNormStats MoeGateDispatch MoeCombine AdamStep SgdStep "
     "CheckFiniteAndUnscale Index IndexPut IndexAdd IndexCopy IndexFill "
     "ScatterRows Diagonal Diag Cholesky Eigh Svd Qr Solve MatMulTrans FftN "
     "UpsampleTo Unfold RoiAlignBoxes Sort ArgSort LogCumSumExp CumMax CumMin "
     "MaxWithIndex MinWithIndex KthValue MedianWithIndex ModeWithIndex "
     "ReduceAll ReduceAny Var Std VarMean VectorNorm NumElements Histogram "
     "Bucketize SearchSorted BinCount MaskedSelect NonZeroRows Unique2",
     "asked for by the rules of torch, Paddle and nnScaler; models have what they are made of"},
    {LACKS_GRADIENT,
     "ai.onnx.ml::LinearClassifier ai.onnx.ml::LinearRegressor ai.onnx.ml::Normalizer "
     "ai.onnx.ml::OneHotEncoder "
     "ai.onnx.ml::ArrayFeatureExtractor ai.onnx.ml::FeatureVectorizer "
     "ai.onnx.ml::Imputer ai.onnx.ml::LabelEncoder ai.onnx.ml::TreeEnsembleRegressor "
     "ai.onnx.ml::TreeEnsembleClassifier ai.onnx.ml::SVMRegressor ai.onnx.ml::SVMClassifier "
     "ai.onnx.ml::TreeEnsemble",
     "of tables, whose models are not trained by gradients"},
    {LACKS_GRADIENT,
     "MatMulInteger QLinearMatMul ConvInteger QLinearConv "
     "DynamicQuantizeLinear BitCast com.microsoft::QLinearAdd "
     "com.microsoft::QLinearMul com.microsoft::QLinearSigmoid "
     "com.microsoft::QLinearLeakyRelu NonZero NonMaxSuppression LoopIndex "
     "TfIdfVectorizer com.microsoft::MatMulInteger16 com.microsoft::BifurcationDetector "
     "com.microsoft::DynamicTimeWarping stablehlo.iota",
     "of whole numbers, bits and places"},
    {LACKS_GRADIENT, "Constant Shape Size Range ConstantOfShape", "evaluated before the run"},
    {LACKS_GRADIENT,
     "RandomNormal RandomUniform BlackmanWindow HammingWindow HannWindow "
     "MelWeightMatrix",
     "no input is a float that it varies with"},
    {LACKS_GRADIENT,
     "ai.onnx.preview.training::Adagrad ai.onnx.preview.training::Momentum "
     "ai.onnx.preview.training::Adam SgdUpdate MomentumUpdate NesterovUpdate "
     "AdamUpdate AdamWUpdate AdagradUpdate RmspropUpdate AdamaxUpdate "
     "NadamUpdate RadamUpdate ClipFactor LossScaleUpdate",
     "behind all gradients: the update of a step"},
    {LACKS_GRADIENT, "SequenceEmpty SequenceLength OptionalHasElement",
     "no input is a float that they vary with"},
    {LACKS_GRADIENT, "stablehlo.custom_call stablehlo.reduce",
     "its function is given by the module"},
    {LACKS_GRADIENT, "ReducePrecision", "varies in steps"},
    {LACKS_GRADIENT, "Swiglu", "another name of SwiGLU for Paddle's rules"},
};

/* An operator that only other systems' rules ask about has no kernel, and so nothing to
 * differentiate.
 */
static bool lacks(const Operator *row, Lack lack)
{
    const bool is[LACKS_COUNT] = {!row->rule, !row->examples,
                                  !row->kernel && !written_text(row->name),
                                  row->kernel && !row->gradient};
    return is[lack];
}

static bool is_among(const char *names, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = names; (at = strstr(at, name)); at++)
        if ((at == names || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
            return true;
    return false;
}

static bool is_excused(const char *name, Lack lack)
{
    for (size_t i = 0; i < COUNT_OF(without); i++)
        if (without[i].lack == lack && is_among(without[i].operators, name))
            return true;
    return false;
}

static void operators_lack_what_the_table_says(void **state)
{
    int n_wrong = 0;
    (void)state;
    for (const Operator *row = operator_next(NULL); row; row = operator_next(row))
        for (Lack lack = LACKS_RULE; lack < LACKS_COUNT; lack++) {
            if (lacks(row, lack) == is_excused(row->name, lack))
                continue;
            print_error("%s %s a %s, and the table says otherwise\n", row->name,
                        lacks(row, lack) ? "lacks" : "has", lack_names[lack]);
            n_wrong++;
        }
    assert_int_equal(n_wrong, 0);
}

static void names_are_operators(void **state)
{
    Arena *arena = arena_new();
    (void)state;
    for (size_t i = 0; i < COUNT_OF(without); i++) {
        Str rest = str_from(without[i].operators);
        assert_true(without[i].why[0] != '\0');
        while (rest.n > 0) {
            Str name = str_take(&rest, ' ');
            if (name.n > 0 && !operator_find(arena_str(arena, name)))
                fail_msg("'%.*s' is no operator", STR_ARG(name));
        }
    }
    arena_free(arena);
}

/* Operators with a derivative of which nothing computes it, or only for some models: their rows say
 * why. Those of loops and sequences are what is left where these are not taken apart; those of the
 * zeta and gamma functions are by parameters, for which torch has none either. */
static void few_gradients_are_refused(void **state)
{
    static const char *const refused =
        "LoopCarry LoopResult LoopSlice LoopStack SequenceConstruct SequenceInsert SequenceErase "
        "SequenceAt SequenceElement SequenceMap SplitToSequence ConcatFromSequence Optional "
        "OptionalGetElement Unique com.microsoft::MatMulIntegerToFloat Zeta GammaP GammaQ";
    int n_wrong = 0, n_refused = 0, n_listed = 1;
    (void)state;
    for (const Operator *row = operator_next(NULL); row; row = operator_next(row)) {
        bool is = row->gradient && strstr(row->gradient, "refused ");
        n_refused += is;
        if (is != is_among(refused, row->name)) {
            print_error("%s: gradients are%s refused\n", row->name, is ? "" : " not");
            n_wrong++;
        }
    }
    for (const char *at = refused; *at; at++)
        n_listed += *at == ' ';
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_refused, n_listed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_lack_what_the_table_says),
        cmocka_unit_test(names_are_operators),
        cmocka_unit_test(few_gradients_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
