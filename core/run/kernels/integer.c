/* integer.c - integer matrix products: MatMulInteger, QLinearMatMul and others.
 *
 *     out = sum over k of (a - zero of a) (b - zero of b), times both scales, over that of out
 *
 * Integer sums are in double, exact up to 2^53. Scales and zero points are scalars, one per row of
 * a or column of b, or one per matrix of a batch, found by global index. Where k is sharded, sums
 * are addends of integer or float outputs; rounded outputs need whole sums.
 */
#include "core/run/kernel.h"

#include <math.h>

/* Indices of the operands with scales and zero points; -1: none. */
typedef struct {
    int b;
    int a_scale, a_zero, b_scale, b_zero, out_scale, out_zero, bias;
} IntegerForm;

typedef struct {
    const Local *local;
    bool left;
    int64_t rows, columns, n_matrices; /* of the part */
    double *numbers;                   /* less the zero point; [n_matrices][rows][columns] */
    double *scale;                     /* [n_matrices][rows] of a, [n_matrices][columns] of b */
    const int64_t *global[DIMS_MAX];
} FactorSide;

/* The place in scales or zero points for the element at `at`; -1: on another rank. */
static int64_t line_place(const FactorSide *side, const Local *line, const int64_t *at)
{
    int64_t n = side->local->shape.n_dims, place = 0;
    if (shape_elements(&line->whole) == 1)
        return 0;
    if (line->whole.n_dims == 1) {
        int64_t d = side->left ? n - 2 : n - 1;
        return d < 0 ? -1 : runs_find(&line->runs[0], side->global[d][at[d]]);
    }
    if (line->whole.n_dims != n)
        return -1;
    for (int64_t d = 0; d < n; d++) {
        int64_t held =
            line->whole.dim[d] == 1 ? 0 : runs_find(&line->runs[d], side->global[d][at[d]]);
        if (held < 0)
            return -1;
        place = place * line->shape.dim[d] + held;
    }
    return place;
}

static void place_of(const FactorSide *side, int64_t i, int64_t at[DIMS_MAX])
{
    const Shape *shape = &side->local->shape;
    for (int64_t d = shape->n_dims - 1; d >= 0; i /= shape->dim[d--])
        at[d] = i % shape->dim[d];
}

/* Scale or zero point for element i; `absent` without an operand. */
static bool line_number(const KernelCall *call, const FactorSide *side, int input, int64_t i,
                        double absent, double *out, Error *err)
{
    const Local *line = kernel_input(call, input);
    int64_t at[DIMS_MAX];
    *out = absent;
    if (!line)
        return true;
    place_of(side, i, at);
    int64_t place = line_place(side, line, at);
    if (place < 0)
        return error_kind(err, ERROR_RUN, "a scale or zero point is on another rank");
    local_load(line, place, 1, 1, NUMBER_F64, out);
    return true;
}

static bool open_side(const KernelCall *call, int input, bool left, int scale, int zero,
                      FactorSide *out, Error *err)
{
    const Local *local = call->input[input];
    const Shape *shape = &local->shape;
    int64_t n = shape_elements(shape), last = shape->n_dims - 1;
    *out = (FactorSide){.local = local, .left = left};
    if (last < 0 || !kernel_computes(local, err))
        return error_kind(err, ERROR_RUN, "a product needs operands with at least one dim");
    for (int i = 0; i < 2; i++) {
        const Local *line = kernel_input(call, i == 0 ? scale : zero);
        if (line && !kernel_computes(line, err))
            return false;
    }
    out->rows = last > 0 ? shape->dim[last - 1] : left ? 1 : shape->dim[0];
    out->columns = last > 0 || left ? shape->dim[last] : 1;
    int64_t each = out->rows * out->columns;
    out->n_matrices = 1;
    for (int64_t d = 0; d < last - 1; d++)
        out->n_matrices *= shape->dim[d];
    for (int64_t d = 0; d <= last; d++)
        out->global[d] = kernel_globals(call->scratch, &local->runs[d]);
    out->numbers = arena_array(call->scratch, double, n);
    local_load(local, 0, 1, n, NUMBER_F64, out->numbers);
    for (int64_t i = 0; i < n && kernel_input(call, zero); i++) {
        double less;
        if (!line_number(call, out, zero, i, 0, &less, err))
            return false;
        out->numbers[i] -= less;
    }
    int64_t lines = left ? out->rows : out->columns, step = left ? out->columns : 1;
    out->scale = arena_array(call->scratch, double, out->n_matrices *lines);
    for (int64_t i = 0; each > 0 && i < out->n_matrices * lines; i++) /* else all sums are 0 */
        if (!line_number(call, out, scale, i / lines * each + i % lines * step, 1, &out->scale[i],
                         err))
            return false;
    return true;
}

/* ---- products ---- */

