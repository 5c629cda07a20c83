/* matmul.c - MatMul and Gemm: BLAS for float and double, plain loops for the rest.
 *
 * The plain loops add along k in order, in the class of the type (element.h); runs that must not
 * depend on the machine use them too (KernelCall.blas is NULL). An empty part along k gives zeros.
 *
 * A lock serializes BLAS where its workspace is not thread-safe (blas_memory.h).
 */
#include "core/run/kernels/blas_memory.h"
#include "core/run/kernels/activation.h"

#include <cblas.h>

#define PLAIN(suffix, Real, Sum)                                                                   \
    static void plain_##suffix(const Product *p, const void *a, const void *b, void *out)          \
    {                                                                                              \
        const Real *x = a, *y = b;                                                                 \
        int64_t x_row = p->a_turned ? 1 : p->k, x_step = p->a_turned ? p->m : 1;                   \
        int64_t y_row = p->b_turned ? 1 : p->n, y_step = p->b_turned ? p->k : 1;                   \
        for (int64_t i = 0; i < p->m; i++)                                                         \
            for (int64_t k = 0; k < p->k; k++) {                                                   \
                Sum factor = (Sum)x[i * x_row + k * x_step] * (Sum)(Real)p->scale;                 \
                Sum *row = (Sum *)out + i * p->n;                                                  \
                for (int64_t j = 0; j < p->n; j++)                                                 \
                    row[j] += factor * (Sum)y[k * y_row + j * y_step];                             \
            }                                                                                      \
    }
PLAIN(f32, float, float)
PLAIN(f64, double, double)
PLAIN(i64, int64_t, uint64_t) /* wraps */

static bool fits_blas(const Product *p)
{
    return p->m <= INT32_MAX && p->n <= INT32_MAX && p->k <= INT32_MAX && p->m > 0 && p->n > 0 &&
           p->k > 0;
}

static void blas(const KernelCall *call, const Product *p, Dtype dtype, const void *a,
                 const void *b, void *out)
{
    int m = (int)p->m, n = (int)p->n, k = (int)p->k;
    CBLAS_TRANSPOSE turn_a = p->a_turned ? CblasTrans : CblasNoTrans;
    CBLAS_TRANSPOSE turn_b = p->b_turned ? CblasTrans : CblasNoTrans;
    int a_row = p->a_turned ? m : k, b_row = p->b_turned ? k : n;
    pthread_mutex_lock(call->blas);
    bool together = blas_memory_is_safe();
    if (together)
        pthread_mutex_unlock(call->blas);
    if (dtype == DT_F32)
        cblas_sgemm(CblasRowMajor, turn_a, turn_b, m, n, k, (float)p->scale, a, a_row, b, b_row, 0,
                    out, n);
    else
        cblas_dgemm(CblasRowMajor, turn_a, turn_b, m, n, k, p->scale, a, a_row, b, b_row, 0, out,
                    n);
    if (!together)
        pthread_mutex_unlock(call->blas);
}

static void *converted(Arena *scratch, Dtype dtype, Number number, const void *from, int64_t n)
{
    void *to = arena_alloc(scratch, arena_array_bytes((size_t)n, (size_t)number_bytes(number)));
    elements_load(dtype, from, 1, n, number, to);
    return to;
}

void kernel_multiply(const KernelCall *call, const Product *p, Dtype dtype, const void *a,
                     const void *b, void *out)
{
    static void (*const plain[NUMBER_KINDS])(const Product *, const void *, const void *,
                                             void *) = {plain_f32, plain_f64, plain_i64};
    if (call->blas && (dtype == DT_F32 || dtype == DT_F64)) {
        if (fits_blas(p))
            blas(call, p, dtype, a, b, out);
        return;
    }
    Number number = dtype_number(dtype);
    if (dtype_is_number(dtype)) {
        plain[number](p, a, b, out);
        return;
    }
    size_t n_bytes = arena_array_bytes((size_t)(p->m * p->n), (size_t)number_bytes(number));
    void *sums = arena_alloc(call->scratch, n_bytes);
    plain[number](p, converted(call->scratch, dtype, number, a, p->m * p->k),
                  converted(call->scratch, dtype, number, b, p->k * p->n), sums);
    elements_store(dtype, out, p->m * p->n, number, sums);
}

