/* matrix.c - linear algebra over the last two dims, Fourier transforms over several, and windows
 * that ONNX has in another form.
 *
 *     MatMulTrans       b0 m k+, b0 n k+ -> b0 m n      trans_y
 *     Inverse           d0 4 4 -> d0 4 4
 *     Svd               d0 6 4 -> d0 6 4, d0 4, d0 4 4
 *     FftN              d0 8 16 -> d0 8 16              axes 1 and 2
 *     UpsampleTo        d0 d1 4 4 -> d0 d1 8 8
 *     Unfold            d0 d1 8 8 -> d0 (d1 9) 36       kernels of 9, at 36 places
 *     Windows           d0 {2*o+k} d2 -> d0 o d2 k      axis 1
 *
 * Leading dims are a batch; a matrix is factored as a whole.
 */
#include "core/rules/operators/dims.h"
#include "core/rules/window.h"

#include <inttypes.h>

/* ---- matrices ---- */

typedef struct {
    int64_t lead, rows, columns;
} Matrices;

static bool read_matrices(const RuleCall *call, bool square, Matrices *out, Error *err)
{
    const Shape *from = call->shape[0];
    if (!args_rank(call, 0, 2, DIMS_MAX, err))
        return false;
    *out = (Matrices){from->n_dims - 2, from->dim[from->n_dims - 2], from->dim[from->n_dims - 1]};
    return !square || args_same_size(call, 0, out->lead, 0, out->lead + 1, err);
}

/* Sets output o to the batch dims, then `rows` x `columns`; columns < 0: a vector of `rows`. */
static void matrix_answer(RuleCall *call, int o, int64_t lead, int64_t rows, int64_t columns)
{
    if (o >= call->n_outputs)
        return;
    Shape *out = &call->out_shape[o];
    *out = *call->shape[0];
    out->n_dims = lead + (columns < 0 ? 1 : 2);
    out->dim[lead] = rows;
    out->dim[lead + 1] = columns < 0 ? 0 : columns;
    call->out_dtype[o] = call->dtype[0];
}

static bool batch_rows(RuleCall *call, int64_t lead, Error *err)
{
    OpSpace *space = rule_space(call, err);
    for (int64_t d = 0; space && d < lead; d++) {
        int index = rule_index_at(call, 'd', d, call->shape[0]->dim[d]);
        for (int i = 0; i < call->n_inputs + call->n_outputs; i++)
            if (!space->operand[i].absent && space->operand[i].shape.n_dims > d &&
                space->operand[i].shape.dim[d] == call->shape[0]->dim[d])
                rule_unit(&space->operand[i], d, index);
    }
    return space;
}

static bool square(RuleCall *call, Error *err)
{
    Matrices m = {0};
    if (!read_matrices(call, true, &m, err))
        return false;
    matrix_answer(call, 0, m.lead, m.rows, m.columns);
    return batch_rows(call, m.lead, err);
}

/* Outputs: eigenvalues, then eigenvectors. */
static bool eigen(RuleCall *call, Error *err)
{
    Matrices m = {0};
    if (!read_matrices(call, true, &m, err))
        return false;
    matrix_answer(call, 0, m.lead, m.rows, -1);
    matrix_answer(call, 1, m.lead, m.rows, m.columns);
    return batch_rows(call, m.lead, err);
}

/* The third output has singular vectors as rows, or as columns if columns_last. */
static bool svd(RuleCall *call, Error *err)
{
    Matrices m = {0};
    if (!read_matrices(call, false, &m, err))
        return false;
    int64_t least = m.rows < m.columns ? m.rows : m.columns;
    bool full = args_int(call, "full_matrices", 0) != 0 || args_int(call, "some", 1) == 0;
    int64_t n = full ? m.columns : least;
    bool turned = args_int(call, "columns_last", 0) != 0;
    matrix_answer(call, 0, m.lead, m.rows, full ? m.rows : least);
    matrix_answer(call, 1, m.lead, least, -1);
    matrix_answer(call, 2, m.lead, turned ? m.columns : n, turned ? n : m.columns);
    return batch_rows(call, m.lead, err);
}

