/* region.c - reduce with a region of its own, such as the place of the largest element. */
#include "core/run/hlo/scalar.h"

#include <math.h>

static bool is_reduced(const Attr *dims, int64_t d)
{
    for (int i = 0; dims && i < dims->n; i++)
        if (dims->ints[i] == d)
            return true;
    return false;
}

/* The operand's shape with the reduced dims behind the others, and where each step leads. */
typedef struct {
    Shape kept, gone;
    int64_t kept_stride[DIMS_MAX], gone_stride[DIMS_MAX];
} Reducing;

static Reducing open_reducing(const Local *in, const Attr *dims)
{
    Reducing r = {.kept = {.n_dims = 0}, .gone = {.n_dims = 0}};
    int64_t stride[DIMS_MAX];
    row_major_strides(&in->shape, stride);
    for (int64_t d = 0; d < in->shape.n_dims; d++) {
        bool gone = is_reduced(dims, d);
        Shape *to = gone ? &r.gone : &r.kept;
        (gone ? r.gone_stride : r.kept_stride)[to->n_dims] = stride[d];
        to->dim[to->n_dims++] = in->shape.dim[d];
    }
    return r;
}

static bool reduce(const KernelCall *call, Error *err)
{
    int n = call->n_outputs;
    const Attr *dims = op_attr(kernel_graph(call), call->op, "dimensions");
    if (!kernel_needs(call, 2 * n, err) || (dims && dims->type != ATTR_INTS))
        return false;
    Arena *arena = call->scratch;
    Dtype *types = arena_array(arena, Dtype, 2 * n);
    Scalar *args = arena_array(arena, Scalar, 2 * n);
    const ScalarCode *code;
    const Local *in = call->input[0];
    for (int i = 0; i < 2 * n; i++)
        types[i] = call->input[i % n]->dtype;
    for (int64_t d = 0; d < in->shape.n_dims; d++)
        if (is_reduced(dims, d) && in->shape.dim[d] != in->whole.dim[d])
            return error_kind(err, ERROR_RUN, "a dim that it reduces is sharded");
    if (!scalar_code_read(call, types, 2 * n, &code, err))
        return false;
    Reducing r = open_reducing(in, dims);
    for (int64_t i = 0; i < shape_elements(&call->output[0]->shape); i++) {
        int64_t base = strided_place(&r.kept, r.kept_stride, 0, r.kept.n_dims, i);
        for (int k = 0; k < n; k++)
            args[k] = scalar_load(call->input[n + k], 0);
        for (int64_t j = 0; j < shape_elements(&r.gone); j++) {
            int64_t place = base + strided_place(&r.gone, r.gone_stride, 0, r.gone.n_dims, j);
            for (int k = 0; k < n; k++)
                args[n + k] = scalar_load(call->input[k], place);
            scalar_code_run(code, args, args);
        }
        for (int k = 0; k < n; k++)
            scalar_store(call->output[k], i, args[k]);
    }
    return true;
}

/* ---- element by element ---- */

typedef Scalar ElementFn(const KernelCall *call, Scalar x);

static bool each(const KernelCall *call, ElementFn *of, Error *err)
{
    if (!kernel_numeric(call, 1, err) || !kernel_same_shape(call, err))
        return false;
    for (int64_t i = 0; i < shape_elements(&call->output[0]->shape); i++)
        scalar_store(call->output[0], i, of(call, scalar_load(call->input[0], i)));
    return true;
}

/* The set bits of an element as its type has it. */
static Scalar count_bits(const KernelCall *call, Scalar x)
{
    int bits = dtype_bits(call->input[0]->dtype);
    uint64_t mask = bits < 64 ? ((uint64_t)1 << bits) - 1 : UINT64_MAX;
    return (Scalar){.whole = __builtin_popcountll((uint64_t)x.whole & mask)};
}

/* To the nearest float with so many bits of exponent and mantissa, even ones first; beyond its
 * range infinite, below it 0. */
