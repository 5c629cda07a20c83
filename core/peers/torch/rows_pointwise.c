/* rows_pointwise.c - strategies of elementwise operators: one index dim for each dim of the
 * broadcast shape.
 *
 * What may stay partial depends on the operator: linear in one input, in all together, or monotone
 * (it then commutes with a maximum over ranks).
 */
#include "core/peers/torch/family.h"

/* The broadcast shape of all inputs except `out`. */
static bool broadcast(const StrategyCall *call, int out, Shape *common, Error *err)
{
    *common = (Shape){0};
    for (int i = 0; i < call->n_inputs; i++)
        if (i != out && call->input[i].shape.n_dims > common->n_dims)
            common->n_dims = call->input[i].shape.n_dims;
    for (int64_t d = 0; d < common->n_dims; d++)
        common->dim[d] = 1;
    for (int i = 0; i < call->n_inputs; i++) {
        const Shape *shape = &call->input[i].shape;
        int64_t shift = common->n_dims - shape->n_dims;
        for (int64_t d = 0; i != out && d < shape->n_dims; d++) {
            int64_t *size = &common->dim[shift + d];
            if (*size != 1 && shape->dim[d] != 1 && *size != shape->dim[d])
                return error_set(err, "%s: input %d does not broadcast with the others", call->op,
                                 i);
            *size = *size == 1 ? shape->dim[d] : *size;
        }
    }
    return true;
}

static void align(OpSpace *space, int operand, const Shape *shape, const Shape *common)
{
    int64_t shift = common->n_dims - shape->n_dims;
    for (int64_t d = 0; d < shape->n_dims; d++)
        if (shape->dim[d] == common->dim[shift + d])
            strategy_unit(space, operand, (int)d, (int)(shift + d));
}

/* data: "2" if the operator has two outputs. */
static bool pointwise(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err)
{
    Shape common;
    int out = (int)strategy_int(call, "out_arg", -1);
    if (!strategy_need(call, 1, err) || !broadcast(call, out, &common, err))
        return false;
    strategy_rows_begin(call, op->data ? 2 : 1, rows);
    rows->out = out >= 0 && out < call->n_inputs ? out : -1;
    OpSpace *space = strategy_space(call, rows->n_outputs);
    for (int64_t d = 0; d < common.n_dims; d++)
        strategy_index(space, common.dim[d], REDUCE_NONE);
    for (int i = 0; i < call->n_inputs; i++)
        if (strategy_has_input(call, i))
            align(space, i, i == rows->out ? &common : &call->input[i].shape, &common);
    for (int i = 0; i < rows->n_outputs; i++)
        align(space, strategy_output(space, i), &common, &common);
    strategy_rows_of_space(space, rows);
    if (rows->out < 0)
        strategy_rows_text(rows, op->partial);
    return true;
}

#define LINEAR "P(sum)->P(sum); P(avg)->P(avg)"
#define GROWING "P(max)->P(max); P(min)->P(min)"
#define FALLING "P(max)->P(min); P(min)->P(max)"
#define NUMERATOR LINEAR "; P(sum),R->P(sum); P(avg),R->P(avg)"
#define MONOTONE "P(max),R->P(max); R,P(max)->P(max); P(min),R->P(min); R,P(min)->P(min)"

