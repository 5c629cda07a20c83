/* matrix.c - Det: determinants by elimination with partial pivoting, in double. The dims of a
 * matrix are unsharded. */
#include "core/run/kernel.h"

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

const Kernel kernels_matrix[] = {
    {"Det", det, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
