/* classical.c - operators of ai.onnx.ml on tables of numbers: a norm of each row, a linear model,
 * one-hot columns, chosen columns, tables joined, values for others,
 * linear classes, regression by support vectors, regression and classes by trees.
 *
 * A table is [rows, columns], or one row; columns are whole on every rank, rows are those of its
 * part. What needs strings, and transforms behind a model, are refused by name.
 */
#include "core/base/intern.h"
#include "core/run/kernel.h"

#include <inttypes.h>
#include <math.h>

static int64_t row_length(const Local *local)
{
    return local->shape.n_dims == 0 ? 1 : local->shape.dim[local->shape.n_dims - 1];
}

static int64_t row_count(const Local *local, int64_t length)
{
    return length > 0 ? shape_elements(&local->shape) / length : 0;
}

/* ---- Normalizer ---- */

typedef enum { NORM_MAX, NORM_L1, NORM_L2 } Norm;

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
    static const char *const names[] = {"MAX", "L1", "L2"};
    const Attr *attr = op_attr(kernel_graph(call), call->op, "norm");
    Str word = attr && attr->type == ATTR_STRING ? attr->s : STR("MAX");
    int norm = 0, n_norms = (int)(sizeof names / sizeof *names);
    while (norm < n_norms && !str_eq(word, str_from(names[norm])))
        norm++;
    if (norm == n_norms)
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

static bool no_transform(const KernelCall *call, Error *err)
{
    const Attr *attr = op_attr(kernel_graph(call), call->op, "post_transform");
    Str word = attr && attr->type == ATTR_STRING ? attr->s : STR("NONE");
    return str_eq(word, STR("NONE")) ||
           error_kind(err, ERROR_RUN, "post_transform %.*s is not computed", STR_ARG(word));
}

static int list_length(const Attr *list)
{
    bool is_list = list && (list->type == ATTR_FLOATS || list->type == ATTR_INTS);
    return is_list ? list->n : 0;
}

/* Whole numbers may be written without a point. */
static double number_at(const Attr *list, int64_t i)
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

typedef enum { LINK_NONE, LINK_LOGISTIC, LINK_SOFTMAX, LINK_COUNT } ScoreLink;

static bool read_link(const KernelCall *call, ScoreLink *out, Error *err)
{
    static const char *const names[] = {/* ORDER ScoreLink */ "NONE", "LOGISTIC", "SOFTMAX"};
    const Attr *attr = op_attr(kernel_graph(call), call->op, "post_transform");
    Str word = attr && attr->type == ATTR_STRING ? attr->s : STR("NONE");
    for (*out = LINK_NONE; *out < LINK_COUNT; ++*out)
        if (str_eq(word, str_from(names[*out])))
            return true;
    return error_kind(err, ERROR_RUN, "post_transform %.*s is not computed", STR_ARG(word));
}

static void transform(ScoreLink kind, double *x, int n)
{
    double most = -INFINITY, sum = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, x[i]);
    for (int i = 0; i < n && kind != LINK_NONE; i++)
        sum += x[i] = kind == LINK_SOFTMAX ? exp(x[i] - most) : 1 / (1 + exp(-x[i]));
    for (int i = 0; i < n && kind == LINK_SOFTMAX; i++)
        x[i] /= sum;
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
    Local *labels = call->output[0], *scores = kernel_output(call, 1);
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
        transform(kind, score, n_classes);
        int best = 0;
        for (int i = 1; i < n_classes; i++)
            best = score[i] > score[best] ? i : best;
        double chosen = number_at(label, best);
        if (labels)
            local_store(labels, r, 1, NUMBER_F64, &chosen);
        if (scores)
            local_store(scores, r * n_classes, n_classes, NUMBER_F64, score);
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

/* ---- SVMRegressor ---- */

typedef enum { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID, SVM_COUNT } SvmKind;

typedef struct {
    SvmKind kind;
    double gamma, offset, degree;
} SvmKernel;