static Scalar reduced_precision(const KernelCall *call, Scalar x)
{
    int mantissa = (int)op_attr_int(kernel_graph(call), call->op, "mantissa_bits", 23);
    int exponent = (int)op_attr_int(kernel_graph(call), call->op, "exponent_bits", 8), own;
    if (x.real == 0 || !isfinite(x.real) || exponent < 1 || exponent > 11)
        return x;
    double scaled = frexp(x.real, &own); /* in [0.5, 1) */
    double rounded = ldexp(nearbyint(ldexp(scaled, mantissa + 1)), own - mantissa - 1);
    int bias = (1 << (exponent - 1)) - 1;
    if (fabs(rounded) >= ldexp(1, bias + 1))
        rounded = copysign(INFINITY, x.real);
    else if (fabs(rounded) < ldexp(1, 1 - bias))
        rounded = copysign(0, x.real);
    return (Scalar){.real = rounded};
}

/* Winitzki's approximation, then Newton's steps on erf. */
static Scalar inverse_erf(const KernelCall *call, Scalar x)
{
    const double a = 0.147, pi = 3.14159265358979323846;
    (void)call;
    if (!(fabs(x.real) < 1))
        return (Scalar){.real = fabs(x.real) == 1 ? copysign(INFINITY, x.real) : NAN};
    double log_part = log1p(-x.real * x.real), half = 2 / (pi * a) + log_part / 2;
    double y = copysign(sqrt(sqrt(half * half - log_part / a) - half), x.real);
    for (int i = 0; i < 4; i++)
        y -= (erf(y) - x.real) / (2 / sqrt(pi) * exp(-y * y));
    return (Scalar){.real = y};
}

static bool pop_count(const KernelCall *call, Error *err)
{
    return each(call, count_bits, err);
}

static bool reduce_precision(const KernelCall *call, Error *err)
{
    return each(call, reduced_precision, err);
}

static bool erfinv(const KernelCall *call, Error *err)
{
    return each(call, inverse_erf, err);
}

/* ---- calls of LAPACK ---- */

/* The lower triangle L of L L^T; false if the matrix is not positive definite. */
static bool factorize(double *a, int64_t n)
{
    for (int64_t j = 0; j < n; j++) {
        for (int64_t i = j; i < n; i++) {
            double sum = a[i * n + j];
            for (int64_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0))
                return false;
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
    }
    return true;
}

/* potrf: the factor of each matrix, and 0, or 1 where there is none. */
static bool cholesky_call(const KernelCall *call, Error *err)
{
    const Local *in = call->input[0];
    int64_t n_dims = in->shape.n_dims, n = n_dims >= 2 ? in->shape.dim[n_dims - 1] : 0;
    if (call->n_outputs != 2 || n_dims < 2 || in->shape.dim[n_dims - 2] != n ||
        !kernel_same_shape(call, err))
        return error_kind(err, ERROR_RUN, "its operand is no square matrix");
    double *a = arena_array(call->scratch, double, n *n);
    for (int64_t m = 0; m * n * n < shape_elements(&in->shape); m++) {
        local_load(in, m * n * n, 1, n * n, NUMBER_F64, a);
        Scalar failed = {.whole = !factorize(a, n)};
        local_store(call->output[0], m * n * n, n * n, NUMBER_F64, a);
        scalar_store(call->output[1], m, failed);
    }
    return true;
}

static bool custom_call(const KernelCall *call, Error *err)
{
    Str name = op_attr_text(kernel_graph(call), call->op, "callee", "");
    if (!kernel_needs(call, 1, err))
        return false;
    if (str_has_word(STR("lapack_spotrf_ffi lapack_dpotrf_ffi"), name) &&
        kernel_computes(call->input[0], err))
        return cholesky_call(call, err);
    return error_kind(err, ERROR_UNSUPPORTED, "'%.*s' is not run here", STR_ARG(name));
}

const Kernel kernels_hlo_region[] = {
    {"stablehlo.custom_call", custom_call, NULL, 0, ROUNDING_SENSITIVE},
    {"PopCount", pop_count, NULL, 0, ROUNDING_EXACT},
    {"ReducePrecision", reduce_precision, NULL, 0, ROUNDING_EXACT},
    {"Erfinv", erfinv, NULL, 0, ROUNDING_ULPS},
    {"stablehlo.reduce", reduce, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
