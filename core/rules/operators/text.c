/* text.c - operators on strings, and those of ai.onnx.ml: encoders, scalers, trees, vectors.
 *
 *     StringConcat     d0 1, d1 -> d0 d1
 *     Scaler           n c^ -> n c^            c is cut where one scale serves all columns
 *     LinearClassifier n c^ -> n, n 3          labels, and a score a class
 *     OneHotEncoder    d0 d1 -> d0 d1 3
 *
 * Rows of a table are independent, so the batch dim may be sharded; a vector is one row. Those on
 * numbers that are a few lines have kernels; of the others shapes and types are inferred.
 */
#include "core/rules/args.h"

#include <inttypes.h>

/* ---- same shape ---- */

/* One index dim for each dim of the output; the last one is frozen if columns have different
 * parameters. */
static bool each(RuleCall *call, Dtype dtype, bool by_column, Error *err)
{
    const Shape *from = call->shape[0];
    call->out_shape[0] = *from;
    call->out_dtype[0] = dtype;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int d = 0; d < from->n_dims; d++) {
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        if (by_column && d == from->n_dims - 1 && index >= 0)
            space->index[index].role = ROLE_FROZEN;
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return true;
}

/* How many values a list attribute has. */
static int count_of(const RuleCall *call, const char *attr)
{
    const Attr *found = args_attr(call, attr);
    return !found ? 0 : found->type == ATTR_INT || found->type == ATTR_FLOAT ? 1 : found->n;
}

static bool same(RuleCall *call, Error *err)
{
    return each(call, call->dtype[0], false, err);
}

static bool truth(RuleCall *call, Error *err)
{
    return each(call, DT_BOOL, false, err);
}

static bool scale(RuleCall *call, Error *err)
{
    return each(call, DT_F32, count_of(call, "scale") > 1 || count_of(call, "offset") > 1, err);
}

static bool impute(RuleCall *call, Error *err)
{
    bool by_column =
        count_of(call, "imputed_value_floats") > 1 || count_of(call, "imputed_value_int64s") > 1;
    return each(call, call->dtype[0], by_column, err);
}

/* A row is divided by its norm. */
static bool normalize(RuleCall *call, Error *err)
{
    return each(call, DT_F32, true, err);
}

static bool map_category(RuleCall *call, Error *err)
{
    return each(call, call->dtype[0] == DT_STR ? DT_I64 : DT_STR, false, err);
}

/* The type of the values, in whichever attribute they are; the first opset only maps between
 * strings and numbers. */
static bool encode_label(RuleCall *call, Error *err)
{
    const Attr *tensor = args_attr(call, "values_tensor");
    Dtype dtype = tensor && tensor->type == ATTR_TENSOR  ? (Dtype)tensor->dtype
                  : count_of(call, "values_strings") > 0 ? DT_STR
                  : count_of(call, "values_int64s") > 0  ? DT_I64
                  : count_of(call, "values_floats") > 0  ? DT_F32
                  : call->dtype[0] == DT_STR             ? DT_I64
                                                         : DT_STR;
    return each(call, dtype, false, err);
}

/* Dropping stop words leaves fewer words: how many depends on data. */
static bool normalize_text(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    if (from->n_dims != 1 && (from->n_dims != 2 || from->dim[0] != 1))
        return error_kind(err, ERROR_RANK, "its input 0 is neither [C] nor [1,C]");
    if (count_of(call, "stopwords") == 0)
        return same(call, err);
    call->out_shape[0] = *from;
    call->out_shape[0].dim[from->n_dims - 1] = -1;
    call->out_dtype[0] = DT_STR;
    return rule_space(call, err);
}

static bool concat_text(RuleCall *call, Error *err)
{
    if (!args_broadcast(call->shape, 2, &call->out_shape[0], err))
        return false;
    call->out_dtype[0] = DT_STR;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int index[DIMS_MAX], n = (int)call->out_shape[0].n_dims;
    for (int d = 0; d < n; d++)
        index[d] = rule_index_at(call, 'd', d, call->out_shape[0].dim[d]);
    for (int i = 0; i < 3; i++)
        rule_align(&space->operand[i], index, n);
    return true;
}

/* ---- a new last dim ---- */