static bool qr(RuleCall *call, Error *err)
{
    Matrices m = {0};
    if (!read_matrices(call, false, &m, err))
        return false;
    int64_t least = m.rows < m.columns ? m.rows : m.columns;
    bool full = str_eq(args_text(call, "mode", "reduced"), STR("complete"));
    matrix_answer(call, 0, m.lead, m.rows, full ? m.rows : least);
    matrix_answer(call, 1, m.lead, full ? m.rows : least, m.columns);
    return batch_rows(call, m.lead, err);
}

/* Right-hand sides are independent: they are the columns of b, or its rows when solving from the
 * right. */
static bool solve(RuleCall *call, Error *err)
{
    const Shape *b = call->shape[1];
    bool left = args_int(call, "left_side", 1) != 0;
    Matrices m = {0};
    if (!read_matrices(call, true, &m, err))
        return false;
    if (!args_rank(call, 1, m.lead + 2, m.lead + 2, err) ||
        !args_same_size(call, 0, m.lead, 1, m.lead + !left, err))
        return false;
    for (int64_t d = 0; d < m.lead; d++)
        if (!args_same_size(call, 0, d, 1, d, err))
            return false;
    call->out_shape[0] = *b;
    call->out_dtype[0] = call->dtype[1];
    if (!batch_rows(call, m.lead, err))
        return false;
    OpSpace *space = call->space;
    int n = rule_index(space, "n", b->dim[m.lead + left], ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[1], m.lead + left, n);
    rule_unit(rule_output(space, 0), m.lead + left, n);
    space->operand[1].linear = LINEAR_ALONE;
    return true;
}

/* x [.. m k] times y [.. k n]; the last two dims of each are transposed if trans_x, trans_y. Batch
 * dims broadcast. A vector is [k]. */
static bool matmul_trans(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0], *y = call->shape[1];
    bool row = x->n_dims == 1, column = y->n_dims == 1;
    bool swap_x = args_int(call, "trans_x", 0) != 0, swap_y = args_int(call, "trans_y", 0) != 0;
    if (!args_rank(call, 0, 1, DIMS_MAX, err) || !args_rank(call, 1, 1, DIMS_MAX, err))
        return false;
    int64_t lead_x = row ? 0 : x->n_dims - 2, lead_y = column ? 0 : y->n_dims - 2;
    int64_t at_k = row ? 0 : lead_x + !swap_x, at_l = column ? 0 : lead_y + swap_y;
    Shape batch_x = *x, batch_y = *y, *out = &call->out_shape[0];
    const Shape *both[2] = {&batch_x, &batch_y};
    batch_x.n_dims = lead_x;
    batch_y.n_dims = lead_y;
    if (!args_same_size(call, 0, at_k, 1, at_l, err) || !args_broadcast(both, 2, out, err))
        return false;
    int64_t n_batch = out->n_dims;
    if (!row)
        out->dim[out->n_dims++] = x->dim[lead_x + swap_x];
    if (!column)
        out->dim[out->n_dims++] = y->dim[lead_y + !swap_y];
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int64_t d = 0; d < n_batch; d++) {
        int index = rule_index_at(call, 'b', d, out->dim[d]);
        int64_t in_x = d - n_batch + lead_x, in_y = d - n_batch + lead_y;
        rule_unit(rule_output(space, 0), d, index);
        if (in_x >= 0 && x->dim[in_x] == out->dim[d])
            rule_unit(&space->operand[0], in_x, index);
        if (in_y >= 0 && y->dim[in_y] == out->dim[d])
            rule_unit(&space->operand[1], in_y, index);
    }
    int k = rule_index(space, "k", x->dim[at_k], ROLE_REDUCE, REDUCE_SUM);
    rule_unit(&space->operand[0], at_k, k);
    rule_unit(&space->operand[1], at_l, k);
    if (!row) {
        int m = rule_index(space, "m", x->dim[lead_x + swap_x], ROLE_MAP, REDUCE_NONE);
        rule_unit(&space->operand[0], lead_x + swap_x, m);
        rule_unit(rule_output(space, 0), n_batch, m);
    }
    if (!column) {
        int n = rule_index(space, "n", y->dim[lead_y + !swap_y], ROLE_MAP, REDUCE_NONE);
        rule_unit(&space->operand[1], lead_y + !swap_y, n);
        rule_unit(rule_output(space, 0), out->n_dims - 1, n);
    }
    return true;
}

