/* resample.c - operators that resize, pad or rearrange images and other tensors.
 *
 *     Pad             {j0-2} d1           -> j0 d1           constant: a shift, clipped
 *     DepthToSpace    b (p q c) h w       -> b c (h p) (w q)
 *     Resize by 3     b c h w             -> b c (h fh) (w fw)    nearest
 *                     b c {h-1:+3} ..     -> b c (h fh) ..        linear: a halo
 *        by 3/2       b c {(4*h-5)/6:+3}  -> b c h ..           windows step by parts
 *                     b c 8 8             -> b c oh ow            a crop
 *     Col2Im          b (c kh kw) l       -> b c 8 8         kh, kw and l are summed
 *
 * If the place that is read is no affine function of the place that is written, the input dim is
 * read whole; the output dim can still be sharded.
 */
#include "core/rules/resample.h"
#include "core/rules/window.h"
#include "core/rules/at_load.h"

#include <inttypes.h>

/* Index dim of a dim that stays as it is. */
static void keep_dim(RuleCall *call, int d)
{
    int index = rule_index_at(call, 'd', d, call->shape[0]->dim[d]);
    rule_unit(&call->space->operand[0], d, index);
    rule_unit(rule_output(call->space, 0), d, index);
}

/* Output place j reads input place j + offset; where there is none, what `ends` says. */
static void shift_dim(RuleCall *call, int d, int64_t offset, RowEnds ends)
{
    int index = rule_index_at(call, 'j', d, call->out_shape[0].dim[d]);
    Operand *from = &call->space->operand[0];
    rule_unit(from, d, index);
    rule_unit(rule_output(call->space, 0), d, index);
    from->projection.row[d].offset = offset;
    from->projection.row[d].ends = ends;
    from->projection.clip = true;
}

/* Makes a dim whose output places may read any input place. */
static void any_place(RuleCall *call, int d)
{
    rule_unit(rule_output(call->space, 0), d,
              rule_index_at(call, 'j', d, call->out_shape[0].dim[d]));
}

/* ---- Pad, CenterCropPad ---- */

static RowEnds pad_ends(Str mode)
{
    return str_eq(mode, STR("edge"))      ? ENDS_EDGE
           : str_eq(mode, STR("reflect")) ? ENDS_REFLECT
           : str_eq(mode, STR("wrap"))    ? ENDS_WRAP
                                          : ENDS_NONE;
}

/* Whether elements are left out at an end, by a negative pad. */
static bool crops(int64_t size, int64_t before, int64_t out)
{
    return before < 0 || out - size - before < 0;
}

static bool pad(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    Padding padding;
    if (!pad_read(call, &padding, err))
        return false;
    call->out_shape[0] = padding.out;
    call->out_dtype[0] = call->dtype[0];
    if (!rule_space(call, err))
        return false;
    RowEnds ends = pad_ends(args_text(call, "mode", "constant"));
    for (int d = 0; d < from->n_dims; d++)
        if (call->out_shape[0].dim[d] == from->dim[d] && padding.before[d] == 0)
            keep_dim(call, d);
        else if (ends != ENDS_NONE &&
                 crops(from->dim[d], padding.before[d], call->out_shape[0].dim[d]))
            any_place(call, d); /* what is outside comes from what is left */
        else
            shift_dim(call, d, -padding.before[d], ends);
    return true;
}

static bool center_crop_pad(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int axes[DIMS_MAX], n;
    Ints sizes;
    if (!args_ints(call, 1, "shape", &sizes, err) || !resample_axes(call, -1, axes, &n, err))
        return false;
    if (sizes.n != n)
        return error_kind(err, ERROR_RANK, "it has %d sizes for %d dims", sizes.n, n);
    call->out_shape[0] = *from;
    call->out_dtype[0] = call->dtype[0];
    for (int i = 0; i < n; i++)
        call->out_shape[0].dim[axes[i]] = sizes.at[i];
    if (!rule_space(call, err))
        return false;
    for (int d = 0; d < from->n_dims; d++) {
        int64_t more = call->out_shape[0].dim[d] - from->dim[d];
        if (more == 0)
            keep_dim(call, d);
        else
            shift_dim(call, d, more > 0 ? -(more / 2) : -more / 2, ENDS_NONE);
    }
    return true;
}

