/* nbits.c - MatMulNBits: a product with a weight of 2, 4 or 8 bits a number.
 *
 *     y[.. n] = sum over k of a[.. k] * scale[n block] * (weight[n k] - zero[n block]) + bias[n]
 *
 * A block of k shares a scale and a zero point; numbers of a block and zero points of a column are
 * packed in bytes, lowest bits first. All are found by global index, so columns and blocks may be
 * sharded: sums over some blocks are addends. The numbers of the weight are integers and have no
 * gradient; x, bias, scale and a zero point of floats have one. Source: onnxruntime's published
 * schema of MatMulNBits.
 */
#include "core/rules/args.h"
#include "core/run/kernels/derivative.h"
#include "core/space/gradient.h"

#include <math.h>

typedef struct {
    const KernelCall *call;
    const Local *a, *weight, *scale, *zero; /* zero NULL: the middle of the range */
    int64_t bits, size, n_blocks;           /* size: of a block */
    const int64_t *column, *k;              /* global indices */
} NBits;

/* The place of (row, column) in a matrix, or in a list of its rows; -1: on another rank. */
static int64_t place_of(const Local *local, int64_t row, int64_t column, int64_t n_columns)
{
    if (local->whole.n_dims == 1)
        return runs_find(&local->runs[0], row * n_columns + column);
    int64_t r = runs_find(&local->runs[0], row), c = runs_find(&local->runs[1], column);
    return r < 0 || c < 0 ? -1 : r * local->shape.dim[1] + c;
}

static int64_t packed(const Local *local, int64_t byte, int64_t at, int64_t bits)
{
    return ((const uint8_t *)local->data)[byte] >> (at % (8 / bits) * bits) & ((1 << bits) - 1);
}

