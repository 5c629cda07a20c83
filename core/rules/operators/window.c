/* window.c - convolutions: windows that slide over an image and sum.
 *
 *     Conv           b (g ci) {2*oh+kh-1} ..,  (g co) ci kh ..,  (g co)  ->  b (g co) oh ..
 *     ConvTranspose  b (g ci) ih ..,           (g ci) co kh ..,  (g co)  ->  b (g co) oh ..
 *
 * b: batch; g: groups; ci, co: channels of a group; oh, ow: places of the window; kh, kw: its
 * elements. ci and the elements are summed over: sharding them leaves the output partial, and the
 * bias is added once. Sharding oh needs a halo of the image; the last rows of the output may read
 * only padding. A transposed convolution with adjacent windows has (ih kh) for the output's dim;
 * else it is a convolution in the other direction, whose windows step by a part of an element,
 * {(oh-kh+1)/2}. Where the sum is rounded (QLinearConv) the summed dims are frozen.
 */
#include "core/rules/window.h"

#include <inttypes.h>

/* The input numbers of the operands; -1: absent. channel: operands with one number per output
 * channel. */
typedef struct {
    int image, weight;
    int channel[4];
    IndexRole sum;
} ConvForm;

typedef struct {
    int b, g, ci, co;
} ConvIndex;

/* ---- channels ---- */

/* Operands with one number per channel, or one for all. */
static bool channel_operands(RuleCall *call, const ConvForm *form, const ConvIndex *index,
                             int64_t n_channels, Error *err)
{
    for (int i = 0; i < 4; i++) {
        int at = form->channel[i];
        if (at < 0 || !args_has(call, at) || shape_elements(call->shape[at]) == 1)
            continue;
        if (call->shape[at]->n_dims != 1 || call->shape[at]->dim[0] != n_channels)
            return error_set(
                err, "its input %d does not have one number for each of %" PRId64 " channels", at,
                n_channels);
        rule_radix(call->space, &call->space->operand[at], 0, (int[]){index->g, index->co}, 2);
    }
    return true;
}

static bool read_group(const RuleCall *call, int64_t channels, int64_t *group, Error *err)
{
    *group = args_int(call, "group", 1);
    if (*group < 1 || channels % *group != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "%" PRId64 " channels are not %" PRId64 " equal groups", channels,
                          *group);
    return true;
}

/* ---- convolutions ---- */

static void image_shape(RuleCall *call, int64_t batch, int64_t channels, const Window *window)
{
    Shape *out = &call->out_shape[0];
    *out = (Shape){.n_dims = 2 + window->n, .dim = {batch, channels}};
    for (int d = 0; d < window->n; d++)
        out->dim[2 + d] = window->dim[d].out;
}

/* Batch and channels of image, weight and output. */
static ConvIndex conv_index(RuleCall *call, const ConvForm *form, int64_t group)
{
    OpSpace *space = call->space;
    Operand *image = &space->operand[form->image], *weight = &space->operand[form->weight];
    ReduceOp how = form->sum == ROLE_REDUCE ? REDUCE_SUM : REDUCE_NONE;
    ConvIndex index;
    index.b = rule_index(space, "b", image->shape.dim[0], ROLE_MAP, REDUCE_NONE);
    index.g = rule_index(space, "g", group, ROLE_MAP, REDUCE_NONE);
    index.co = rule_index(space, "co", weight->shape.dim[0] / group, ROLE_MAP, REDUCE_NONE);
    index.ci = rule_index(space, "ci", weight->shape.dim[1], form->sum, how);
    rule_unit(image, 0, index.b);
    rule_radix(space, image, 1, (int[]){index.g, index.ci}, 2);
    rule_radix(space, weight, 0, (int[]){index.g, index.co}, 2);
    rule_unit(weight, 1, index.ci);
    rule_unit(rule_output(space, 0), 0, index.b);
    rule_radix(space, rule_output(space, 0), 1, (int[]){index.g, index.co}, 2);
    return index;
}

/* Fills shapes and the op space. slides: the image is read window by window; otherwise any place
 * may be read. */