/* ---- DepthToSpace, SpaceToDepth ---- */

/* Rows between an image with deep channels and one with blocks of b x b places. */
static bool blocks(RuleCall *call, bool to_space, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t b = args_int(call, "blocksize", 0);
    if (!args_rank(call, 0, 4, 4, err))
        return false;
    if (b < 1 || b > INT32_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "its blocksize is %" PRId64, b);
    int64_t c = to_space ? from->dim[1] / b / b : from->dim[1];
    int64_t h = to_space ? from->dim[2] : from->dim[2] / b;
    int64_t w = to_space ? from->dim[3] : from->dim[3] / b;
    if (to_space ? c * b * b != from->dim[1] : h * b != from->dim[2] || w * b != from->dim[3])
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "dim %s of its input 0 is no multiple of %" PRId64,
                          to_space ? "1" : "2 or 3", b);
    Shape deep = {.n_dims = 4, .dim = {from->dim[0], 0, h, w}};
    Shape wide = {.n_dims = 4, .dim = {from->dim[0], c, 0, 0}};
    if (__builtin_mul_overflow(c, b * b, &deep.dim[1]) ||
        __builtin_mul_overflow(h, b, &wide.dim[2]) || __builtin_mul_overflow(w, b, &wide.dim[3]))
        return error_set(err, "its output has too many elements");
    OpSpace *space = rule_space_as(call, to_space ? &wide : &deep, call->dtype[0], err);
    if (!space)
        return false;

    bool channels_first = str_eq(args_text(call, "mode", "DCR"), STR("CRD"));
    Operand *at_deep = to_space ? &space->operand[0] : rule_output(space, 0);
    Operand *at_wide = to_space ? rule_output(space, 0) : &space->operand[0];
    int n = rule_index(space, "b", from->dim[0], ROLE_MAP, REDUCE_NONE);
    int p = rule_index(space, "p", b, ROLE_MAP, REDUCE_NONE);
    int q = rule_index(space, "q", b, ROLE_MAP, REDUCE_NONE);
    int ci = rule_index(space, "c", c, ROLE_MAP, REDUCE_NONE);
    int hi = rule_index(space, "h", h, ROLE_MAP, REDUCE_NONE);
    int wi = rule_index(space, "w", w, ROLE_MAP, REDUCE_NONE);
    rule_unit(at_deep, 0, n);
    rule_unit(at_wide, 0, n);
    rule_radix(space, at_deep, 1,
               (int[]){channels_first ? ci : p, channels_first ? p : q, channels_first ? q : ci},
               3);
    rule_unit(at_wide, 1, ci);
    rule_unit(at_deep, 2, hi);
    rule_unit(at_deep, 3, wi);
    rule_radix(space, at_wide, 2, (int[]){hi, p}, 2);
    rule_radix(space, at_wide, 3, (int[]){wi, q}, 2);
    space->operand[0].linear = LINEAR_ALONE;
    return true;
}

static bool depth_to_space(RuleCall *call, Error *err)
{
    return blocks(call, true, err);
}

static bool space_to_depth(RuleCall *call, Error *err)
{
    return blocks(call, false, err);
}

/* ---- Resize, Upsample ---- */

/* How far from its own place an output place reads, in a dim that grows by a whole factor; -1 if it
 * may read anywhere. The nearest neighbours of a block are within the block only for some rounding
 * modes. */
