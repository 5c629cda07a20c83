/* reduce.c - ReduceSum and other reductions: sums, products or extremes over some dims.
 *
 * Sums are in double (integers in int64_t) and rounded once. Over a sharded dim a rank computes its
 * addend: ReduceMean divides by the global count, so that addends of uneven parts sum to the mean;
 * an empty part gives the neutral element.
 */
#include "core/run/kernels/derivative.h"

#include <math.h>

/* ORDER FOLD */
typedef enum { FOLD_SUM, FOLD_PRODUCT, FOLD_MAX, FOLD_MIN, FOLD_LOG_ADD } Fold;
typedef enum { OF_ITSELF, OF_SIZE, OF_SQUARE } Of;

typedef struct {
    Fold fold;
    Of of;                  /* function of an element */
    bool mean;              /* divided by the count */
    double (*last)(double); /* applied at the end; not possible for addends */
} ReduceRow;

/* log(exp(a) + exp(b)) */
static double log_add(double a, double b)
{
    double most = a > b ? a : b, least = a > b ? b : a;
    return isinf(most) && !isnan(least) ? most : most + log1p(exp(least - most));
}

#define FOLD(suffix, Real, Sum)                                                                    \
    static void fold_##suffix(const ReduceRow *row, void *sums, int64_t step, const void *from,    \
                              int64_t n)                                                           \
    {                                                                                              \
        const Real *at = from;                                                                     \
        Real *to = sums;                                                                           \
        for (int64_t i = 0; i < n; i++, to += step) {                                              \
            Real x = row->of == OF_SQUARE              ? (Real)((Sum)at[i] * (Sum)at[i])           \
                     : row->of == OF_SIZE && at[i] < 0 ? (Real)(0 - (Sum)at[i])                    \
                                                       : at[i];                                    \
            if (row->fold == FOLD_SUM)                                                             \
                *to = (Real)((Sum)*to + (Sum)x);                                                   \
            else if (row->fold == FOLD_PRODUCT)                                                    \
                *to = (Real)((Sum)*to * (Sum)x);                                                   \
            else if (row->fold == FOLD_LOG_ADD)                                                    \
                *to = (Real)log_add((double)*to, (double)x);                                       \
            else if (row->fold == FOLD_MAX ? x > *to : x < *to)                                    \
                *to = x;                                                                           \
            else if (!(x <= *to) && !(x >= *to)) /* NaN wins */                                    \
                *to = *to + x;                                                                     \
        }                                                                                          \
    }
FOLD(f64, double, double)
FOLD(i64, int64_t, uint64_t)

/* The neutral element; for integers within the element type, where larger ones would wrap. u64 is
 * held as int64_t. */
static int64_t neutral_i64(Fold fold, Dtype dtype)
{
    int bits = dtype == DT_BOOL ? 1 : dtype_bits(dtype);
    bool is_signed =
        bits == 64 || dtype == DT_I4 || dtype == DT_I8 || dtype == DT_I16 || dtype == DT_I32;
    int64_t most = INT64_MAX >> (is_signed ? 64 - bits : 63 - bits);
    if (fold == FOLD_MIN)
        return most;
    if (fold == FOLD_MAX || fold == FOLD_LOG_ADD)
        return is_signed ? -most - 1 : 0;
    return fold == FOLD_PRODUCT;
}

static void begin(Fold fold, Dtype dtype, Number number, void *sums, int64_t n)
{
    static const double neutral[] = {0, 1, -INFINITY, INFINITY, -INFINITY}; /* ORDER FOLD */
    for (int64_t i = 0; i < n; i++)
        if (number == NUMBER_I64)
            ((int64_t *)sums)[i] = neutral_i64(fold, dtype);
        else
            ((double *)sums)[i] = neutral[fold];
}

/* Strides in the output of each input dim: 0 along reduced dims. */
static void output_strides(const Shape *in, const bool reduced[DIMS_MAX], int64_t stride[DIMS_MAX])
{
    int64_t step = 1;
    for (int64_t d = in->n_dims - 1; d >= 0; d--) {
        stride[d] = reduced[d] ? 0 : step;
        step *= reduced[d] ? 1 : in->dim[d];
    }
}