static bool read_svm_kernel(const KernelCall *call, SvmKernel *out, Error *err)
{
    static const char *const names[] = {/* ORDER SvmKind */ "LINEAR", "POLY", "RBF", "SIGMOID"};
    const Graph *graph = kernel_graph(call);
    const Attr *attr = op_attr(graph, call->op, "kernel_type"),
               *params = op_attr(graph, call->op, "kernel_params");
    Str word = attr && attr->type == ATTR_STRING ? attr->s : STR("LINEAR");
    *out = (SvmKernel){.kind = SVM_LINEAR};
    while (out->kind < SVM_COUNT && !str_eq(word, str_from(names[out->kind])))
        out->kind++;
    if (out->kind == SVM_COUNT)
        return error_kind(err, ERROR_RUN, "kernel_type %.*s is not known", STR_ARG(word));
    if (list_length(params) >= 3) {
        out->gamma = number_at(params, 0);
        out->offset = number_at(params, 1);
        out->degree = number_at(params, 2);
    }
    return out->kind == SVM_LINEAR || list_length(params) >= 3 ||
           error_kind(err, ERROR_RUN, "its kernel needs three parameters");
}

/* K(x, the support vector that begins at `at` of the list). */
static double svm_product(const SvmKernel *kernel, const double *x, const Attr *vectors, int64_t at,
                          int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double v = number_at(vectors, at + i);
        sum += kernel->kind == SVM_RBF ? (x[i] - v) * (x[i] - v) : x[i] * v;
    }
    if (kernel->kind == SVM_RBF)
        return exp(-kernel->gamma * sum);
    if (kernel->kind == SVM_LINEAR)
        return sum;
    sum = kernel->gamma * sum + kernel->offset;
    return kernel->kind == SVM_POLY ? pow(sum, kernel->degree) : tanh(sum);
}

/* Without support vectors the coefficients are one, whose kernel is with 1. */
static bool regress_vectors(const KernelCall *call, Error *err)
{
    const Graph *graph = kernel_graph(call);
    const Attr *vectors = op_attr(graph, call->op, "support_vectors"),
               *weight = op_attr(graph, call->op, "coefficients"),
               *rho = op_attr(graph, call->op, "rho");
    int64_t n_supports = op_attr_int(graph, call->op, "n_supports", 0);
    bool signs = op_attr_int(graph, call->op, "one_class", 0) != 0;
    SvmKernel kernel;
    if (!kernel_needs(call, 1, err) || !no_transform(call, err) ||
        !read_svm_kernel(call, &kernel, err))
        return false;
    const Local *in = call->input[0];
    int64_t n = row_length(in), n_weights = n_supports > 0 ? n_supports : n;
    if (list_length(weight) != n_weights || list_length(rho) < 1 ||
        (n_supports > 0 && list_length(vectors) != n_supports * n))
        return error_kind(err, ERROR_RUN,
                          "its coefficients, vectors or rho do not fit %" PRId64
                          " supports of %" PRId64 " columns",
                          n_supports, n);
    double *row = arena_array(call->scratch, double, n);
    for (int64_t r = 0; r < row_count(in, n); r++) {
        double sum = number_at(rho, 0);
        local_load(in, r * n, 1, n, NUMBER_F64, row);
        for (int64_t i = 0; i < n_supports; i++)
            sum += number_at(weight, i) * svm_product(&kernel, row, vectors, i * n, n);
        if (n_supports == 0)
            sum += svm_product(&kernel, row, weight, 0, n);
        sum = !signs ? sum : sum > 0 ? 1 : -1;
        local_store(call->output[0], r, 1, NUMBER_F64, &sum);
    }
    return true;
}

/* ---- TreeEnsembleRegressor, TreeEnsembleClassifier ---- */

/* Each row goes down every tree, and what the leaves that it ends in weigh is put together by
 * target. Weights that are tensors are refused. */
typedef enum { PUT_SUM, PUT_AVERAGE, PUT_MIN, PUT_MAX } Aggregate;