static bool conv_over(RuleCall *call, const ConvForm *form, bool slides, Window *window,
                      ConvIndex *index, Error *err)
{
    int64_t group;
    if (!window_read(call, form->image, form->weight, window, err))
        return false;
    const Shape *image = call->shape[form->image], *weight = call->shape[form->weight];
    if (!read_group(call, weight->dim[0], &group, err))
        return false;
    if (image->dim[1] % group != 0 || image->dim[1] / group != weight->dim[1])
        return error_set(err,
                         "its weight takes %" PRId64 " channels in %" PRId64
                         " groups, and its input has %" PRId64,
                         weight->dim[1], group, image->dim[1]);
    image_shape(call, image->dim[0], weight->dim[0], window);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    *index = conv_index(call, form, group);
    Projection *rows = &space->operand[form->image].projection;
    ReduceOp how = form->sum == ROLE_REDUCE ? REDUCE_SUM : REDUCE_NONE;
    rows->clip = slides && window_pads(window);
    for (int d = 0; d < window->n; d++) {
        const WindowDim *dim = &window->dim[d];
        int place = window_index(call, "o", d, window->n, dim->out, ROLE_MAP, REDUCE_NONE);
        int element = window_index(call, "k", d, window->n, dim->kernel, form->sum, how);
        if (slides)
            window_row(dim, place, element, &rows->row[2 + d]);
        rule_unit(&space->operand[form->weight], 2 + d, element);
        rule_unit(rule_output(space, 0), 2 + d, place);
    }
    return channel_operands(call, form, index, weight->dim[0], err);
}

static bool conv(RuleCall *call, Error *err)
{
    static const ConvForm form = {0, 1, {2, -1, -1, -1}, ROLE_REDUCE};
    Window window;
    ConvIndex index;
    call->out_dtype[0] = call->dtype[0];
    if (!conv_over(call, &form, true, &window, &index, err))
        return false;
    if (args_has(call, 2))
        call->space->operand[2].once = true;
    return true;
}

static bool conv_integer(RuleCall *call, Error *err)
{
    static const ConvForm form = {0, 1, {3, -1, -1, -1}, ROLE_REDUCE};
    Window window;
    ConvIndex index;
    call->out_dtype[0] = DT_I32;
    return conv_over(call, &form, true, &window, &index, err);
}

static bool conv_quantized(RuleCall *call, Error *err)
{
    static const ConvForm form = {0, 3, {4, 5, 8, -1}, ROLE_FROZEN};
    Window window;
    ConvIndex index;
    call->out_dtype[0] = call->dtype[7];
    return conv_over(call, &form, true, &window, &index, err);
}

/* ---- DeformConv ---- */

/* Offsets (and the mask) tell for each place and element where to read: dim 1 is (groups of
 * channels that share offsets, elements, `each` numbers). */
static bool deform_operand(RuleCall *call, int at, int64_t each, const Window *window, Error *err)
{
    OpSpace *space = call->space;
    Operand *operand = &space->operand[at];
    int64_t groups = args_int(call, "offset_group", 1), channels = each;
    int pair[2 + SPATIAL_MAX], n = 0;
    for (int d = 0; d < window->n; d++)
        channels *= window->dim[d].kernel;
    bool fits = operand->shape.n_dims == 2 + window->n && groups >= 1 &&
                groups <= operand->shape.dim[1] && operand->shape.dim[1] == groups * channels;
    for (int d = 0; fits && d < window->n; d++)
        fits = operand->shape.dim[2 + d] == window->dim[d].out;
    if (!fits || (operand->shape.dim[0] != call->shape[0]->dim[0]))
        return error_set(err, "its input %d does not fit its windows", at);

    if (groups > 1)
        pair[n++] = opspace_add_number(call->arena, space, groups, 0);
    for (int d = 0; d < window->n; d++) {
        const char *name = arena_printf(call->arena, "k%c", "dhw"[3 - window->n + d]);
        int element = opspace_find_index(space, str_from(name));
        if (element >= 0)
            pair[n++] = element;
    }
    if (each > 1)
        pair[n++] = opspace_add_number(call->arena, space, each, groups == each);
    rule_unit(operand, 0, opspace_find_index(space, STR("b")));
    if (n <= FACTORS_MAX)
        row_radix(&operand->projection.row[1], space, pair, n);
    for (int d = 0; d < window->n; d++)
        operand->projection.row[2 + d] = rule_output(space, 0)->projection.row[2 + d];
    return true;
}