static int reach_of(const Resizing *r)
{
    bool half = str_eq(r->where, STR("half_pixel")) ||
                str_eq(r->where, STR("half_pixel_symmetric")) ||
                str_eq(r->where, STR("pytorch_half_pixel"));
    bool asymmetric = str_eq(r->where, STR("asymmetric"));
    bool rounds =
        str_eq(r->round, STR("round_prefer_floor")) || str_eq(r->round, STR("round_prefer_ceil"));
    if (!half && !asymmetric)
        return -1;
    if (str_eq(r->mode, STR("nearest")))
        return (half && rounds) || (asymmetric && str_eq(r->round, STR("floor"))) ? 0 : 1;
    return str_eq(r->mode, STR("cubic")) ? 2 : 1;
}

/* Rows of a dim that grows by a whole number of times: (place, copy). */
static bool grow_dim(RuleCall *call, int d, double scale, int reach)
{
    int64_t size = call->shape[0]->dim[d], out = call->out_shape[0].dim[d];
    int64_t copies = size > 0 ? out / size : 0;
    if (reach < 0 || copies < 2 || copies * size != out || (double)copies != scale)
        return false;
    OpSpace *space = call->space;
    int place = rule_index_at(call, 'd', d, size);
    int copy = rule_index_at(call, 'f', d, copies);
    Operand *from = &space->operand[0];
    rule_unit(from, d, place);
    rule_radix(space, rule_output(space, 0), d, (int[]){place, copy}, 2);
    if (reach > 0 && place >= 0) {
        from->projection.clip = true;
        from->projection.row[d].offset = -reach;
        from->projection.row[d].window = 2 * reach + 1;
    }
    return true;
}

/* The input coordinate of output place o is (step * o + start) / divisor; 0: another function of
 * it. */
typedef struct {
    int64_t step, start, divisor;
} Ratio;

static Ratio ratio_of(const Resizing *r, int64_t size, int64_t out, double scale)
{
    static const Ratio none = {0, 0, 0};
    Str where = r->where;
    if (size < 1 || out < 1 || size > INT32_MAX || out > INT32_MAX ||
        (double)size * scale != (double)out)
        return none;
    if (str_eq(where, STR("asymmetric")))
        return (Ratio){size, 0, out};
    if (str_eq(where, STR("align_corners")))
        return out > 1 ? (Ratio){size - 1, 0, out - 1} : none;
    if (str_eq(where, STR("tf_half_pixel_for_nn")))
        return (Ratio){2 * size, size, 2 * out};
    if (str_eq(where, STR("half_pixel")) || str_eq(where, STR("half_pixel_symmetric")) ||
        (str_eq(where, STR("pytorch_half_pixel")) && out > 1))
        return (Ratio){2 * size, size - out, 2 * out};
    return none;
}

/* Rows of any other dim that is read around a place that moves evenly. Coordinates are rounded
 * floats, so that a place that is whole may be taken for the one before it. */
static bool step_dim(RuleCall *call, int d, const Resizing *r)
{
    int64_t size = call->shape[0]->dim[d], out = call->out_shape[0].dim[d];
    Ratio ratio = ratio_of(r, size, out, r->scale[d]);
    int64_t common = common_divisor(common_divisor(ratio.step, ratio.divisor),
                                    ratio.start < 0 ? -ratio.start : ratio.start);
    if (ratio.divisor == 0 || (r->scale[d] < 1 && args_int(call, "antialias", 0) != 0))
        return false;
    int place = rule_index_at(call, 'j', d, out);
    int reach = str_eq(r->mode, STR("cubic")) ? 2 : 1;
    Operand *from = &call->space->operand[0];
    rule_unit(rule_output(call->space, 0), d, place);
    if (place < 0)
        return true;
    Row *row = &from->projection.row[d];
    *row = (Row){.window = 2 * reach + 1, .divisor = ratio.divisor / common};
    row->coef[place] = ratio.step / common;
    row->offset = ratio.start / common - reach * row->divisor;
    from->projection.clip = true;
    return true;
}