typedef struct {
    int n_nodes, n_leaves; /* leaves: pairs of a leaf and a target */
    const Attr *tree, *node, *feature, *mode, *value, *when_true, *when_false, *missing;
    const Attr *leaf_tree, *leaf_node, *target, *weight, *base;
    Intern *places;     /* (tree, node) by place */
    const char *prefix; /* of the attributes of leaves: "target", "class" */
    int n_trees, *root;
    int32_t *leaf; /* per node: the first of its leaves, or -1; *next: of the same node */
    int32_t *next;
    Aggregate aggregate;
    int64_t n_columns, n_targets;
} Trees;

/* The list if it has n elements of that type, or whole numbers for floats; else *err is set, unless
 * it is not needed. */
static const Attr *list_named(const KernelCall *call, const char *name, AttrType type, int n,
                              bool needed, Error *err)
{
    const Attr *attr = op_attr(kernel_graph(call), call->op, name);
    bool whole = attr && type == ATTR_FLOATS && attr->type == ATTR_INTS;
    if (attr && (attr->type == type || whole) && attr->n == n)
        return attr;
    if (needed || (attr && attr->n > 0))
        error_kind(err, ERROR_RUN, "%s does not have %d elements", name, n);
    return NULL;
}

static int length_of(const KernelCall *call, const char *name)
{
    const Attr *attr = op_attr(kernel_graph(call), call->op, name);
    return attr && attr->type == ATTR_INTS ? attr->n : 0;
}

static const char *leaf_attr(const KernelCall *call, const Trees *t, const char *ending)
{
    return arena_printf(call->scratch, "%s_%s", t->prefix, ending);
}

static bool read_lists(const KernelCall *call, Trees *t, Error *err)
{
    int n = t->n_nodes = length_of(call, "nodes_nodeids");
    int m = t->n_leaves = length_of(call, leaf_attr(call, t, "nodeids"));
    t->tree = list_named(call, "nodes_treeids", ATTR_INTS, n, true, err);
    t->node = list_named(call, "nodes_nodeids", ATTR_INTS, n, true, err);
    t->feature = list_named(call, "nodes_featureids", ATTR_INTS, n, true, err);
    t->mode = list_named(call, "nodes_modes", ATTR_STRINGS, n, true, err);
    t->value = list_named(call, "nodes_values", ATTR_FLOATS, n, true, err);
    t->when_true = list_named(call, "nodes_truenodeids", ATTR_INTS, n, true, err);
    t->when_false = list_named(call, "nodes_falsenodeids", ATTR_INTS, n, true, err);
    t->missing = list_named(call, "nodes_missing_value_tracks_true", ATTR_INTS, n, false, err);
    t->leaf_tree = list_named(call, leaf_attr(call, t, "treeids"), ATTR_INTS, m, true, err);
    t->leaf_node = list_named(call, leaf_attr(call, t, "nodeids"), ATTR_INTS, m, true, err);
    t->target = list_named(call, leaf_attr(call, t, "ids"), ATTR_INTS, m, true, err);
    t->weight = list_named(call, leaf_attr(call, t, "weights"), ATTR_FLOATS, m, true, err);
    t->base = list_named(call, "base_values", ATTR_FLOATS, (int)t->n_targets, false, err);
    return !error_is_set(err);
}

static bool read_aggregate(const KernelCall *call, Trees *t, Error *err)
{
    static const char *const names[] = {/* ORDER Aggregate */ "SUM", "AVERAGE", "MIN", "MAX"};
    const Attr *how = op_attr(kernel_graph(call), call->op, "aggregate_function");
    Str word = how && how->type == ATTR_STRING ? how->s : STR("SUM");
    int i = 0;
    while (i < 4 && !str_eq(word, str_from(names[i])))
        i++;
    t->aggregate = (Aggregate)i;
    return i < 4 ||
           error_kind(err, ERROR_RUN, "aggregate_function %.*s is not known", STR_ARG(word));
}

