/* tables.c - operators of ai.onnx.ml on tables of numbers: a norm of each row, a linear model,
 * one-hot columns, chosen columns, tables joined, values for others, linear classes. */
#include "core/run/classical/table.h"

#include <math.h>

int64_t row_length(const Local *local)
{
    return local->shape.n_dims == 0 ? 1 : local->shape.dim[local->shape.n_dims - 1];
}

int64_t row_count(const Local *local, int64_t length)
{
    return length > 0 ? shape_elements(&local->shape) / length : 0;
}

int word_among(Str word, const char *const *names, int n)
{
    int i = 0;
    while (i < n && !str_eq(word, str_from(names[i])))
        i++;
    return i;
}

int largest(const double *x, int64_t n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

/* ---- Normalizer ---- */

typedef enum { NORM_MAX, NORM_L1, NORM_L2, NORM_COUNT } Norm;

/* As ONNX's reference computes it: of the largest by magnitude; a row of zeros stays so. */
static double norm_of(const double *x, int64_t n, Norm norm)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum = norm == NORM_MAX  ? fmax(sum, fabs(x[i]))
              : norm == NORM_L1 ? sum + fabs(x[i])
                                : sum + x[i] * x[i];
    return norm == NORM_L2 ? sqrt(sum) : sum;
}

static bool normalize(const KernelCall *call, Error *err)
{
    static const char *const names[] = {/* ORDER Norm */ "MAX", "L1", "L2"};
    Str word = op_attr_text(kernel_graph(call), call->op, "norm", "MAX");
    int norm = word_among(word, names, NORM_COUNT);
    if (norm == NORM_COUNT)
        return error_kind(err, ERROR_RUN, "the norm is MAX, L1 or L2, not '%.*s'", STR_ARG(word));
    if (!kernel_needs(call, 1, err))
        return false;
    const Local *in = call->input[0];
    int64_t n = row_length(in);
    double *row = arena_array(call->scratch, double, n);
    for (int64_t r = 0; r < row_count(in, n); r++) {
        local_load(in, r * n, 1, n, NUMBER_F64, row);
        double length = norm_of(row, n, (Norm)norm);
        for (int64_t i = 0; length > 0 && i < n; i++)
            row[i] /= length;
        local_store(call->output[0], r * n, n, NUMBER_F64, row);
    }
    return true;
}

/* ---- LinearRegressor ---- */

bool no_transform(const KernelCall *call, Error *err)
{
    Str word = op_attr_text(kernel_graph(call), call->op, "post_transform", "NONE");
    return str_eq(word, STR("NONE")) ||
           error_kind(err, ERROR_RUN, "post_transform %.*s is not computed", STR_ARG(word));
}

int list_length(const Attr *list)
{
    bool is_list = list && (list->type == ATTR_FLOATS || list->type == ATTR_INTS);
    return is_list ? list->n : 0;
}

double number_at(const Attr *list, int64_t i)
{
    return list->type == ATTR_FLOATS ? list->floats[i] : (double)list->ints[i];
}

/* The sums over n columns, one for each of n_sums. */
static void add_weighted(const Attr *weight, const Attr *shift, const double *row, int64_t n,
                         double *sum, int64_t n_sums)
{
    for (int64_t t = 0; t < n_sums; t++) {
        sum[t] = list_length(shift) > 0 ? number_at(shift, t) : 0;
        for (int64_t i = 0; i < n; i++)
            sum[t] += row[i] * number_at(weight, t * n + i);
    }
}

/* out[row, target] = intercept[target] + the sum over columns of x times coefficient. */
static bool regress(const KernelCall *call, Error *err)
{
    const Graph *graph = kernel_graph(call);
    const Attr *weight = op_attr(graph, call->op, "coefficients"),
               *shift = op_attr(graph, call->op, "intercepts");
    if (!kernel_needs(call, 1, err) || !no_transform(call, err))
        return false;
    const Local *in = call->input[0];
    int64_t n = row_length(in), n_targets = row_length(call->output[0]);
    if (list_length(weight) != n * n_targets ||
        (list_length(shift) != 0 && list_length(shift) != n_targets))
        return error_kind(err, ERROR_RUN,
                          "%" PRId64 " columns and %" PRId64
                          " targets need as many coefficients as "
                          "their product, and an intercept a target or none",
                          n, n_targets);
    double *row = arena_array(call->scratch, double, n),
           *sum = arena_array(call->scratch, double, n_targets);
    for (int64_t r = 0; r < row_count(in, n); r++) {
        local_load(in, r * n, 1, n, NUMBER_F64, row);
        add_weighted(weight, shift, row, n, sum, n_targets);
        local_store(call->output[0], r * n_targets, n_targets, NUMBER_F64, sum);
    }
    return true;
}

/* ---- LinearClassifier ---- */

bool read_link(const KernelCall *call, ScoreLink *out, Error *err)
{
    static const char *const names[] = {/* ORDER ScoreLink */ "NONE", "LOGISTIC", "SOFTMAX"};
    Str word = op_attr_text(kernel_graph(call), call->op, "post_transform", "NONE");
    *out = (ScoreLink)word_among(word, names, LINK_COUNT);
    return *out < LINK_COUNT ||
           error_kind(err, ERROR_RUN, "post_transform %.*s is not computed", STR_ARG(word));
}