static bool scaled(RuleCall *call, bool upsample, Error *err)
{
    const Shape *from = call->shape[0];
    Resizing resizing;
    if (!resize_read(call, upsample, &resizing, err))
        return false;
    call->out_shape[0] = resizing.out;
    call->out_dtype[0] = call->dtype[0];
    if (!rule_space(call, err))
        return false;
    bool crops = str_eq(resizing.where, STR("tf_crop_and_resize"));
    for (int d = 0; d < from->n_dims; d++) {
        double scale = resizing.scale[d];
        if (call->space->n_index + 2 > X_MAX)
            return error_kind(err, ERROR_RANK, "it scales too many dims");
        if (resizing.out.dim[d] == from->dim[d] && scale == 1 && !crops)
            keep_dim(call, d);
        else if (!grow_dim(call, d, scale, reach_of(&resizing)) && !step_dim(call, d, &resizing))
            any_place(call, d);
    }
    return true;
}

static bool resize(RuleCall *call, Error *err)
{
    return scaled(call, false, err);
}

static bool upsample(RuleCall *call, Error *err)
{
    return scaled(call, true, err);
}

/* ---- sampling at given places ---- */

/* The grid has for each output place the coordinates to read in the image. */
static bool grid_sample(RuleCall *call, Error *err)
{
    const Shape *image = call->shape[0], *grid = call->shape[1];
    int64_t n = image->n_dims - 2;
    if (!args_rank(call, 0, 3, 2 + SPATIAL_MAX, err) ||
        !args_rank(call, 1, image->n_dims, image->n_dims, err) ||
        !args_same_size(call, 0, 0, 1, 0, err))
        return false;
    if (grid->dim[n + 1] != n)
        return error_set(
            err, "dim %" PRId64 " of its input 1 is %" PRId64 ", not %" PRId64 " coordinates",
            n + 1, grid->dim[n + 1], n);
    call->out_shape[0] = *image;
    call->out_dtype[0] = call->dtype[0];
    for (int64_t d = 0; d < n; d++)
        call->out_shape[0].dim[2 + d] = grid->dim[1 + d];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int b = rule_index(space, "b", image->dim[0], ROLE_MAP, REDUCE_NONE);
    int c = rule_index(space, "c", image->dim[1], ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[0], 0, b);
    rule_unit(&space->operand[0], 1, c);
    rule_unit(&space->operand[1], 0, b);
    rule_unit(rule_output(space, 0), 0, b);
    rule_unit(rule_output(space, 0), 1, c);
    for (int d = 0; d < n; d++) {
        int place = window_index(call, "o", d, (int)n, grid->dim[1 + d], ROLE_MAP, REDUCE_NONE);
        rule_unit(&space->operand[1], 1 + d, place);
        rule_unit(rule_output(space, 0), 2 + d, place);
    }
    return true;
}

static bool affine_grid(RuleCall *call, Error *err)
{
    Ints size;
    if (!args_ints(call, 1, "size", &size, err))
        return false;
    int n = size.n - 2;
    if (n < 2 || n > 3)
        return error_kind(err, ERROR_RANK, "its size has %d numbers, not 4 or 5", size.n);
    if (!args_shape(call, 0, &(Shape){.n_dims = 3, .dim = {size.at[0], n, n + 1}}, err))
        return false;
    call->out_shape[0] = (Shape){.n_dims = n + 2, .dim = {size.at[0]}};
    for (int d = 0; d < n; d++)
        call->out_shape[0].dim[1 + d] = size.at[2 + d];
    call->out_shape[0].dim[n + 1] = n;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int b = rule_index(space, "b", size.at[0], ROLE_MAP, REDUCE_NONE);
    int r = rule_index(space, "r", n, ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[0], 0, b);
    rule_unit(&space->operand[0], 1, r);
    rule_unit(rule_output(space, 0), 0, b);
    rule_unit(rule_output(space, 0), n + 1, r);
    for (int d = 0; d < n; d++)
        rule_unit(rule_output(space, 0), 1 + d,
                  window_index(call, "o", d, n, size.at[2 + d], ROLE_MAP, REDUCE_NONE));
    return true;
}

