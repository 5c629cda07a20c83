/* matrix.c - Det and Inverse by elimination with partial pivoting, CDist, and their gradients, in
 * double. The dims of a matrix, and the numbers of a row of CDist, are unsharded. */
#include "core/run/kernels/derivative.h"

#include "core/space/gradient.h"

#include <math.h>

/* Overwrites the n x n matrix. */
static double determinant(double *a, int64_t n)
{
    double product = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k]))
                pivot = i;
        for (int64_t j = 0; j < n && pivot != k; j++) {
            double swapped = a[k * n + j];
            a[k * n + j] = a[pivot * n + j];
            a[pivot * n + j] = swapped;
        }
        product *= (pivot != k ? -1 : 1) * a[k * n + k];
        if (a[k * n + k] >= 0 && a[k * n + k] <= 0)
            return 0;
        for (int64_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] / a[k * n + k];
            for (int64_t j = k; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return product;
}

static bool det(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 1, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    int64_t last = in->shape.n_dims - 1, n = last < 1 ? -1 : in->shape.dim[last];
    if (last < 1 || in->shape.dim[last - 1] != n || in->whole.dim[last] != n ||
        in->whole.dim[last - 1] != n)
        return error_kind(err, ERROR_RUN, "its matrices are sharded or not square");
    int64_t n_matrices = shape_elements(&out->shape);
    if (shape_elements(&in->shape) != n_matrices * n * n)
        return error_kind(err, ERROR_RUN, "input and output differ in shape");
    double *matrix = arena_array(call->scratch, double, n *n);
    for (int64_t i = 0; i < n_matrices; i++) {
        local_load(in, i * n * n, 1, n * n, NUMBER_F64, matrix);
        double of = determinant(matrix, n);
        local_store(out, i, 1, NUMBER_F64, &of);
    }
    return true;
}

/* ---- Inverse ---- */

/* out = the inverse of the n x n matrix, which is overwritten; false if it is singular. */
static bool invert(double *a, int64_t n, double *out)
{
    for (int64_t i = 0; i < n * n; i++)
        out[i] = i % (n + 1) == 0;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k]))
                pivot = i;
        double by = a[pivot * n + k];
        if (by >= 0 && by <= 0)
            return false;
        for (int64_t j = 0; j < n; j++) {
            double x = a[pivot * n + j] / by, y = out[pivot * n + j] / by;
            a[pivot * n + j] = a[k * n + j];
            out[pivot * n + j] = out[k * n + j];
            a[k * n + j] = x;
            out[k * n + j] = y;
        }
        for (int64_t i = 0; i < n; i++) {
            double factor = i == k ? 0 : a[i * n + k];
            for (int64_t j = 0; factor != 0 && j < n; j++) {
                a[i * n + j] -= factor * a[k * n + j];
                out[i * n + j] -= factor * out[k * n + j];
            }
        }
    }
    return true;
}

static bool whole_squares(const Local *local, int64_t *n, Error *err)
{
    int64_t last = local->shape.n_dims - 1;
    *n = last < 1 ? 0 : local->whole.dim[last];
    return (last >= 1 && local->whole.dim[last - 1] == *n && local->shape.dim[last] == *n &&
            local->shape.dim[last - 1] == *n) ||
           error_kind(err, ERROR_RUN, "its matrices are sharded or not square");
}

static bool inverse(const KernelCall *call, Error *err)
{
    int64_t n;
    if (!kernel_numeric(call, 1, err) || !whole_squares(call->input[0], &n, err) ||
        !kernel_same_shape(call, err))
        return false;
    double *a = arena_array(call->scratch, double, n *n);
    double *out = arena_array(call->scratch, double, n *n);
    for (int64_t i = 0; i < shape_elements(&call->input[0]->shape); i += n * n) {
        local_load(call->input[0], i, 1, n * n, NUMBER_F64, a);
        if (!invert(a, n, out))
            return error_kind(err, ERROR_RUN, "a matrix is singular");
        local_store(call->output[0], i, n * n, NUMBER_F64, out);
    }
    return true;
}

/* -y' grad y', for y = inverse of x */
static bool inverse_grad(const KernelCall *call, Error *err)
{
    const Local *grad = call->input[0], *result = call->input[1];
    int64_t n;
    if (!kernel_numeric(call, 2, err) || !whole_squares(grad, &n, err) ||
        !whole_squares(result, &n, err) || !kernel_same_shape(call, err))
        return false;
    const double *d = kernel_doubles(call, 0), *y = kernel_doubles(call, 1);
    Product left = {.m = n, .n = n, .k = n, .a_turned = true, .scale = -1};
    Product right = {.m = n, .n = n, .k = n, .b_turned = true, .scale = 1};
    double *half = arena_array(call->scratch, double, n *n);
    double *out = arena_array(call->scratch, double, n *n);
    for (int64_t i = 0; i < shape_elements(&grad->shape); i += n * n) {
        memset(half, 0, (size_t)(n * n) * sizeof *half);
        memset(out, 0, (size_t)(n * n) * sizeof *out);
        kernel_multiply(call, &left, DT_F64, y + i, d + i, half);
        kernel_multiply(call, &right, DT_F64, half, y + i, out);
        local_store(call->output[0], i, n * n, NUMBER_F64, out);
    }
    return true;
}