/* ---- transforms ---- */

static bool fft(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    bool marked[DIMS_MAX];
    DimUse use[DIMS_MAX];
    if (!dims_marked(call, "axes", marked, err))
        return false;
    for (int64_t d = 0; d < from->n_dims; d++)
        use[d] = marked[d] ? DIM_FROZEN : DIM_MAP;
    dims_answer(call, from, call->dtype[0]);
    OpSpace *space = dims_space(call, from, use, NULL, err);
    if (space)
        space->operand[0].linear = LINEAR_ALONE;
    return space;
}

/* ---- images: batch, channels, spatial dims ---- */

/* A list with one number per spatial dim, or one for all of them. */
static bool spatial_numbers(const RuleCall *call, const char *attr, int64_t n, int64_t fallback,
                            int64_t *out, Error *err)
{
    Ints given;
    if (!args_ints(call, -1, attr, &given, err))
        return false;
    if (given.given && given.n != n && given.n != 1)
        return error_kind(err, ERROR_RANK, "its %s has %d numbers, not %" PRId64, attr, given.n, n);
    for (int64_t d = 0; d < n; d++) {
        out[d] = !given.given ? fallback : given.at[given.n == 1 ? 0 : d];
        if (out[d] < 0 || out[d] > INT32_MAX)
            return error_kind(err, ERROR_OUT_OF_RANGE, "its %s holds %" PRId64, attr, out[d]);
    }
    return true;
}

static bool upsample_to(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t size[DIMS_MAX] = {0}, n = from->n_dims - 2;
    DimUse use[DIMS_MAX];
    if (!args_rank(call, 0, 3, DIMS_MAX, err))
        return false;
    if (!spatial_numbers(call, "output_size", n, 0, size, err))
        return false;
    dims_answer(call, from, call->dtype[0]);
    double factor = args_float(call, "scale_factor", 1);
    if (!(factor > 0 && factor < 65536))
        return error_kind(err, ERROR_OUT_OF_RANGE, "its scale factor is out of range");
    for (int64_t d = 0; d < from->n_dims; d++) {
        use[d] = d < 2 ? DIM_MAP : DIM_WHOLE;
        if (d >= 2 && from->dim[d] > INT32_MAX)
            return error_kind(err, ERROR_OUT_OF_RANGE, "dim %" PRId64 " of its input 0 is too long",
                              d);
        if (d >= 2)
            call->out_shape[0].dim[d] =
                size[d - 2] > 0 ? size[d - 2] : (int64_t)((double)from->dim[d] * factor);
    }
    OpSpace *space = dims_space(call, from, use, NULL, err);
    return space;
}