/* ---- Col2Im ---- */

typedef struct {
    Ints image, block;
    int64_t channels, elements;
} Columns;

/* As many columns as there are blocks, each of `elements` numbers per channel. */
static bool read_columns(const RuleCall *call, Columns *out, Error *err)
{
    const Shape *from = call->shape[0];
    Ints stride, dilation, pads;
    int64_t n_blocks = 1;
    *out = (Columns){.elements = 1};
    if (!args_ints(call, 1, "image_shape", &out->image, err) ||
        !args_ints(call, 2, "block_shape", &out->block, err) ||
        !args_ints(call, -1, "strides", &stride, err) ||
        !args_ints(call, -1, "dilations", &dilation, err) ||
        !args_ints(call, -1, "pads", &pads, err))
        return false;
    int n = out->image.n;
    if (from->n_dims != 3 || n < 1 || n > SPATIAL_MAX || out->block.n != n ||
        (stride.given && stride.n != n) || (dilation.given && dilation.n != n) ||
        (pads.given && pads.n != 2 * n))
        return error_kind(err, ERROR_RANK, "its columns, image, blocks and windows do not fit");
    for (int d = 0; d < n; d++) {
        int64_t size = out->image.at[d], block = out->block.at[d];
        int64_t step = stride.given ? stride.at[d] : 1, gap = dilation.given ? dilation.at[d] : 1;
        int64_t before = pads.given ? pads.at[d] : 0, after = pads.given ? pads.at[n + d] : 0;
        const int64_t numbers[] = {size, block, step, gap, before + 1, after + 1};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            if (numbers[i] < 1 || numbers[i] > INT32_MAX / 2)
                return error_kind(err, ERROR_OUT_OF_RANGE, "a number of spatial dim %d is %" PRId64,
                                  d, numbers[i]);
        int64_t room = size + before + after - (block - 1) * gap - 1;
        if (room < 0 || __builtin_mul_overflow(n_blocks, room / step + 1, &n_blocks) ||
            __builtin_mul_overflow(out->elements, block, &out->elements))
            return error_set(err, "its blocks do not fit its image");
    }
    if (from->dim[2] != n_blocks || from->dim[1] % out->elements != 0)
        return error_set(err, "its input does not hold %" PRId64 " columns of blocks of %" PRId64,
                         n_blocks, out->elements);
    out->channels = from->dim[1] / out->elements;
    return true;
}

static bool col2im(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    Columns columns;
    if (!read_columns(call, &columns, err))
        return false;
    int n = columns.image.n, deep[1 + SPATIAL_MAX];
    call->out_shape[0] = (Shape){.n_dims = 2 + n, .dim = {from->dim[0], columns.channels}};
    for (int d = 0; d < n; d++)
        call->out_shape[0].dim[2 + d] = columns.image.at[d];
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int b = rule_index(space, "b", from->dim[0], ROLE_MAP, REDUCE_NONE);
    int l = rule_index(space, "l", from->dim[2], ROLE_REDUCE, REDUCE_SUM);
    deep[0] = rule_index(space, "c", columns.channels, ROLE_MAP, REDUCE_NONE);
    rule_unit(rule_output(space, 0), 0, b);
    rule_unit(rule_output(space, 0), 1, deep[0]);
    rule_unit(&space->operand[0], 0, b);
    rule_unit(&space->operand[0], 2, l);
    for (int d = 0; n < FACTORS_MAX && d < n; d++)
        deep[1 + d] = window_index(call, "k", d, n, columns.block.at[d], ROLE_REDUCE, REDUCE_SUM);
    if (n >= FACTORS_MAX)
        deep[1] = rule_index(space, "k", columns.elements, ROLE_REDUCE, REDUCE_SUM);
    rule_radix(space, &space->operand[0], 1, deep, n < FACTORS_MAX ? 1 + n : 2);
    return true;
}