static bool check_types(const KernelCall *call, Error *err)
{
    const Local *a = call->input[0], *b = call->input[1], *out = call->output[0];
    if (!kernel_computes(a, err))
        return false;
    if (a->dtype != b->dtype || a->dtype != out->dtype)
        return error_kind(err, ERROR_RUN, "a product of %s and %s into %s", dtype_name(a->dtype),
                          dtype_name(b->dtype), dtype_name(out->dtype));
    return true;
}

Shape kernel_as_matrix(const Shape *shape, bool left)
{
    Shape matrix = *shape;
    if (shape->n_dims == 1) {
        matrix.n_dims = 2;
        matrix.dim[left] = shape->dim[0];
        matrix.dim[!left] = 1;
    }
    return matrix;
}

/* Strides in matrices of an operand along the output's batch dims; 0: repeated. */
static bool batch_strides(const Shape *shape, const Shape *whole, const Shape *batch,
                          int64_t stride[DIMS_MAX], Error *err)
{
    int64_t skip = batch->n_dims - (shape->n_dims - 2), step = 1;
    for (int64_t d = batch->n_dims - 1; d >= 0; d--) {
        stride[d] = 0;
        if (d < skip)
            continue;
        int64_t size = shape->dim[d - skip];
        bool repeats = whole->dim[d - skip] == 1;
        if (!repeats && size != batch->dim[d])
            return error_kind(err, ERROR_RUN, "batch dim %d has another length", (int)d);
        stride[d] = repeats ? 0 : step;
        step *= size;
    }
    return true;
}

/* Multiplies matrix by matrix along the batch dims. */
static bool multiply_batches(const KernelCall *call, Product *p, const Shape *a, const Shape *b,
                             const Shape *batch, Error *err)
{
    const Local *x = call->input[0], *y = call->input[1];
    Local *out = call->output[0];
    Shape a_whole = kernel_as_matrix(&x->whole, true), b_whole = kernel_as_matrix(&y->whole, false);
    int64_t a_stride[DIMS_MAX] = {0}, b_stride[DIMS_MAX] = {0}, n = shape_elements(batch);
    if (!batch_strides(a, &a_whole, batch, a_stride, err) ||
        !batch_strides(b, &b_whole, batch, b_stride, err))
        return false;

    for (int64_t i = 0; i < n; i++) {
        int64_t a_at = strided_place(batch, a_stride, 0, batch->n_dims, i);
        int64_t b_at = strided_place(batch, b_stride, 0, batch->n_dims, i);
        kernel_multiply(call, p, x->dtype, local_at(x, a_at * p->m * p->k),
                        local_at(y, b_at * p->k * p->n), local_at(out, i * p->m * p->n));
    }
    return true;
}

static bool matmul(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 2, err) || !check_types(call, err))
        return false;
    const Local *x = call->input[0], *y = call->input[1], *out = call->output[0];
    Shape a = kernel_as_matrix(&x->shape, true), b = kernel_as_matrix(&y->shape, false),
          batch = out->shape;
    batch.n_dims -= (x->shape.n_dims > 1) + (y->shape.n_dims > 1);
    if (a.n_dims < 2 || b.n_dims < 2 || batch.n_dims < 0)
        return error_kind(err, ERROR_RUN, "a product needs operands with at least one dim");

    Product p = {.scale = 1};
    if (call->kernel->row) { /* onnxruntime: the last two dims may be transposed */
        const Graph *graph = kernel_graph(call);
        p.a_turned = x->shape.n_dims > 1 && op_attr_int(graph, call->op, "transA", 0) != 0;
        p.b_turned = y->shape.n_dims > 1 && op_attr_int(graph, call->op, "transB", 0) != 0;
        p.scale = op_attr_float(graph, call->op, "alpha", 1);
    }
    p.m = a.dim[a.n_dims - (p.a_turned ? 1 : 2)];
    p.k = a.dim[a.n_dims - (p.a_turned ? 2 : 1)];
    p.n = b.dim[b.n_dims - (p.b_turned ? 2 : 1)];
    if (b.dim[b.n_dims - (p.b_turned ? 1 : 2)] != p.k)
        return error_kind(err, ERROR_RUN, "operands differ in the length of the reduce dim");
    if (shape_elements(&batch) * p.m * p.n != shape_elements(&out->shape))
        return error_kind(err, ERROR_RUN, "the output has another size");
    if (b.n_dims == 2 && !p.a_turned && shape_elements(&a) == shape_elements(&batch) * p.m * p.k) {
        p.m *= shape_elements(&batch); /* one right matrix: a single product */
        kernel_multiply(call, &p, x->dtype, x->data, y->data, out->data);
        return true;
    }
    return multiply_batches(call, &p, &a, &b, &batch, err);
}

