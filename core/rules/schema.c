#include "core/rules/attr_table.h"

#include <limits.h>

/* Of every version of every operator: the ONNX operator schemas to opset 28, ai.onnx.ml to 5. In
 * the order of strcmp(). */
static const struct {
    const char *operator;
    const char *attrs;
} rows[] = {
    {"Abs", "consumed_inputs"},
    {"Acos", ""},
    {"Acosh", ""},
    {"Add", "axis broadcast consumed_inputs"},
    {"AffineGrid", "align_corners"},
    {"And", "axis broadcast"},
    {"ArgMax", "axis keepdims select_last_index"},
    {"ArgMin", "axis keepdims select_last_index"},
    {"Asin", ""},
    {"Asinh", ""},
    {"Atan", ""},
    {"Atanh", ""},
    {"Attention", "is_causal kv_num_heads left_window_size q_num_heads qk_matmul_output_mode "
                  "right_window_size scale softcap softmax_precision"},
    {"AveragePool", "auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides"},
    {"BatchNormalization", "consumed_inputs epsilon is_test momentum spatial training_mode"},
    {"Bernoulli", "dtype seed"},
    {"BitCast", "to"},
    {"BitShift", "direction"},
    {"BitwiseAnd", ""},
    {"BitwiseNot", ""},
    {"BitwiseOr", ""},
    {"BitwiseXor", ""},
    {"BlackmanWindow", "output_datatype periodic"},
    {"Cast", "round_mode saturate to"},
    {"CastLike", "round_mode saturate"},
    {"CausalConvWithState", "activation"},
    {"Ceil", "consumed_inputs"},
    {"Celu", "alpha"},
    {"CenterCropPad", "axes"},
    {"Clip", "consumed_inputs max min"},
    {"Col2Im", "dilations pads strides"},
    {"Compress", "axis"},
    {"Concat", "axis"},
    {"ConcatFromSequence", "axis new_axis"},
    {"Constant",
     "sparse_value value value_float value_floats value_int value_ints value_string value_strings"},
    {"ConstantOfShape", "value"},
    {"Conv", "auto_pad dilations group kernel_shape pads strides"},
    {"ConvInteger", "auto_pad dilations group kernel_shape pads strides"},
    {"ConvTranspose",
     "auto_pad dilations group kernel_shape output_padding output_shape pads strides"},
    {"Cos", ""},
    {"Cosh", ""},
    {"CumProd", "exclusive reverse"},
    {"CumSum", "exclusive reverse"},
    {"DFT", "axis inverse onesided"},
    {"DeformConv", "dilations group kernel_shape offset_group pads strides"},
    {"DepthToSpace", "blocksize mode"},
    {"DequantizeLinear", "axis block_size output_dtype"},
    {"Det", ""},
    {"Div", "axis broadcast consumed_inputs"},
    {"Dropout", "consumed_inputs is_test ratio seed"},
    {"DynamicQuantizeLinear", ""},
    {"Einsum", "equation"},
    {"Elu", "alpha consumed_inputs"},
    {"Equal", "axis broadcast"},
    {"Erf", ""},
    {"Exp", "consumed_inputs"},
    {"Expand", ""},
    {"EyeLike", "dtype k"},
    {"Flatten", "axis"},
    {"Floor", "consumed_inputs"},
    {"GRU", "activation_alpha activation_beta activations clip direction hidden_size layout "
            "linear_before_reset output_sequence"},
    {"Gather", "axis"},
    {"GatherElements", "axis"},
    {"GatherND", "batch_dims"},
    {"Gelu", "approximate"},
    {"Gemm", "alpha beta broadcast transA transB"},
    {"GlobalAveragePool", ""},
    {"GlobalLpPool", "p"},
    {"GlobalMaxPool", ""},
    {"Greater", "axis broadcast"},
    {"GreaterOrEqual", ""},
    {"GridSample", "align_corners mode padding_mode"},
    {"GroupNormalization", "epsilon num_groups stash_type"},
    {"HammingWindow", "output_datatype periodic"},
    {"HannWindow", "output_datatype periodic"},
    {"HardSigmoid", "alpha beta consumed_inputs"},
    {"HardSwish", ""},
    {"Hardmax", "axis"},
    {"Identity", ""},
    {"If", "else_branch then_branch"},
    {"ImageDecoder", "pixel_format"},
    {"InstanceNormalization", "consumed_inputs epsilon"},
    {"IsInf", "detect_negative detect_positive"},
    {"IsNaN", ""},
    {"LRN", "alpha beta bias size"},
    {"LSTM", "activation_alpha activation_beta activations clip direction hidden_size input_forget "
             "layout output_sequence"},
    {"LayerNormalization", "axis epsilon stash_type"},
    {"LeakyRelu", "alpha consumed_inputs"},
    {"Less", "axis broadcast"},
    {"LessOrEqual", ""},
    {"LinearAttention", "chunk_size kv_num_heads q_num_heads scale update_rule"},
    {"Log", "consumed_inputs"},
    {"LogSoftmax", "axis"},
    {"Loop", "body"},
    {"LpNormalization", "axis p"},
    {"LpPool", "auto_pad ceil_mode dilations kernel_shape p pads strides"},
    {"MatMul", ""},
    {"MatMulInteger", ""},
    {"Max", "consumed_inputs"},
    {"MaxPool", "auto_pad ceil_mode dilations kernel_shape pads storage_order strides"},
    {"MaxRoiPool", "pooled_shape spatial_scale"},
    {"MaxUnpool", "kernel_shape pads strides"},
    {"Mean", "consumed_inputs"},
    {"MeanVarianceNormalization", "axes"},
    {"MelWeightMatrix", "output_datatype"},
    {"Min", "consumed_inputs"},
    {"Mish", ""},
    {"Mod", "fmod"},
    {"Mul", "axis broadcast consumed_inputs"},
    {"Multinomial", "dtype sample_size seed"},
    {"Neg", "consumed_inputs"},
    {"NegativeLogLikelihoodLoss", "ignore_index reduction"},
    {"NonMaxSuppression", "center_point_box"},
    {"NonZero", ""},
    {"Not", ""},
    {"OneHot", "axis"},
    {"Optional", "type"},
    {"OptionalGetElement", ""},
    {"OptionalHasElement", ""},
    {"Or", "axis broadcast"},
    {"PRelu", "consumed_inputs"},
    {"Pad", "mode paddings pads value"},
    {"Pow", "axis broadcast"},
    {"QLinearConv", "auto_pad dilations group kernel_shape pads strides"},
    {"QLinearMatMul", ""},
    {"QuantizeLinear", "axis block_size output_dtype precision saturate"},
    {"RMSNormalization", "axis epsilon stash_type"},
    {"RNN", "activation_alpha activation_beta activations clip direction hidden_size layout "
            "output_sequence"},
    {"RandomNormal", "dtype mean scale seed shape"},
    {"RandomNormalLike", "dtype mean scale seed"},
    {"RandomUniform", "dtype high low seed shape"},
    {"RandomUniformLike", "dtype high low seed"},
    {"Range", "stash_type"},
    {"Reciprocal", "consumed_inputs"},
    {"ReduceL1", "axes keepdims noop_with_empty_axes"},
    {"ReduceL2", "axes keepdims noop_with_empty_axes"},
    {"ReduceLogSum", "axes keepdims noop_with_empty_axes"},
    {"ReduceLogSumExp", "axes keepdims noop_with_empty_axes"},
    {"ReduceMax", "axes keepdims noop_with_empty_axes"},
    {"ReduceMean", "axes keepdims noop_with_empty_axes"},
    {"ReduceMin", "axes keepdims noop_with_empty_axes"},
    {"ReduceProd", "axes keepdims noop_with_empty_axes"},
    {"ReduceSum", "axes keepdims noop_with_empty_axes"},
    {"ReduceSumSquare", "axes keepdims noop_with_empty_axes"},
    {"RegexFullMatch", "pattern"},
    {"Relu", "consumed_inputs"},
    {"Reshape", "allowzero consumed_inputs shape"},
    {"Resize", "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
               "extrapolation_value keep_aspect_ratio_policy mode nearest_mode"},
    {"ReverseSequence", "batch_axis time_axis"},
    {"RoiAlign",
     "coordinate_transformation_mode mode output_height output_width sampling_ratio spatial_scale"},
    {"RotaryEmbedding", "interleaved num_heads rotary_embedding_dim"},
    {"Round", ""},
    {"STFT", "onesided"},
    {"Scan", "body directions num_scan_inputs scan_input_axes scan_input_directions "
             "scan_output_axes scan_output_directions"},
    {"Scatter", "axis"},
    {"ScatterElements", "axis reduction"},
    {"ScatterND", "reduction"},
    {"Selu", "alpha consumed_inputs gamma"},
    {"SequenceAt", ""},
    {"SequenceConstruct", ""},
    {"SequenceEmpty", "dtype"},
    {"SequenceErase", ""},
    {"SequenceInsert", ""},
    {"SequenceLength", ""},
    {"SequenceMap", "body"},
    {"Shape", "end start"},
    {"Shrink", "bias lambd"},
    {"Sigmoid", "consumed_inputs"},
    {"Sign", ""},
    {"Sin", ""},
    {"Sinh", ""},
    {"Size", ""},
    {"Slice", "axes ends starts"},
    {"Softmax", "axis"},
    {"SoftmaxCrossEntropyLoss", "ignore_index reduction"},
    {"Softplus", ""},
    {"Softsign", ""},
    {"SpaceToDepth", "blocksize mode"},
    {"Split", "axis num_outputs split"},
    {"SplitToSequence", "axis keepdims"},
    {"Sqrt", "consumed_inputs"},
    {"Squeeze", "axes"},
    {"StringConcat", ""},
    {"StringNormalizer", "case_change_action is_case_sensitive locale stopwords"},
    {"StringSplit", "delimiter maxsplit"},
    {"Sub", "axis broadcast consumed_inputs"},
    {"Sum", "consumed_inputs"},
    {"SwiGLU", "alpha"},
    {"Swish", "alpha"},
    {"Tan", ""},
    {"Tanh", "consumed_inputs"},
    {"TensorScatter", "axis mode"},
    {"TfIdfVectorizer", "max_gram_length max_skip_count min_gram_length mode ngram_counts "
                        "ngram_indexes pool_int64s pool_strings weights"},
    {"ThresholdedRelu", "alpha"},
    {"Tile", ""},
    {"TopK", "axis k largest sorted"},
    {"Transpose", "perm"},
    {"Trilu", "upper"},
    {"Unique", "axis sorted"},
    {"Unsqueeze", "axes"},
    {"Upsample", "height_scale mode scales width_scale"},
    {"Where", ""},
    {"Xor", "axis broadcast"},
    {"ai.onnx.ml::ArrayFeatureExtractor", ""},
    {"ai.onnx.ml::Binarizer", "threshold"},
    {"ai.onnx.ml::CastMap", "cast_to map_form max_map"},
    {"ai.onnx.ml::CategoryMapper", "cats_int64s cats_strings default_int64 default_string"},
    {"ai.onnx.ml::DictVectorizer", "int64_vocabulary string_vocabulary"},
    {"ai.onnx.ml::FeatureVectorizer", "inputdimensions"},
    {"ai.onnx.ml::Imputer",
     "imputed_value_floats imputed_value_int64s replaced_value_float replaced_value_int64"},
    {"ai.onnx.ml::LabelEncoder", "classes_strings default_float default_int64 default_string "
                                 "default_tensor keys_floats keys_int64s keys_strings keys_tensor "
                                 "values_floats values_int64s values_strings values_tensor"},
    {"ai.onnx.ml::LinearClassifier",
     "classlabels_ints classlabels_strings coefficients intercepts multi_class post_transform"},
    {"ai.onnx.ml::LinearRegressor", "coefficients intercepts post_transform targets"},
    {"ai.onnx.ml::Normalizer", "norm"},
    {"ai.onnx.ml::OneHotEncoder", "cats_int64s cats_strings zeros"},
    {"ai.onnx.ml::SVMClassifier",
     "classlabels_ints classlabels_strings coefficients kernel_params kernel_type post_transform "
     "prob_a prob_b rho support_vectors vectors_per_class"},
    {"ai.onnx.ml::SVMRegressor", "coefficients kernel_params kernel_type n_supports one_class "
                                 "post_transform rho support_vectors"},
    {"ai.onnx.ml::Scaler", "offset scale"},
    {"ai.onnx.ml::TreeEnsemble",
     "aggregate_function leaf_targetids leaf_weights membership_values n_targets nodes_falseleafs "
     "nodes_falsenodeids nodes_featureids nodes_hitrates nodes_missing_value_tracks_true "
     "nodes_modes nodes_splits nodes_trueleafs nodes_truenodeids post_transform tree_roots"},
    {"ai.onnx.ml::TreeEnsembleClassifier",
     "base_values base_values_as_tensor class_ids class_nodeids class_treeids class_weights "
     "class_weights_as_tensor classlabels_int64s classlabels_strings nodes_falsenodeids "
     "nodes_featureids nodes_hitrates nodes_hitrates_as_tensor nodes_missing_value_tracks_true "
     "nodes_modes nodes_nodeids nodes_treeids nodes_truenodeids nodes_values "
     "nodes_values_as_tensor post_transform"},
    {"ai.onnx.ml::TreeEnsembleRegressor",
     "aggregate_function base_values base_values_as_tensor n_targets nodes_falsenodeids "
     "nodes_featureids nodes_hitrates nodes_hitrates_as_tensor nodes_missing_value_tracks_true "
     "nodes_modes nodes_nodeids nodes_treeids nodes_truenodeids nodes_values "
     "nodes_values_as_tensor post_transform target_ids target_nodeids target_treeids "
     "target_weights target_weights_as_tensor"},
    {"ai.onnx.ml::ZipMap", "classlabels_int64s classlabels_strings"},
};

