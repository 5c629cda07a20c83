/* layer.c - layers that normalize an image, and small ones of transformers.
 *
 *     BatchNormalization     b c h w, c, c, c, c -> b c h w      in training: b, h, w frozen
 *     InstanceNormalization  b c h^ w^, c, c     -> b c h^ w^
 *     GroupNormalization     b (g c^) h^ w^, ..  -> b (g c^) h^ w^
 *     TensorScatter          b d1 8 d3, b d1 2 d3, b -> b d1 8 d3
 *
 * Dims that a mean is taken over are frozen: each output element needs all of them.
 */
#include "core/rules/window.h"

#include <inttypes.h>

/* Index dims of an image's dims: b, c, then spatial ones. */
static void image_index(RuleCall *call, IndexRole batch, IndexRole spatial, int *index)
{
    const Shape *image = call->shape[0];
    int n = (int)image->n_dims - 2;
    for (int d = 0; d < image->n_dims; d++)
        index[d] = d == 0   ? rule_index(call->space, "b", image->dim[d], batch, REDUCE_NONE)
                   : d == 1 ? rule_index(call->space, "c", image->dim[d], ROLE_MAP, REDUCE_NONE)
                            : window_index(call, "", d - 2, n, image->dim[d], spatial, REDUCE_NONE);
}

/* Inputs first.. hold one number a channel (or group). */
static bool fits_channels(const RuleCall *call, int first, int64_t n, Error *err)
{
    for (int i = first; i < call->n_inputs; i++)
        if (call->shape[i] && !args_shape(call, i, &(Shape){.n_dims = 1, .dim = {n}}, err))
            return false;
    return true;
}

/* ---- BatchNormalization ---- */

/* Whether the op computes statistics of its input; each opset has its own way to say so. */
static bool is_training(const RuleCall *call)
{
    if (call->opset >= 14)
        return args_int(call, "training_mode", 0) != 0;
    if (call->opset < 7)
        return args_int(call, "is_test", 0) == 0;
    for (int o = 1; o < call->n_outputs; o++)
        if (op_outputs(call->graph, call->op)[o] >= 0)
            return true;
    return false;
}

/* Before opset 9, `spatial` 0 keeps one mean for each element of a sample. */
static bool batch_norm(RuleCall *call, Error *err)
{
    const Shape *image = call->shape[0];
    bool each = call->opset < 9 && args_int(call, "spatial", 1) == 0, training = is_training(call);
    int index[DIMS_MAX] = {0}, n = (int)image->n_dims;
    if (!args_rank(call, 0, 1, DIMS_MAX, err))
        return false;
    Shape params = {.n_dims = each ? n - 1 : 1, .dim = {n < 2 ? 1 : image->dim[1]}};
    for (int d = 1; each && d < n; d++)
        params.dim[d - 1] = image->dim[d];
    for (int i = 1; i < call->n_inputs; i++)
        if (!args_shape(call, i, &params, err))
            return false;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = o == 0 ? *image : params;
        call->out_dtype[o] = o == 0 ? call->dtype[0] : call->dtype[3];
    }
    if (!rule_space(call, err))
        return false;

    image_index(call, training ? ROLE_FROZEN : ROLE_MAP, training && !each ? ROLE_FROZEN : ROLE_MAP,
                index);
    for (int i = 0; i < call->n_inputs + call->n_outputs; i++) {
        Operand *operand = &call->space->operand[i];
        bool whole = i == 0 || i == call->n_inputs;
        for (int d = 0; d < operand->projection.n_dims; d++)
            rule_unit(operand, d, whole ? index[d] : n < 2 ? -1 : index[d + 1]);
    }
    return true;
}

/* ---- InstanceNormalization, GroupNormalization ---- */

static bool instance_norm(RuleCall *call, Error *err)
{
    const Shape *image = call->shape[0];
    int index[DIMS_MAX] = {0};
    if (!args_rank(call, 0, 3, DIMS_MAX, err))
        return false;
    if (!fits_channels(call, 1, image->dim[1], err))
        return false;
    call->out_shape[0] = *image;
    call->out_dtype[0] = call->dtype[0];
    if (!rule_space(call, err))
        return false;
    image_index(call, ROLE_MAP, ROLE_FROZEN, index);
    rule_align(&call->space->operand[0], index, (int)image->n_dims);
    rule_align(rule_output(call->space, 0), index, (int)image->n_dims);
    rule_unit(&call->space->operand[1], 0, index[1]);
    rule_unit(&call->space->operand[2], 0, index[1]);
    return true;
}

