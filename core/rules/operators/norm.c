/* norm.c - operators that normalize over dims: each output element depends on all elements along
 * these dims.
 *
 *     LayerNormalization   d0 d1 d^, d^, d^ -> d0 d1 d^     scale and bias follow d
 *     Softmax              d0 d1 d^ -> d0 d1 d^
 *
 * The normalized dim is the frozen index dim d; several are d2^, d3^ by their number. The rest are
 * d0, d1, .. as for element-wise operators.
 */
#include "core/rules/operators/dims.h"

/* Normalizes dims first to last together; all operands right-align with input 0. */
static bool normalize(RuleCall *call, int first, int last, Error *err)
{
    DimUse use[DIMS_MAX] = {DIM_MAP};
    for (int d = first; d <= last; d++)
        use[d] = DIM_FROZEN;
    return dims_space(call, call->shape[0], use, NULL, err);
}

/* Before opset 13 the softmax is over all dims from axis (default 1) on. */
static bool softmax(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int axis, last;
    if (!args_rank(call, 0, 1, DIMS_MAX, err) ||
        !args_axis(args_int(call, "axis", call->opset < 13 ? 1 : -1), from->n_dims, &axis, err))
        return false;
    last = call->opset < 13 ? (int)from->n_dims - 1 : axis;
    call->out_shape[0] = *from;
    call->out_dtype[0] = call->dtype[0];
    return normalize(call, axis, last, err);
}

/* Scale and bias broadcast onto the input, never the other way. */
static bool operands_fit(const RuleCall *call, Error *err)
{
    Shape common;
    if (!args_broadcast(call->shape, call->n_inputs, &common, err))
        return false;
    return shape_equal(&common, call->shape[0]) ||
           error_set(err, "its input 1 or 2 is larger than its input 0");
}

/* The other outputs, mean and 1 / standard deviation, keep the normalized dims with size 1. */
static bool layer_norm(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int axis;
    Dtype stash;
    if (!args_axis(args_int(call, "axis", -1), from->n_dims, &axis, err) ||
        !args_dtype(call, "stash_type", DT_F32, &stash, err) || !operands_fit(call, err))
        return false;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = *from;
        for (int64_t d = axis; o > 0 && d < from->n_dims; d++)
            call->out_shape[o].dim[d] = 1;
        call->out_dtype[o] = o > 0 ? stash : call->dtype[0];
    }
    return normalize(call, axis, (int)from->n_dims - 1, err);
}

#define FAMILY "norm"

const Operator operators_norm[] = {
    {OP("Softmax", softmax, 8, 1, 1), GRADIENT("0: SoftmaxBackward(y0)"),
     .flags = OPERATOR_EARLY | OPERATOR_CHOOSES | OPERATOR_ATTENDS, ONNX("axis", ".f"),
     .kernel = "Softmax", .examples = "5x6x4 axis=1", NNSCALER("softmax(dim=axis)"),
     TORCH("softmax(dim=axis) _softmax(dim=axis) _safe_softmax(dim=axis)"), PADDLE("softmax"),
     .paddle = "softmax", .dtensor = "softmax _softmax"},
    {OP("LogSoftmax", softmax, 8, 1, 1), GRADIENT("0: LogSoftmaxBackward(y0)"),
     .flags = OPERATOR_EARLY | OPERATOR_CHOOSES, ONNX("axis", ".f"), .kernel = "LogSoftmax",
     .examples = "5x6x4 axis=1", NNSCALER("log_softmax(dim=axis)"),
     TORCH("log_softmax(dim=axis) _log_softmax(dim=axis)"), PADDLE("log_softmax"),
     .paddle = "softmax", .dtensor = "softmax _log_softmax"},
    {OP("Hardmax", softmax, 2, 1, 1), GRADIENT("0: zero"),
     .flags = OPERATOR_EARLY | OPERATOR_CHOOSES, ONNX("axis", ".f"), .kernel = "Hardmax",
     .examples = "5x6x4 axis=1"},
    {OP("LayerNormalization", layer_norm, 8, 2, 3),
     GRADIENT("0: LayerNormalizationBackward(x0 x1); 1: LayerNormalizationBackward(x0); 2: "
              "LayerNormalizationBackward"),
     EARLY, .outputs_max = 3, ONNX("axis epsilon stash_type", "Af Af Af"),
     .kernel = "LayerNormalization", .examples = "5x6x4,4,4 axis=-1 -> 3; 5x6x4,6x4 axis=1 -> 1",
     .paddle = "layer_norm", .dtensor = "norm native_layer_norm",
     PADDLE_CALLS("layer_norm: 5x6x4,4,4 axis=-1 -> 3 | begin_norm_axis=2; 5x6,6,6 axis=1 -> 3 | "
                  "begin_norm_axis=1; fast_layer_norm: 5x6x4,4,4 axis=-1 -> 3"),
     TORCH_CALLS("native_layer_norm: 5x6x4,4,4 axis=-1 -> 3 | normalized_shape=[4]; layer_norm: "
                 "5x6x4,6x4,6x4 axis=1 | normalized_shape=[6,4]")},
    {OP("SimplifiedLayerNormalization", layer_norm, 6, 2, 2),
     GRADIENT("0: RMSNormalizationBackward(x0 x1); 1: RMSNormalizationBackward(x0)"), EARLY,
     .outputs_max = 2, OWN("axis epsilon stash_type", ".f .f"), .kernel = "RMSNormalization",
     .examples = "5x6x4,4 -> 2", .paddle = "rms_norm", .dtensor = "norm _fused_rms_norm",
     PADDLE_CALLS("rms_norm fused_rms_norm: 5x6x4,4 -> 2"),
     TORCH_CALLS("_fused_rms_norm: 5x6x4,4 -> 2 | normalized_shape=[4]")},
    {OP("RMSNormalization", layer_norm, 6, 2, 2),
     GRADIENT("0: RMSNormalizationBackward(x0 x1); 1: RMSNormalizationBackward(x0)"), EARLY,
     ONNX("axis epsilon stash_type", ".f .f"), .kernel = "RMSNormalization",
     .examples = "5x6x4,4 axis=-1", .paddle = "rms_norm", .dtensor = "norm _fused_rms_norm",
     TORCH_CALLS("rms_norm: 5x6x4,4 axis=-1 | normalized_shape=[4]")},
    {0},
};