/* ---- the gradient of Det ---- */

/* The determinant without row i and column j, with its sign. */
static double cofactor(const double *a, int64_t n, int64_t i, int64_t j, double *minor)
{
    int64_t at = 0;
    for (int64_t k = 0; k < n * n; k++)
        if (k / n != i && k % n != j)
            minor[at++] = a[k];
    return ((i + j) % 2 == 0 ? 1 : -1) * determinant(minor, n - 1);
}

/* grad * the matrix of cofactors: det x times the transposed inverse, if there is one */
static bool det_grad(const KernelCall *call, Error *err)
{
    const Local *x = kernel_input(call, 1);
    int64_t n;
    if (!kernel_numeric(call, 2, err) || !whole_squares(x, &n, err))
        return false;
    const double *grad = kernel_doubles(call, 0);
    double *a = arena_array(call->scratch, double, n *n);
    double *work = arena_array(call->scratch, double, n *n);
    double *out = arena_array(call->scratch, double, n *n);
    for (int64_t i = 0; n > 0 && i < shape_elements(&x->shape) / (n * n); i++) {
        local_load(x, i * n * n, 1, n * n, NUMBER_F64, a);
        memcpy(work, a, (size_t)(n * n) * sizeof *a);
        double of = determinant(work, n);
        memcpy(work, a, (size_t)(n * n) * sizeof *a);
        bool inverts = invert(work, n, out);
        for (int64_t k = 0; k < n * n; k++) {
            double by = inverts ? of * out[k % n * n + k / n] : cofactor(a, n, k / n, k % n, work);
            double d = grad[i] * by;
            local_store(call->output[0], i * n * n + k, 1, NUMBER_F64, &d);
        }
    }
    return true;
}

/* ---- CDist: distances between the rows of two matrices ---- */

static bool squares_distances(const KernelCall *call)
{
    const Attr *metric = op_attr(kernel_graph(call), call->op, "metric");
    return !metric || !str_eq(metric->s, STR("euclidean"));
}

static bool distances_fit(const Local *a, const Local *b, const Local *out, Error *err)
{
    bool fits = a->shape.n_dims == 2 && b->shape.n_dims == 2 && out->shape.n_dims == 2 &&
                a->shape.dim[1] == b->shape.dim[1] && a->shape.dim[1] == a->whole.dim[1] &&
                out->shape.dim[0] == a->shape.dim[0] && out->shape.dim[1] == b->shape.dim[0];
    return fits || error_kind(err, ERROR_RUN, "operand shapes do not match");
}

static bool distances(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 2, err) ||
        !distances_fit(call->input[0], call->input[1], call->output[0], err))
        return false;
    const double *a = kernel_doubles(call, 0), *b = kernel_doubles(call, 1);
    int64_t n = call->output[0]->shape.dim[1], n_each = call->input[0]->shape.dim[1];
    for (int64_t i = 0; i < shape_elements(&call->output[0]->shape); i++) {
        double sum = 0;
        for (int64_t k = 0; k < n_each; k++) {
            double away = a[i / n * n_each + k] - b[i % n * n_each + k];
            sum += away * away;
        }
        sum = squares_distances(call) ? sum : sqrt(sum);
        local_store(call->output[0], i, 1, NUMBER_F64, &sum);
    }
    return true;
}

/* Of one of the matrices: 2 (a - b), or (a - b) / distance, 0 where they are equal. */
static bool distances_grad(const KernelCall *call, Error *err)
{
    KernelCall forward;
    if (!forward_call(call, &forward, err) ||
        !distances_fit(forward.input[0], forward.input[1], forward.output[0], err))
        return false;
    const Local *grad = forward.output[0];
    const double *d = local_doubles(call->scratch, grad);
    const double *a = kernel_doubles(&forward, 0), *b = kernel_doubles(&forward, 1);
    const double *y = kernel_doubles(call, 3);
    bool second = program_space(call->inferred, call->op)->gradient->written[0] == 1;
    int64_t n = grad->shape.dim[1], n_each = forward.input[0]->shape.dim[1];
    int64_t n_made = shape_elements(&call->output[0]->shape);
    double *sums = arena_array(call->scratch, double, n_made);
    for (int64_t i = 0; i < shape_elements(&grad->shape); i++) {
        double by = squares_distances(&forward) ? 2 : y[i] > 0 ? 1 / y[i] : 0;
        by *= second ? -d[i] : d[i];
        for (int64_t k = 0; k < n_each; k++)
            sums[(second ? i % n : i / n) * n_each + k] +=
                by * (a[i / n * n_each + k] - b[i % n * n_each + k]);
    }
    local_store(call->output[0], 0, n_made, NUMBER_F64, sums);
    return true;
}

const Kernel kernels_matrix[] = {
    {"Det", det, NULL, 0, ROUNDING_SENSITIVE},
    {"DetGrad", det_grad, NULL, 0, ROUNDING_SENSITIVE},
    {"Inverse", inverse, NULL, 0, ROUNDING_SENSITIVE},
    {"InverseGrad", inverse_grad, NULL, 0, ROUNDING_SENSITIVE},
    {"com.microsoft::CDist", distances, NULL, 0, ROUNDING_SENSITIVE},
    {"CDistGrad", distances_grad, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