/* -1: there is no such node. */
static int place_of(const Trees *t, int64_t tree, int64_t node)
{
    const int64_t key[2] = {tree, node};
    return intern_find(t->places, key, sizeof key);
}

/* Where the nodes are, and which leaves have which targets. */
static bool index_nodes(const KernelCall *call, Trees *t, Error *err)
{
    Arena *arena = call->scratch;
    Intern *trees = intern_new(arena);
    t->places = intern_new(arena);
    t->root = arena_array(arena, int, t->n_nodes);
    t->leaf = arena_array(arena, int32_t, t->n_nodes);
    t->next = arena_array(arena, int32_t, t->n_leaves);
    for (int i = 0; i < t->n_nodes; i++) {
        const int64_t key[2] = {t->tree->ints[i], t->node->ints[i]};
        if (intern_put(t->places, key, sizeof key) != i)
            return error_kind(err, ERROR_RUN, "node %" PRId64 " of tree %" PRId64 " is there twice",
                              key[1], key[0]);
        if (intern_put(trees, key, sizeof *key) == t->n_trees)
            t->root[t->n_trees++] = i;
        t->leaf[i] = -1;
    }
    for (int i = t->n_leaves - 1; i >= 0; i--) {
        int at = place_of(t, t->leaf_tree->ints[i], t->leaf_node->ints[i]);
        if (at < 0 || t->target->ints[i] < 0 || t->target->ints[i] >= t->n_targets)
            return error_kind(err, ERROR_RUN, "its leaf %d has no node or no target", i);
        t->next[i] = t->leaf[at];
        t->leaf[at] = i;
    }
    return true;
}

/* Whether the row goes to the true branch of node i; *known: its mode is one of a branch. */
static bool branches(const Trees *t, int i, const double *row, bool *known)
{
    static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                        "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
    double x = row[t->feature->ints[i]], at = number_at(t->value, i);
    const bool is[] = {x <= at, x<at, x >= at, x> at, x == at, x != at};
    int mode = 0;
    while (mode < 6 && !str_eq(t->mode->strings[i], str_from(modes[mode])))
        mode++;
    *known = mode < 6;
    if (isnan(x))
        return t->missing && t->missing->ints[i] != 0;
    return mode < 6 && is[mode];
}

/* The leaf of a tree where the row ends. -1 with *err: the nodes are no tree. */
static int leaf_of(const Trees *t, int root, const double *row, Error *err)
{
    int at = root;
    for (int steps = 0; steps <= t->n_nodes && at >= 0; steps++) {
        bool known;
        if (str_eq(t->mode->strings[at], STR("LEAF")))
            return at;
        if (t->feature->ints[at] < 0 || t->feature->ints[at] >= t->n_columns)
            break;
        bool is = branches(t, at, row, &known);
        if (!known) {
            error_kind(err, ERROR_RUN, "mode %.*s is not known", STR_ARG(t->mode->strings[at]));
            return -1;
        }
        at = place_of(t, t->tree->ints[at], (is ? t->when_true : t->when_false)->ints[at]);
    }
    error_kind(err, ERROR_RUN, "the nodes of tree %" PRId64 " do not lead to a leaf",
               t->tree->ints[root]);
    return -1;
}

static void put(const Trees *t, double weight, double *to)
{
    if (t->aggregate == PUT_MIN || t->aggregate == PUT_MAX)
        *to = t->aggregate == PUT_MIN ? fmin(*to, weight) : fmax(*to, weight);
    else
        *to += weight;
}

static bool regress_row(const Trees *t, const double *row, double *out, Error *err)
{
    for (int64_t k = 0; k < t->n_targets; k++)
        out[k] = t->aggregate == PUT_MIN ? INFINITY : t->aggregate == PUT_MAX ? -INFINITY : 0;
    for (int i = 0; i < t->n_trees; i++) {
        int at = leaf_of(t, t->root[i], row, err);
        if (at < 0)
            return false;
        for (int32_t leaf = t->leaf[at]; leaf >= 0; leaf = t->next[leaf])
            put(t, number_at(t->weight, leaf), &out[t->target->ints[leaf]]);
    }
    for (int64_t k = 0; k < t->n_targets; k++) {
        out[k] /= t->aggregate == PUT_AVERAGE && t->n_trees > 0 ? t->n_trees : 1;
        out[k] += t->base ? number_at(t->base, k) : 0;
    }
    return true;
}

