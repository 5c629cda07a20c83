#include "core/rules/schema.h"

#include <limits.h>
#include <stdio.h>

/* Attributes of every version of every operator: the ONNX operator schemas to opset 28, ai.onnx.ml
 * to 5. Types, one word an input: a letter that inputs of one type share, `.` for one on its own;
 * then what it may be, f i b s c for floats, whole numbers, bool, strings, complex; none: anything;
 * `+` is as many more. In the order of strcmp(). */
typedef struct {
    const char *operator;
    const char *attrs;
    const char *types;
} SchemaRow;

static const SchemaRow rows[] = {
    {"Abs", "consumed_inputs", ".fi"},
    {"Acos", "", ".f"},
    {"Acosh", "", ".f"},
    {"Add", "axis broadcast consumed_inputs", "Afi Afi"},
    {"AffineGrid", "align_corners", ".f .i"},
    {"And", "axis broadcast", "Ab Ab"},
    {"ArgMax", "axis keepdims select_last_index", ".fi"},
    {"ArgMin", "axis keepdims select_last_index", ".fi"},
    {"Asin", "", ".f"},
    {"Asinh", "", ".f"},
    {"Atan", "", ".f"},
    {"Atanh", "", ".f"},
    {"Attention",
     "is_causal kv_num_heads left_window_size q_num_heads qk_matmul_output_mode right_window_size "
     "scale softcap softmax_precision",
     "Af Af Bf . Af Bf .i"},
    {"AveragePool", "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides",
     ".f"},
    {"BatchNormalization", "consumed_inputs epsilon is_test momentum spatial training_mode",
     ".f Af Af Bf Bf"},
    {"Bernoulli", "dtype seed", ".f"},
    {"BitCast", "to", ""},
    {"BitShift", "direction", "Ai Ai"},
    {"BitwiseAnd", "", "Ai Ai"},
    {"BitwiseNot", "", ".i"},
    {"BitwiseOr", "", "Ai Ai"},
    {"BitwiseXor", "", "Ai Ai"},
    {"BlackmanWindow", "output_datatype periodic", ".i"},
    {"Cast", "round_mode saturate to", ""},
    {"CastLike", "round_mode saturate", ""},
    {"CausalConvWithState", "activation", "Af Af Af Af"},
    {"Ceil", "consumed_inputs", ".f"},
    {"Celu", "alpha", ".f"},
    {"CenterCropPad", "axes", ". .i"},
    {"Clip", "consumed_inputs max min", "Afi Afi Afi"},
    {"Col2Im", "dilations pads strides", ". .i .i"},
    {"Compress", "axis", ". .b"},
    {"Concat", "axis", "A+"},
    {"ConcatFromSequence", "axis new_axis", ""},
    {"Constant",
     "sparse_value value value_float value_floats value_int value_ints value_string value_strings",
     ""},
    {"ConstantOfShape", "value", ".i"},
    {"Conv", "auto_pad dilations group kernel_shape pads strides", "Af Af Af"},
    {"ConvInteger", "auto_pad dilations group kernel_shape pads strides", "Ai Bi Ai Bi"},
    {"ConvTranspose",
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides", "Af Af Af"},
    {"Cos", "", ".f"},
    {"Cosh", "", ".f"},
    {"CumProd", "exclusive reverse", ".fi .i"},
    {"CumSum", "exclusive reverse", ".fi .i"},
    {"DFT", "axis inverse onesided", ".f .i .i"},
    {"DeformConv", "dilations group kernel_shape offset_group pads strides", "Af Af Af Af Af"},
    {"DepthToSpace", "blocksize mode", ""},
    {"DequantizeLinear", "axis block_size output_dtype", "Afic .f Afic"},
    {"Det", "", ".f"},
    {"Div", "axis broadcast consumed_inputs", "Afi Afi"},
    {"Dropout", "consumed_inputs is_test ratio seed", ".f .f .b"},
    {"DynamicQuantizeLinear", "", ".f"},
    {"Einsum", "equation", "Afi+"},
    {"Elu", "alpha consumed_inputs", ".f"},
    {"Equal", "axis broadcast", "A A"},
    {"Erf", "", ".fi"},
    {"Exp", "consumed_inputs", ".f"},
    {"Expand", "", ". .i"},
    {"EyeLike", "dtype k", ""},
    {"Flatten", "axis", ""},
    {"Floor", "consumed_inputs", ".f"},
    {"GRU",
     "activation_alpha activation_beta activations clip direction hidden_size layout "
     "linear_before_reset output_sequence",
     "Af Af Af Af .i Af"},
    {"Gather", "axis", ". .i"},
    {"GatherElements", "axis", ". .i"},
    {"GatherND", "batch_dims", ". .i"},
    {"Gelu", "approximate", ".f"},
    {"Gemm", "alpha beta broadcast transA transB", "Afi Afi Afi"},
    {"GlobalAveragePool", "", ".f"},
    {"GlobalLpPool", "p", ".f"},
    {"GlobalMaxPool", "", ".f"},
    {"Greater", "axis broadcast", "Afi Afi"},
    {"GreaterOrEqual", "", "Afi Afi"},
    {"GridSample", "align_corners mode padding_mode", ". .f"},
    {"GroupNormalization", "epsilon num_groups stash_type", "Af Af Af"},
    {"HammingWindow", "output_datatype periodic", ".i"},
    {"HannWindow", "output_datatype periodic", ".i"},
    {"HardSigmoid", "alpha beta consumed_inputs", ".f"},
    {"HardSwish", "", ".f"},
    {"Hardmax", "axis", ".f"},
    {"Identity", "", ""},
    {"If", "else_branch then_branch", ".b"},
    {"ImageDecoder", "pixel_format", ".i"},
    {"InstanceNormalization", "consumed_inputs epsilon", "Af Af Af"},
    {"IsInf", "detect_negative detect_positive", ".f"},
    {"IsNaN", "", ".f"},
    {"LRN", "alpha beta bias size", ".f"},
    {"LSTM",
     "activation_alpha activation_beta activations clip direction hidden_size input_forget layout "
     "output_sequence",
     "Af Af Af Af .i Af Af Af"},
    {"LayerNormalization", "axis epsilon stash_type", "Af Af Af"},
    {"LeakyRelu", "alpha consumed_inputs", ".f"},
    {"Less", "axis broadcast", "Afi Afi"},
    {"LessOrEqual", "", "Afi Afi"},
    {"LinearAttention", "chunk_size kv_num_heads q_num_heads scale update_rule",
     "Af Af Af .f Af Af"},
    {"Log", "consumed_inputs", ".f"},
    {"LogSoftmax", "axis", ".f"},
    {"Loop", "body", ".i .b"},
    {"LpNormalization", "axis p", ".f"},
    {"LpPool", "auto_pad ceil_mode dilations kernel_shape p pads strides", ".f"},
    {"MatMul", "", "Afi Afi"},
    {"MatMulInteger", "", "Ai Bi Ai Bi"},
    {"Max", "consumed_inputs", "Afi+"},
    {"MaxPool", "auto_pad ceil_mode dilations kernel_shape pads storage_order strides", ".fi"},
    {"MaxRoiPool", "pooled_shape spatial_scale", "Af Af"},
    {"MaxUnpool", "kernel_shape pads strides", ".f Ai Ai"},
    {"Mean", "consumed_inputs", "Af+"},
    {"MeanVarianceNormalization", "axes", ".f"},
    {"MelWeightMatrix", "output_datatype", "Ai Ai Ai Bf Bf"},
    {"Min", "consumed_inputs", "Afi+"},
    {"Mish", "", ".f"},
    {"Mod", "fmod", "Afi Afi"},
    {"Mul", "axis broadcast consumed_inputs", "Afi Afi"},
    {"Multinomial", "dtype sample_size seed", ".f"},
    {"Neg", "consumed_inputs", ".fi"},
    {"NegativeLogLikelihoodLoss", "ignore_index reduction", "Af .i Af"},
    {"NonMaxSuppression", "center_point_box", ".f .f .i .f .f"},
    {"NonZero", "", ""},
    {"Not", "", ".b"},
    {"OneHot", "axis", ".fi .fi"},
    {"Optional", "type", ""},
    {"OptionalGetElement", "", ""},
    {"OptionalHasElement", "", ""},
    {"Or", "axis broadcast", "Ab Ab"},
    {"PRelu", "consumed_inputs", "Afi Afi"},
    {"Pad", "mode paddings pads value", "A .i A .i"},
    {"Pow", "axis broadcast", ".fi .fi"},
    {"QLinearConv", "auto_pad dilations group kernel_shape pads strides",
     "Ai .f Ai Bi .f Bi .f .i .i"},
    {"QLinearMatMul", "", "Afi Bf Afi Cfi Bf Cfi Bf .fi"},
    {"QuantizeLinear", "axis block_size output_dtype precision saturate", ".fi .fi .fic"},
    {"RMSNormalization", "axis epsilon stash_type", ".f .f"},
    {"RNN",
     "activation_alpha activation_beta activations clip direction hidden_size layout "
     "output_sequence",
     "Af Af Af Af .i Af"},
    {"RandomNormal", "dtype mean scale seed shape", ""},
    {"RandomNormalLike", "dtype mean scale seed", ""},
    {"RandomUniform", "dtype high low seed shape", ""},
    {"RandomUniformLike", "dtype high low seed", ""},
    {"Range", "stash_type", "Afi Afi Afi"},
    {"Reciprocal", "consumed_inputs", ".f"},
    {"ReduceL1", "axes keepdims noop_with_empty_axes", ".fi .i"},
    {"ReduceL2", "axes keepdims noop_with_empty_axes", ".fi .i"},
    {"ReduceLogSum", "axes keepdims noop_with_empty_axes", ".fi .i"},
    {"ReduceLogSumExp", "axes keepdims noop_with_empty_axes", ".fi .i"},
    {"ReduceMax", "axes keepdims noop_with_empty_axes", ". .i"},
    {"ReduceMean", "axes keepdims noop_with_empty_axes", ".fi .i"},
    {"ReduceMin", "axes keepdims noop_with_empty_axes", ". .i"},
    {"ReduceProd", "axes keepdims noop_with_empty_axes", ".fi .i"},
    {"ReduceSum", "axes keepdims noop_with_empty_axes", ".fi .i"},
    {"ReduceSumSquare", "axes keepdims noop_with_empty_axes", ".fi .i"},
    {"RegexFullMatch", "pattern", ".s"},
    {"Relu", "consumed_inputs", ".fi"},
    {"Reshape", "allowzero consumed_inputs shape", ". .i"},
    {"Resize",
     "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
     "extrapolation_value keep_aspect_ratio_policy mode nearest_mode",
     ". .f .f .i"},
    {"ReverseSequence", "batch_axis time_axis", ". .i"},
    {"RoiAlign",
     "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale",
     "Af Af .i"},
    {"RotaryEmbedding", "interleaved num_heads rotary_embedding_dim", "Af Af Af .i"},
    {"Round", "", ".f"},
    {"STFT", "onesided", "Af Bi Af Bi"},
    {"Scan",
     "body directions num_scan_inputs scan_input_axes scan_input_directions scan_output_axes "
     "scan_output_directions",
     ""},
    {"Scatter", "axis", "A .i A"},
    {"ScatterElements", "axis reduction", "A .i A"},
    {"ScatterND", "reduction", "A .i A"},
    {"Selu", "alpha consumed_inputs gamma", ".f"},
    {"SequenceAt", "", ". .i"},
    {"SequenceConstruct", "", "A+"},
    {"SequenceEmpty", "dtype", ""},
    {"SequenceErase", "", ". .i"},
    {"SequenceInsert", "", ". . .i"},
    {"SequenceLength", "", ""},
    {"SequenceMap", "body", ""},
    {"Shape", "end start", ""},
    {"Shrink", "bias lambd", ".fi"},
    {"Sigmoid", "consumed_inputs", ".f"},
    {"Sign", "", ".fi"},
    {"Sin", "", ".f"},
    {"Sinh", "", ".f"},
    {"Size", "", ""},
    {"Slice", "axes ends starts", ". Ai Ai Ai Ai"},
    {"Softmax", "axis", ".f"},
    {"SoftmaxCrossEntropyLoss", "ignore_index reduction", "Af .i Af"},
    {"Softplus", "", ".f"},
    {"Softsign", "", ".f"},
    {"SpaceToDepth", "blocksize mode", ""},
    {"Split", "axis num_outputs split", ". .fi"},
    {"SplitToSequence", "axis keepdims", ". .i"},
    {"Sqrt", "consumed_inputs", ".f"},
    {"Squeeze", "axes", ". .i"},
    {"StringConcat", "", "As As"},
    {"StringNormalizer", "case_change_action is_case_sensitive locale stopwords", ".s"},
    {"StringSplit", "delimiter maxsplit", ".s"},
    {"Sub", "axis broadcast consumed_inputs", "Afi Afi"},
    {"Sum", "consumed_inputs", "Af+"},
    {"SwiGLU", "alpha", "Af Af"},
    {"Swish", "alpha", ".f"},
    {"Tan", "", ".f"},
    {"Tanh", "consumed_inputs", ".f"},
    {"TensorScatter", "axis mode", "A A .i"},
    {"TfIdfVectorizer",
     "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s "
     "pool_strings weights",
     ".is"},
    {"ThresholdedRelu", "alpha", ".f"},
    {"Tile", "", ". .fi"},
    {"TopK", "axis k largest sorted", ".fi .i"},
    {"Transpose", "perm", ""},
    {"Trilu", "upper", ". .i"},
    {"Unique", "axis sorted", ""},
    {"Unsqueeze", "axes", ". .i"},
    {"Upsample", "height_scale mode scales width_scale", ". .f"},
    {"Where", "", ".b A A"},
    {"Xor", "axis broadcast", "Ab Ab"},
    {"ai.onnx.ml::ArrayFeatureExtractor", "", ".fis .i"},
    {"ai.onnx.ml::Binarizer", "threshold", ".fi"},
    {"ai.onnx.ml::CastMap", "cast_to map_form max_map", ""},
    {"ai.onnx.ml::CategoryMapper", "cats_int64s cats_strings default_int64 default_string", ".is"},
    {"ai.onnx.ml::DictVectorizer", "int64_vocabulary string_vocabulary", ""},
    {"ai.onnx.ml::FeatureVectorizer", "inputdimensions", "Afi+"},
    {"ai.onnx.ml::Imputer",
     "imputed_value_floats imputed_value_int64s replaced_value_float replaced_value_int64", ".fi"},
    {"ai.onnx.ml::LabelEncoder",
     "classes_strings default_float default_int64 default_string default_tensor keys_floats "
     "keys_int64s keys_strings keys_tensor values_floats values_int64s values_strings "
     "values_tensor",
     ".fis"},
    {"ai.onnx.ml::LinearClassifier",
     "classlabels_ints classlabels_strings coefficients intercepts multi_class post_transform",
     ".fi"},
    {"ai.onnx.ml::LinearRegressor", "coefficients intercepts post_transform targets", ".fi"},
    {"ai.onnx.ml::Normalizer", "norm", ".fi"},
    {"ai.onnx.ml::OneHotEncoder", "cats_int64s cats_strings zeros", ".fis"},
    {"ai.onnx.ml::SVMClassifier",
     "classlabels_ints classlabels_strings coefficients kernel_params kernel_type post_transform "
     "prob_a prob_b rho support_vectors vectors_per_class",
     ".fi"},
    {"ai.onnx.ml::SVMRegressor",
     "coefficients kernel_params kernel_type n_supports one_class post_transform rho "
     "support_vectors",
     ".fi"},
    {"ai.onnx.ml::Scaler", "offset scale", ".fi"},
    {"ai.onnx.ml::TreeEnsemble",
     "aggregate_function leaf_targetids leaf_weights membership_values n_targets nodes_falseleafs "
     "nodes_falsenodeids nodes_featureids nodes_hitrates nodes_missing_value_tracks_true "
     "nodes_modes nodes_splits nodes_trueleafs nodes_truenodeids post_transform tree_roots",
     ".f"},
    {"ai.onnx.ml::TreeEnsembleClassifier",
     "base_values base_values_as_tensor class_ids class_nodeids class_treeids class_weights "
     "class_weights_as_tensor classlabels_int64s classlabels_strings nodes_falsenodeids "
     "nodes_featureids nodes_hitrates nodes_hitrates_as_tensor nodes_missing_value_tracks_true "
     "nodes_modes nodes_nodeids nodes_treeids nodes_truenodeids nodes_values "
     "nodes_values_as_tensor post_transform",
     ".fi"},
    {"ai.onnx.ml::TreeEnsembleRegressor",
     "aggregate_function base_values base_values_as_tensor n_targets nodes_falsenodeids "
     "nodes_featureids nodes_hitrates nodes_hitrates_as_tensor nodes_missing_value_tracks_true "
     "nodes_modes nodes_nodeids nodes_treeids nodes_truenodeids nodes_values "
     "nodes_values_as_tensor post_transform target_ids target_nodeids target_treeids "
     "target_weights target_weights_as_tensor",
     ".fi"},
    {"ai.onnx.ml::ZipMap", "classlabels_int64s classlabels_strings", ".f"},
};

static const SchemaRow *find_row(const char *operator)
{
    size_t low = 0, high = sizeof rows / sizeof *rows;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(operator, rows[middle].operator);
        if (order == 0)
            return &rows[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

const char *schema_attrs(const char *operator)
{
    const SchemaRow *row = find_row(operator);
    return row ? row->attrs : NULL;
}

/* ---- types of operands ---- */

static const struct {
    char letter;
    const char *name;
} classes[] = {{'f', "floats"},
               {'i', "whole numbers"},
               {'b', "bool"},
               {'s', "strings"},
               {'c', "complex numbers"}};

static char class_of(Dtype dtype)
{
    if (dtype_is_float(dtype))
        return 'f';
    if (dtype_is_int(dtype))
        return 'i';
    return dtype == DT_BOOL ? 'b' : dtype == DT_STR ? 's' : 'c';
}

static bool wrong_class(int input, Dtype dtype, Str allowed, Error *err)
{
    char text[80] = "";
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
        if (memchr(allowed.s, classes[c].letter, allowed.n)) {
            size_t n = strlen(text);
            snprintf(text + n, sizeof text - n, "%s%s", n > 0 ? " or " : "", classes[c].name);
        }
    return error_kind(err, ERROR_DTYPE, "its input %d is %s, and must be of %s", input,
                      dtype_name(dtype), text);
}

bool schema_check_types(const RuleCall *call, const char *operator, Error * err)
{
    const AttrReads *reads = call->reads;
    if (reads && reads->mistyped)
        return error_kind(err, ERROR_DTYPE, "its attribute '%s' is not %s", reads->mistyped,
                          reads->wanted);
    const SchemaRow *row = find_row(operator);
    const char *word = row && !call->alias ? row->types : "";
    int first_of[26];
    memset(first_of, -1, sizeof first_of);
    for (int i = 0; i < call->n_inputs && *word; i++) {
        size_t n = strcspn(word, " ");
        bool repeats = word[n - 1] == '+';
        Str allowed = {word + 1, n - 1 - repeats};
        Dtype dtype = call->dtype[i];
        if (call->shape[i] && dtype != DT_NONE) {
            if (allowed.n > 0 && !memchr(allowed.s, class_of(dtype), allowed.n))
                return wrong_class(i, dtype, allowed, err);
            int *first = *word == '.' ? NULL : &first_of[*word - 'A'];
            if (first && *first >= 0 && call->dtype[*first] != dtype)
                return error_kind(err, ERROR_DTYPE,
                                  "its inputs %d and %d are %s and %s, and must be of one type",
                                  *first, i, dtype_name(call->dtype[*first]), dtype_name(dtype));
            if (first && *first < 0)
                *first = i;
        }
        if (!repeats)
            word += n + (word[n] == ' ');
    }
    return true;
}

/* ---- attributes that nobody reads ---- */

/* The names that an attribute may have here: is the given one among them, and if not, which is
 * nearest. Distances are looked at only then: most attributes are known. */
typedef struct {
    Str given, nearest;
    int distance; /* INT_MAX: none is near yet */
    bool measure, known;
} Search;

static void offer(Search *search, Str name)
{
    search->known |= str_eq(search->given, name);
    int distance = search->measure ? str_distance(search->given, name) : INT_MAX;
    if (distance < search->distance) {
        search->distance = distance;
        search->nearest = name;
    }
}

static void offer_words(Search *search, Str words)
{
    while (words.n > 0)
        offer(search, str_take(&words, ' '));
}

/* What the op may call the attribute that the rule calls `ours`. */
static void offer_read(Search *search, const Alias *alias, const char *ours)
{
    bool renamed = false;
    for (int i = 0; alias && i < alias->n_attrs; i++)
        if (strcmp(alias->attr[i].ours, ours) == 0) {
            offer(search, str_from(alias->attr[i].theirs));
            renamed = true;
        }
    if (!renamed)
        offer(search, str_from(ours));
}

static void offer_all(Search *search, const RuleCall *call, const char *listed)
{
    const Alias *alias = call->alias;
    offer_words(search, str_from(listed));
    for (int r = 0; r < call->reads->n; r++)
        offer_read(search, alias, call->reads->name[r]);
    for (int a = 0; alias && a < alias->n_attrs; a++)
        offer(search, str_from(alias->attr[a].theirs));
}

bool schema_find_unknown(const RuleCall *call, const char *operator, Str * given, Str *meant)
{
    const Graph *graph = call->graph;
    const AttrList *attrs = &graph->attr_lists[graph->ops[call->op].attrs];
    const char *listed = attrs->n == 0 || call->alias ? NULL : schema_attrs(operator);
    for (int i = 0; i < attrs->n; i++) {
        Search search = {.given = names_str(graph->names, attrs->at[i].name), .distance = INT_MAX};
        offer_all(&search, call, listed);
        if (search.known)
            continue;
        search.measure = true;
        offer_all(&search, call, listed);
        bool near = search.distance <= 1 + (int)search.given.n / 4;
        if (!listed && !near)
            continue;
        *given = search.given;
        *meant = near ? search.nearest : STR("");
        return true;
    }
    return false;
}