static bool open_nbits(const KernelCall *call, NBits *n, Error *err)
{
    if (!kernel_needs(call, 3, err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    *n = (NBits){.call = call, .a = call->input[0], .weight = call->input[1]};
    n->scale = call->input[2];
    n->zero = kernel_input(call, 3);
    n->bits = args_int(&rule, "bits", 4);
    n->size = args_int(&rule, "block_size", 0);
    if (kernel_input(call, 4))
        return error_kind(err, ERROR_RUN,
                          "a weight whose rows are in another order is not supported");
    if ((n->bits != 2 && n->bits != 4 && n->bits != 8) || n->size < 1 || n->size > INT32_MAX ||
        n->weight->dtype != DT_U8 || n->weight->shape.n_dims != 3 || n->a->shape.n_dims < 1 ||
        n->weight->shape.dim[2] * 8 != n->size * n->bits)
        return error_kind(err, ERROR_RUN, "its weight is not of blocks of %d bits", (int)n->bits);
    if (!kernel_computes(n->a, err) || !kernel_computes(n->scale, err) ||
        (n->zero && !kernel_computes(n->zero, err)))
        return false;
    n->n_blocks = n->weight->whole.dim[1];
    n->column = kernel_globals(call->scratch, &n->weight->runs[0]);
    n->k = kernel_globals(call->scratch, &n->a->runs[n->a->shape.n_dims - 1]);
    return true;
}

/* Scale and zero point of a block of a column. */
static bool open_block(const NBits *n, int64_t column, int64_t block, double *scale, double *zero)
{
    int64_t place = place_of(n->scale, column, block, n->n_blocks);
    *zero = ldexp(1, (int)n->bits - 1);
    if (place < 0)
        return false;
    local_load(n->scale, place, 1, 1, NUMBER_F64, scale);
    if (!n->zero)
        return true;
    bool few = n->zero->dtype == DT_U8;
    int64_t per_byte = few ? 8 / n->bits : 1, n_bytes = (n->n_blocks + per_byte - 1) / per_byte;
    place = place_of(n->zero, column, block / per_byte, n_bytes);
    if (place < 0)
        return false;
    if (few)
        *zero = (double)packed(n->zero, place, block, n->bits);
    else
        local_load(n->zero, place, 1, 1, NUMBER_F64, zero);
    return true;
}

/* Unpacks local column `j` at the local k. */
static bool unpack(const NBits *n, int64_t j, int64_t n_k, double *out)
{
    int64_t before = -1, held = -1;
    double scale = 0, zero = 0;
    for (int64_t i = 0; i < n_k; i++) {
        int64_t block = n->k[i] / n->size, at = n->k[i] % n->size;
        if (block != before) {
            held = runs_find(&n->weight->runs[1], block);
            if (held < 0 || !open_block(n, n->column[j], block, &scale, &zero))
                return false;
            before = block;
        }
        int64_t first = (j * n->weight->shape.dim[1] + held) * n->weight->shape.dim[2];
        int64_t number = packed(n->weight, first + at * n->bits / 8, at, n->bits);
        out[i] = scale * ((double)number - zero);
    }
    return true;
}

static bool matmul_nbits(const KernelCall *call, Error *err)
{
    NBits n;
    if (!open_nbits(call, &n, err))
        return false;
    Local *out = call->output[0];
    const Local *bias = kernel_input(call, 5);
    Product p = {.n = n.weight->shape.dim[0], .b_turned = true, .scale = 1};
    int64_t n_out = shape_elements(&out->shape);
    p.k = n.a->shape.dim[n.a->shape.n_dims - 1];
    p.m = p.n > 0 ? n_out / p.n : 0;
    if (shape_elements(&n.a->shape) != p.m * p.k || (bias && shape_elements(&bias->shape) != p.n))
        return n_out == 0 || error_kind(err, ERROR_RUN, "operand shapes do not match");
    double *w = arena_array(call->scratch, double, p.n *p.k);
    double *y = arena_array(call->scratch, double, n_out);
    for (int64_t j = 0; j < p.n; j++)
        if (!unpack(&n, j, p.k, w + j * p.k))
            return error_kind(err, ERROR_RUN, "a part of its weight is on another rank");
    kernel_multiply(call, &p, DT_F64, kernel_doubles(call, 0), w, y);
    const double *b = bias && call->first ? kernel_doubles(call, 5) : NULL;
    for (int64_t i = 0; b && i < n_out; i++)
        y[i] += b[i % p.n];
    local_store(out, 0, n_out, NUMBER_F64, y);
    return true;
}

/* ---- gradients ---- */

/* dx[.. k] = sum over n of dy[.. n] * w[n k], w unpacked. */
static bool nbits_gradient(const KernelCall *call, Error *err)
{
    NBits n;
    KernelCall forward;
    if (!forward_call(call, &forward, err) || !open_nbits(&forward, &n, err))
        return false;
    const Local *dy = forward.output[0];
    Local *dx = call->output[0];
    Product p = {.k = n.weight->shape.dim[0], .scale = 1};
    p.n = dx->shape.dim[dx->shape.n_dims - 1];
    p.m = p.n > 0 ? shape_elements(&dx->shape) / p.n : 0;
    if (shape_elements(&dy->shape) != p.m * p.k)
        return p.m * p.n == 0 || error_kind(err, ERROR_RUN, "operand shapes do not match");
    double *w = arena_array(call->scratch, double, p.k *p.n);
    double *made = arena_array(call->scratch, double, p.m *p.n);
    for (int64_t j = 0; j < p.k; j++)
        if (!unpack(&n, j, p.n, w + j * p.n))
            return error_kind(err, ERROR_RUN, "a part of its weight is on another rank");
    if (dy->data)
        kernel_multiply(call, &p, DT_F64, local_doubles(call->scratch, dy), w, made);
    local_store(dx, 0, p.m * p.n, NUMBER_F64, made);
    return true;
}

/* From the gradient of the unpacked weight, [n][k], those of scales and of float zero points. */
static bool gather_blocks(const NBits *n, const double *dw, int64_t n_k, double *d_scale,
                          double *d_zero, Error *err)
{
    int64_t n_columns = n->weight->shape.dim[0];
    for (int64_t j = 0; j < n_columns; j++)
        for (int64_t i = 0; i < n_k; i++) {
            int64_t block = n->k[i] / n->size, at = n->k[i] % n->size;
            int64_t held = runs_find(&n->weight->runs[1], block);
            double scale = 0, zero = 0;
            if (held < 0 || !open_block(n, n->column[j], block, &scale, &zero))
                return error_kind(err, ERROR_RUN, "a part of its weight is on another rank");
            int64_t first = (j * n->weight->shape.dim[1] + held) * n->weight->shape.dim[2];
            double number = (double)packed(n->weight, first + at * n->bits / 8, at, n->bits);
            if (d_scale)
                d_scale[place_of(n->scale, n->column[j], block, n->n_blocks)] +=
                    dw[j * n_k + i] * (number - zero);
            if (d_zero)
                d_zero[place_of(n->zero, n->column[j], block, n->n_blocks)] -=
                    dw[j * n_k + i] * scale;
        }
    return true;
}

static bool nbits_scale_gradient(const KernelCall *call, Error *err)
{
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    NBits n;
    KernelCall forward;
    double *made[2] = {NULL, NULL};
    if (!forward_call(call, &forward, err) || !open_nbits(&forward, &n, err))
        return false;
    for (int i = 0; i < gradient->n_written; i++)
        made[gradient->written[i] == 3] =
            arena_array(call->scratch, double, shape_elements(&call->output[i]->shape));
    const Local *dy = forward.output[0];
    Product p = {.m = n.weight->shape.dim[0], .a_turned = true, .scale = 1};
    p.n = n.a->shape.dim[n.a->shape.n_dims - 1];
    p.k = p.n > 0 ? shape_elements(&n.a->shape) / p.n : 0;
    if (shape_elements(&dy->shape) != p.m * p.k)
        return p.n == 0 || error_kind(err, ERROR_RUN, "operand shapes do not match");
    double *dw = arena_array(call->scratch, double, p.m *p.n);
    if (dy->data)
        kernel_multiply(call, &p, DT_F64, local_doubles(call->scratch, dy),
                        local_doubles(call->scratch, n.a), dw);
    if (!gather_blocks(&n, dw, p.n, made[0], made[1], err))
        return false;
    for (int i = 0; i < gradient->n_written; i++)
        local_store(call->output[i], 0, shape_elements(&call->output[i]->shape), NUMBER_F64,
                    made[gradient->written[i] == 3]);
    return true;
}

const Kernel kernels_nbits[] = {
    {"com.microsoft::MatMulNBits", matmul_nbits, NULL, 0, ROUNDING_SENSITIVE},
    {"NBitsGrad", nbits_gradient, NULL, 0, ROUNDING_SENSITIVE},
    {"NBitsScaleGrad", nbits_scale_gradient, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