/* Scale and bias hold one number per group before opset 21, one per channel since. */
static bool group_norm(RuleCall *call, Error *err)
{
    const Shape *image = call->shape[0];
    int64_t groups = args_int(call, "num_groups", 0);
    if (!args_rank(call, 0, 3, DIMS_MAX, err))
        return false;
    if (groups < 1 || image->dim[1] % groups != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "%" PRId64 " channels are not %" PRId64 " equal groups", image->dim[1],
                          groups);
    bool by_group = call->opset < 21;
    if (!fits_channels(call, 1, by_group ? groups : image->dim[1], err))
        return false;
    OpSpace *space = rule_space_as(call, image, call->dtype[0], err);
    if (!space)
        return false;

    int n = (int)image->n_dims - 2;
    int b = rule_index(space, "b", image->dim[0], ROLE_MAP, REDUCE_NONE);
    int g = rule_index(space, "g", groups, ROLE_MAP, REDUCE_NONE);
    int c = rule_index(space, "c", image->dim[1] / groups, ROLE_FROZEN, REDUCE_NONE);
    Operand *images[2] = {&space->operand[0], rule_output(space, 0)};
    for (int i = 0; i < 2; i++) {
        rule_unit(images[i], 0, b);
        rule_radix(space, images[i], 1, (int[]){g, c}, 2);
        rule_radix(space, &space->operand[1 + i], 0, (int[]){g, by_group ? -1 : c}, 2);
    }
    for (int d = 0; d < n; d++) {
        int index = window_index(call, "", d, n, image->dim[2 + d], ROLE_FROZEN, REDUCE_NONE);
        rule_unit(images[0], 2 + d, index);
        rule_unit(images[1], 2 + d, index);
    }
    return true;
}

/* ---- norms over given dims ---- */