static bool reduced_dims(const KernelCall *call, bool reduced[DIMS_MAX], bool *none, Error *err)
{
    const Graph *graph = kernel_graph(call);
    const int64_t *axes = NULL;
    int64_t n, n_dims = call->input[0]->shape.n_dims;
    if (!kernel_ints_of(call, "axes", 1, &axes, &n, err))
        return false;
    *none = n <= 0 && op_attr_int(graph, call->op, "noop_with_empty_axes", 0) != 0;
    for (int64_t d = 0; d < n_dims; d++)
        reduced[d] = n <= 0 && !*none;
    for (int64_t i = 0; i < n; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + n_dims : axes[i];
        if (axis < 0 || axis >= n_dims)
            return error_kind(err, ERROR_RUN, "a reduced axis is outside the dims");
        reduced[axis] = true;
    }
    return true;
}

static bool is_extreme(const ReduceRow *row)
{
    return row->fold == FOLD_MAX || row->fold == FOLD_MIN;
}

/* Folds all of the input into sums, a block of its last dim at a time. */
static void fold_all(const ReduceRow *row, const Local *in, Number number, const bool *reduced,
                     void *sums)
{
    int64_t stride[DIMS_MAX] = {0}, at[DIMS_MAX] = {0}, last = in->shape.n_dims - 1;
    int64_t n = shape_elements(&in->shape), size = last < 0 ? 1 : in->shape.dim[last];
    output_strides(&in->shape, reduced, stride);
    int64_t step = last < 0 ? 0 : stride[last], place = 0;

    for (int64_t done = 0; done < n; done += size) {
        for (int64_t i = 0; i < size; i += ELEMENT_BLOCK) {
            NumberBlock block;
            int64_t n_block = size - i < ELEMENT_BLOCK ? size - i : ELEMENT_BLOCK;
            local_load(in, done + i, 1, n_block, number, &block);
            char *to = (char *)sums + (place + i * step) * number_bytes(number);
            if (number == NUMBER_I64 && is_extreme(row))
                integers_order(in->dtype, block.i64, n_block);
            if (number == NUMBER_I64)
                fold_i64(row, to, step, &block, n_block);
            else
                fold_f64(row, to, step, &block, n_block);
        }
        for (int64_t d = last - 1; d >= 0; d--) {
            place += stride[d];
            if (++at[d] < in->shape.dim[d])
                break;
            place -= stride[d] * in->shape.dim[d];
            at[d] = 0;
        }
    }
}

static void finish(const ReduceRow *row, double count, Number number, void *sums, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (row->mean && number == NUMBER_F64)
            ((double *)sums)[i] /= count;
        if (row->mean && number == NUMBER_I64 && count > 0)
            ((int64_t *)sums)[i] /= (int64_t)count;
        if (row->last && number == NUMBER_F64)
            ((double *)sums)[i] = row->last(((double *)sums)[i]);
    }
}