/* out += beta * c, which broadcasts to it. */
static bool add_scaled(const Local *c, double beta, Local *out, Error *err)
{
    int64_t m = out->shape.dim[0], n = out->shape.dim[1], stride[2] = {0, 0}, step = 1;
    for (int64_t d = 1, e = c->shape.n_dims - 1; e >= 0; d--, e--) {
        if (d < 0 || (c->whole.dim[e] != 1 && c->shape.dim[e] != out->shape.dim[d]))
            return error_kind(err, ERROR_RUN, "the addend has another size");
        stride[d] = c->whole.dim[e] == 1 ? 0 : step;
        step *= c->shape.dim[e];
    }
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j += ELEMENT_BLOCK) {
            int64_t n_block = n - j < ELEMENT_BLOCK ? n - j : ELEMENT_BLOCK;
            double x[ELEMENT_BLOCK], y[ELEMENT_BLOCK];
            void *to = local_at(out, i * n + j);
            elements_load(out->dtype, to, 1, n_block, NUMBER_F64, x);
            local_load(c, i * stride[0] + j * stride[1], stride[1], n_block, NUMBER_F64, y);
            for (int64_t k = 0; k < n_block; k++)
                x[k] += beta * y[k];
            elements_store(out->dtype, to, n_block, NUMBER_F64, x);
        }
    return true;
}

/* out = product + beta * c. Of narrow floats the product is kept in f32, so that only the sum is
 * rounded: on one of several ranks the product may be much larger than it. */
static bool multiply_and_add(const KernelCall *call, const Product *p, const Local *c, Error *err)
{
    const Local *a = call->input[0], *b = call->input[1];
    Local *out = call->output[0];
    double beta = op_attr_float(kernel_graph(call), call->op, "beta", 1);
    int64_t n = p->m * p->n;
    if (dtype_is_number(out->dtype) || !dtype_is_float(out->dtype)) {
        kernel_multiply(call, p, a->dtype, a->data, b->data, out->data);
        return add_scaled(c, beta, out, err);
    }
    Local wide = *out;
    wide.dtype = DT_F32;
    wide.data = arena_alloc(call->scratch, arena_array_bytes((size_t)n, sizeof(float)));
    kernel_multiply(
        call, p, DT_F32, converted(call->scratch, a->dtype, NUMBER_F32, a->data, p->m * p->k),
        converted(call->scratch, b->dtype, NUMBER_F32, b->data, p->k * p->n), wide.data);
    if (!add_scaled(c, beta, &wide, err))
        return false;
    elements_store(out->dtype, out->data, n, NUMBER_F32, wide.data);
    return true;
}

static bool gemm(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 2, err) || !check_types(call, err))
        return false;
    const Graph *graph = kernel_graph(call);
    const Local *a = call->input[0], *b = call->input[1];
    Local *out = call->output[0];
    if (a->shape.n_dims != 2 || b->shape.n_dims != 2 || out->shape.n_dims != 2)
        return error_kind(err, ERROR_RUN, "Gemm needs matrices");

    Product p = {.a_turned = op_attr_int(graph, call->op, "transA", 0) != 0,
                 .b_turned = op_attr_int(graph, call->op, "transB", 0) != 0,
                 .scale = op_attr_float(graph, call->op, "alpha", 1)};
    p.m = a->shape.dim[p.a_turned];
    p.k = a->shape.dim[!p.a_turned];
    p.n = b->shape.dim[!p.b_turned];
    if (b->shape.dim[p.b_turned] != p.k || out->shape.dim[0] != p.m || out->shape.dim[1] != p.n)
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    const Local *c = kernel_input(call, 2);
    if (c && call->first)
        return kernel_computes(c, err) && multiply_and_add(call, &p, c, err);
    kernel_multiply(call, &p, a->dtype, a->data, b->data, out->data);
    return true;
}

static bool fused_gemm(const KernelCall *call, Error *err)
{
    return gemm(call, err) && activation_finish(call, NULL, err);
}

