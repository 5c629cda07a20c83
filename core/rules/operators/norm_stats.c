/* norm_stats.c - norms that also return the statistics they used, as torch and Paddle have them.
 *
 *     LayerNormStats   d0 d^, d^, d^ -> d0 d^, d0 1, d0 1
 *     GroupNormStats   n (g c^) d2^, (g c^), (g c^) -> n (g c^) d2^, n g, n g
 */
#include "core/rules/operators/dims.h"

#include <inttypes.h>

/* The first normalized dim: `axis`, or the last dims, as many as normalized_shape lists. */
static bool first_normalized(const RuleCall *call, int *axis, Error *err)
{
    Ints sizes;
    int64_t n = call->shape[0]->n_dims;
    if (!args_ints(call, -1, "normalized_shape", &sizes, err))
        return false;
    return args_axis(sizes.n > 0 ? -(int64_t)sizes.n : args_int(call, "axis", -1), n, axis, err);
}

/* Scale and bias broadcast onto the input, or list the normalized elements in one dim. */
static bool scales_fit(const RuleCall *call, int axis, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t n = 1;
    for (int d = axis; d < from->n_dims; d++)
        n *= from->dim[d];
    for (int i = 1; i < call->n_inputs; i++) {
        const Shape *scale = call->shape[i], *both[2] = {from, scale};
        Shape common;
        if (!scale || (scale->n_dims == 1 && scale->dim[0] == n))
            continue;
        if (!args_broadcast(both, 2, &common, err))
            return false;
        if (!shape_equal(&common, from))
            return error_set(err, "its input %d is larger than its input 0", i);
    }
    return true;
}

/* Statistics keep the normalized dims with size 1, or drop them if stats_keepdims=0. */
static bool layer_norm_stats(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    bool keep = args_int(call, "stats_keepdims", 1) != 0, marked[DIMS_MAX] = {false};
    DimUse use[DIMS_MAX];
    int index[DIMS_MAX], axis;
    if (!first_normalized(call, &axis, err) || !scales_fit(call, axis, err))
        return false;
    for (int d = 0; d < from->n_dims; d++) {
        marked[d] = d >= axis;
        use[d] = d >= axis ? DIM_FROZEN : DIM_MAP;
    }
    Shape stats = dims_without(from, marked, keep);
    dims_answer(call, &stats, DT_F32);
    call->out_shape[0] = *from;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = dims_space(call, from, use, index, err);
    for (int o = 1; space && o < call->n_outputs; o++)
        for (int d = 0; d < stats.n_dims; d++)
            rule_unit(rule_output(space, o), d, d < axis ? index[d] : -1);
    return space;
}

/* Channels, dim 1, are (g c^); statistics are [n, g]. groups 0: each channel is a group. */
static bool group_stats(RuleCall *call, int64_t n_groups, Error *err)
{
    const Shape *from = call->shape[0];
    if (!args_rank(call, 0, 2, DIMS_MAX, err))
        return false;
    int64_t channels = from->dim[1];
    n_groups = n_groups > 0 ? n_groups : channels;
    if (n_groups < 1 || channels % n_groups != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "%" PRId64 " channels do not make %" PRId64 " groups", channels,
                          n_groups);
    Shape stats = {.n_dims = 2, .dim = {from->dim[0], n_groups}};
    dims_answer(call, &stats, DT_F32);
    OpSpace *space = rule_space_as(call, from, call->dtype[0], err);
    if (!space)
        return false;
    int n = rule_index(space, "n", from->dim[0], ROLE_MAP, REDUCE_NONE);
    int pair[2] = {rule_index(space, "g", n_groups, ROLE_MAP, REDUCE_NONE),
                   rule_index(space, "c", channels / n_groups, ROLE_FROZEN, REDUCE_NONE)};
    Operand *both[2] = {&space->operand[0], rule_output(space, 0)};
    for (int side = 0; side < 2; side++) {
        rule_unit(both[side], 0, n);
        rule_radix(space, both[side], 1, pair, 2);
    }
    for (int i = 1; i < call->n_inputs; i++)
        if (call->shape[i] && call->shape[i]->n_dims == 1 && call->shape[i]->dim[0] == channels)
            rule_radix(space, &space->operand[i], 0, pair, 2);
    for (int o = 1; o < call->n_outputs; o++)
        rule_align(rule_output(space, o), (const int[]){n, pair[0]}, 2);
    return true;
}