void link_scores(ScoreLink kind, double *x, int n)
{
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, x[i]);
    for (int i = 0; i < n && kind != LINK_NONE; i++)
        sum += x[i] = kind == LINK_SOFTMAX ? exp(x[i] - most) : 1 / (1 + exp(-x[i]));
    for (int i = 0; i < n && kind == LINK_SOFTMAX; i++)
        x[i] /= sum;
}

void store_class(const KernelCall *call, int64_t row, double label, const double *score, int64_t n)
{
    Local *scores = kernel_output(call, 1);
    if (call->output[0])
        local_store(call->output[0], row, 1, NUMBER_F64, &label);
    if (scores)
        local_store(scores, row * n, n, NUMBER_F64, score);
}

/* One row of coefficients for two classes gives the score of the second, whose negative is that of
 * the first. */
static bool classify(const KernelCall *call, Error *err)
{
    const Graph *graph = kernel_graph(call);
    const Attr *weight = op_attr(graph, call->op, "coefficients"),
               *shift = op_attr(graph, call->op, "intercepts"),
               *label = op_attr(graph, call->op, "classlabels_ints");
    int n_classes = list_length(label);
    ScoreLink kind;
    if (n_classes < 2)
        return error_kind(err, ERROR_RUN, "its labels are strings, or fewer than two");
    if (!kernel_needs(call, 1, err) || !read_link(call, &kind, err))
        return false;
    const Local *in = call->input[0];
    int64_t n = row_length(in), n_rows = n > 0 ? list_length(weight) / n : 0;
    if (list_length(weight) != n * n_rows ||
        (n_rows != n_classes && (n_rows != 1 || n_classes > 2)) ||
        (list_length(shift) != 0 && list_length(shift) != n_rows))
        return error_kind(err, ERROR_RUN,
                          "its coefficients do not fit %" PRId64 " columns and %d labels", n,
                          n_classes);
    double *row = arena_array(call->scratch, double, n),
           *score = arena_array(call->scratch, double, n_classes);
    for (int64_t r = 0; r < row_count(in, n); r++) {
        local_load(in, r * n, 1, n, NUMBER_F64, row);
        add_weighted(weight, shift, row, n, score, n_rows);
        if (n_rows == 1) {
            score[1] = score[0];
            score[0] = -score[1];
        }
        link_scores(kind, score, n_classes);
        store_class(call, r, number_at(label, largest(score, n_classes)), score, n_classes);
    }
    return true;
}

/* ---- OneHotEncoder ---- */

static bool encode(const KernelCall *call, Error *err)
{
    const Graph *graph = kernel_graph(call);
    const Attr *category = op_attr(graph, call->op, "cats_int64s");
    bool unknown = op_attr_int(graph, call->op, "zeros", 1) != 0;
    if (!category || category->type != ATTR_INTS)
        return error_kind(err, ERROR_RUN, "its categories are strings");
    if (!kernel_needs(call, 1, err))
        return false;
    const Local *in = call->input[0];
    double *row = arena_array(call->scratch, double, category->n);
    for (int64_t i = 0; i < shape_elements(&in->shape); i++) {
        int64_t at, n_found = 0;
        local_load(in, i, 1, 1, NUMBER_I64, &at);
        for (int c = 0; c < category->n; c++) {
            row[c] = category->ints[c] == at;
            n_found += category->ints[c] == at;
        }
        if (n_found == 0 && !unknown)
            return error_kind(err, ERROR_RUN, "%" PRId64 " is none of its categories", at);
        local_store(call->output[0], i * category->n, category->n, NUMBER_F64, row);
    }
    return true;
}

/* ---- ArrayFeatureExtractor ---- */

static bool extract(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 2, err))
        return false;
    const Local *in = call->input[0], *places = call->input[1];
    Local *out = call->output[0];
    int64_t n = row_length(in), n_out = row_length(out);
    if (in->dtype != out->dtype || n_out != shape_elements(&places->shape))
        return error_kind(err, ERROR_RUN, "input and output differ in type or in columns");
    for (int64_t r = 0; r < row_count(in, n); r++)
        for (int64_t i = 0; i < n_out; i++) {
            int64_t at;
            local_load(places, i, 1, 1, NUMBER_I64, &at);
            if (at < 0 || at >= n)
                return error_kind(err, ERROR_RUN, "column %" PRId64 " of %" PRId64, at, n);
            elements_copy(in->dtype, local_at(out, r * n_out + i), local_at(in, r * n + at), 1, 1);
        }
    return true;
}

/* ---- Imputer ---- */

static const Attr *list_of(const KernelCall *call, const char *ints, const char *floats)
{
    const Attr *list = op_attr(kernel_graph(call), call->op, ints);
    return list_length(list) > 0 ? list : op_attr(kernel_graph(call), call->op, floats);
}

