/* vectors.c - regression and classes by support vectors. Source: what onnxruntime computes; pairs
 * of classes and their probabilities are those of libsvm (Wu, Lin and Weng 2004, second approach).
 */
#include "core/run/classical/table.h"

#include <math.h>

typedef enum { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID, SVM_COUNT } SvmKind;

typedef struct {
    SvmKind kind;
    double gamma, offset, degree;
} SvmKernel;

static bool read_svm_kernel(const KernelCall *call, SvmKernel *out, Error *err)
{
    static const char *const names[] = {/* ORDER SvmKind */ "LINEAR", "POLY", "RBF", "SIGMOID"};
    const Graph *graph = kernel_graph(call);
    const Attr *params = op_attr(graph, call->op, "kernel_params");
    Str word = op_attr_text(graph, call->op, "kernel_type", "LINEAR");
    *out = (SvmKernel){.kind = (SvmKind)word_among(word, names, SVM_COUNT)};
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
bool regress_vectors(const KernelCall *call, Error *err)
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

/* ---- SVMClassifier ---- */

typedef struct {
    SvmKernel kernel;
    const Attr *label, *vectors, *weight, *rho, *counts, *slope, *shift;
    int n_classes, n_pairs, n_scores;
    int64_t n_columns, n_vectors; /* 0 vectors: a row of weights for each class */
    ScoreLink link;
} Svm;

/* How many numbers its lists need. */
static bool lists_fit(const Svm *svm, Error *err)
{
    bool pairs = svm->n_vectors > 0;
    int64_t n_weights =
        pairs ? (svm->n_classes - 1) * svm->n_vectors : svm->n_classes * svm->n_columns;
    if (list_length(svm->weight) == n_weights &&
        (pairs ? list_length(svm->counts) == svm->n_classes &&
                     list_length(svm->rho) == svm->n_pairs &&
                     list_length(svm->vectors) == svm->n_vectors * svm->n_columns
               : list_length(svm->rho) >= 1) &&
        (list_length(svm->slope) == 0 || list_length(svm->slope) == svm->n_pairs) &&
        list_length(svm->slope) == list_length(svm->shift))
        return true;
    return error_kind(err, ERROR_RUN,
                      "its coefficients, vectors, rho or prob_a do not fit %d labels and %" PRId64
                      " columns",
                      svm->n_classes, svm->n_columns);
}

static bool read_svm(const KernelCall *call, Svm *out, Error *err)
{
    const Graph *graph = kernel_graph(call);
    *out = (Svm){.label = op_attr(graph, call->op, "classlabels_ints"),
                 .vectors = op_attr(graph, call->op, "support_vectors"),
                 .weight = op_attr(graph, call->op, "coefficients"),
                 .rho = op_attr(graph, call->op, "rho"),
                 .counts = op_attr(graph, call->op, "vectors_per_class"),
                 .slope = op_attr(graph, call->op, "prob_a"),
                 .shift = op_attr(graph, call->op, "prob_b")};
    int n = out->n_classes = list_length(out->label);
    if (n < 2)
        return error_kind(err, ERROR_RUN, "its labels are strings, or fewer than two");
    for (int i = 0; i < list_length(out->counts); i++) {
        if (number_at(out->counts, i) < 0)
            return error_kind(err, ERROR_RUN, "a class has a negative number of vectors");
        out->n_vectors += (int64_t)number_at(out->counts, i);
    }
    if (!kernel_needs(call, 1, err) || !read_link(call, &out->link, err) ||
        !read_svm_kernel(call, &out->kernel, err))
        return false;
    if (out->n_vectors == 0 && n == 2)
        return error_kind(err, ERROR_RUN,
                          "without vectors, ONNX and onnxruntime label two classes otherwise");
    if (out->n_vectors == 0)
        out->kernel.kind = SVM_LINEAR;
    out->n_pairs = n * (n - 1) / 2;
    bool pairs = out->n_vectors > 0 && list_length(out->slope) == 0 && n > 2;
    out->n_scores = pairs ? out->n_pairs : n;
    out->n_columns = row_length(call->input[0]);
    return lists_fit(out, err);
}

/* A score for each pair of classes, which votes for the first of them if it is positive. product:
 * of the row with each vector. */
static void score_pairs(const Svm *svm, const double *product, double *score, double *votes)
{
    int64_t first = 0, second;
    int n = svm->n_classes, pair = 0;
    for (int i = 0; i < n; i++)
        votes[i] = 0;
    for (int i = 0; i < n; first += (int64_t)number_at(svm->counts, i), i++) {
        second = first + (int64_t)number_at(svm->counts, i);
        for (int j = i + 1; j < n; j++, pair++) {
            double sum = number_at(svm->rho, pair);
            for (int64_t v = first; v < first + (int64_t)number_at(svm->counts, i); v++)
                sum += number_at(svm->weight, (j - 1) * svm->n_vectors + v) * product[v];
            for (int64_t v = second; v < second + (int64_t)number_at(svm->counts, j); v++)
                sum += number_at(svm->weight, i * svm->n_vectors + v) * product[v];
            second += (int64_t)number_at(svm->counts, j);
            score[pair] = sum;
            votes[sum > 0 ? i : j]++;
        }
    }
}

/* One round of libsvm's iteration towards the probabilities p of n classes: q, the matrix; qp, q
 * times p. */
static void improve(const double *q, int n, double *p, double *qp, double pqp)
{
    for (int t = 0; t < n; t++) {
        double at = q[t * n + t], diff = (pqp - qp[t]) / at;
        p[t] += diff;
        pqp = (pqp + diff * (diff * at + 2 * qp[t])) / (1 + diff) / (1 + diff);
        for (int j = 0; j < n; j++) {
            qp[j] = (qp[j] + diff * q[t * n + j]) / (1 + diff);
            p[j] /= 1 + diff;
        }
    }
}

/* r[i, j]: how likely class i is, if it is i or j. */
static void couple(const double *r, int n, double *q, double *qp, double *p)
{
    for (int t = 0; t < n; t++) {
        p[t] = 1.0 / n;
        q[t * n + t] = 0;
        for (int j = 0; j < n; j++)
            if (j != t) {
                q[t * n + t] += r[j * n + t] * r[j * n + t];
                q[t * n + j] = -r[j * n + t] * r[t * n + j];
            }
    }
    for (int round = 0; round < (n > 100 ? n : 100); round++) {
        double pqp = 0, most = 0;
        for (int t = 0; t < n; t++) {
            qp[t] = 0;
            for (int j = 0; j < n; j++)
                qp[t] += q[t * n + j] * p[j];
            pqp += p[t] * qp[t];
        }
        for (int t = 0; t < n; t++)
            most = fmax(most, fabs(qp[t] - pqp));
        if (most < 0.005 / n)
            break;
        improve(q, n, p, qp, pqp);
    }
}

/* The scores of pairs become probabilities of classes. room: 2 n (n + 1) numbers. */
static void estimate_classes(const Svm *svm, double *score, double *room)
{
    int n = svm->n_classes, pair = 0;
    double *r = room, *q = r + n * n, *qp = q + n * n, *p = qp + n;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++, pair++) {
            double x = score[pair] * number_at(svm->slope, pair) + number_at(svm->shift, pair);
            double share = fmin(fmax(1 - 1 / (1 + exp(-x)), 1e-7), 1 - 1e-7);
            r[i * n + j] = share;
            r[j * n + i] = 1 - share;
        }
    couple(r, n, q, qp, p);
    for (int i = 0; i < n; i++)
        score[i] = p[i];
}