#define FAMILY "resample"

const Operator operators_resample[] = {
    {OP("Pad", pad, 0, 1, 4), GRADIENT("0: move; 2: move"), HOST(pad), RANK(SAME, 1),
     .reads = 1 << 1 | 1 << 3, ONNX("mode paddings pads value", "A .i A .i"), .kernel = "Pad",
     .examples = "5x6x4,=[2,0,0,1,0,3]; 5x6x4,=[2,0,0,1,0,3] mode=reflect; 5x6x4,=[-1,0,2,-1,1,0] "
                 "mode=edge; 5x6x4,=[2,0,0,1,0,3] mode=edge; 5x6x4,=[2,0,0,1,0,3] mode=wrap",
     .dtensor = "pad constant_pad_nd",
     PADDLE_CALLS("pad: 5x6x4,=[2,0,0,1,0,3] | paddings=[2,1,0,0,0,3]"),
     TORCH_CALLS("constant_pad_nd: 5x6x4,=[2,0,0,1,0,3] | pad=[0,3,0,0,2,1] value=0")},
    {OP("CenterCropPad", center_crop_pad, 0, 2, 2), GRADIENT("0: move"), RANK(SAME, 1),
     .reads = 1 << 1, ONNX("axes", ". .i"), .kernel = "CenterCropPad",
     .examples = "5x8x6,=[8,3] axes=[0,2]"},
    {OP("DepthToSpace", depth_to_space, 0, 1, 1), GRADIENT("0: move"), ONNX("blocksize mode", ""),
     .kernel = "DepthToSpace", .examples = "3x12x5x4 blocksize=2; 3x12x5x4 blocksize=2 mode=CRD"},
    {OP("SpaceToDepth", space_to_depth, 0, 1, 1), GRADIENT("0: move"), ONNX("blocksize mode", ""),
     .kernel = "SpaceToDepth", .examples = "3x5x6x4 blocksize=2"},
    {OP("Resize", resize, 4, 1, 4), GRADIENT("0: move(x1 x2)"), RANK(SAME, 2),
     .reads = 1 << 1 | 1 << 2 | 1 << 3,
     ONNX("antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
          "extrapolation_value keep_aspect_ratio_policy mode nearest_mode",
          ". .f .f .i"),
     .kernel = "Resize",
     .examples = "3x5x4x3,-,-,=[3,5,8,9]; 3x5x4x3,-,-,=[3,5,8,6] mode=linear; "
                 "3x5x4x6,-,-,=[3,5,7,4] mode=cubic coordinate_transformation_mode=align_corners"},
    {OP("Upsample", upsample, 4, 1, 2), GRADIENT("0: move(x1)"), RANK(SAME, 1), .reads = 1 << 1,
     ONNX("height_scale mode scales width_scale", ". .f"), .kernel = "Upsample",
     .examples = "3x5x4x3 height_scale=2.0 width_scale=1.5"},
    {OP("GridSample", grid_sample, 8, 2, 2), GRADIENT("0: move(x1); 1: GridSampleGrad(x0 x1)"),
     ONNX("align_corners mode padding_mode", ". .f"), .kernel = "GridSample",
     .examples = "3x5x4x6,3x7x8x2"},
    {OP("AffineGrid", affine_grid, 8, 2, 2), GRADIENT("0: move"), .reads = 1 << 1,
     ONNX("align_corners", ".f .i"), .kernel = "AffineGrid", .examples = "4x2x3,=[4,5,7,8]"},
    {OP("Col2Im", col2im, 1, 3, 3), GRADIENT("0: move"), .reads = 1 << 1 | 1 << 2,
     ONNX("dilations pads strides", ". .i .i"), .kernel = "Col2Im",
     .examples = "3x30x9,=[4,5],=[2,3]"},
    {0},
};