static bool group_norm_stats(RuleCall *call, Error *err)
{
    return group_stats(call, args_int(call, "groups", 1), err);
}

static bool instance_norm_stats(RuleCall *call, Error *err)
{
    return group_stats(call, 0, err);
}

/* x, mean, variance, scale, bias -> y, then statistics [C]. In training all dims except the
 * channels are normalized together. The size of the last of six outputs is unknown. */
static bool batch_norm_stats(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    bool test = args_int(call, "is_test", 0) != 0;
    int channel = args_int(call, "channels_last", 0) != 0 ? (int)from->n_dims - 1 : 1;
    DimUse use[DIMS_MAX];
    int index[DIMS_MAX];
    if (!args_rank(call, 0, 2, DIMS_MAX, err))
        return false;
    Shape stats = {.n_dims = 1, .dim = {from->dim[channel]}};
    dims_answer(call, &stats, DT_F32);
    call->out_shape[0] = *from;
    call->out_dtype[0] = call->dtype[0];
    if (call->n_outputs > 5)
        call->out_shape[5].dim[0] = 0;
    for (int d = 0; d < from->n_dims; d++)
        use[d] = test || d == channel ? DIM_MAP : DIM_FROZEN;
    OpSpace *space = dims_space(call, from, use, index, err);
    if (!space)
        return false;
    for (int i = 1; i < call->n_inputs + call->n_outputs; i++) {
        Operand *operand = &space->operand[i];
        if (i == call->n_inputs || operand->absent || operand->shape.n_dims != 1)
            continue;
        row_whole(&operand->projection.row[0], operand->shape.dim[0]);
        if (operand->shape.dim[0] == from->dim[channel])
            rule_unit(operand, 0, index[channel]);
    }
    return true;
}

#define FAMILY "norm_stats"

const Operator operators_norm_stats[] = {
    {OP("LayerNormStats", layer_norm_stats, 8, 1, 3), EARLY, .outputs_max = 3,
     OWN("axis epsilon normalized_shape stats_keepdims", ".f .f .f"),
     .examples = "5x6x4,4,4 axis=-1 -> 3; 5x6x4,24 normalized_shape=[6,4] stats_keepdims=0 -> 3",
     NNSCALER("layer_norm"), TORCH("layer_norm native_layer_norm"),
     PADDLE("layer_norm(begin_norm_axis=axis;; stats_keepdims:=0) fast_layer_norm(;; "
            "stats_keepdims:=0)")},
    {OP("RmsNormStats", layer_norm_stats, 6, 1, 3), EARLY, .outputs_max = 2,
     OWN("axis epsilon normalized_shape stats_keepdims", ".f .f .f"), .examples = "5x6x4,4 -> 2",
     NNSCALER("rms_norm"), TORCH("rms_norm _fused_rms_norm"),
     PADDLE("rms_norm(;; stats_keepdims:=0) fused_rms_norm(;; stats_keepdims:=0)")},
    {OP("GroupNormStats", group_norm_stats, 8, 1, 3), EARLY, .outputs_max = 3,
     OWN("epsilon groups", ".f .f .f"), .examples = "3x6x4x5,6,6 groups=3 -> 3",
     NNSCALER("group_norm(num_groups=groups)"),
     TORCH("native_group_norm(group=groups) group_norm(num_groups=groups)"), PADDLE("group_norm")},
    {OP("InstanceNormStats", instance_norm_stats, 8, 1, 3), EARLY, .outputs_max = 3,
     OWN("epsilon", ".f .f .f"), .examples = "3x5x4x6,5,5 -> 3", TORCH("instance_norm"),
     PADDLE("instance_norm")},
    {OP("BatchNormStats", batch_norm_stats, 8, 1, 5), EARLY, .outputs_max = 6,
     OWN("channels_last epsilon is_test momentum", ".f .f .f .f .f"),
     .examples = "3x5x4x6,5,5,5,5 -> 6; 3x4x6x5,5,5,5,5 is_test=1 channels_last=1",
     TORCH("native_batch_norm(; 0,3,4,1,2) batch_norm(; 0,3,4,1,2)"), PADDLE("batch_norm")},
    {0},
};