/* The scores of a row; returns the place of its label. */
static int classify_row(const Svm *svm, const double *row, double *product, double *score,
                        double *room)
{
    int n = svm->n_classes;
    if (svm->n_vectors == 0) {
        for (int i = 0; i < n; i++)
            score[i] = number_at(svm->rho, 0) + svm_product(&svm->kernel, row, svm->weight,
                                                            i * svm->n_columns, svm->n_columns);
        return largest(score, n);
    }
    for (int64_t v = 0; v < svm->n_vectors; v++)
        product[v] =
            svm_product(&svm->kernel, row, svm->vectors, v * svm->n_columns, svm->n_columns);
    score_pairs(svm, product, score, room);
    int best = largest(room, n);
    if (list_length(svm->slope) > 0) {
        estimate_classes(svm, score, room);
    } else if (n == 2) {
        score[1] = score[0];
        score[0] = -score[1];
    }
    return best;
}

bool classify_vectors(const KernelCall *call, Error *err)
{
    Svm svm;
    if (!read_svm(call, &svm, err))
        return false;
    const Local *in = call->input[0];
    int n = svm.n_classes;
    double *row = arena_array(call->scratch, double, svm.n_columns),
           *product = arena_array(call->scratch, double, svm.n_vectors),
           *score = arena_array(call->scratch, double, n + svm.n_pairs),
           *room = arena_array(call->scratch, double, 2 * n * (n + 1));
    for (int64_t r = 0; r < row_count(in, svm.n_columns); r++) {
        local_load(in, r * svm.n_columns, 1, svm.n_columns, NUMBER_F64, row);
        double chosen = number_at(svm.label, classify_row(&svm, row, product, score, room));
        link_scores(svm.link, score, svm.n_scores);
        store_class(call, r, chosen, score, svm.n_scores);
    }
    return true;
}