static bool regress_trees(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    Trees t = {.prefix = "target", .n_columns = row_length(in), .n_targets = out->shape.dim[1]};
    if (!no_transform(call, err) || !read_lists(call, &t, err) || !read_aggregate(call, &t, err) ||
        !index_nodes(call, &t, err))
        return false;
    double *row = arena_array(call->scratch, double, t.n_columns);
    double *sums = arena_array(call->scratch, double, t.n_targets);
    for (int64_t r = 0; r < out->shape.dim[0]; r++) {
        local_load(in, r * t.n_columns, 1, t.n_columns, NUMBER_F64, row);
        if (!regress_row(&t, row, sums, err))
            return false;
        local_store(out, r * t.n_targets, t.n_targets, NUMBER_F64, sums);
    }
    return true;
}

/* Whether the leaves of two classes all weigh one of them, whose score is then that of both: *one.
 * *share: no weight is negative, so that the score is a share of 1. */
static bool weighs_one(const Trees *t, int64_t *one, bool *share)
{
    *one = t->n_leaves > 0 ? t->target->ints[0] : 0;
    *share = true;
    for (int i = 0; i < t->n_leaves; i++) {
        if (t->target->ints[i] != *one)
            return false;
        *share &= number_at(t->weight, i) >= 0;
    }
    return t->n_targets == 2;
}

/* As onnxruntime's kernel has it: the label, and both scores of the one that the trees give. */
static int choose_of_two(double x, bool share, ScoreLink link, double *score)
{
    bool second = share ? x > 0.5 : x > 0;
    score[0] = share && link == LINK_NONE ? 1 - x : -x;
    score[1] = x;
    if (link == LINK_LOGISTIC)
        transform(link, score, 2);
    return second;
}

static bool classify_trees(const KernelCall *call, Error *err)
{
    const Attr *label = op_attr(kernel_graph(call), call->op, "classlabels_int64s");
    ScoreLink link;
    if (list_length(label) < 2)
        return error_kind(err, ERROR_RUN, "its labels are strings, or fewer than two");
    if (!kernel_needs(call, 1, err) || !read_link(call, &link, err))
        return false;
    const Local *in = call->input[0];
    Local *labels = call->output[0], *scores = kernel_output(call, 1);
    Trees t = {.prefix = "class", .n_columns = row_length(in), .n_targets = list_length(label)};
    int64_t one;
    bool share;
    if (!read_lists(call, &t, err) || !index_nodes(call, &t, err))
        return false;
    bool two = weighs_one(&t, &one, &share);
    double *row = arena_array(call->scratch, double, t.n_columns);
    double *score = arena_array(call->scratch, double, t.n_targets);
    for (int64_t r = 0; r < row_count(in, t.n_columns); r++) {
        int best = 0;
        local_load(in, r * t.n_columns, 1, t.n_columns, NUMBER_F64, row);
        if (!regress_row(&t, row, score, err))
            return false;
        for (int k = 1; k < t.n_targets && !two; k++)
            best = score[k] > score[best] ? k : best;
        if (two)
            best = choose_of_two(score[one], share, link, score);
        else
            transform(link, score, (int)t.n_targets);
        double chosen = number_at(label, best);
        if (labels)
            local_store(labels, r, 1, NUMBER_F64, &chosen);
        if (scores)
            local_store(scores, r * t.n_targets, t.n_targets, NUMBER_F64, score);
    }
    return true;
}

const Kernel kernels_classical[] = {
    {"ai.onnx.ml::SVMRegressor", regress_vectors, NULL, 0, ROUNDING_SENSITIVE},
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