const char *attr_table_find(const char *operator)
{
    size_t low = 0, high = sizeof rows / sizeof *rows;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(operator, rows[middle].operator);
        if (order == 0)
            return rows[middle].attrs;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* ---- attributes that nobody reads ---- */

/* The names that could have been meant, and which of them is nearest to the one given. */
typedef struct {
    Str given, nearest;
    int distance;
    bool known;
} Search;

static void offer(Search *search, Str name)
{
    int distance = str_distance(search->given, name);
    search->known |= str_eq(search->given, name);
    if (distance < search->distance) {
        search->distance = distance;
        search->nearest = name;
    }
}

static void offer_words(Search *search, const char *words)
{
    while (*words) {
        size_t n = strcspn(words, " ");
        offer(search, (Str){words, n});
        words += n + (words[n] == ' ');
    }
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

bool attr_table_find_unknown(const RuleCall *call, const char *operator, Str * given, Str *meant)
{
    const Graph *graph = call->graph;
    const AttrList *attrs = &graph->attr_lists[graph->ops[call->op].attrs];
    const char *listed = call->alias ? NULL : attr_table_find(operator);
    for (int i = 0; i < attrs->n; i++) {
        Search search = {.given = names_str(graph->names, attrs->at[i].name), .distance = INT_MAX};
        offer_words(&search, listed ? listed : "");
        for (int r = 0; r < call->reads->n; r++)
            offer_read(&search, call->alias, call->reads->name[r]);
        for (int a = 0; call->alias && a < call->alias->n_attrs; a++)
            offer(&search, str_from(call->alias->attr[a].theirs));
        bool near = search.distance <= 1 + (int)search.given.n / 4;
        if (search.known || (!listed && !near))
            continue;
        *given = search.given;
        *meant = near ? search.nearest : STR("");
        return true;
    }
    return false;
}