/* Every place of the kernel becomes a column: [N, C, ..] -> [N, C * elements, places]. */
static bool unfold(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t kernel[DIMS_MAX] = {0}, stride[DIMS_MAX] = {0}, dilation[DIMS_MAX] = {0};
    int64_t pad[DIMS_MAX] = {0}, n = from->n_dims - 2, n_elements = 1, n_places = 1;
    if (!args_rank(call, 0, 3, 5, err))
        return false;
    if (!spatial_numbers(call, "kernel_size", n, 1, kernel, err) ||
        !spatial_numbers(call, "stride", n, 1, stride, err) ||
        !spatial_numbers(call, "dilation", n, 1, dilation, err) ||
        !spatial_numbers(call, "padding", n, 0, pad, err))
        return false;
    for (int64_t d = 0; d < n; d++) {
        int64_t room = from->dim[2 + d] + 2 * pad[d] - dilation[d] * (kernel[d] - 1) - 1;
        if (kernel[d] < 1 || stride[d] < 1 || dilation[d] < 1 || room < 0)
            return error_kind(err, ERROR_OUT_OF_RANGE,
                              "no kernel of %" PRId64 " fits dim %" PRId64 " of its input 0",
                              kernel[d], 2 + d);
        if (__builtin_mul_overflow(n_elements, kernel[d], &n_elements) ||
            __builtin_mul_overflow(n_places, room / stride[d] + 1, &n_places))
            return error_kind(err, ERROR_OUT_OF_RANGE, "it has too many columns");
    }
    Shape out = {.n_dims = 3, .dim = {from->dim[0], 0, n_places}};
    if (__builtin_mul_overflow(from->dim[1], n_elements, &out.dim[1]))
        return error_kind(err, ERROR_OUT_OF_RANGE, "it has too many rows");
    dims_answer(call, &out, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int b = rule_index_at(call, 'd', 0, from->dim[0]);
    int pair[2] = {rule_index_at(call, 'd', 1, from->dim[1]),
                   rule_index(space, "k", n_elements, ROLE_MAP, REDUCE_NONE)};
    rule_unit(&space->operand[0], 0, b);
    rule_unit(&space->operand[0], 1, pair[0]);
    rule_unit(rule_output(space, 0), 0, b);
    if (pair[1] >= 0)
        space->index[pair[1]].role = ROLE_FROZEN;
    rule_radix(space, rule_output(space, 0), 1, pair, 2);
    return true;
}

/* Windows of `size` elements, `dilation` apart, that begin every `step` places along the axis,
 * whose dim becomes that of the windows; their elements are a new last dim. */
static bool windows(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int axis;
    if (!args_rank(call, 0, 1, DIMS_MAX - 1, err) ||
        !args_axis(args_int(call, "axis", -1), from->n_dims, &axis, err))
        return false;
    WindowDim dim = {.size = from->dim[axis],
                     .kernel = args_int(call, "size", 1),
                     .stride = args_int(call, "step", 1),
                     .dilation = args_int(call, "dilation", 1)};
    if (dim.kernel < 1 || dim.stride < 1 || dim.dilation < 1 || dim.dilation > INT32_MAX ||
        dim.kernel > INT32_MAX || dim.stride > INT32_MAX ||
        (dim.kernel - 1) * dim.dilation >= dim.size)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "no window of %" PRId64 " elements fits dim %d of its input 0",
                          dim.kernel, axis);
    dim.out = (dim.size - 1 - (dim.kernel - 1) * dim.dilation) / dim.stride + 1;
    int last = (int)from->n_dims;
    dims_answer(call, from, call->dtype[0]);
    call->out_shape[0].n_dims = last + 1;
    call->out_shape[0].dim[axis] = dim.out;
    call->out_shape[0].dim[last] = dim.kernel;
    OpSpace *space = rule_space(call, err);
    for (int d = 0; space && d < last; d++) {
        if (d == axis)
            continue;
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    if (!space)
        return false;
    int place = rule_index(space, "o", dim.out, ROLE_MAP, REDUCE_NONE);
    int element = rule_index(space, "k", dim.kernel, ROLE_MAP, REDUCE_NONE);
    window_row(&dim, place, element, &space->operand[0].projection.row[axis]);
    rule_unit(rule_output(space, 0), axis, place);
    rule_unit(rule_output(space, 0), last, element);
    return true;
}

/* Boxes [r, 4], each of any image of the batch -> [r, C, height, width]. */
static bool align_boxes(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0], *boxes = call->shape[1];
    int64_t height = args_int(call, "pooled_height", 1), width = args_int(call, "pooled_width", 1);
    if (!args_rank(call, 0, 4, 4, err) || !args_rank(call, 1, 1, DIMS_MAX, err))
        return false;
    if (height < 0 || width < 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "its pooled height or width is negative");
    Shape out = {.n_dims = 4, .dim = {boxes->dim[0], from->dim[1], height, width}};
    dims_answer(call, &out, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int index = rule_index_at(call, 'd', 1, from->dim[1]);
    rule_unit(&space->operand[0], 1, index);
    rule_unit(rule_output(space, 0), 1, index);
    return true;
}

#define FAMILY "matrix"

/* Flops are rough: the points of the index space do not include the dims of the matrices. */
const Operator operators_matrix[] = {
    {OP("com.microsoft::Inverse", square, 64, 1, 1), GRADIENT("0: InverseGrad(y0)"), OWN("", ""),
     .kernel = "Inverse", .examples = "3x5x5"},
    {OP("Inverse", square, 64, 1, 1), GRADIENT("0: InverseGrad(y0)"), OWN("", ".fc"),
     .kernel = "Inverse", .examples = "3x5x5", NNSCALER("inverse"),
     TORCH("linalg_inv inverse linalg_pinv"), PADDLE("inverse")},
    {OP("Cholesky", square, 64, 1, 1), OWN("lower upper", ".fc"), .examples = "3x5x5",
     TORCH("cholesky linalg_cholesky"), PADDLE("cholesky"), STABLEHLO("cholesky")},
    {OP("Eigh", eigen, 64, 1, 1), .outputs_max = 2, OWN("UPLO", ".fc"), .examples = "3x5x5 -> 2",
     TORCH("linalg_eigh _linalg_eigh"), PADDLE("eigh")},
    {OP("Svd", svd, 64, 1, 1), .outputs_max = 3, OWN("columns_last full_matrices some", ".fc"),
     .examples = "3x6x4 -> 3; 3x6x4 full_matrices=1 columns_last=1 -> 3",
     NNSCALER("svd(;; columns_last:=1)"), TORCH("svd(;; columns_last:=1) linalg_svd _linalg_svd"),
     PADDLE("svd")},
    {OP("Qr", qr, 64, 1, 1), .outputs_max = 2, OWN("mode", ".fc"),
     .examples = "3x6x4 -> 2; 3x6x4 mode=complete -> 2", TORCH("qr linalg_qr"), PADDLE("qr")},
    {OP("Solve", solve, 64, 2, 2), OWN("left_side lower transpose_a unit_diagonal", "Afc Afc"),
     .examples = "3x5x5,3x5x4; 3x5x5,3x4x5 left_side=0",
     TORCH("linalg_solve linalg_solve_triangular(left=left_side)"), PADDLE("triangular_solve"),
     STABLEHLO("triangular_solve")},
    {OP("MatMulTrans", matmul_trans, 2, 2, 2), OWN("trans_x trans_y", ""),
     .examples = "3x5x6,3x7x6 trans_y=1; 4x3x6x5,6 trans_x=1", PADDLE("matmul matmul_v2 bmm")},
    {OP("FftN", fft, 64, 1, 1), OWN("axes forward normalization", ""),
     .examples = "3x5x6 axes=[1,2]",
     TORCH("_fft_c2c(dim=axes) fft_fftn(dim=axes) fft_ifftn(dim=axes)"), PADDLE("fft_c2c")},
    {OP("UpsampleTo", upsample_to, 4, 1, 1), OWN("align_corners output_size scale_factor", ".f"),
     .examples = "3x5x4x6 output_size=[7,9]",
     TORCH("upsample_nearest1d upsample_nearest2d upsample_nearest3d upsample_bilinear2d "
           "upsample_bicubic2d upsample_linear1d upsample_trilinear3d")},
    {OP("Unfold", unfold, 0, 1, 1), OWN("dilation kernel_size padding stride", ""),
     .examples = "3x5x7x6 kernel_size=[3,2] stride=[2] padding=[1]", NNSCALER("unfold"),
     TORCH("im2col unfold"),
     PADDLE(
         "unfold(kernel_sizes=kernel_size, strides=stride, paddings=padding, dilations=dilation)")},
    {OP("Windows", windows, 0, 1, 1), GRADIENT("0: move"), OWN("axis dilation size step", ""),
     .kernel = "Windows",
     .examples = "5x9x4 axis=1 size=3 step=2; 5x8 axis=1 size=4 step=4; 12x5 axis=0 size=3; "
                 "3x9 size=2 dilation=3"},
    {OP("RoiAlignBoxes", align_boxes, 64, 2, 3),
     OWN("aligned pooled_height pooled_width sampling_ratio spatial_scale", ".f .f .i"),
     .examples = "3x5x7x6,8x4,3:i32 pooled_height=2 pooled_width=4", PADDLE("roi_align")},
    {0},
};
