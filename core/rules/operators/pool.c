/* pool.c - one number for each window of an image.
 *
 *     MaxPool         b c {2*oh+kh} ..  ->  b c oh ..  kh:max
 *     AveragePool     b c {2*oh+kh} ..  ->  b c oh ..     kh frozen
 *     AveragePool     b c (oh kh) ..    ->  b c oh ..     windows side by side: kh summed
 *     Global*         b c h w           ->  b c 1 1
 *     LRN             b {c-2:+5} h w    ->  b c h w
 *
 * A maximum can be computed from the maxima of parts, even if parts overlap. A mean is a sum of
 * addends divided by the global count; but only in adjacent windows does each element belong to one
 * addend, and windows at the borders have fewer elements. Roots of sums, and positions of the
 * largest element, cannot be combined.
 */
#include "core/rules/window.h"

#include <inttypes.h>

/* ---- windows ---- */

static bool wants_output(const RuleCall *call, int o)
{
    return o < call->n_outputs && op_outputs(call->graph, call->op)[o] >= 0;
}

/* Batch and channels, then the windows. Window elements have the role `overlap` if windows overlap,
 * `side` if they are adjacent. */
static bool pool(RuleCall *call, IndexRole overlap, IndexRole side, ReduceOp how, Error *err)
{
    Window window;
    if (!window_read(call, 0, -1, &window, err))
        return false;
    const Shape *image = call->shape[0];
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = *image;
        call->out_dtype[o] = o == 0 ? call->dtype[0] : DT_I64;
        for (int d = 0; d < window.n; d++)
            call->out_shape[o].dim[2 + d] = window.dim[d].out;
    }
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    int b = rule_index(space, "b", image->dim[0], ROLE_MAP, REDUCE_NONE);
    int c = rule_index(space, "c", image->dim[1], ROLE_MAP, REDUCE_NONE);
    for (int i = 0; i < call->n_inputs + call->n_outputs; i++) {
        rule_unit(&space->operand[i], 0, b);
        rule_unit(&space->operand[i], 1, c);
    }
    space->operand[0].projection.clip = window_pads(&window);
    for (int d = 0; d < window.n; d++) {
        const WindowDim *dim = &window.dim[d];
        IndexRole role = window_tiles(dim) ? side : overlap;
        int place = window_index(call, "o", d, window.n, dim->out, ROLE_MAP, REDUCE_NONE);
        int element = window_index(call, "k", d, window.n, dim->kernel, role,
                                   role == ROLE_REDUCE ? how : REDUCE_NONE);
        window_row(dim, place, element, &space->operand[0].projection.row[2 + d]);
        for (int o = 0; o < call->n_outputs; o++)
            rule_unit(rule_output(space, o), 2 + d, place);
    }
    return true;
}

static bool max_pool(RuleCall *call, Error *err)
{
    IndexRole role = wants_output(call, 1) ? ROLE_FROZEN : ROLE_REDUCE;
    return pool(call, role, role, REDUCE_MAX, err);
}

static bool average_pool(RuleCall *call, Error *err)
{
    return pool(call, ROLE_FROZEN, ROLE_REDUCE, REDUCE_SUM, err);
}

static bool lp_pool(RuleCall *call, Error *err)
{
    return pool(call, ROLE_FROZEN, ROLE_FROZEN, REDUCE_NONE, err);
}

/* ---- the whole image ---- */

static bool global_pool(RuleCall *call, IndexRole role, ReduceOp how, Error *err)
{
    const Shape *image = call->shape[0];
    if (!args_rank(call, 0, 2, DIMS_MAX, err))
        return false;
    call->out_shape[0] = *image;
    call->out_dtype[0] = call->dtype[0];
    for (int64_t d = 2; d < image->n_dims; d++)
        call->out_shape[0].dim[d] = 1;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int n = (int)image->n_dims - 2;
    for (int d = 0; d < image->n_dims; d++) {
        int index = d < 2 ? rule_index(space, d == 0 ? "b" : "c", image->dim[d], ROLE_MAP, how)
                          : window_index(call, "", d - 2, n, image->dim[d], role, how);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, d < 2 ? index : -1);
    }
    return true;
}

static bool global_average_pool(RuleCall *call, Error *err)
{
    return global_pool(call, ROLE_REDUCE, REDUCE_SUM, err);
}

static bool global_max_pool(RuleCall *call, Error *err)
{
    return global_pool(call, ROLE_REDUCE, REDUCE_MAX, err);
}

static bool global_lp_pool(RuleCall *call, Error *err)
{
    return global_pool(call, ROLE_FROZEN, REDUCE_NONE, err);
}