/* The matrix of an operand for matrix `batch` of the output; -1: shapes do not match. */
static int64_t matrix_of(const FactorSide *side, const Shape *batch, int64_t index)
{
    int64_t n = side->local->shape.n_dims - 2, place = 0, step = 1;
    for (int64_t d = n - 1, e = batch->n_dims - 1; d >= 0; d--, e--) {
        int64_t size = side->local->shape.dim[d];
        bool repeats = side->local->whole.dim[d] == 1;
        if (e < 0 || (!repeats && size != batch->dim[e]))
            return -1;
        place += repeats ? 0 : index % batch->dim[e] * step;
        step *= size;
        index /= batch->dim[e];
    }
    return place;
}

typedef struct {
    const KernelCall *call;
    const IntegerForm *form;
    FactorSide a, b;
    double out_scale, out_zero;
    const double *bias; /* per column held */
} Integers;

static bool one_number(const KernelCall *call, int input, double absent, double *out, Error *err)
{
    const Local *local = kernel_input(call, input);
    *out = absent;
    if (!local)
        return true;
    if (!kernel_computes(local, err) || shape_elements(&local->shape) != 1)
        return error_kind(err, ERROR_RUN, "input %d is not a scalar", input);
    local_load(local, 0, 1, 1, NUMBER_F64, out);
    return true;
}

/* Finishes a sum: scaled in single precision, rounded to even for quantized outputs. */
static double finished(const Integers *n, double sum, double by, double bias)
{
    const Local *out = n->call->output[0];
    double least, most;
    if (n->form->out_scale < 0)
        return n->form->a_scale < 0 ? sum : sum * by + bias;
    dtype_int_range(out->dtype, &least, &most);
    double y = (double)rintf((float)(sum + bias) * (float)(by / n->out_scale)) + n->out_zero;
    return fmin(fmax(y, least), most);
}

static void store_matrix(const Integers *n, int64_t to, int64_t a_at, int64_t b_at, double *sums)
{
    Local *out = n->call->output[0];
    for (int64_t i = 0; i < n->a.rows; i++)
        for (int64_t j = 0; j < n->b.columns; j++) {
            double by = n->a.scale[a_at * n->a.rows + i] * n->b.scale[b_at * n->b.columns + j];
            double *sum = &sums[i * n->b.columns + j];
            *sum = finished(n, *sum, by, n->bias ? n->bias[j] : 0);
        }
    int64_t each = n->a.rows * n->b.columns;
    local_store(out, to * each, each, NUMBER_F64, sums);
}

static bool multiply(const Integers *n, Error *err)
{
    const KernelCall *call = n->call;
    Shape batch = call->output[0]->shape;
    batch.n_dims -= (n->a.local->shape.n_dims > 1) + (n->b.local->shape.n_dims > 1);
    Product p = {.m = n->a.rows, .n = n->b.columns, .k = n->a.columns, .scale = 1};
    int64_t n_batch = batch.n_dims < 0 ? 0 : shape_elements(&batch), each = p.m * p.n;
    if (n->b.rows != p.k || n_batch * each != shape_elements(&call->output[0]->shape))
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    double *sums = arena_array(call->scratch, double, each);
    for (int64_t i = 0; each > 0 && i < n_batch; i++) {
        int64_t a_at = matrix_of(&n->a, &batch, i), b_at = matrix_of(&n->b, &batch, i);
        if (a_at < 0 || b_at < 0)
            return error_kind(err, ERROR_RUN, "operands differ in the length of a batch dim");
        memset(sums, 0, (size_t)each * sizeof *sums);
        kernel_multiply(call, &p, DT_F64, n->a.numbers + a_at * p.m * p.k,
                        n->b.numbers + b_at * p.k * p.n, sums);
        store_matrix(n, i, a_at, b_at, sums);
    }
    return true;
}

static bool matmul_integer(const KernelCall *call, Error *err)
{
    const IntegerForm *form = call->kernel->row;
    Integers n = {.call = call, .form = form};
    if (!kernel_needs(call, form->b + 1, err) || !kernel_computes(call->output[0], err))
        return false;
    const Local *bias = kernel_input(call, form->bias);
    if (!open_side(call, 0, true, form->a_scale, form->a_zero, &n.a, err) ||
        !open_side(call, form->b, false, form->b_scale, form->b_zero, &n.b, err) ||
        !one_number(call, form->out_scale, 1, &n.out_scale, err) ||
        !one_number(call, form->out_zero, 0, &n.out_zero, err))
        return false;
    if (bias && (!kernel_computes(bias, err) || shape_elements(&bias->shape) != n.b.columns))
        return error_kind(err, ERROR_RUN, "its bias has another size");
    if (bias && call->first)
        n.bias = kernel_doubles(call, form->bias);
    return multiply(&n, err);
}

static const IntegerForm sums = {.b = 1, -1, 2, -1, 3, -1, -1, -1};
static const IntegerForm rounded = {.b = 3, 1, 2, 4, 5, 6, 7, -1};
static const IntegerForm scaled = {.b = 1, 2, 4, 3, 5, -1, -1, 6};

const Kernel kernels_integer[] = {
    {"MatMulInteger", matmul_integer, &sums, 0, ROUNDING_EXACT},
    {"QLinearMatMul", matmul_integer, &rounded, 0, ROUNDING_STEP},
    {"com.microsoft::MatMulIntegerToFloat", matmul_integer, &scaled, 0, ROUNDING_ULPS},
    {0},
};
