/* einsum.c - Einsum: sums of products over index points. The op space gives the index dim of each
 * operand dim, with local lengths. Summed in double (integers in int64_t), point by point. */
#include "core/run/kernel.h"

typedef struct {
    int n_index, order[X_MAX]; /* index dims: output ones, then summed ones */
    int64_t length[X_MAX];
    int64_t (*stride)[X_MAX]; /* by operand: strides of each index dim */
    int64_t n_kept, n_summed;
} Points;

static bool place_operand(const Operand *operand, const Local *local, Points *points,
                          int64_t stride[X_MAX], Error *err)
{
    int64_t own[DIMS_MAX];
    row_major_strides(&local->shape, own);
    for (int64_t d = 0; d < local->shape.n_dims; d++) {
        const DimFactors *factors = &operand->factors[d];
        if (factors->n == 0 && local->whole.dim[d] == 1)
            continue;
        if (factors->n != 1 || !factors->exact)
            return error_kind(err, ERROR_RUN, "a dim is no index of the equation");
        int index = factors->index[0];
        if (points->length[index] >= 0 && points->length[index] != local->shape.dim[d])
            return error_kind(err, ERROR_RUN, "operands differ in the length of an index");
        points->length[index] = local->shape.dim[d];
        stride[index] += own[d];
    }
    return true;
}

static bool find_points(const KernelCall *call, const OpSpace *space, Points *points, Error *err)
{
    *points = (Points){.n_kept = 1, .n_summed = 1};
    points->stride =
        arena_alloc(call->scratch, sizeof *points->stride * (size_t)(call->n_inputs + 1));
    for (int i = 0; i < space->n_index; i++)
        points->length[i] = -1;
    for (int k = 0; k < call->n_inputs; k++)
        if (!place_operand(&space->operand[k], call->input[k], points, points->stride[k], err))
            return false;
    if (!place_operand(opspace_output(space, 0), call->output[0], points,
                       points->stride[call->n_inputs], err))
        return false;
    for (int summed = 0; summed < 2; summed++)
        for (int i = 0; i < space->n_index; i++)
            if ((points->stride[call->n_inputs][i] == 0) == summed) {
                points->order[points->n_index++] = i;
                *(summed ? &points->n_summed : &points->n_kept) *= points->length[i];
            }
    return true;
}

/* The place in an operand of the i-th point. */
static int64_t place_at(const Points *points, int operand, int64_t i)
{
    int64_t at = 0;
    for (int k = points->n_index - 1; k >= 0; k--) {
        int index = points->order[k];
        at += i % points->length[index] * points->stride[operand][index];
        i /= points->length[index];
    }
    return at;
}

static void multiply_at(const KernelCall *call, const Points *points, int64_t i, double *real,
                        uint64_t *integer)
{
    double product = 1;
    uint64_t int_product = 1;
    for (int k = 0; k < call->n_inputs; k++) {
        const void *at = local_at(call->input[k], place_at(points, k, i));
        double x;
        int64_t n;
        elements_load(call->input[k]->dtype, at, 1, 1, NUMBER_F64, &x);
        elements_load(call->input[k]->dtype, at, 1, 1, NUMBER_I64, &n);
        product *= x;
        int_product *= (uint64_t)n;
    }
    *real += product;
    *integer += int_product;
}

static bool einsum(const KernelCall *call, Error *err)
{
    const OpSpace *space = inferred_space(call->inferred, call->op);
    Points points;
    if (!kernel_needs(call, call->n_inputs, err) || !kernel_computes(call->output[0], err))
        return false;
    for (int k = 0; k < call->n_inputs; k++)
        if (!kernel_computes(call->input[k], err))
            return false;
    if (!space || space->no_rule)
        return error_kind(err, ERROR_RUN, "the equation has no rule");
    if (!find_points(call, space, &points, err))
        return false;
    Local *out = call->output[0];
    bool is_float = dtype_is_float(out->dtype);
    for (int64_t kept = 0; kept < points.n_kept; kept++) {
        double real = 0;
        uint64_t integer = 0;
        for (int64_t i = 0; i < points.n_summed; i++)
            multiply_at(call, &points, kept * points.n_summed + i, &real, &integer);
        int64_t at =
            points.n_summed > 0 ? place_at(&points, call->n_inputs, kept * points.n_summed) : kept;
        local_store(out, at, 1, is_float ? NUMBER_F64 : NUMBER_I64,
                    is_float ? (const void *)&real : (const void *)&integer);
    }
    return true;
}

const Kernel kernels_einsum[] = {
    {"Einsum", einsum, NULL, 0, ROUNDING_SUM},
    {0},
};