/* Each channel is divided by a sum over the `size` channels around it. */
static bool lrn(RuleCall *call, Error *err)
{
    const Shape *image = call->shape[0];
    int64_t size = args_int(call, "size", 0);
    if (!args_rank(call, 0, 2, DIMS_MAX, err))
        return false;
    if (size < 1 || size > INT32_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "its attribute 'size' is %" PRId64, size);
    OpSpace *space = rule_space_as(call, image, call->dtype[0], err);
    if (!space)
        return false;
    int n = (int)image->n_dims - 2;
    Projection *rows = &space->operand[0].projection;
    for (int d = 0; d < image->n_dims; d++) {
        int index =
            d < 2 ? rule_index(space, d == 0 ? "b" : "c", image->dim[d], ROLE_MAP, REDUCE_NONE)
                  : window_index(call, "", d - 2, n, image->dim[d], ROLE_MAP, REDUCE_NONE);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    rows->clip = size > 1;
    rows->row[1].offset = -((size - 1) / 2);
    rows->row[1].window = size;
    return true;
}

/* ---- the way back ---- */

/* An output element may come from any place of its channel's image. */
static bool max_unpool(RuleCall *call, Error *err)
{
    Window window;
    Ints given;
    if (!window_read_transposed(call, 0, -1, &window, err) ||
        !args_ints(call, 2, "output_shape", &given, err))
        return false;
    const Shape *image = call->shape[0];
    if (!args_same_shape(call, 0, 1, err))
        return false;
    if (given.given && given.n != image->n_dims)
        return error_kind(err, ERROR_RANK, "its output shape has %d sizes, not %" PRId64, given.n,
                          image->n_dims);
    call->out_shape[0] = *image;
    call->out_dtype[0] = call->dtype[0];
    for (int d = 0; d < image->n_dims; d++)
        if (given.given)
            call->out_shape[0].dim[d] = given.at[d];
        else if (d >= 2)
            call->out_shape[0].dim[d] = window.dim[d - 2].out;
    if (call->out_shape[0].dim[0] != image->dim[0] || call->out_shape[0].dim[1] != image->dim[1])
        return error_set(err, "its output shape has other batch or channels than its input");
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int b = rule_index(space, "b", image->dim[0], ROLE_MAP, REDUCE_NONE);
    int c = rule_index(space, "c", image->dim[1], ROLE_MAP, REDUCE_NONE);
    for (int i = 0; i < 4; i++) {
        Operand *operand = i < 2 ? &space->operand[i] : rule_output(space, 0);
        rule_unit(operand, 0, b);
        rule_unit(operand, 1, c);
    }
    return true;
}

/* ---- regions ---- */

/* r c ph pw: each region reads any part of the image of its batch element. */
static bool regions(RuleCall *call, int64_t each, int64_t height, int64_t width, Error *err)
{
    const Shape *image = call->shape[0], *rois = call->shape[1];
    Shape numbers = {.n_dims = 2, .dim = {rois->dim[0], each}};
    Shape of_batch = {.n_dims = 1, .dim = {rois->dim[0]}};
    if (!args_rank(call, 0, 4, 4, err) || !args_rank(call, 1, 2, 2, err) ||
        !args_shape(call, 1, &numbers, err) ||
        (args_has(call, 2) && !args_shape(call, 2, &of_batch, err)))
        return false;
    OpSpace *space = rule_space_as(
        call, &(Shape){.n_dims = 4, .dim = {rois->dim[0], image->dim[1], height, width}},
        call->dtype[0], err);
    if (!space)
        return false;
    int r = rule_index(space, "r", rois->dim[0], ROLE_MAP, REDUCE_NONE);
    int c = rule_index(space, "c", image->dim[1], ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[0], 1, c);
    rule_unit(&space->operand[1], 0, r);
    if (args_has(call, 2))
        rule_unit(&space->operand[2], 0, r);
    rule_align(rule_output(space, 0),
               (int[]){r, c, rule_index(space, "oh", height, ROLE_MAP, REDUCE_NONE),
                       rule_index(space, "ow", width, ROLE_MAP, REDUCE_NONE)},
               4);
    return true;
}

static bool max_roi_pool(RuleCall *call, Error *err)
{
    Ints size;
    if (!args_ints(call, -1, "pooled_shape", &size, err))
        return false;
    if (size.n != 2 || size.at[0] < 1 || size.at[1] < 1)
        return error_set(err, "its pooled_shape is not two sizes");
    return regions(call, 5, size.at[0], size.at[1], err);
}

static bool roi_align(RuleCall *call, Error *err)
{
    return regions(call, 4, args_int(call, "output_height", 1), args_int(call, "output_width", 1),
                   err);
}

#define FAMILY "pool"

const Operator operators_pool[] = {
    {OP("MaxPool", max_pool, 1, 1, 1), GRADIENT("0: move(x0)"), .outputs_max = 2,
     ONNX("auto_pad ceil_mode dilations kernel_shape pads storage_order strides", ".fi"),
     .kernel = "MaxPool",
     .examples =
         "3x5x7x6 kernel_shape=[3,2] strides=[2,1] pads=[1,0,1,1]; 3x5x9x6 kernel_shape=[3,2] "
         "strides=[3,2]; 3x4x7 kernel_shape=[3] strides=[2] ceil_mode=1 -> 2",
     TORCH("max_pool2d_with_indices(kernel_size=kernel_shape, stride=strides, padding=pads, "
           "dilation=dilations) max_pool2d(kernel_size=kernel_shape, stride=strides, padding=pads, "
           "dilation=dilations) max_pool1d(kernel_size=kernel_shape, stride=strides, padding=pads, "
           "dilation=dilations) max_pool3d(kernel_size=kernel_shape, stride=strides, padding=pads, "
           "dilation=dilations)"),
     .dtensor = "pool max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices",
     TORCH_CALLS("max_pool2d_with_indices: 3x5x7x6 kernel_shape=[3,2] strides=[2,1] -> 2 | "
                 "kernel_size=[3,2] stride=[2,1]")},
    {OP("AveragePool", average_pool, 1, 1, 1), GRADIENT("0: move"),
     ONNX("auto_pad ceil_mode count_include_pad dilations kernel_shape pads strides", ".f"),
     .kernel = "AveragePool",
     .examples = "3x5x7x6 kernel_shape=[3,2] strides=[2,1] pads=[1,0,1,1]; 3x5x9x6 "
                 "kernel_shape=[3,2] strides=[3,2]; 3x4x7x5 kernel_shape=[3,3] strides=[2,2] "
                 "pads=[1,1,1,1] count_include_pad=1 ceil_mode=1",
     TORCH(
         "avg_pool2d(kernel_size=kernel_shape, stride=strides, padding=pads, dilation=dilations) "
         "avg_pool1d(kernel_size=kernel_shape, stride=strides, padding=pads, dilation=dilations) "
         "avg_pool3d(kernel_size=kernel_shape, stride=strides, padding=pads, dilation=dilations)"),
     .dtensor = "pool avg_pool1d avg_pool2d avg_pool3d",
     TORCH_CALLS(
         "avg_pool2d: 3x5x9x6 kernel_shape=[3,2] strides=[3,2] | kernel_size=[3,2] stride=[3,2]")},
    {OP("LpPool", lp_pool, 1, 1, 1), GRADIENT("0: move(x0)"),
     ONNX("auto_pad ceil_mode dilations kernel_shape p pads strides", ".f"), .kernel = "LpPool",
     .examples = "3x5x7x6 kernel_shape=[3,2] strides=[2,1] pads=[1,0,1,1]; 3x5x9x6 "
                 "kernel_shape=[3,2] strides=[3,2]"},
    {OP("GlobalAveragePool", global_average_pool, 1, 1, 1), GRADIENT("0: move"), ONNX("", ".f"),
     .kernel = "GlobalAveragePool", .examples = "3x5x7x6", .dtensor = "pool_all mean"},
    {OP("GlobalMaxPool", global_max_pool, 1, 1, 1), GRADIENT("0: move(x0)"), ONNX("", ".f"),
     .kernel = "GlobalMaxPool", .examples = "3x5x7x6", .dtensor = "pool_all amax"},
    {OP("GlobalLpPool", global_lp_pool, 1, 1, 1), GRADIENT("0: move(x0)"), ONNX("p", ".f"),
     .kernel = "GlobalLpPool", .examples = "3x5x7x6"},
    {OP("LRN", lrn, 1, 1, 1), GRADIENT("0: LRNBackward(x0)"), ONNX("alpha beta bias size", ".f"),
     .kernel = "LRN", .examples = "3x5x4x3 size=3"},
    {OP("MaxUnpool", max_unpool, 0, 2, 3), GRADIENT("0: move(x1)"), RANK(SAME, 2), .reads = 1 << 2,
     ONNX("kernel_shape pads strides", ".f Ai Ai"), .kernel = "MaxUnpool",
     .examples = "3x5x4x6,3x5x4x6:i64 kernel_shape=[2,2] strides=[2,2]"},
    {OP("MaxRoiPool", max_roi_pool, 1, 2, 2), GRADIENT("0: move(x0 x1)"),
     ONNX("pooled_shape spatial_scale", "Af Af"), .kernel = "MaxRoiPool",
     .examples = "3x5x7x6,4x5 pooled_shape=[2,3]"},
    {OP("RoiAlign", roi_align, 1, 3, 3), GRADIENT("0: move(x0 x1 x2)"),
     ONNX("coordinate_transformation_mode mode output_height output_width sampling_ratio "
          "spatial_scale",
          "Af Af .i"),
     .kernel = "RoiAlign", .examples = "3x5x7x6,8x4,8:i64 output_height=2 output_width=3"},
    {0},
};