/* Output 0 has the input's dims and a last one of `size`, read whole. */
static bool widen(RuleCall *call, int64_t size, Dtype dtype, Error *err)
{
    const Shape *from = call->shape[0];
    if (from->n_dims == DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    call->out_shape[0] = *from;
    call->out_shape[0].dim[call->out_shape[0].n_dims++] = size;
    call->out_dtype[0] = dtype;
    OpSpace *space = rule_space(call, err);
    for (int d = 0; space && d < from->n_dims; d++) {
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        for (int o = 0; o < call->n_outputs; o++)
            rule_unit(rule_output(space, o), d, index);
    }
    return space;
}

static bool encode_one_hot(RuleCall *call, Error *err)
{
    int n = count_of(call, "cats_int64s") + count_of(call, "cats_strings");
    return n > 0 ? widen(call, n, DT_F32, err) : error_set(err, "it has no categories");
}

/* Splits into as many parts as the longest text has; the second output has the counts. */
static bool split_text(RuleCall *call, Error *err)
{
    if (call->n_outputs > 1) {
        call->out_shape[1] = *call->shape[0];
        call->out_dtype[1] = DT_I64;
    }
    return widen(call, -1, DT_STR, err);
}

/* ---- tables ---- */

/* The last output has `size` numbers for each row of input 0; if there are two outputs the first
 * one has a label for each row. size < 0: known only at run time. */
static bool table(RuleCall *call, int64_t size, Dtype label, Dtype score, Error *err)
{
    const Shape *from = call->shape[0];
    if (!args_rank(call, 0, 1, 2, err))
        return false;
    int64_t n_rows = from->n_dims == 2 ? from->dim[0] : 1;
    bool labelled = label != DT_NONE;
    for (int o = 0; o < call->n_outputs; o++) {
        bool is_label = labelled && o == 0;
        call->out_shape[o] = is_label ? (Shape){.n_dims = 1, .dim = {n_rows}}
                                      : (Shape){.n_dims = 2, .dim = {n_rows, size}};
        call->out_dtype[o] = is_label ? label : score;
    }
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int n = rule_index(space, "n", n_rows, ROLE_MAP, REDUCE_NONE);
    int c = rule_index(space, "c", from->dim[from->n_dims - 1], ROLE_FROZEN, REDUCE_NONE);
    if (from->n_dims == 2)
        rule_unit(&space->operand[0], 0, n);
    rule_unit(&space->operand[0], from->n_dims - 1, c);
    for (int o = 0; o < call->n_outputs; o++)
        rule_unit(rule_output(space, o), 0, n);
    return true;
}

/* Labels are numbers or strings, whichever the attributes list; without a list, class numbers. */
static bool classify(RuleCall *call, const char *ints, const char *strings, Error *err)
{
    int n_strings = count_of(call, strings), n = n_strings + count_of(call, ints);
    if (n == 0)
        n = count_of(call, "intercepts") + count_of(call, "vectors_per_class");
    return table(call, n > 0 ? n : -1, n_strings > 0 ? DT_STR : DT_I64, DT_F32, err);
}

static bool classify_table(RuleCall *call, Error *err)
{
    return classify(call, "classlabels_ints", "classlabels_strings", err);
}

/* Support vectors score each pair of classes, unless they estimate probabilities; of two classes
 * the second score is that of the other. */
static bool classify_vectors(RuleCall *call, Error *err)
{
    int n_strings = count_of(call, "classlabels_strings");
    int64_t n = n_strings + count_of(call, "classlabels_ints");
    Ints counts;
    int64_t n_vectors = 0;
    if (!args_ints(call, -1, "vectors_per_class", &counts, err))
        return false;
    for (int i = 0; i < counts.n; i++)
        n_vectors |= counts.at[i];
    if (n_vectors != 0 && n > 2 && count_of(call, "prob_a") == 0)
        n = n * (n - 1) / 2;
    return table(call, n > 0 ? n : -1, n_strings > 0 ? DT_STR : DT_I64, DT_F32, err);
}

static bool classify_tree(RuleCall *call, Error *err)
{
    return classify(call, "classlabels_int64s", "classlabels_strings", err);
}

static bool regress(RuleCall *call, Error *err)
{
    return table(call, args_int(call, "targets", 1), DT_NONE, DT_F32, err);
}

static bool regress_tree(RuleCall *call, Error *err)
{
    return table(call, args_int(call, "n_targets", 1), DT_NONE, DT_F32, err);
}

static bool trees(RuleCall *call, Error *err)
{
    return table(call, args_int(call, "n_targets", 1), DT_NONE, call->dtype[0], err);
}

/* One column for each n-gram: the largest of ngram_indexes gives their number. A vector stays a
 * vector. */
static bool weigh_ngrams(RuleCall *call, Error *err)
{
    Ints indexes;
    int64_t size = 0;
    if (!args_ints(call, -1, "ngram_indexes", &indexes, err))
        return false;
    for (int i = 0; i < indexes.n; i++)
        if (indexes.at[i] >= size && indexes.at[i] < INT64_MAX)
            size = indexes.at[i] + 1;
    if (call->shape[0]->n_dims != 1)
        return table(call, size, DT_NONE, DT_F32, err);
    call->out_shape[0] = (Shape){.n_dims = 1, .dim = {size}};
    call->out_dtype[0] = DT_F32;
    return rule_space(call, err);
}

/* Concatenates tables; input i has inputdimensions[i] columns. */
static bool join_features(RuleCall *call, Error *err)
{
    const Shape *first = call->shape[0];
    int64_t n_rows = first->n_dims == 2 ? first->dim[0] : 1, n_columns = 0;
    for (int i = 0; i < call->n_inputs; i++) {
        const Shape *shape = call->shape[i];
        if (!shape || shape->n_dims < 1 || shape->n_dims > 2 ||
            (shape->n_dims == 2 ? shape->dim[0] : 1) != n_rows)
            return error_kind(err, ERROR_RANK,
                              "its input %d does not have the %" PRId64 " rows of its input 0", i,
                              n_rows);
        n_columns += shape->dim[shape->n_dims - 1];
    }
    call->out_shape[0] = (Shape){.n_dims = 2, .dim = {n_rows, n_columns}};
    call->out_dtype[0] = DT_F32;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int n = rule_index(space, "n", n_rows, ROLE_MAP, REDUCE_NONE);
    for (int i = 0; i <= call->n_inputs; i++)
        if (space->operand[i].shape.n_dims == 2)
            rule_unit(&space->operand[i], 0, n);
    return true;
}

/* ---- maps: no tensors ---- */

static bool vectorize_map(RuleCall *call, Error *err)
{
    int n = count_of(call, "int64_vocabulary") + count_of(call, "string_vocabulary");
    call->out_shape[0] = (Shape){.n_dims = 2, .dim = {1, n}};
    call->out_dtype[0] = DT_F32;
    return rule_space(call, err);
}

static bool cast_map(RuleCall *call, Error *err)
{
    Str to = args_text(call, "cast_to", "TO_FLOAT");
    bool sparse = str_eq(args_text(call, "map_form", "DENSE"), STR("SPARSE"));
    call->out_shape[0] =
        (Shape){.n_dims = 2, .dim = {1, sparse ? args_int(call, "max_map", 1) : -1}};
    call->out_dtype[0] = str_eq(to, STR("TO_STRING"))  ? DT_STR
                         : str_eq(to, STR("TO_INT64")) ? DT_I64
                                                       : DT_F32;
    return rule_space(call, err);
}

/* A map from label to score for each row. */
static bool zip_map(RuleCall *call, Error *err)
{
    call->out_shape[0] = (Shape){.n_dims = -1};
    call->out_dtype[0] = DT_NONE;
    return rule_space(call, err);
}

#define FAMILY "text"

const Operator operators_text[] = {
    {OP("StringConcat", concat_text, 1, 2, 2), ONNX("", "As As"), .examples = "5x6:str,6:str"},
    {OP("StringSplit", split_text, 1, 1, 1), .outputs_max = 2, ONNX("delimiter maxsplit", ".s"),
     .examples = "5:str -> 2"},
    {OP("StringNormalizer", normalize_text, 1, 1, 1),
     ONNX("case_change_action is_case_sensitive locale stopwords", ".s"), .examples = "6:str"},
    {OP("RegexFullMatch", truth, 1, 1, 1), ONNX("pattern", ".s"), .examples = "5x6:str"},
    {OP("TfIdfVectorizer", weigh_ngrams, 1, 1, 1),
     ONNX("max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes "
          "pool_int64s pool_strings weights",
          ".is"),
     .kernel = "TfIdfVectorizer",
     .examples =
         "5x6:i64 max_gram_length=2 ngram_counts=[0,2] ngram_indexes=[0,3,6] "
         "pool_int64s=[0,1,2,1]; 6:i64 ngram_counts=[0] ngram_indexes=[0,3,6] pool_int64s=[0,1,2]"},
    {OP("com.microsoft::Tokenizer", split_text, 1, 1, 1),
     OWN("mark mincharnum pad_value separators tokenexp", ""), .examples = "5:str"},
    {OP("ai.onnx.ml::Binarizer", same, 1, 1, 1), ONNX("threshold", ".fi"),
     .kernel = "ai.onnx.ml::Binarizer", GRADIENT("0: zero"), .examples = "5x6"},
    {OP("ai.onnx.ml::CastMap", cast_map, 1, 1, 1), ONNX("cast_to map_form max_map", ""),
     .examples = "1 map_form=SPARSE max_map=7"},
    {OP("ai.onnx.ml::CategoryMapper", map_category, 1, 1, 1),
     ONNX("cats_int64s cats_strings default_int64 default_string", ".is"), .examples = "5x6:i64"},
    {OP("ai.onnx.ml::DictVectorizer", vectorize_map, 1, 1, 1),
     ONNX("int64_vocabulary string_vocabulary", ""), .examples = "1 int64_vocabulary=[3,5,8]"},
    {OP("ai.onnx.ml::FeatureVectorizer", join_features, 0, 1, OPERATOR_ANY),
     ONNX("inputdimensions", "Afi+"), .kernel = "ai.onnx.ml::FeatureVectorizer",
     .examples = "5x3,5x4"},
    {OP("ai.onnx.ml::Imputer", impute, 1, 1, 1),
     ONNX("imputed_value_floats imputed_value_int64s replaced_value_float replaced_value_int64",
          ".fi"),
     .kernel = "ai.onnx.ml::Imputer",
     .examples = "5x6:i64 imputed_value_int64s=[1,2,3,4,5,6]; 5x6:i64 imputed_value_int64s=[1]"},
    {OP("ai.onnx.ml::LabelEncoder", encode_label, 1, 1, 1),
     ONNX("classes_strings default_float default_int64 default_string default_tensor keys_floats "
          "keys_int64s keys_strings keys_tensor values_floats values_int64s values_strings "
          "values_tensor",
          ".fis"),
     .kernel = "ai.onnx.ml::LabelEncoder",
     .examples = "5x6:i64 keys_int64s=[1,2] values_int64s=[3,4]"},
    {OP("ai.onnx.ml::LinearClassifier", classify_table, 1, 1, 1), .outputs_max = 2,
     ONNX("classlabels_ints classlabels_strings coefficients intercepts multi_class post_transform",
          ".fi"),
     .kernel = "ai.onnx.ml::LinearClassifier",
     .examples = "5x2 classlabels_ints=[1,2,3] coefficients=[1,2,-3,4,5,6] intercepts=[1,0,-1] "
                 "-> 2"},
    {OP("ai.onnx.ml::LinearRegressor", regress, 1, 1, 1),
     ONNX("coefficients intercepts post_transform targets", ".fi"),
     .kernel = "ai.onnx.ml::LinearRegressor",
     .examples = "5x3 targets=2 coefficients=[1,2,-3,4,5,6] intercepts=[7,-2]"},
    {OP("ai.onnx.ml::Normalizer", normalize, 1, 1, 1), ONNX("norm", ".fi"),
     .kernel = "ai.onnx.ml::Normalizer", .examples = "5x6; 5x6 norm=L2"},
    {OP("ai.onnx.ml::OneHotEncoder", encode_one_hot, 1, 1, 1),
     ONNX("cats_int64s cats_strings zeros", ".fis"), .kernel = "ai.onnx.ml::OneHotEncoder",
     .examples = "5x6:i64 cats_int64s=[1,2,3]"},
    {OP("ai.onnx.ml::SVMClassifier", classify_vectors, 1, 1, 1), .outputs_max = 2,
     ONNX("classlabels_ints classlabels_strings coefficients kernel_params kernel_type "
          "post_transform prob_a prob_b rho support_vectors vectors_per_class",
          ".fi"),
     .kernel = "ai.onnx.ml::SVMClassifier",
     .examples = "5x2 classlabels_ints=[1,2,3] kernel_type=RBF kernel_params=[1,2,3] "
                 "vectors_per_class=[1,1,1] support_vectors=[1,2,-3,4,5,6] "
                 "coefficients=[1,-2,3,2,1,-1] rho=[1,0,-1] -> 2"},
    {OP("ai.onnx.ml::SVMRegressor", regress, 1, 1, 1),
     ONNX("coefficients kernel_params kernel_type n_supports one_class post_transform rho "
          "support_vectors",
          ".fi"),
     .kernel = "ai.onnx.ml::SVMRegressor",
     .examples = "5x2 kernel_type=RBF kernel_params=[1,2,3] n_supports=3 rho=[1] "
                 "coefficients=[1,-2,3] support_vectors=[1,2,-3,4,5,6]"},
    {OP("ai.onnx.ml::Scaler", scale, 1, 1, 1), GRADIENT("0: ScalerBackward"),
     ONNX("offset scale", ".fi"), .kernel = "ai.onnx.ml::Scaler",
     .examples = "5x6 scale=[2] offset=[1]; 5x6 scale=[1,2,3,4,5,6]"},
    {OP("ai.onnx.ml::TreeEnsemble", trees, 1, 1, 1),
     ONNX("aggregate_function leaf_targetids leaf_weights membership_values n_targets "
          "nodes_falseleafs nodes_falsenodeids nodes_featureids nodes_hitrates "
          "nodes_missing_value_tracks_true nodes_modes nodes_splits nodes_trueleafs "
          "nodes_truenodeids post_transform tree_roots",
          ".f"),
     .kernel = "ai.onnx.ml::TreeEnsemble",
     .examples = "5x6 n_targets=3 tree_roots=[0,1] nodes_featureids=[3,0] nodes_modes=[0,3] "
                 "nodes_splits=[1,0] nodes_truenodeids=[0,1] nodes_trueleafs=[1,1] "
                 "nodes_falsenodeids=[2,2] nodes_falseleafs=[1,1] "
                 "leaf_targetids=[0,1,2] leaf_weights=[1,2,4]"},
    {OP("ai.onnx.ml::TreeEnsembleClassifier", classify_tree, 1, 1, 1), .outputs_max = 2,
     ONNX("base_values base_values_as_tensor class_ids class_nodeids class_treeids class_weights "
          "class_weights_as_tensor classlabels_int64s classlabels_strings nodes_falsenodeids "
          "nodes_featureids nodes_hitrates nodes_hitrates_as_tensor "
          "nodes_missing_value_tracks_true nodes_modes nodes_nodeids nodes_treeids "
          "nodes_truenodeids nodes_values nodes_values_as_tensor post_transform",
          ".fi"),
     .kernel = "ai.onnx.ml::TreeEnsembleClassifier",
     .examples = "5x6 classlabels_int64s=[1,2,3] nodes_treeids=[0,0,0,1] nodes_nodeids=[0,1,2,0] "
                 "nodes_featureids=[3,0,0,0] nodes_values=[1,0,0,0] "
                 "nodes_modes=[\"BRANCH_LEQ\",\"LEAF\",\"LEAF\",\"LEAF\"] "
                 "nodes_truenodeids=[1,0,0,0] nodes_falsenodeids=[2,0,0,0] "
                 "class_treeids=[0,0,1] class_nodeids=[1,2,0] class_ids=[0,1,2] "
                 "class_weights=[1,2,4] -> 2"},
    {OP("ai.onnx.ml::TreeEnsembleRegressor", regress_tree, 1, 1, 1),
     ONNX("aggregate_function base_values base_values_as_tensor n_targets nodes_falsenodeids "
          "nodes_featureids nodes_hitrates nodes_hitrates_as_tensor "
          "nodes_missing_value_tracks_true nodes_modes nodes_nodeids nodes_treeids "
          "nodes_truenodeids nodes_values nodes_values_as_tensor post_transform target_ids "
          "target_nodeids target_treeids target_weights target_weights_as_tensor",
          ".fi"),
     .kernel = "ai.onnx.ml::TreeEnsembleRegressor",
     .examples = "5x6 n_targets=2 nodes_treeids=[0,0,0,1] nodes_nodeids=[0,1,2,0] "
                 "nodes_featureids=[3,0,0,0] nodes_values=[1,0,0,0] "
                 "nodes_modes=[\"BRANCH_LEQ\",\"LEAF\",\"LEAF\",\"LEAF\"] "
                 "nodes_truenodeids=[1,0,0,0] nodes_falsenodeids=[2,0,0,0] "
                 "target_treeids=[0,0,1] target_nodeids=[1,2,0] target_ids=[0,1,1] "
                 "target_weights=[1,2,4]"},
    {OP("ai.onnx.ml::ZipMap", zip_map, 1, 1, 1),
     ONNX("classlabels_int64s classlabels_strings", ".f"),
     .examples = "5x3 classlabels_int64s=[1,2,3]"},
    {0},
};