/* d0 d1^ ..: the output has the dims of the input, some of them frozen. */
static bool frozen_dims(RuleCall *call, const bool *frozen, Error *err)
{
    const Shape *from = call->shape[0];
    OpSpace *space = rule_space_as(call, from, call->dtype[0], err);
    if (!space)
        return false;
    for (int d = 0; d < from->n_dims; d++) {
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        if (frozen[d] && index >= 0)
            space->index[index].role = ROLE_FROZEN;
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return true;
}

static bool lp_norm(RuleCall *call, Error *err)
{
    bool frozen[DIMS_MAX] = {false};
    int axis;
    if (!args_axis(args_int(call, "axis", -1), call->shape[0]->n_dims, &axis, err))
        return false;
    frozen[axis] = true;
    return frozen_dims(call, frozen, err);
}

static bool mean_variance_norm(RuleCall *call, Error *err)
{
    static const int64_t usual[] = {0, 2, 3};
    bool frozen[DIMS_MAX] = {false};
    Ints axes;
    if (!args_ints(call, -1, "axes", &axes, err))
        return false;
    if (!axes.given)
        axes = (Ints){true, 3, usual};
    for (int i = 0; i < axes.n; i++) {
        int axis;
        if (!args_axis(axes.at[i], call->shape[0]->n_dims, &axis, err))
            return false;
        frozen[axis] = true;
    }
    return frozen_dims(call, frozen, err);
}

/* ---- small ones ---- */

static bool swiglu(RuleCall *call, Error *err)
{
    if (!args_same_shape(call, 0, 1, err))
        return false;
    static const bool none[DIMS_MAX] = {false};
    if (!frozen_dims(call, none, err))
        return false;
    call->space->operand[1].projection = call->space->operand[0].projection;
    return true;
}

/* New rows go into a cache at an index known only at run time, so both are whole along the axis. */
static bool tensor_scatter(RuleCall *call, Error *err)
{
    const Shape *cache = call->shape[0], *update = call->shape[1];
    int axis;
    if (!args_axis(args_int(call, "axis", -2), cache->n_dims, &axis, err))
        return false;
    if (axis == 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "axis 0 is that of the batch");
    if (!args_rank(call, 1, cache->n_dims, cache->n_dims, err))
        return false;
    for (int d = 0; d < cache->n_dims; d++)
        if ((d != axis || update->dim[d] > cache->dim[d]) && !args_same_size(call, 0, d, 1, d, err))
            return false;
    Shape starts = {.n_dims = 1, .dim = {cache->dim[0]}};
    if (args_has(call, 2) && !args_shape(call, 2, &starts, err))
        return false;
    OpSpace *space = rule_space_as(call, cache, call->dtype[0], err);
    if (!space)
        return false;
    for (int d = 0; d < cache->n_dims; d++) {
        int index = d == axis ? -1 : rule_index_at(call, 'd', d, cache->dim[d]);
        for (int i = 0; d != axis && i < 2; i++)
            rule_unit(&space->operand[i], d, index);
        if (d != axis)
            rule_unit(rule_output(space, 0), d, index);
        if (d == 0 && args_has(call, 2))
            rule_unit(&space->operand[2], 0, index);
    }
    return true;
}

#define FAMILY "layer"

const Operator operators_layer[] = {
    {OP("BatchNormalization", batch_norm, 4, 5, 5),
     GRADIENT("0: BatchNormalizationBackward(x0 x1 x3 x4); 1: BatchNormalizationBackward(x0 x3 "
              "x4); 2: BatchNormalizationBackward; 3: BatchNormalizationBackward(x0 x1 x3 x4); 4: "
              "BatchNormalizationBackward(x0 x1 x3 x4)"),
     EARLY, .outputs_max = 5,
     ONNX("consumed_inputs epsilon is_test momentum spatial training_mode", ".f Af Af Bf Bf"),
     .kernel = "BatchNormalization",
     .examples = "3x5x4x3,5,5,5,5; 3x5x4x7,5,5,5,5 training_mode=1 -> 3", .paddle = "batch_norm",
     .dtensor = "plain _native_batch_norm_legit_no_training",
     PADDLE_CALLS("batch_norm(0,3,4,1,2): 3x6x4x3,6,6,6,6")},
    {OP("InstanceNormalization", instance_norm, 8, 3, 3),
     GRADIENT("0: InstanceNormalizationBackward(x0 x1); 1: InstanceNormalizationBackward(x0); 2: "
              "InstanceNormalizationBackward"),
     EARLY, ONNX("consumed_inputs epsilon", "Af Af Af"), .kernel = "InstanceNormalization",
     .examples = "3x5x4x3,5,5", PADDLE_CALLS("instance_norm: 3x6x4x3,6,6")},
    {OP("GroupNormalization", group_norm, 8, 3, 3),
     GRADIENT("0: GroupNormalizationBackward(x0 x1); 1: GroupNormalizationBackward(x0); 2: "
              "GroupNormalizationBackward"),
     EARLY, ONNX("epsilon num_groups stash_type", "Af Af Af"), .kernel = "GroupNormalization",
     .examples = "3x6x4x3,6,6 num_groups=3", .dtensor = "plain native_group_norm",
     PADDLE_CALLS("group_norm: 3x6x4x3,6,6 num_groups=3 | groups=3")},
    {OP("LpNormalization", lp_norm, 4, 1, 1), GRADIENT("0: LpNormalizationBackward(x0)"), EARLY,
     ONNX("axis p", ".f"), .kernel = "LpNormalization", .examples = "5x6x4 axis=1"},
    {OP("MeanVarianceNormalization", mean_variance_norm, 8, 1, 1),
     GRADIENT("0: MeanVarianceNormalizationBackward(x0)"), EARLY, ONNX("axes", ".f"),
     .kernel = "MeanVarianceNormalization", .examples = "3x5x4x6"},
    {OP("SwiGLU", swiglu, 6, 2, 2), GRADIENT("0: local(x0 x1); 1: local(x0)"), EARLY,
     ONNX("alpha", "Af Af"), .kernel = "SwiGLU", .examples = "5x6,5x6"},
    {OP("TensorScatter", tensor_scatter, 0, 2, 3), GRADIENT("0: move(x2); 1: move(x2)"), EARLY,
     ONNX("axis mode", "A A .i"), .kernel = "TensorScatter", .examples = "3x5x8x4,3x5x2x4,3:i64"},
    {0},
};