/* Where the rows of group g end: its number in offs, inside of the rows that are left. */
static int64_t group_end(const Local *offs, int64_t g, int64_t begin, int64_t n_rows)
{
    int64_t end = 0;
    local_load(offs, g, 1, 1, NUMBER_I64, &end);
    return end < begin ? begin : end > n_rows ? n_rows : end;
}

/* Where the rows of group g end, of `rows` that one matrix of a stack has, or that all have. */
static int64_t rows_end(const Local *rows, const Local *offs, int64_t g, int64_t begin)
{
    int64_t n = rows->shape.dim[rows->shape.n_dims - 2];
    return rows->shape.n_dims == 3 ? begin + n : group_end(offs, g, begin, n);
}

/* Inputs: dy, b, offs -> da = dy b', by groups. */
static bool grouped_gradient(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 2, err) || !check_types(call, err))
        return false;
    const Local *dy = call->input[0], *b = call->input[1], *offs = kernel_input(call, 2);
    Local *out = call->output[0];
    Product p = {.scale = 1, .k = b->shape.dim[2], .n = b->shape.dim[1], .b_turned = true};
    if (dy->shape.dim[dy->shape.n_dims - 1] != p.k || (dy->shape.n_dims == 2 && !offs))
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    for (int64_t g = 0, begin = 0, end; g < b->shape.dim[0]; g++, begin = end) {
        end = rows_end(dy, offs, g, begin);
        p.m = end - begin;
        kernel_multiply(call, &p, dy->dtype, local_at(dy, begin * p.k), local_at(b, g * p.k * p.n),
                        local_at(out, begin * p.n));
    }
    return true;
}

/* Inputs: dy, a, offs -> db = a' dy, by groups. */
static bool grouped_weight_gradient(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 2, err) || !check_types(call, err))
        return false;
    const Local *dy = call->input[0], *a = call->input[1], *offs = kernel_input(call, 2);
    Local *out = call->output[0];
    Product p = {.scale = 1, .m = out->shape.dim[1], .n = out->shape.dim[2], .a_turned = true};
    if (a->shape.dim[a->shape.n_dims - 1] != p.m || (a->shape.n_dims == 2 && !offs))
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    for (int64_t g = 0, begin = 0, end; g < out->shape.dim[0]; g++, begin = end) {
        end = rows_end(a, offs, g, begin);
        p.k = end - begin;
        kernel_multiply(call, &p, a->dtype, local_at(a, begin * p.m), local_at(dy, begin * p.n),
                        local_at(out, g * p.m * p.n));
    }
    return true;
}

/* Each group of rows by a matrix of its own; rows behind the last group are zero. */
static bool grouped_matmul(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 2, err) || !check_types(call, err))
        return false;
    const Local *a = call->input[0], *b = call->input[1], *offs = kernel_input(call, 2);
    Local *out = call->output[0];
    int64_t groups = b->shape.dim[0], begin = 0, size = element_bytes(out->dtype);
    Product p = {.scale = 1, .k = b->shape.dim[1], .n = b->shape.dim[2]};
    int64_t rows = a->shape.dim[a->shape.n_dims - 2];
    if (a->shape.dim[a->shape.n_dims - 1] != p.k || (a->shape.n_dims == 2 && !offs))
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    if (a->shape.n_dims == 2)
        memset(out->data, 0, (size_t)(rows * p.n * size));
    for (int64_t g = 0; g < groups; g++) {
        int64_t end = rows_end(a, offs, g, begin);
        p.m = end - begin;
        kernel_multiply(call, &p, a->dtype, local_at(a, begin * p.k), local_at(b, g * p.k * p.n),
                        local_at(out, begin * p.n));
        begin = end;
    }
    return true;
}

const Kernel kernels_matmul[] = {
    {"MatMul", matmul, NULL, 0, ROUNDING_SUM},
    {"com.microsoft::FusedMatMul", matmul, "fused", 0, ROUNDING_SUM},
    {"GroupedMatMul", grouped_matmul, NULL, 0, ROUNDING_SUM},
    {"GroupedGrad", grouped_gradient, NULL, 0, ROUNDING_SUM},
    {"GroupedWeightGrad", grouped_weight_gradient, NULL, 0, ROUNDING_SUM},
    {"Gemm", gemm, NULL, 0, ROUNDING_SUM},
    {"com.microsoft::FusedGemm", fused_gemm, NULL, 0, ROUNDING_SUM},
    {0},
};
