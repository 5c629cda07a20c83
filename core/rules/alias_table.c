#include "core/rules/alias.h"

#include <stddef.h>

/* ORDER SYSTEM: nnScaler, torch, Paddle, StableHLO. */
#define ROW(operator_, nnscaler, torch, paddle, stablehlo)                                         \
    {                                                                                              \
        operator_,                                                                                 \
        {                                                                                          \
            nnscaler, torch, paddle, stablehlo                                                     \
        }                                                                                          \
    }

/* Names from nnScaler's functions, torch's aten operators, Paddle's rules for automatic parallelism
 * and the operators of StableHLO. In-place forms (`add_`) and overloads without a row of their own
 * are found by their plain name. */
const AliasRow alias_table[] = {
    /* one operand, element by element */
    ROW("Abs", "abs", "abs", "abs", "abs"),
    ROW("Acos", NULL, "acos arccos", "acos", NULL),
    ROW("Acosh", NULL, "acosh arccosh", "acosh", NULL),
    ROW("Asin", NULL, "asin arcsin", "asin", NULL),
    ROW("Asinh", NULL, "asinh arcsinh", "asinh", NULL),
    ROW("Atan", NULL, "atan arctan", "atan", NULL),
    ROW("Atanh", NULL, "atanh arctanh", "atanh", NULL),
    ROW("BitwiseNot", "bitwise_not", "bitwise_not", "bitwise_not", "not"),
    ROW("Cbrt", NULL, NULL, NULL, "cbrt"),
    ROW("Ceil", "ceil", "ceil", "ceil", "ceil"),
    ROW("Celu", NULL, "celu", "celu", NULL),
    ROW("Cos", "cos", "cos", "cos", "cosine"),
    ROW("Cosh", NULL, "cosh", "cosh", NULL),
    ROW("Conj", NULL, "conj _conj conj_physical resolve_conj", "conj", NULL),
    ROW("Digamma", NULL, "digamma psi", "digamma", NULL),
    ROW("Elu", NULL, "elu", "elu", NULL),
    ROW("Erf", "erf", "erf", "erf", NULL),
    ROW("Erfc", NULL, "erfc", NULL, NULL),
    ROW("Erfinv", NULL, "erfinv", "erfinv", NULL),
    ROW("Exp", "exp", "exp", "exp", "exponential"),
    ROW("Exp2", NULL, "exp2", NULL, NULL),
    ROW("Expm1", NULL, "expm1", "expm1", "exponential_minus_one"),
    ROW("Floor", NULL, "floor", "floor", "floor"),
    ROW("Frac", NULL, "frac", NULL, NULL),
    ROW("Gelu", "gelu", "gelu", "gelu(approximate=approximate)", NULL),
    ROW("HardShrink", NULL, "hardshrink", "hardshrink", NULL),
    ROW("HardSigmoid", NULL, "hardsigmoid(;; alpha:=0.16666667)",
        "hardsigmoid(slope=alpha, offset=beta)", NULL),
    ROW("HardSwish", NULL, "hardswish", "hardswish", NULL),
    ROW("HardTanh", NULL, "hardtanh", "hardtanh", NULL),
    ROW("Identity", "clone contiguous detach identity",
        "clone alias detach contiguous lift_fresh positive to_dense "
        "wait_tensor",
        "assign share_data", "optimization_barrier"),
    ROW("ConvertType", "type type_as to long int float bool",
        "to _to_copy type_as long int float double half bfloat16 bool", "cast", "convert"),
    ROW("IsFinite", NULL, "isfinite", "isfinite", "is_finite"),
    ROW("IsInf", "isinf", "isinf", "isinf", NULL),
    ROW("IsNaN", "isnan", "isnan", "isnan", NULL),
    ROW("LeakyRelu", NULL, "leaky_relu(negative_slope=alpha)", "leaky_relu(negative_slope=alpha)",
        NULL),
    ROW("Lgamma", NULL, "lgamma", "lgamma", NULL),
    ROW("Log", "log", "log", "log", "log"),
    ROW("Log10", NULL, "log10", "log10", NULL),
    ROW("Log1p", NULL, "log1p", "log1p", "log_plus_one"),
    ROW("Log2", NULL, "log2", "log2", NULL),
    ROW("LogSigmoid", "logsigmoid", "logsigmoid log_sigmoid", "logsigmoid", NULL),
    ROW("Logit", NULL, "logit", "logit", NULL),
    ROW("Mish", NULL, "mish", "mish", NULL),
    ROW("NanToNum", "nan_to_num", "nan_to_num", NULL, NULL),
    ROW("Neg", "neg", "neg negative", NULL, "negate"),
    ROW("Not", NULL, "logical_not", "logical_not", NULL),
    ROW("PopCount", NULL, NULL, NULL, "popcnt"),
    ROW("Real", NULL, "real", "real", "real"),
    ROW("Imag", NULL, "imag", "imag", "imag"),
    ROW("Reciprocal", NULL, "reciprocal", "reciprocal", NULL),
    ROW("ReducePrecision", NULL, NULL, NULL, "reduce_precision"),
    ROW("Relu", "relu", "relu", "relu", NULL),
    ROW("Relu6", NULL, "relu6", "relu6", NULL),
    ROW("Round", NULL, "round", "round", "round_nearest_even"),
    ROW("RoundAway", NULL, NULL, NULL, "round_nearest_afz"),
    ROW("Rsqrt", "rsqrt", "rsqrt", "rsqrt", "rsqrt"),
    ROW("Scale", NULL, NULL, "scale", NULL),
    ROW("ScaledTanh", NULL, NULL, "stanh", NULL),
    ROW("Selu", NULL, "selu", "selu(scale=gamma)", NULL),
    ROW("Sigmoid", "sigmoid", "sigmoid", "sigmoid", "logistic"),
    ROW("Sign", "sign", "sign sgn", "sign", "sign"),
    ROW("Sin", "sin", "sin", "sin", "sine"),
    ROW("Sinh", NULL, "sinh", "sinh", NULL),
    ROW("Softplus", NULL, "softplus(beta=beta)", "softplus(beta=beta)", NULL),
    ROW("SoftShrink", NULL, "softshrink", "softshrink", NULL),
    ROW("Softsign", NULL, "softsign", "softsign", NULL),
    ROW("Sqrt", "sqrt", "sqrt", "sqrt", "sqrt"),
    ROW("Square", NULL, "square", "square", NULL),
    ROW("Swish", "silu", "silu", "silu swish", NULL),
    ROW("Tan", NULL, "tan", "tan", "tan"),
    ROW("Tanh", "tanh", "tanh", "tanh", "tanh"),
    ROW("TanhShrink", NULL, "tanhshrink", "tanh_shrink", NULL),
    ROW("ThresholdedRelu", NULL, "threshold(threshold=alpha)", "thresholded_relu(threshold=alpha)",
        NULL),
    ROW("Trunc", NULL, "trunc fix", "trunc", NULL),
    ROW("Clip", "clamp(min=min, max=max) clamp_min(min=min)",
        "clamp(min=min, max=max) clip(min=min, max=max) "
        "clamp_min(min=min) clamp_max(max=max)",
        "clip(min=min, max=max)", NULL),
    ROW("Dropout", "dropout", "dropout native_dropout feature_dropout", "dropout(; 0)", NULL),
    ROW("Poisson", NULL, "poisson", "poisson", NULL),
    ROW("Elementwise", NULL, NULL, "elementwise_unary elementwise_binary", NULL),

    /* several operands, element by element */
    ROW("Add", "add accum", "add", "add elementwise_add", "add"),
    ROW("AddScalar", NULL, "add.Scalar sub.Scalar rsub.Scalar rsub", NULL, NULL),
    ROW("Sub", "sub", "sub subtract rsub.Tensor(; 1,0)", "subtract elementwise_sub", "subtract"),
    ROW("Mul", "mul", "mul multiply", "multiply elementwise_mul", "multiply"),
    ROW("MulScalar", NULL, "mul.Scalar", NULL, NULL),
    ROW("Div", "div", "div true_divide", "divide elementwise_div", "divide"),
    ROW("DivScalar", NULL, "div.Scalar", NULL, NULL),
    ROW("FloorDiv", "floor_div", "floor_divide", "floor_divide", NULL),
    ROW("TruncDiv", NULL, NULL, "trunc_divide", NULL),
    ROW("Mod", NULL, "fmod(;; fmod:=1) fmod.Tensor(;; fmod:=1)", NULL, NULL),
    ROW("Remainder", NULL, "remainder remainder.Tensor", "remainder", "remainder"),
    ROW("RemainderScalar", "mod", "remainder.Scalar fmod.Scalar", NULL, NULL),
    ROW("Pow", NULL, "pow.Tensor_Tensor", "elementwise_pow", "power"),
    ROW("PowScalar", "pow", "pow pow.Tensor_Scalar pow.Scalar float_power", "pow", NULL),
    ROW("Max", NULL, "maximum max.other", "maximum", "maximum"),
    ROW("Min", NULL, "minimum min.other", "minimum", "minimum"),
    ROW("FMax", NULL, "fmax", "fmax", NULL),
    ROW("FMin", NULL, "fmin", "fmin", NULL),
    ROW("MaxScalar", NULL, "clamp_min.Scalar", NULL, NULL),
    ROW("MinScalar", NULL, "clamp_max.Scalar", NULL, NULL),
    ROW("Clamp", NULL, "clamp.Tensor clip.Tensor clamp_min.Tensor clamp_max.Tensor", NULL,
        "clamp(; 1,0,2)"),
    ROW("Atan2", NULL, "atan2 arctan2", "atan2", "atan2"),
    ROW("CopySign", NULL, "copysign", NULL, NULL),
    ROW("Gcd", NULL, "gcd", NULL, NULL),
    ROW("Lcm", NULL, "lcm", NULL, NULL),
    ROW("Heaviside", NULL, "heaviside", "heaviside", NULL),
    ROW("Hypot", NULL, "hypot", NULL, NULL),
    ROW("LogAddExp", NULL, "logaddexp logaddexp2", NULL, NULL),
    ROW("NextAfter", NULL, "nextafter", NULL, NULL),
    ROW("XLogY", NULL, "xlogy", NULL, NULL),
    ROW("And", NULL, "logical_and", "logical_and", NULL),
    ROW("Or", NULL, "logical_or", "logical_or", NULL),
    ROW("Xor", NULL, "logical_xor", "logical_xor", NULL),
    ROW("BitwiseAnd", NULL, "bitwise_and __and__", "bitwise_and", "and"),
    ROW("BitwiseOr", "bitwise_or", "bitwise_or __or__", "bitwise_or", "or"),
    ROW("BitwiseXor", NULL, "bitwise_xor __xor__", "bitwise_xor", "xor"),
    ROW("BitShift", NULL, "bitwise_left_shift(;; direction:=LEFT) __lshift__(;; direction:=LEFT)",
        NULL,
        "shift_left(;; direction:=LEFT) "
        "shift_right_logical(;; direction:=RIGHT)"),
    ROW("ShiftRight", NULL, "bitwise_right_shift __rshift__", NULL, "shift_right_arithmetic"),
    ROW("Equal", "eq", "eq", "equal", NULL),
    ROW("NotEqual", "ne", "ne not_equal", "not_equal", NULL),
    ROW("Less", "lt", "lt less", "less_than", NULL),
    ROW("LessOrEqual", "le", "le less_equal", "less_equal", NULL),
    ROW("Greater", "gt", "gt greater", "greater_than", NULL),
    ROW("GreaterOrEqual", "ge", "ge greater_equal", "greater_equal", NULL),
    ROW("Compare", NULL, NULL, NULL, "compare"),
    ROW("CompareScalar", NULL, "eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar", NULL,
        NULL),
    ROW("IsClose", NULL, "isclose", "isclose", NULL),
    ROW("Where", "where", "where", "where", "select"),
    ROW("Lerp", NULL, "lerp", "lerp", NULL),
    ROW("AddCMul", NULL, "addcmul", NULL, NULL),
    ROW("AddCDiv", NULL, "addcdiv", NULL, NULL),
    ROW("MaskedFill", "masked_fill", "masked_fill", NULL, NULL),
    ROW("CopyOnto", NULL, "copy_ copy", NULL, NULL),
    ROW("PRelu", NULL, "prelu _prelu_kernel", "prelu", NULL),
    ROW("LabelSmooth", NULL, NULL, "label_smooth", NULL),
    ROW("FusedDropoutAdd", NULL, NULL, "fused_dropout_add", NULL),
    ROW("Sum", NULL, NULL, "add_n", NULL),
    ROW("ForeachUnary", NULL,
        "_foreach_abs _foreach_ceil _foreach_cos _foreach_erf "
        "_foreach_exp _foreach_expm1 _foreach_floor _foreach_frac "
        "_foreach_log _foreach_log10 _foreach_log1p _foreach_log2 "
        "_foreach_neg _foreach_reciprocal _foreach_round _foreach_rsqrt "
        "_foreach_sigmoid _foreach_sign _foreach_sin _foreach_sqrt "
        "_foreach_tan _foreach_tanh _foreach_trunc _foreach_zero",
        NULL, NULL),
    ROW("ForeachBinary", NULL,
        "_foreach_add _foreach_sub _foreach_mul _foreach_div "
        "_foreach_pow _foreach_maximum _foreach_minimum "
        "_foreach_clamp_max _foreach_clamp_min _foreach_copy",
        NULL, NULL),
    ROW("ForeachNorm", NULL, "_foreach_norm", NULL, NULL),

    /* made, filled, drawn */
    ROW("FillLike", "fill zeros_like ones_like full_like",
        "zeros_like ones_like full_like empty_like fill zero fill_ zero_",
        "full_like zeros_like ones_like empty_like fill", NULL),
    ROW("NewFull", NULL, "new_full new_zeros new_ones new_empty new_empty_strided", NULL, NULL),
    ROW("Full", "zeros ones empty full", "zeros ones empty full empty_strided", NULL, NULL),
    ROW("Arange", "arange", "arange arange.start arange.start_step", NULL, NULL),
    ROW("Linspace", "linspace", "linspace", NULL, NULL),
    ROW("Eye", "eye", "eye", NULL, NULL),
    ROW("RandomNormal", "randn(size=shape)", "randn(size=shape)", NULL, NULL),
    ROW("RandomUniform", "rand(size=shape)", "rand(size=shape)", NULL, NULL),
    ROW("RandomNormalLike", "randn_like", "randn_like normal_ normal", NULL, NULL),
    ROW("RandomUniformLike", "rand_like", "rand_like uniform_ uniform exponential_ random_", NULL,
        NULL),
    ROW("Bernoulli", NULL, "bernoulli(; 0) bernoulli_(; 0)", "bernoulli", NULL),
    ROW("Multinomial", NULL, "multinomial(num_samples=sample_size;; dtype:=7)",
        "multinomial(num_samples=sample_size;; dtype:=7)", NULL),

    /* folded */
    ROW("ReduceSum", "sum(dim=axes, keepdim=keepdims;; keepdims:=0)",
        "sum(dim=axes, keepdim=keepdims;; keepdims:=0) "
        "nansum(dim=axes, keepdim=keepdims;; keepdims:=0)",
        "sum(axis=axes, keepdim=keepdims;; keepdims:=0) "
        "reduce_sum(axis=axes, keepdim=keepdims;; keepdims:=0) "
        "reduce_base(axis=axes, keepdim=keepdims;; keepdims:=0)",
        NULL),
    ROW("ReduceMean", "mean(dim=axes, keepdim=keepdims;; keepdims:=0)",
        "mean(dim=axes, keepdim=keepdims;; keepdims:=0)",
        "mean(axis=axes, keepdim=keepdims;; keepdims:=0) "
        "mean_all(;; keepdims:=0)",
        NULL),
    ROW("ReduceMax", NULL,
        "amax(dim=axes, keepdim=keepdims;; keepdims:=0) "
        "max(dim=axes, keepdim=keepdims;; keepdims:=0)",
        "max(axis=axes, keepdim=keepdims;; keepdims:=0) "
        "reduce_max(axis=axes, keepdim=keepdims;; keepdims:=0) "
        "amax(axis=axes, keepdim=keepdims;; keepdims:=0)",
        NULL),
    ROW("ReduceMin", NULL,
        "amin(dim=axes, keepdim=keepdims;; keepdims:=0) "
        "min(dim=axes, keepdim=keepdims;; keepdims:=0)",
        "min(axis=axes, keepdim=keepdims;; keepdims:=0) "
        "reduce_min(axis=axes, keepdim=keepdims;; keepdims:=0) "
        "amin(axis=axes, keepdim=keepdims;; keepdims:=0)",
        NULL),
    ROW("ReduceProd", "prod(dim=axes, keepdim=keepdims;; keepdims:=0)",
        "prod(dim=axes, keepdim=keepdims;; keepdims:=0)",
        "prod(axis=axes, keepdim=keepdims;; keepdims:=0) "
        "reduce_prod(axis=axes, keepdim=keepdims;; keepdims:=0)",
        NULL),
    ROW("ReduceLogSumExp", "logsumexp(dim=axes, keepdim=keepdims;; keepdims:=0)",
        "logsumexp(dim=axes, keepdim=keepdims;; keepdims:=0)",
        "logsumexp(axis=axes, keepdim=keepdims;; keepdims:=0)", NULL),
    ROW("ReduceL2", NULL, "frobenius_norm(dim=axes, keepdim=keepdims;; keepdims:=0)",
        "frobenius_norm(axis=axes, keepdim=keepdims;; keepdims:=0)", NULL),
    ROW("ReduceSumSquare", NULL, NULL, "squared_l2_norm(axis=axes, keepdim=keepdims;; keepdims:=0)",
        NULL),
    ROW("ReduceAll", NULL, "all(dim=axes, keepdim=keepdims)", "all(axis=axes, keepdim=keepdims)",
        NULL),
    ROW("ReduceAny", "any(dim=axes, keepdim=keepdims)", "any(dim=axes, keepdim=keepdims)",
        "any(axis=axes, keepdim=keepdims)", NULL),
    ROW("Std", "std(dim=axes, keepdim=keepdims)", "std(dim=axes, keepdim=keepdims)", NULL, NULL),
    ROW("Var", "var(dim=axes, keepdim=keepdims)", "var(dim=axes, keepdim=keepdims)", NULL, NULL),
    ROW("VarMean", NULL, "var_mean(dim=axes, keepdim=keepdims)", NULL, NULL),
    ROW("VectorNorm", "norm(dim=axes, p=ord, keepdim=keepdims)",
        "linalg_vector_norm(dim=axes, keepdim=keepdims) "
        "norm(dim=axes, p=ord, keepdim=keepdims)",
        "p_norm(axis=axes, porder=ord, keepdim=keepdims)", NULL),
    ROW("NumElements", NULL, NULL, "numel", NULL),
    ROW("Histogram", NULL, "histc", NULL, NULL),
    ROW("Bucketize", NULL, "bucketize", "bucketize", NULL),
    ROW("SearchSorted", NULL, "searchsorted", "searchsorted", NULL),

    /* ordered, scanned */
    ROW("ArgMaxDim", "argmax(dim=axis, keepdim=keepdims)", "argmax(dim=axis, keepdim=keepdims)",
        "argmax", NULL),
    ROW("ArgMinDim", "argmin(dim=axis, keepdim=keepdims)", "argmin(dim=axis, keepdim=keepdims)",
        "argmin", NULL),
    ROW("MaxWithIndex", "max(dim=axis, keepdim=keepdims)", "max.dim(dim=axis, keepdim=keepdims)",
        NULL, NULL),
    ROW("MinWithIndex", "min(dim=axis, keepdim=keepdims)", "min.dim(dim=axis, keepdim=keepdims)",
        NULL, NULL),
    ROW("KthValue", NULL, "kthvalue(dim=axis, keepdim=keepdims)", "kthvalue(keepdim=keepdims)",
        NULL),
    ROW("MedianWithIndex", NULL,
        "median.dim(dim=axis, keepdim=keepdims) "
        "nanmedian.dim(dim=axis, keepdim=keepdims)",
        NULL, NULL),
    ROW("ModeWithIndex", NULL, "mode(dim=axis, keepdim=keepdims)", "mode(keepdim=keepdims)", NULL),
    ROW("TopK", "topk(dim=axis)", "topk(dim=axis)", "topk(k=k)", NULL),
    ROW("Sort", "sort(dim=axis)", "sort(dim=axis) msort(;; axis:=0)", "argsort", NULL),
    ROW("ArgSort", NULL, "argsort(dim=axis)", NULL, NULL),
    ROW("CumulativeSum", "cumsum(dim=axis)", "cumsum(dim=axis)", "cumsum", NULL),
    ROW("CumulativeProd", NULL, "cumprod(dim=axis)", "cumprod(dim=axis)", NULL),
    ROW("LogCumSumExp", NULL, "logcumsumexp(dim=axis)", "logcumsumexp", NULL),
    ROW("CumMax", NULL, "cummax(dim=axis)", "cummax", NULL),
    ROW("CumMin", NULL, "cummin(dim=axis)", "cummin", NULL),
    ROW("NonZero", NULL, NULL, "nonzero_static", NULL),
    ROW("NonZeroRows", "nonzero", "nonzero argwhere", "nonzero", NULL),
    ROW("Unique", NULL, NULL, "unique", NULL),
    ROW("Unique2", NULL, "unique2 _unique2 unique_dim", NULL, NULL),
    ROW("MaskedSelect", NULL, "masked_select", "masked_select", NULL),
    ROW("BinCount", NULL, "bincount", "bincount", NULL),

    /* normalized */
    ROW("Softmax", "softmax(dim=axis)",
        "softmax(dim=axis) _softmax(dim=axis) _safe_softmax(dim=axis)", "softmax", NULL),
    ROW("LogSoftmax", "log_softmax(dim=axis)", "log_softmax(dim=axis) _log_softmax(dim=axis)",
        "log_softmax", NULL),
    ROW("LayerNormStats", "layer_norm", "layer_norm native_layer_norm",
        "layer_norm(begin_norm_axis=axis;; stats_keepdims:=0) "
        "fast_layer_norm(;; stats_keepdims:=0)",
        NULL),
    ROW("RmsNormStats", "rms_norm", "rms_norm _fused_rms_norm",
        "rms_norm(;; stats_keepdims:=0) fused_rms_norm(;; stats_keepdims:=0)", NULL),
    ROW("GroupNormStats", "group_norm(num_groups=groups)",
        "native_group_norm(group=groups) group_norm(num_groups=groups)", "group_norm", NULL),
    ROW("InstanceNormStats", NULL, "instance_norm", "instance_norm", NULL),
    ROW("BatchNormStats", NULL, "native_batch_norm(; 0,3,4,1,2) batch_norm(; 0,3,4,1,2)",
        "batch_norm", NULL),

    /* multiplied */
    ROW("MatMul", "matmul mm bmm dot", "matmul mm bmm mv dot vdot", NULL, "dot"),
    ROW("MatMulTrans", NULL, NULL, "matmul matmul_v2 bmm", NULL),
    ROW("Gemm", "addmm(; 1,2,0)", "addmm(; 1,2,0) addmv(; 1,2,0)", "addmm(; 1,2,0)", NULL),
    ROW("Baddbmm", "baddbmm", "baddbmm", "baddbmm", NULL),
    ROW("Outer", "outer", "outer ger", "outer", NULL),
    ROW("Linear", "linear", "linear", NULL, NULL),
    ROW("GemmEpilogue", NULL, NULL, "fused_gemm_epilogue linear_v2(transpose_weight=trans_y)",
        NULL),
    ROW("ScaledMatMul", NULL, "_scaled_mm scaled_mm", NULL, NULL),
    ROW("GroupedMatMul", NULL, "grouped_mm _grouped_mm _scaled_grouped_mm", NULL, NULL),
    ROW("LinearGradAdd", NULL, NULL, "fused_linear_param_grad_add", NULL),
    ROW("Einsum", "einsum", "einsum", "einsum", NULL),
    ROW("Conv",
        "conv1d(stride=strides, padding=pads, dilation=dilations, groups=group) "
        "conv2d(stride=strides, padding=pads, dilation=dilations, groups=group) "
        "conv3d(stride=strides, padding=pads, dilation=dilations, groups=group)",
        "convolution(stride=strides, padding=pads, dilation=dilations, groups=group) "
        "conv1d(stride=strides, padding=pads, dilation=dilations, groups=group) "
        "conv2d(stride=strides, padding=pads, dilation=dilations, groups=group) "
        "conv3d(stride=strides, padding=pads, dilation=dilations, groups=group)",
        "conv2d(paddings=pads, groups=group) "
        "conv3d(paddings=pads, groups=group) "
        "depthwise_conv2d(paddings=pads, groups=group)",
        NULL),
    ROW("ConvTranspose",
        "conv_transpose1d(stride=strides, padding=pads, dilation=dilations, groups=group) "
        "conv_transpose2d(stride=strides, padding=pads, dilation=dilations, groups=group)",
        "conv_transpose1d(stride=strides, padding=pads, dilation=dilations, groups=group) "
        "conv_transpose2d(stride=strides, padding=pads, dilation=dilations, groups=group) "
        "conv_transpose3d(stride=strides, padding=pads, dilation=dilations, groups=group)",
        "conv2d_transpose(paddings=pads, groups=group, output_size=output_shape)", NULL),
    ROW("MaxPool", NULL,
        "max_pool2d_with_indices(kernel_size=kernel_shape, stride=strides, padding=pads, "
        "dilation=dilations) "
        "max_pool2d(kernel_size=kernel_shape, stride=strides, padding=pads, dilation=dilations) "
        "max_pool1d(kernel_size=kernel_shape, stride=strides, padding=pads, dilation=dilations) "
        "max_pool3d(kernel_size=kernel_shape, stride=strides, padding=pads, dilation=dilations)",
        NULL, NULL),
    ROW("AveragePool", NULL,
        "avg_pool2d(kernel_size=kernel_shape, stride=strides, padding=pads, dilation=dilations) "
        "avg_pool1d(kernel_size=kernel_shape, stride=strides, padding=pads, dilation=dilations) "
        "avg_pool3d(kernel_size=kernel_shape, stride=strides, padding=pads, dilation=dilations)",
        NULL, NULL),
    ROW("UpsampleTo", NULL,
        "upsample_nearest1d upsample_nearest2d upsample_nearest3d "
        "upsample_bilinear2d upsample_bicubic2d upsample_linear1d "
        "upsample_trilinear3d",
        NULL, NULL),
    ROW("Unfold", "unfold", "im2col unfold",
        "unfold(kernel_sizes=kernel_size, strides=stride, paddings=padding, dilations=dilation)",
        NULL),
    ROW("RoiAlignBoxes", NULL, NULL, "roi_align", NULL),

    /* linear algebra, Fourier transforms */
    ROW("Inverse", "inverse", "linalg_inv inverse linalg_pinv", "inverse", NULL),
    ROW("Cholesky", NULL, "cholesky linalg_cholesky", "cholesky", "cholesky"),
    ROW("Eigh", NULL, "linalg_eigh _linalg_eigh", "eigh", NULL),
    ROW("Svd", "svd(;; columns_last:=1)", "svd(;; columns_last:=1) linalg_svd _linalg_svd", "svd",
        NULL),
    ROW("Qr", NULL, "qr linalg_qr", "qr", NULL),
    ROW("Solve", NULL, "linalg_solve linalg_solve_triangular(left=left_side)", "triangular_solve",
        "triangular_solve"),
    ROW("Det", NULL, "det linalg_det", "determinant", NULL),
    ROW("FftN", NULL, "_fft_c2c(dim=axes) fft_fftn(dim=axes) fft_ifftn(dim=axes)", "fft_c2c", NULL),
    ROW("ViewAsComplex", "view_as_complex", "view_as_complex", "as_complex", NULL),
    ROW("ViewAsReal", "view_as_real", "view_as_real", "as_real", NULL),
    ROW("Diagonal", NULL, "diagonal(dim1=axis1, dim2=axis2)", "diagonal", NULL),
    ROW("Diag", "diag(diagonal=offset)", "diag(diagonal=offset)", "diag", NULL),
    ROW("Trilu", "triu(;; upper:=1) tril(;; upper:=0)", "triu(;; upper:=1) tril(;; upper:=0)",
        "triu(;; upper:=1) tril(;; upper:=0) tril_triu triu_grad(;; upper:=1)", NULL),

    /* moved */
    ROW("Reshape", "reshape(;; allowzero:=1) view(size=shape, shape=shape;; allowzero:=1)",
        "reshape(shape=shape, size=shape, out_shape=shape;; allowzero:=1) "
        "view(shape=shape, size=shape, out_shape=shape;; allowzero:=1) "
        "_unsafe_view(shape=shape, size=shape, out_shape=shape;; allowzero:=1) "
        "_reshape_alias(shape=shape, size=shape, out_shape=shape;; allowzero:=1)",
        "reshape reshape2", NULL),
    ROW("ReshapeAs", NULL, "view_as reshape_as",
        "reshape_grad(; 1,0) flatten_grad(; 1,0) squeeze_grad(; 1,0) "
        "unsqueeze_grad(; 1,0)",
        NULL),
    ROW("FlattenDims", "flatten(start_dim=start_axis, end_dim=stop_axis)",
        "flatten(start_dim=start_axis, end_dim=stop_axis)", "flatten", NULL),
    ROW("SqueezeDims", "squeeze(dim=axes)", "squeeze(dim=axes)",
        "squeeze(axis=axes) squeeze2(axis=axes)", NULL),
    ROW("Unsqueeze", "unsqueeze(dim=axes)", "unsqueeze(dim=axes)",
        "unsqueeze(axis=axes) unsqueeze2(axis=axes)", NULL),
    ROW("Transpose", "permute(dims=perm)", "permute(dims=perm) t numpy_T", "transpose transpose2",
        "transpose(dims=perm)"),
    ROW("SwapAxes", "transpose(dim0=axis0, dim1=axis1)",
        "transpose(dim0=axis0, dim1=axis1) swapaxes "
        "swapdims(dim0=axis0, dim1=axis1)",
        NULL, NULL),
    ROW("MoveAxis", NULL, "movedim moveaxis", NULL, NULL),
    ROW("BroadcastTo", "expand(size=shape)",
        "expand(size=shape, out_shape=shape) "
        "broadcast_to(size=shape, out_shape=shape)",
        "expand expand_v2", NULL),
    ROW("ExpandAs", "expand_as", "expand_as", "expand_as expand_as_v2", NULL),
    ROW("Repeat", "repeat", "repeat tile(dims=repeats)", "tile(repeat_times=repeats)", NULL),
    ROW("RepeatInterleave", NULL, "repeat_interleave(dim=axis)", "repeat_interleave", NULL),
    ROW("Concat", "cat(dim=axis;; axis:=0)",
        "cat(dim=axis;; axis:=0) concat(dim=axis;; axis:=0) "
        "concatenate(dim=axis;; axis:=0)",
        "concat(axis=axis;; axis:=0)", "concatenate(dimension=axis)"),
    ROW("Stack", "stack(dim=axis)", "stack(dim=axis)", "stack", NULL),
    ROW("Split", NULL, "split_with_sizes(split_sizes=split, dim=axis)", NULL, NULL),
    ROW("Chunk", "split(split_size_or_sections=size, dim=axis) chunk(dim=axis)",
        "split(split_size=size, dim=axis) chunk(dim=axis)",
        "split(sections=size) split_with_num(num=chunks)", NULL),
    ROW("Unbind", "unbind(dim=axis)", "unbind(dim=axis)", "unbind unstack stack_grad", NULL),
    ROW("Slice", NULL,
        "slice(dim=axes, start=starts, end=ends, step=steps;; axes:=0, starts:=0, "
        "ends:=9223372036854775807, steps:=1)",
        "slice strided_slice(strides=steps)", NULL),
    ROW("Select", NULL, "select(dim=axis)", NULL, NULL),
    ROW("PartScatter", NULL, "slice_scatter(dim=axis) select_scatter(dim=axis)", "set_value", NULL),
    ROW("Roll", NULL, "roll(dims=axes)", "roll(axis=axes) roll_grad(axis=axes; 1)", NULL),
    ROW("Flip", NULL, "flip(dims=axes)", "flip(axis=axes)", "reverse(dims=axes)"),
    ROW("PadPairs", "pad", "constant_pad_nd(dim=axis) pad(dim=axis)", "pad", NULL),

    /* by position */
    ROW("Gather", "embedding(; 1,0) index_select(dim=axis)", "embedding index_select(dim=axis)",
        "embedding(; 1,0) lookup_table_v2(; 1,0) "
        "c_embedding(;; axis:=0) gather index_select",
        NULL),
    ROW("GatherElements", "gather(dim=axis; 0,2)", "gather(dim=axis) take_along_dim(dim=axis)",
        "take_along_axis", NULL),
    ROW("GatherND", NULL, NULL, "gather_nd", NULL),
    ROW("ScatterElements", NULL, "scatter_add(dim=axis;; reduction:=add)",
        "put_along_axis(axis=axis) take_along_axis_grad(;; reduction:=add)", NULL),
    ROW("ScatterSome", NULL, "scatter(dim=axis)", NULL, NULL),
    ROW("ScatterND", NULL, NULL,
        "scatter_nd_add(;; reduction:=add) gather_nd_grad(;; reduction:=add)", NULL),
    ROW("ScatterRows", NULL, NULL, "scatter", NULL),
    ROW("OneHot", NULL, "one_hot(num_classes=depth)", "one_hot(num_classes=depth)", NULL),
    ROW("Index", NULL, "index _unsafe_index", NULL, NULL),
    ROW("IndexPut", NULL, "index_put _unsafe_index_put _index_put_impl_", "index_put", NULL),
    ROW("IndexAdd", NULL, "index_add(dim=axis)", "index_add gather_grad index_select_grad", NULL),
    ROW("IndexCopy", NULL, "index_copy(dim=axis)", NULL, NULL),
    ROW("IndexFill", NULL, "index_fill(dim=axis)", NULL, NULL),

    /* fused */
    ROW("ScaledDotProductAttention", "scaled_dot_product_attention",
        "scaled_dot_product_attention "
        "_scaled_dot_product_flash_attention "
        "_scaled_dot_product_efficient_attention "
        "_scaled_dot_product_cudnn_attention "
        "_scaled_dot_product_attention_math",
        NULL, NULL),
    ROW("FlashAttention", NULL, NULL,
        "flash_attention(causal=is_causal) "
        "flashmask_attention(causal=is_causal; 0,1,2,4)",
        NULL),
    ROW("FusedRotaryEmbedding", NULL, NULL,
        "fused_rotary_position_embedding "
        "fused_rotary_position_embedding_grad(; 2,3,4,0,1,5)",
        NULL),
    ROW("Swiglu", NULL, NULL, "swiglu", NULL),
    ROW("MoeGateDispatch", NULL, NULL, "moe_gate_dispatch", NULL),
    ROW("MoeCombine", NULL, NULL, "moe_combine", NULL),
    ROW("SoftmaxCrossEntropyLoss", "cross_entropy", "cross_entropy cross_entropy_loss", NULL, NULL),
    ROW("NegativeLogLikelihoodLoss", "nll_loss",
        "nll_loss nll_loss_forward nll_loss2d_forward nll_loss_nd", "nll_loss", NULL),
    ROW("L1Loss", "l1_loss", "l1_loss", NULL, NULL),
    ROW("MseLoss", NULL, "mse_loss", NULL, NULL),
    ROW("Dist", NULL, "dist", "dist", NULL),
    ROW("CrossEntropyWithSoftmax", NULL, NULL,
        "cross_entropy_with_softmax softmax_with_cross_entropy "
        "c_softmax_with_cross_entropy "
        "c_softmax_with_multi_label_cross_entropy",
        NULL),
    ROW("AdamStep", NULL, NULL, "adam adamw", NULL),
    ROW("SgdStep", NULL, NULL, "sgd", NULL),
    ROW("CheckFiniteAndUnscale", NULL, NULL, "check_finite_and_unscale", NULL),

    /* gradients */
    ROW("ElementwiseGrad", NULL,
        "threshold_backward gelu_backward sigmoid_backward "
        "tanh_backward silu_backward mish_backward elu_backward "
        "leaky_relu_backward hardtanh_backward hardsigmoid_backward "
        "hardswish_backward softplus_backward logit_backward "
        "native_dropout_backward",
        "relu_grad gelu_grad clip_grad pow_grad round_grad mish_grad "
        "elu_grad selu_grad celu_grad stanh_grad softplus_grad "
        "softshrink_grad thresholded_relu_grad logit_grad dropout_grad "
        "cast_grad elementwise_unary_grad abs_grad acos_grad acosh_grad "
        "asin_grad asinh_grad atan_grad atanh_grad ceil_grad cos_grad "
        "cosh_grad digamma_grad erf_grad erfinv_grad exp_grad "
        "expm1_grad floor_grad hardshrink_grad hardsigmoid_grad "
        "hardswish_grad hardtanh_grad leaky_relu_grad lgamma_grad "
        "log_grad log10_grad log1p_grad log2_grad logsigmoid_grad "
        "reciprocal_grad relu6_grad rsqrt_grad sigmoid_grad silu_grad "
        "sin_grad sinh_grad softsign_grad sqrt_grad square_grad "
        "swish_grad tan_grad tanh_grad tanh_shrink_grad trunc_grad "
        "scale_grad label_smooth_grad",
        NULL),
    ROW("BroadcastGrad", NULL, NULL,
        "add_grad subtract_grad multiply_grad divide_grad maximum_grad "
        "minimum_grad fmax_grad fmin_grad elementwise_add_grad "
        "elementwise_sub_grad elementwise_mul_grad elementwise_div_grad "
        "elementwise_pow_grad swiglu_grad expand_grad expand_as_grad "
        "expand_as_v2_grad",
        NULL),
    ROW("WhereGrad", NULL, NULL, "where_grad", NULL),
    ROW("SoftmaxGrad", NULL,
        "_softmax_backward_data(dim=axis) _log_softmax_backward_data(dim=axis)",
        "softmax_grad log_softmax_grad", NULL),
    ROW("CumSumGrad", NULL, NULL, "cumsum_grad(; 1)", NULL),
    ROW("ChosenGrad", NULL, NULL,
        "argsort_grad(; 1,0,2) topk_grad cummax_grad cummin_grad "
        "kthvalue_grad cross_entropy_with_softmax_grad(; 1,0,2) "
        "c_softmax_with_cross_entropy_grad(; 0,1,2) "
        "c_softmax_with_multi_label_cross_entropy_grad(; 0,1,3)",
        NULL),
    ROW("ReduceGrad", NULL, NULL,
        "sum_grad(axis=axes) mean_grad(axis=axes) "
        "reduce_sum_grad(axis=axes) prod_grad(axis=axes) mean_all_grad "
        "max_grad(axis=axes; 0,2) min_grad(axis=axes; 0,2) "
        "amax_grad(axis=axes; 0,2) amin_grad(axis=axes; 0,2) "
        "logsumexp_grad(axis=axes; 0,2) p_norm_grad(axis=axes; 0,2)",
        NULL),
    ROW("NormGrad", NULL,
        "native_layer_norm_backward(; 1,0,2,3,4,5) "
        "_fused_rms_norm_backward(; 1,0,2,3)",
        "layer_norm_grad(begin_norm_axis=axis) rms_norm_grad "
        "fused_rms_norm_grad",
        NULL),
    ROW("MatMulGrad", NULL, NULL, "matmul_grad matmul_v2_grad bmm_grad", NULL),
    ROW("EmbeddingGrad", NULL, "embedding_dense_backward",
        "c_embedding_grad(; 2,1,0) embedding_grad(; 2,0,1) "
        "lookup_table_v2_grad(; 2,0,1)",
        NULL),
    ROW("ConcatGrad", NULL, NULL, "concat_grad", NULL),
    ROW("SliceGrad", NULL, NULL, "slice_grad strided_slice_grad", NULL),
    ROW("RepeatGrad", NULL, NULL, "tile_grad", NULL),
    ROW("AttentionGrad", NULL, NULL, "flash_attention_grad flashmask_attention_grad", NULL),
    ROW("TransposeBack", NULL, NULL, "transpose_grad", NULL),
    ROW("WholeGrad", NULL, NULL,
        "conv2d_grad conv3d_grad depthwise_conv2d_grad "
        "conv2d_transpose_grad group_norm_grad instance_norm_grad "
        "batch_norm_grad einsum_grad roi_align_grad",
        NULL),
    ROW("PartGrad", NULL, "slice_backward(dim=axis) select_backward(dim=axis)", NULL, NULL),
    ROW("LossGrad", NULL, "nll_loss_backward nll_loss2d_backward", NULL, NULL),
    {NULL, {NULL}},
};