static bool reduce(const KernelCall *call, Error *err)
{
    const ReduceRow *row = call->kernel->row;
    bool reduced[DIMS_MAX] = {0}, none = false;
    if (!kernel_numeric(call, 1, err) || !reduced_dims(call, reduced, &none, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    bool of_ints = !dtype_is_float(in->dtype) && !row->last && row->fold != FOLD_LOG_ADD;
    Number number = of_ints ? NUMBER_I64 : NUMBER_F64;
    int64_t n_out = 1;
    double count = 1;
    for (int64_t d = 0; d < in->shape.n_dims; d++) {
        n_out *= reduced[d] ? 1 : in->shape.dim[d];
        count *= reduced[d] ? (double)in->whole.dim[d] : 1;
    }
    if (n_out != shape_elements(&out->shape))
        return error_kind(err, ERROR_RUN, "input and output shapes do not match");
    if (call->reduce_cut && (row->last || (row->mean && number == NUMBER_I64)))
        return error_kind(err, ERROR_RUN, "%s over a dim that is sharded", call->kernel->name);

    void *sums = arena_array(call->scratch, NumberBlock, n_out / ELEMENT_BLOCK + 1);
    begin(row->fold, out->dtype, number, sums, n_out);
    fold_all(row, in, number, reduced, sums);
    finish(row, count, number, sums, n_out);
    if (number == NUMBER_I64 && is_extreme(row))
        integers_order(in->dtype, sums, n_out);
    local_store(out, 0, n_out, number, sums);
    return true;
}

/* ---- gradients of extremes and products ---- */

/* Of what is folded into one element: how many are extreme, or zero; and the product of the others.
 */
typedef struct {
    int64_t n;
    double product;
} ReducedForm;

/* Equal extremes share the gradient; of a product each gets the product of the others. */
static double share_of(const ReducedForm *folded, bool product, bool counted, double x)
{
    if (!product)
        return counted ? 1 / (double)folded->n : 0;
    if (folded->n > 0)
        return counted && folded->n == 1 ? folded->product : 0;
    return folded->product / x;
}

/* Reads the input, then the output. */
static bool reduce_gradient(const KernelCall *call, Error *err)
{
    bool product = call->kernel->row != NULL, reduced[DIMS_MAX] = {0}, none = false;
    int64_t stride[DIMS_MAX] = {0};
    KernelCall forward;
    if (!forward_call(call, &forward, err) || !kernel_numeric(call, 3, err) ||
        !reduced_dims(&forward, reduced, &none, err))
        return false;
    const Local *in = call->input[1];
    Local *made = call->output[0];
    int64_t n = shape_elements(&in->shape), n_out = shape_elements(&call->input[0]->shape);
    output_strides(&in->shape, reduced, stride);
    const double *dy = kernel_doubles(call, 0), *x = kernel_doubles(call, 1);
    const double *y = kernel_doubles(call, 2);
    ReducedForm *folded = arena_array(call->scratch, ReducedForm, n_out);
    double *dx = arena_array(call->scratch, double, n);
    int64_t *to = arena_array(call->scratch, int64_t, n);
    for (int64_t i = 0; i < n_out; i++)
        folded[i].product = 1;
    for (int64_t i = 0; i < n; i++) {
        to[i] = strided_place(&in->shape, stride, 0, in->shape.n_dims, i);
        bool counted = x[i] == (product ? 0 : y[to[i]]);
        folded[to[i]].n += counted;
        folded[to[i]].product *= product && !counted ? x[i] : 1;
    }
    for (int64_t i = 0; i < n; i++)
        dx[i] =
            dy[to[i]] * share_of(&folded[to[i]], product, x[i] == (product ? 0 : y[to[i]]), x[i]);
    local_store(made, 0, n, NUMBER_F64, dx);
    return true;
}

#define ROW(...)                                                                                   \
    &(const ReduceRow)                                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

const Kernel kernels_reduce[] = {
    {"ReduceSum", reduce, ROW(.fold = FOLD_SUM), 1, ROUNDING_SUM},
    {"ReduceMean", reduce, ROW(.mean = true), 1, ROUNDING_SUM},
    {"ReduceMax", reduce, ROW(.fold = FOLD_MAX), 1, ROUNDING_EXACT},
    {"ReduceMin", reduce, ROW(.fold = FOLD_MIN), 1, ROUNDING_EXACT},
    {"ReduceMaxBackward", reduce_gradient, NULL, 0, ROUNDING_EXACT},
    {"ReduceProdBackward", reduce_gradient, "product", 0, ROUNDING_SENSITIVE},
    {"ReduceProd", reduce, ROW(.fold = FOLD_PRODUCT), 1, ROUNDING_SENSITIVE},
    {"ReduceL1", reduce, ROW(.of = OF_SIZE), 1, ROUNDING_SUM},
    {"ReduceSumSquare", reduce, ROW(.of = OF_SQUARE), 1, ROUNDING_SUM},
    {"ReduceLogSum", reduce, ROW(.last = log), 1, ROUNDING_SENSITIVE},
    {"ReduceLogSumExp", reduce, ROW(.fold = FOLD_LOG_ADD), 1, ROUNDING_SENSITIVE},
    {"ReduceL2", reduce, ROW(.of = OF_SQUARE, .last = sqrt), 1, ROUNDING_SENSITIVE},
    {0},
};