static bool deform_conv(RuleCall *call, Error *err)
{
    static const ConvForm form = {0, 1, {3, -1, -1, -1}, ROLE_REDUCE};
    Window window;
    ConvIndex index;
    call->out_dtype[0] = call->dtype[0];
    if (call->shape[0]->n_dims > 5)
        return error_kind(err, ERROR_RANK, "it has more than 3 spatial dims");
    if (!conv_over(call, &form, false, &window, &index, err))
        return false;
    if (args_has(call, 3))
        call->space->operand[3].once = true;
    return deform_operand(call, 2, window.n, &window, err) &&
           (!args_has(call, 4) || deform_operand(call, 4, 1, &window, err));
}

/* ---- ConvTranspose ---- */

static bool is_side_by_side(const WindowDim *dim)
{
    return dim->dilation == 1 && dim->stride == dim->kernel && dim->before == 0 &&
           dim->after == 0 && dim->out == dim->size * dim->stride;
}

/* Output place o reads element k at position (o + before - k * dilation) / stride, where that is
 * whole. */
static void spread_row(RuleCall *call, const Window *window, int d)
{
    const WindowDim *dim = &window->dim[d];
    OpSpace *space = call->space;
    bool tiles = is_side_by_side(dim);
    IndexRole role = tiles ? ROLE_MAP : ROLE_REDUCE;
    Row *image = &space->operand[0].projection.row[2 + d];
    Operand *out = rule_output(space, 0);
    int place = window_index(call, tiles ? "i" : "o", d, window->n, tiles ? dim->size : dim->out,
                             ROLE_MAP, REDUCE_NONE);
    int element =
        window_index(call, "k", d, window->n, dim->kernel, role, tiles ? REDUCE_NONE : REDUCE_SUM);
    rule_unit(&space->operand[1], 2 + d, element);
    if (tiles) {
        rule_unit(&space->operand[0], 2 + d, place);
        rule_radix(space, out, 2 + d, (int[]){place, element}, 2);
        return;
    }
    rule_unit(out, 2 + d, place);
    *image = (Row){.offset = dim->before, .window = 1, .divisor = dim->stride};
    if (place >= 0)
        image->coef[place] = 1;
    if (element >= 0)
        image->coef[element] = -dim->dilation;
    space->operand[0].projection.clip = true;
}

static bool conv_transpose(RuleCall *call, Error *err)
{
    static const ConvForm form = {0, 1, {2, -1, -1, -1}, ROLE_REDUCE};
    Window window;
    int64_t group, channels;
    if (!window_read_transposed(call, 0, 1, &window, err))
        return false;
    const Shape *image = call->shape[0], *weight = call->shape[1];
    if (!read_group(call, image->dim[1], &group, err))
        return false;
    if (weight->dim[0] != image->dim[1] || __builtin_mul_overflow(weight->dim[1], group, &channels))
        return error_set(err, "its weight takes %" PRId64 " channels, and its input has %" PRId64,
                         weight->dim[0], image->dim[1]);
    image_shape(call, image->dim[0], channels, &window);
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    Operand *out = rule_output(space, 0);
    ConvIndex index;
    index.b = rule_index(space, "b", image->dim[0], ROLE_MAP, REDUCE_NONE);
    index.g = rule_index(space, "g", group, ROLE_MAP, REDUCE_NONE);
    index.co = rule_index(space, "co", weight->dim[1], ROLE_MAP, REDUCE_NONE);
    index.ci = rule_index(space, "ci", image->dim[1] / group, ROLE_REDUCE, REDUCE_SUM);
    rule_unit(&space->operand[0], 0, index.b);
    rule_radix(space, &space->operand[0], 1, (int[]){index.g, index.ci}, 2);
    rule_radix(space, &space->operand[1], 0, (int[]){index.g, index.ci}, 2);
    rule_unit(&space->operand[1], 1, index.co);
    rule_unit(out, 0, index.b);
    rule_radix(space, out, 1, (int[]){index.g, index.co}, 2);
    for (int d = 0; d < window.n; d++)
        spread_row(call, &window, d);
    if (args_has(call, 2))
        space->operand[2].once = true;
    return channel_operands(call, &form, &index, channels, err);
}

/* ---- CausalConvWithState ---- */

