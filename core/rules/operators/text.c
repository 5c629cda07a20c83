/* text.c - operators on strings, and those of ai.onnx.ml: encoders, scalers, trees, vectors.
 *
 *     StringConcat     d0 1, d1 -> d0 d1
 *     Scaler           n c^ -> n c^            c is cut where one scale serves all columns
 *     LinearClassifier n c^ -> n, n 3          labels, and a score a class
 *     OneHotEncoder    d0 d1 -> d0 d1 3
 *
 * Every row of a table is looked at by itself, so its batch dim may be cut; a vector is one row.
 * Nothing here is computed by the runner but the shapes and types that others need.
 */
#include "core/rules/args.h"

#include <inttypes.h>

/* ---- same shape ---- */

/* One index dim a dim of the output; the last one frozen where columns have numbers of their own.
 */
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

/* The type of the values, however they are given; at first strings and numbers changed places. */
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

/* Words that are left out leave fewer: how many is data. */
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

/* Output 0 has the input's dims and one more of `size`, read whole. */
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

/* Into as many parts as the longest text has; the second output counts them. */
static bool split_text(RuleCall *call, Error *err)
{
    if (call->n_outputs > 1) {
        call->out_shape[1] = *call->shape[0];
        call->out_dtype[1] = DT_I64;
    }
    return widen(call, -1, DT_STR, err);
}

/* ---- tables ---- */

/* Output 0 has a row of `size` for each row of input 0, output 1 before it a label, if there are
 * two outputs. size < 0: only the run knows. */
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

/* Labels are numbers or strings, whichever the attribute lists; without, classes by number. */
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

/* One column a n-gram: the largest of ngram_indexes says how many. A vector stays one. */
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

/* Tables side by side; input i has as many columns as inputdimensions says. */
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

#define ROW(name_, rule_, inputs, out)                                                             \
    {                                                                                              \
        .name = (name_), .rule = (rule_), .family = "text", .flops_per_point = 1,                  \
        .inputs_min = (inputs), .inputs_max = (inputs), .outputs_max = (out)                       \
    }
#define ML(name_, rule_, out) ROW("ai.onnx.ml::" name_, rule_, 1, out)

const Operator operators_text[] = {
    ROW("StringConcat", concat_text, 2, 1),
    ROW("StringSplit", split_text, 1, 2),
    ROW("StringNormalizer", normalize_text, 1, 1),
    ROW("RegexFullMatch", truth, 1, 1),
    ROW("TfIdfVectorizer", weigh_ngrams, 1, 1),
    ROW("com.microsoft::Tokenizer", split_text, 1, 1),

    ML("Binarizer", same, 1),
    ML("CastMap", cast_map, 1),
    ML("CategoryMapper", map_category, 1),
    ML("DictVectorizer", vectorize_map, 1),
    {.name = "ai.onnx.ml::FeatureVectorizer",
     .rule = join_features,
     .family = "text",
     .inputs_min = 1,
     .inputs_max = OPERATOR_ANY},
    ML("Imputer", impute, 1),
    ML("LabelEncoder", encode_label, 1),
    ML("LinearClassifier", classify_table, 2),
    ML("LinearRegressor", regress, 1),
    ML("Normalizer", normalize, 1),
    ML("OneHotEncoder", encode_one_hot, 1),
    ML("SVMClassifier", classify_table, 2),
    ML("SVMRegressor", regress, 1),
    ML("Scaler", scale, 1),
    ML("TreeEnsemble", trees, 1),
    ML("TreeEnsembleClassifier", classify_tree, 2),
    ML("TreeEnsembleRegressor", regress_tree, 1),
    ML("ZipMap", zip_map, 1),
    {0},
};