const StrategyOp ops_pointwise[] = {
    {"add sub", pointwise, NULL,
     "P(sum),P(sum)->P(sum); P(avg),P(avg)->P(avg); P(avg),R->P(avg); P(max),R->P(max); "
     "P(min),R->P(min); R,P(avg)->P(avg)",
     OP_UNEVEN, NULL},
    {"div.Tensor_mode div.Scalar_mode div_.Tensor_mode div_.Scalar_mode", pointwise, NULL, NULL,
     OP_UNEVEN, NULL},
    {"mul", pointwise, NULL, NUMERATOR "; R,P(sum)->P(sum); R,P(avg)->P(avg)", OP_UNEVEN, NULL},
    {"div", pointwise, NULL, NUMERATOR, OP_UNEVEN, NULL},
    {"neg", pointwise, NULL, LINEAR "; " FALLING, OP_UNEVEN, NULL},
    {"positive to to.dtype", pointwise, NULL, LINEAR "; " GROWING, OP_UNEVEN, NULL},
    {"copy copy_", pointwise, NULL,
     "P(sum),P(sum)->P(sum); P(avg),P(avg)->P(avg); P(max),P(max)->P(max); P(min),P(min)->P(min)",
     OP_UNEVEN, NULL},
    {"special_xlog1py", pointwise, NULL, "P(sum),R->P(sum); P(avg),R->P(avg)", OP_UNEVEN, NULL},
    {"clamp_max_.Tensor clamp_min_.Tensor _foreach_clamp_max_.ScalarList "
     "_foreach_clamp_min_.ScalarList",
     pointwise, NULL, NULL, OP_UNEVEN, NULL},
    {"asinh atan ceil deg2rad erf exp exp2 expm1 floor rad2deg relu round sgn sigmoid sign sinh "
     "tanh trunc nan_to_num hardshrink special_modified_bessel_i1 threshold "
     "_foreach_clamp_max_.Scalar _foreach_clamp_min_.Scalar",
     pointwise, NULL, GROWING, OP_UNEVEN, NULL},
    {"erfc special_erfcx", pointwise, NULL, FALLING, OP_UNEVEN, NULL},
    {"special_modified_bessel_k0 special_modified_bessel_k1 special_scaled_modified_bessel_k0 "
     "special_scaled_modified_bessel_k1",
     pointwise, NULL, "P(min)->P(max)", OP_UNEVEN, NULL},
    {"logaddexp logaddexp2", pointwise, NULL, MONOTONE, OP_UNEVEN, NULL},
    {"maximum fmax clamp_min max.other", pointwise, NULL, MONOTONE "; P(max),P(max)->P(max)",
     OP_UNEVEN, NULL},
    {"minimum fmin clamp_max min.other", pointwise, NULL, MONOTONE "; P(min),P(min)->P(min)",
     OP_UNEVEN, NULL},
    {"frexp", pointwise, "2", NULL, OP_UNEVEN, NULL},
    {"hardswish", pointwise, NULL, NULL, 0, NULL},
    {"__ilshift__ __irshift__ __ixor__ __lshift__ __rshift__ __xor__ _conj abs acos acosh "
     "addcdiv addcmul angle asin atan2 atanh bitwise_and bitwise_left_shift bitwise_not "
     "bitwise_or bitwise_right_shift bitwise_xor celu clamp clip conj_physical copysign cos "
     "cosh digamma elu eq erfinv float_power fmod frac gcd ge gelu gelu_backward gt "
     "hardsigmoid hardtanh heaviside hypot i0 igamma igammac isfinite isinf isnan isneginf "
     "isposinf lcm ldexp le leaky_relu lerp lgamma log log10 log1p log2 logical_and "
     "logical_not logical_or logical_xor logit logit_backward lt masked_fill "
     "mish mvlgamma native_dropout_backward ne nextafter polygamma pow reciprocal relu6 remainder "
     "rrelu_with_noise rsqrt rsub selu sigmoid_backward signbit silu silu_backward sin sinc "
     "softplus softshrink special_airy_ai special_bessel_j0 special_bessel_j1 special_bessel_y0 "
     "special_bessel_y1 special_chebyshev_polynomial_t special_chebyshev_polynomial_u "
     "special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_entr "
     "special_hermite_polynomial_h special_hermite_polynomial_he special_i0e special_i1 "
     "special_i1e special_laguerre_polynomial_l special_legendre_polynomial_p "
     "special_log_ndtr special_modified_bessel_i0 special_ndtri "
     "special_shifted_chebyshev_polynomial_t special_shifted_chebyshev_polynomial_u "
     "special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w "
     "special_spherical_bessel_j0 special_zeta sqrt square tan tanh_backward "
     "threshold_backward true_divide where xlogy _foreach_zero_",
     pointwise, NULL, NULL, OP_UNEVEN, NULL},
    {0},
};