/* One kernel of k elements per channel, over the state of the k - 1 previous positions and the
 * input: windows that end at their own position. The state for the next call is the end of both, so
 * that with a state the length cannot be sharded. */
static bool causal_conv(RuleCall *call, Error *err)
{
    const Shape *image = call->shape[0], *weight = call->shape[1];
    if (!args_rank(call, 0, 3, 3, err) || !args_rank(call, 1, 3, 3, err))
        return false;
    if (weight->dim[0] != image->dim[1] || weight->dim[1] != 1 || weight->dim[2] < 1)
        return error_set(err,
                         "its weight does not hold one kernel for each of %" PRId64 " channels",
                         image->dim[1]);
    Shape state = {.n_dims = 3, .dim = {image->dim[0], image->dim[1], weight->dim[2] - 1}};
    Shape bias = {.n_dims = 1, .dim = {image->dim[1]}};
    if ((args_has(call, 3) && !args_shape(call, 3, &state, err)) ||
        (args_has(call, 2) && !args_shape(call, 2, &bias, err)))
        return false;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = o == 0 ? *image : state;
        call->out_dtype[o] = call->dtype[0];
    }
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    int b = rule_index(space, "b", image->dim[0], ROLE_MAP, REDUCE_NONE);
    int c = rule_index(space, "c", image->dim[1], ROLE_MAP, REDUCE_NONE);
    bool stateless = !args_has(call, 3) && (call->n_outputs < 2 || rule_output(space, 1)->absent);
    int l = rule_index(space, "l", image->dim[2], stateless ? ROLE_MAP : ROLE_FROZEN, REDUCE_NONE);
    int k = rule_index(space, "kw", weight->dim[2], ROLE_FROZEN, REDUCE_NONE);
    rule_unit(&space->operand[1], 0, c);
    rule_unit(&space->operand[1], 2, k);
    if (args_has(call, 2))
        rule_unit(&space->operand[2], 0, c);
    for (int i = 0; i < call->n_inputs + call->n_outputs; i++) {
        Operand *operand = &space->operand[i];
        if (operand->absent || (i < call->n_inputs && (i == 1 || i == 2)))
            continue;
        rule_unit(operand, 0, b);
        rule_unit(operand, 1, c);
    }
    rule_unit(&space->operand[0], 2, l);
    rule_unit(rule_output(space, 0), 2, l);
    if (stateless && l >= 0 && k >= 0) {
        space->operand[0].projection.row[2].coef[k] = 1;
        space->operand[0].projection.row[2].offset = 1 - weight->dim[2];
        space->operand[0].projection.clip = true;
    }
    return true;
}

#define FAMILY "window"