/* Equal, or both no number. */
static bool is_same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* One value for all columns, or one for each. */
static bool impute(const KernelCall *call, Error *err)
{
    const Graph *graph = kernel_graph(call);
    const Attr *value = list_of(call, "imputed_value_int64s", "imputed_value_floats");
    if (!kernel_needs(call, 1, err))
        return false;
    const Local *in = call->input[0];
    int64_t n = row_length(in);
    bool whole = value && value->type == ATTR_INTS;
    double replaced = whole ? (double)op_attr_int(graph, call->op, "replaced_value_int64", 0)
                            : op_attr_float(graph, call->op, "replaced_value_float", 0);
    if (!value || (list_length(value) != 1 && list_length(value) != n))
        return error_kind(err, ERROR_RUN,
                          "%" PRId64 " columns need as many imputed values, or one, not %d", n,
                          list_length(value));
    double *row = arena_array(call->scratch, double, n);
    for (int64_t r = 0; r < row_count(in, n); r++) {
        local_load(in, r * n, 1, n, NUMBER_F64, row);
        for (int64_t i = 0; i < n; i++)
            if (is_same(row[i], replaced))
                row[i] = number_at(value, value->n == 1 ? 0 : i);
        local_store(call->output[0], r * n, n, NUMBER_F64, row);
    }
    return true;
}

/* ---- FeatureVectorizer ---- */

static bool join_features(const KernelCall *call, Error *err)
{
    Local *out = call->output[0];
    int64_t n_out = row_length(out), at = 0;
    if (!kernel_needs(call, call->n_inputs, err))
        return false;
    for (int i = 0; i < call->n_inputs; i++) {
        const Local *in = call->input[i];
        int64_t n = row_length(in);
        double *row = arena_array(call->scratch, double, n);
        if (at + n > n_out || row_count(in, n) != row_count(out, n_out))
            return error_kind(err, ERROR_RUN, "its tables differ in rows");
        for (int64_t r = 0; r < row_count(in, n); r++) {
            local_load(in, r * n, 1, n, NUMBER_F64, row);
            local_store(out, r * n_out + at, n, NUMBER_F64, row);
        }
        at += n;
    }
    return true;
}

/* ---- LabelEncoder ---- */

static double value_or(const KernelCall *call, const Attr *list, int found)
{
    const Graph *graph = kernel_graph(call);
    if (found >= 0)
        return number_at(list, found);
    return list->type == ATTR_INTS ? (double)op_attr_int(graph, call->op, "default_int64", -1)
                                   : op_attr_float(graph, call->op, "default_float", -0.0);
}

/* Whole numbers and floats; keys and values that are strings, or tensors, are refused. */
static bool encode_labels(const KernelCall *call, Error *err)
{
    const Attr *key = list_of(call, "keys_int64s", "keys_floats"),
               *value = list_of(call, "values_int64s", "values_floats");
    if (!kernel_needs(call, 1, err))
        return false;
    if (list_length(key) == 0 || list_length(key) != list_length(value))
        return error_kind(err, ERROR_RUN, "its keys or values are strings or tensors");
    const Local *in = call->input[0];
    for (int64_t i = 0; i < shape_elements(&in->shape); i++) {
        double x, y;
        int at = -1;
        local_load(in, i, 1, 1, NUMBER_F64, &x);
        for (int k = 0; k < key->n && at < 0; k++)
            at = is_same(number_at(key, k), x) ? k : -1;
        y = value_or(call, value, at);
        local_store(call->output[0], i, 1, NUMBER_F64, &y);
    }
    return true;
}

const Kernel kernels_classical[] = {
    {"ai.onnx.ml::SVMClassifier", classify_vectors, NULL, 0, ROUNDING_SENSITIVE},
    {"ai.onnx.ml::SVMRegressor", regress_vectors, NULL, 0, ROUNDING_SENSITIVE},
    {"ai.onnx.ml::TreeEnsemble", sum_trees, NULL, 0, ROUNDING_SENSITIVE},
    {"ai.onnx.ml::TreeEnsembleClassifier", classify_trees, NULL, 0, ROUNDING_SENSITIVE},
    {"ai.onnx.ml::TreeEnsembleRegressor", regress_trees, NULL, 0, ROUNDING_EXACT},
    {"ai.onnx.ml::Imputer", impute, NULL, 0, ROUNDING_EXACT},
    {"ai.onnx.ml::FeatureVectorizer", join_features, NULL, 0, ROUNDING_EXACT},
    {"ai.onnx.ml::LabelEncoder", encode_labels, NULL, 0, ROUNDING_EXACT},
    {"ai.onnx.ml::Normalizer", normalize, NULL, 0, ROUNDING_SENSITIVE},
    {"ai.onnx.ml::LinearClassifier", classify, NULL, 0, ROUNDING_SENSITIVE},
    {"ai.onnx.ml::LinearRegressor", regress, NULL, 0, ROUNDING_SENSITIVE},
    {"ai.onnx.ml::OneHotEncoder", encode, NULL, 0, ROUNDING_EXACT},
    {"ai.onnx.ml::ArrayFeatureExtractor", extract, NULL, 0, ROUNDING_EXACT},
    {0},
};