const Operator operators_window[] = {
    {OP("Conv", conv, 2, 2, 3), GRADIENT("0: ConvGrad(x1); 1: ConvWeightGrad(x0); 2: contract"),
     ONNX("auto_pad dilations group kernel_shape pads strides", "Af Af Af"), .kernel = "Conv",
     .examples = "3x4x7x6,5x4x3x2,5 strides=[2,1] pads=[1,0,2,1] dilations=[1,2]; 3x6x9,4x3x3,4 "
                 "group=2 strides=[3]; 3x5x6,5x1x3 group=5 auto_pad=SAME_UPPER; 2x3x5x5,4x3x1x1",
     NNSCALER("conv1d(stride=strides, padding=pads, dilation=dilations, groups=group) "
              "conv2d(stride=strides, padding=pads, dilation=dilations, groups=group) "
              "conv3d(stride=strides, padding=pads, dilation=dilations, groups=group)"),
     TORCH("convolution(stride=strides, padding=pads, dilation=dilations, groups=group) "
           "conv1d(stride=strides, padding=pads, dilation=dilations, groups=group) "
           "conv2d(stride=strides, padding=pads, dilation=dilations, groups=group) "
           "conv3d(stride=strides, padding=pads, dilation=dilations, groups=group) "
           "conv(stride=strides, padding=pads, dilation=dilations, groups=group)"),
     PADDLE("conv2d(paddings=pads, groups=group) conv3d(paddings=pads, groups=group) "
            "depthwise_conv2d(paddings=pads, groups=group)"),
     .paddle = "conv", .dtensor = "windows convolution",
     PADDLE_CALLS(
         "conv2d: 3x4x7x6,6x4x3x2 strides=[2,1] pads=[1,0,2,1] dilations=[1,2] | strides=[2,1] "
         "paddings=[1,0,2,1] dilations=[1,2] groups=1; depthwise_conv2d: 3x6x7x6,6x1x3x2 group=6 | "
         "strides=[1,1] paddings=[0,0] dilations=[1,1] groups=6; conv3d: 3x4x5x4x4,6x4x2x2x2 | "
         "strides=[1,1,1] paddings=[0,0,0] dilations=[1,1,1] groups=1"),
     TORCH_CALLS(
         "convolution: 3x4x7x6,5x4x3x2,5 strides=[2,1] pads=[1,0,1,0] | stride=[2,1] padding=[1,0] "
         "dilation=[1,1] transposed=0 groups=1; 3x4x7x6,5x4x3x2,5 strides=[1,2] | stride=[1,2] "
         "padding=[0,0] dilation=[1,1] transposed=0 groups=1")},
    {OP("ConvTranspose", conv_transpose, 2, 2, 3),
     GRADIENT("0: ConvGrad(x1); 1: ConvWeightGrad(x0); 2: contract"),
     ONNX("auto_pad dilations group kernel_shape output_padding output_shape pads strides",
          "Af Af Af"),
     .kernel = "ConvTranspose",
     .examples = "3x4x5x4,4x3x3x2,3 strides=[2,1] pads=[1,0,0,1] output_padding=[1,0]; "
                 "3x4x5,4x3x3,6 group=2 strides=[3]; 3x4x5,4x3x3 pads=[1,0]",
     NNSCALER("conv_transpose1d(stride=strides, padding=pads, dilation=dilations, groups=group) "
              "conv_transpose2d(stride=strides, padding=pads, dilation=dilations, groups=group)"),
     TORCH("conv_transpose1d(stride=strides, padding=pads, dilation=dilations, groups=group) "
           "conv_transpose2d(stride=strides, padding=pads, dilation=dilations, groups=group) "
           "conv_transpose3d(stride=strides, padding=pads, dilation=dilations, groups=group)"),
     PADDLE("conv2d_transpose(paddings=pads, groups=group, output_size=output_shape)"),
     PADDLE_CALLS("conv2d_transpose: 3x4x5x4,4x6x3x2 strides=[2,1] | strides=[2,1] paddings=[0,0] "
                  "dilations=[1,1] groups=1")},
    {OP("ConvInteger", conv_integer, 2, 2, 4),
     ONNX("auto_pad dilations group kernel_shape pads strides", "Ai Bi Ai Bi"),
     .kernel = "ConvInteger", .examples = "3x4x5x5:u8,3x4x2x2:u8,scalar:u8,3:u8 pads=[1,1,0,0]"},
    {OP("QLinearConv", conv_quantized, 2, 8, 9),
     ONNX("auto_pad dilations group kernel_shape pads strides", "Ai .f Ai Bi .f Bi .f .i .i"),
     .kernel = "QLinearConv",
     .examples =
         "3x4x7x6:u8,scalar,scalar:u8,5x4x3x2:u8,5,5:u8,scalar,scalar:u8,5:i32 pads=[1,0,1,0]"},
    {OP("DeformConv", deform_conv, 2, 3, 5),
     GRADIENT("0: DeformConvGrad(x1 x2 x4); 1: DeformConvWeightGrad(x0 x2 x4); 2: "
              "DeformConvGrad(x0 x1 x2 x4); 3: contract; 4: DeformConvGrad(x0 x1 x2)"),
     ONNX("dilations group kernel_shape offset_group pads strides", "Af Af Af Af Af"),
     .kernel = "DeformConv",
     .examples = "3x4x7x6,5x4x2x2,3x8x6x5,5; 3x4x7x6,5x4x2x2,3x16x6x5,-,3x8x6x5 offset_group=2"},
    {OP("CausalConvWithState", causal_conv, 2, 2, 4),
     GRADIENT("0 1 2 3: CausalConvBackward(inputs)"), .outputs_max = 2,
     ONNX("activation", "Af Af Af Af"), .kernel = "CausalConvWithState",
     .examples = "3x5x7,5x1x4,5,3x5x3 -> 2; 3x5x7,5x1x4 activation=silu"},
    {0},
};
