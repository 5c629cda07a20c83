/* pointwise.c - element-wise operators that ONNX does not have, tensors with the shape of another
 * one, and torch's foreach operators on lists.
 *
 *     Rsqrt        d0 d1 -> d0 d1
 *     Atan2        d0 d1, d1 -> d0 d1
 *     NewFull      4 8 -> n0 n1               its own shape; the input gives the type
 *     ForeachAdd   a0 a1, b0, a0 a1, b0 -> a0 a1, b0
 *
 * Those with Scalar in their name take the second operand as an attribute.
 */
#include "core/rules/operators/dims.h"

#include <inttypes.h>

/* ---- one element from one of each operand ---- */

static bool same(RuleCall *call, Error *err)
{
    return dims_pointwise(call, call->dtype[0], err);
}

static bool truth(RuleCall *call, Error *err)
{
    return dims_pointwise(call, DT_BOOL, err);
}

static bool linear(RuleCall *call, Error *err)
{
    if (!same(call, err))
        return false;
    call->space->operand[0].linear = LINEAR_ALONE;
    return true;
}

static bool div_scalar(RuleCall *call, Error *err)
{
    return dtype_is_float(call->dtype[0]) ? linear(call, err) : same(call, err);
}

/* Converts to the type `dtype` (as ONNX's number); by default that of the input. */
static bool convert(RuleCall *call, Error *err)
{
    Dtype dtype;
    return args_dtype(call, "dtype", call->dtype[0], &dtype, err) &&
           dims_pointwise(call, dtype, err);
}

/* x * scale + bias */
static bool scale(RuleCall *call, Error *err)
{
    double bias = args_float(call, "bias", 0);
    return bias < 0 || bias > 0 ? same(call, err) : linear(call, err);
}

static bool part_of_complex(RuleCall *call, Error *err)
{
    Dtype from = call->dtype[0];
    Dtype dtype = from == DT_C64 ? DT_F32 : from == DT_C128 ? DT_F64 : from;
    if (!dims_pointwise(call, dtype, err))
        return false;
    call->space->operand[0].linear = LINEAR_ALONE;
    return true;
}

/* A weighted average of two tensors; linear in both if the weight, the third, is one element or an
 * attribute. */
static bool blend(RuleCall *call, Error *err)
{
    if (!same(call, err))
        return false;
    bool one_weight = !args_has(call, 2) || shape_elements(call->shape[2]) == 1;
    for (int i = 0; i < 2 && one_weight; i++)
        if (shape_equal(call->shape[0], call->shape[1]))
            call->space->operand[i].linear = LINEAR_TOGETHER;
    return true;
}

/* Operands from 1 on broadcast to the shape of operand 0, which is updated in place. */
static bool onto_first(RuleCall *call, Dtype dtype, Error *err)
{
    Shape common;
    if (!args_broadcast(call->shape, call->n_inputs, &common, err))
        return false;
    if (!shape_equal(&common, call->shape[0]))
        return error_set(err, "an input is larger than its input 0");
    dims_answer(call, &common, dtype);
    return dims_space(call, &common, NULL, NULL, err);
}

static bool copy_onto(RuleCall *call, Error *err)
{
    if (!onto_first(call, call->dtype[0], err))
        return false;
    if (shape_equal(call->shape[0], call->shape[1]))
        call->space->operand[1].linear = LINEAR_ALONE;
    return true;
}

/* The second output is the mask, or a random state, which is whole. */
static bool dropout_add(RuleCall *call, Error *err)
{
    if (!args_broadcast(call->shape, 2, &call->out_shape[0], err))
        return false;
    call->out_dtype[0] = call->dtype[0];
    if (call->n_outputs > 1) {
        call->out_shape[1] = (Shape){.n_dims = 1, .dim = {2}};
        call->out_dtype[1] = DT_I64;
    }
    return dims_space(call, &call->out_shape[0], NULL, NULL, err);
}

/* ---- shapes given, numbers not looked at ---- */

/* Makes any value with the shape of input 0 and the type `dtype`. */
static bool fill_like(RuleCall *call, Error *err)
{
    Dtype dtype;
    if (!args_dtype(call, "dtype", call->dtype[0], &dtype, err))
        return false;
    dims_answer(call, call->shape[0], dtype);
    return dims_space(call, call->shape[0], NULL, NULL, err);
}

static bool read_size(const RuleCall *call, Shape *out, Error *err)
{
    Ints size;
    *out = (Shape){0};
    if (!args_ints(call, -1, "size", &size, err))
        return false;
    if (!size.given)
        return error_set(err, "it has no size");
    if (size.n > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    out->n_dims = size.n;
    for (int d = 0; d < size.n; d++)
        if ((out->dim[d] = size.at[d]) < 0)
            return error_kind(err, ERROR_OUT_OF_RANGE, "dim %d has the size %" PRId64, d,
                              size.at[d]);
    return true;
}

/* Has a given shape; dims with the same size as input 0's follow it. */
static bool fill_new(RuleCall *call, Error *err)
{
    Dtype fallback = call->n_inputs > 0 ? call->dtype[0] : DT_F32;
    if (!read_size(call, &call->out_shape[0], err) ||
        !args_dtype(call, "dtype", fallback, &call->out_dtype[0], err))
        return false;
    const Shape *out = &call->out_shape[0];
    if (call->n_inputs > 0 && shape_equal(out, call->shape[0]))
        return dims_space(call, out, NULL, NULL, err);
    OpSpace *space = rule_space(call, err);
    for (int d = 0; space && d < out->n_dims; d++)
        rule_unit(rule_output(space, 0), d, rule_index_at(call, 'n', d, out->dim[d]));
    return space;
}

/* Numbers that depend only on their index: every rank makes all of them. */
static bool ramp(RuleCall *call, int64_t n, Dtype fallback, Error *err)
{
    if (n < 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "it has %" PRId64 " numbers", n);
    call->out_shape[0] = (Shape){.n_dims = 1, .dim = {n}};
    return args_dtype(call, "dtype", fallback, &call->out_dtype[0], err) && rule_space(call, err);
}

static bool is_fraction(const RuleCall *call, const char *attr)
{
    const Attr *given = args_attr(call, attr);
    return given && given->type == ATTR_FLOAT;
}

/* Integers, unless one of start, limit or step is a float. */
static bool count_up(RuleCall *call, Error *err)
{
    double step = args_float(call, "step", 1);
    double reach = (args_float(call, "end", 0) - args_float(call, "start", 0)) / step;
    int64_t n = reach > 0 && reach < 0x1p53 ? (int64_t)reach : 0;
    if (!(reach < 0x1p53))
        return error_set(err, "its step is 0, or its end too far");
    bool fraction =
        is_fraction(call, "start") || is_fraction(call, "end") || is_fraction(call, "step");
    return ramp(call, (double)n < reach ? n + 1 : n, fraction ? DT_F32 : DT_I64, err);
}

static bool linspace(RuleCall *call, Error *err)
{
    return ramp(call, args_int(call, "steps", 100), DT_F32, err);
}

static bool eye(RuleCall *call, Error *err)
{
    int64_t n = args_int(call, "n", 0), m = args_int(call, "m", n);
    call->out_shape[0] = (Shape){.n_dims = 2, .dim = {n, m}};
    if (n < 0 || m < 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "one of its sizes is negative");
    return args_dtype(call, "dtype", DT_F32, &call->out_dtype[0], err) && rule_space(call, err);
}

/* Pairs of reals as complex numbers, and back. */
static bool as_complex(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    if (!args_rank(call, 0, 1, DIMS_MAX, err))
        return false;
    if (from->dim[from->n_dims - 1] != 2)
        return error_set(err, "the last dim of its input 0 is %" PRId64 ", not 2",
                         from->dim[from->n_dims - 1]);
    call->out_shape[0] = *from;
    call->out_shape[0].dim[--call->out_shape[0].n_dims] = 0;
    call->out_dtype[0] = call->dtype[0] == DT_F64 ? DT_C128 : DT_C64;
    OpSpace *space = rule_space(call, err);
    for (int d = 0; space && d < from->n_dims - 1; d++) {
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return space;
}

static bool as_real(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    if (from->n_dims == DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    call->out_shape[0] = *from;
    call->out_shape[0].dim[call->out_shape[0].n_dims++] = 2;
    call->out_dtype[0] = call->dtype[0] == DT_C128 ? DT_F64 : DT_F32;
    OpSpace *space = rule_space(call, err);
    for (int d = 0; space && d < from->n_dims; d++) {
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return space;
}

/* ---- lists ---- */

/* Output o is computed from input o, and from input n_outputs + o if there is a second list. Both
 * lists have equal shapes; index dims get letters by place as long as there are index dims left. */
static bool each_of_list(RuleCall *call, bool norm, Error *err)
{
    int n = call->n_outputs;
    if (call->n_inputs != n && (norm || call->n_inputs != 2 * n))
        return error_set(err, "it has %d outputs for %d inputs", n, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++)
        if (!call->shape[i])
            return error_set(err, "its input %d is absent", i);
        else if (!args_same_shape(call, i % n, i, err))
            return false;
    for (int o = 0; o < n; o++) {
        call->out_shape[o] = norm ? (Shape){0} : *call->shape[o];
        call->out_dtype[o] = call->dtype[o];
    }
    OpSpace *space = rule_space(call, err);
    if (!space || norm)
        return space;
    for (int o = 0; o < n && o < 26; o++) {
        const Shape *shape = call->shape[o];
        for (int64_t d = 0; d < shape->n_dims && space->n_index < X_MAX; d++) {
            int index = rule_index_at(call, (char)('a' + o), d, shape->dim[d]);
            for (int i = o; i < call->n_inputs; i += n)
                rule_unit(&space->operand[i], d, index);
            rule_unit(rule_output(space, o), d, index);
        }
    }
    return true;
}

static bool foreach_element(RuleCall *call, Error *err)
{
    return each_of_list(call, false, err);
}

static bool foreach_norm(RuleCall *call, Error *err)
{
    return each_of_list(call, true, err);
}

#define FAMILY "pointwise"
#define UNARY_WITH(name, flops, attrs, of)                                                         \
    OP(name, same, flops, 1, 1), EARLY, OWN(attrs, ""), .examples = of
#define UNARY(name, flops, attrs) UNARY_WITH(name, flops, attrs, "5x6")
#define BINARY(name, flops) OP(name, same, flops, 2, 2), EARLY, OWN("", ""), .examples = "5x6,6"

/* Flops are counted as in elementwise.c. */
const Operator operators_pointwise[] = {
    {UNARY("Cbrt", 4, ""), GRADIENT("0: local(y0)"), .kernel = "Cbrt", STABLEHLO("cbrt")},
    {UNARY("Digamma", 8, ""), GRADIENT("0: local(x0)"), .kernel = "Digamma", TORCH("digamma psi"),
     PADDLE("digamma")},
    {UNARY("Erfc", 4, ""), GRADIENT("0: local(x0)"), .kernel = "Erfc", TORCH("erfc")},
    {UNARY("Erfinv", 8, ""), GRADIENT("0: local(y0)"), .kernel = "Erfinv", TORCH("erfinv"),
     PADDLE("erfinv")},
    {UNARY("Exp2", 4, ""), TORCH("exp2")},
    {UNARY("Expm1", 4, ""), GRADIENT("0: local(y0)"), .kernel = "Expm1", TORCH("expm1"),
     PADDLE("expm1"), STABLEHLO("exponential_minus_one")},
    {UNARY("Frac", 1, ""), TORCH("frac")},
    {UNARY("HardShrink", 1, "lambd"), TORCH("hardshrink"), PADDLE("hardshrink")},
    {UNARY("HardTanh", 2, "max_val min_val"), TORCH("hardtanh"), PADDLE("hardtanh")},
    {UNARY("Lgamma", 8, ""), GRADIENT("0: local(x0)"), .kernel = "Lgamma", TORCH("lgamma"),
     PADDLE("lgamma")},
    {UNARY("Log10", 4, ""), TORCH("log10"), PADDLE("log10")},
    {UNARY("Log1p", 4, ""), GRADIENT("0: local(x0)"), .kernel = "Log1p", TORCH("log1p"),
     PADDLE("log1p"), STABLEHLO("log_plus_one")},
    {UNARY("Log2", 4, ""), TORCH("log2"), PADDLE("log2")},
    {UNARY("LogSigmoid", 8, ""), NNSCALER("logsigmoid"), TORCH("logsigmoid log_sigmoid"),
     PADDLE("logsigmoid")},
    {UNARY("Logit", 8, "eps"), TORCH("logit"), PADDLE("logit")},
    {UNARY("NanToNum", 1, "nan neginf posinf"), NNSCALER("nan_to_num"), TORCH("nan_to_num")},
    {UNARY("Poisson", 8, ""), TORCH("poisson"), PADDLE("poisson")},
    {OP("PopCount", same, 1, 1, 1), GRADIENT("all: zero"), EARLY, .kernel = "PopCount",
     OWN("", ".i"), .examples = "5x6:i64", STABLEHLO("popcnt")},
    {UNARY_WITH("ReducePrecision", 1, "exponent_bits mantissa_bits",
                "5x6 exponent_bits=5 mantissa_bits=10"),
     .kernel = "ReducePrecision", STABLEHLO("reduce_precision")},
    {UNARY("Relu6", 2, ""), TORCH("relu6"), PADDLE("relu6")},
    {UNARY("Rsqrt", 2, ""), GRADIENT("0: local(y0)"), .kernel = "Rsqrt", NNSCALER("rsqrt"),
     TORCH("rsqrt"), PADDLE("rsqrt"), STABLEHLO("rsqrt")},
    {UNARY("RoundAway", 1, ""), GRADIENT("0: zero"), .kernel = "RoundAway",
     STABLEHLO("round_nearest_afz")},
    {UNARY("ScaledTanh", 4, "scale_a scale_b"), PADDLE("stanh")},
    {UNARY("SoftShrink", 1, "lambd"), TORCH("softshrink"), PADDLE("softshrink")},
    {UNARY("Square", 1, ""), TORCH("square"), PADDLE("square")},
    {UNARY("TanhShrink", 4, ""), TORCH("tanhshrink"), PADDLE("tanh_shrink")},
    {UNARY("Trunc", 1, ""), TORCH("trunc fix"), PADDLE("trunc")},
    {OP("ConvertType", convert, 1, 1, 1), EARLY, OWN("dtype", ""), .examples = "5x6 dtype=7",
     NNSCALER("type type_as to long int float bool"),
     TORCH("to _to_copy type_as long int float double half bfloat16 bool"), PADDLE("cast"),
     STABLEHLO("convert")},
    {OP("Conj", linear, 1, 1, 1), EARLY, OWN("", ""), .examples = "5x6:c64",
     TORCH("conj _conj conj_physical resolve_conj"), PADDLE("conj")},
    {OP("Scale", scale, 2, 1, 1), EARLY, OWN("bias bias_after_scale scale", ""),
     .examples = "5x6 scale=2.5; 5x6 scale=2.5 bias=1.5", PADDLE("scale")},
    {OP("Real", part_of_complex, 0, 1, 1), EARLY, OWN("", ""), .examples = "5x6:c64", TORCH("real"),
     PADDLE("real"), STABLEHLO("real")},
    {OP("Imag", part_of_complex, 0, 1, 1), EARLY, OWN("", ""), .examples = "5x6:c64", TORCH("imag"),
     PADDLE("imag"), STABLEHLO("imag")},
    {OP("IsFinite", truth, 1, 1, 1), GRADIENT("all: zero"), EARLY, .kernel = "IsFinite",
     OWN("", ""), .examples = "5x6", TORCH("isfinite"), PADDLE("isfinite"), STABLEHLO("is_finite")},
    {UNARY("AddScalar", 1, "alpha other"), TORCH("add.Scalar sub.Scalar rsub.Scalar rsub")},
    {UNARY("PowScalar", 4, "exponent"), NNSCALER("pow"),
     TORCH("pow pow.Tensor_Scalar pow.Scalar float_power"), PADDLE("pow")},
    {UNARY("RemainderScalar", 1, "other"), NNSCALER("mod"), TORCH("remainder.Scalar fmod.Scalar")},
    {UNARY("MaxScalar", 1, "min"), TORCH("clamp_min.Scalar")},
    {UNARY("MinScalar", 1, "max"), TORCH("clamp_max.Scalar")},
    {OP("MulScalar", linear, 1, 1, 1), EARLY, OWN("other", ""), .examples = "5x6",
     TORCH("mul.Scalar")},
    {OP("DivScalar", div_scalar, 1, 1, 1), EARLY, OWN("other rounding_mode", ""),
     .examples = "5x6; 5x6:i64", TORCH("div.Scalar")},
    {OP("CompareScalar", truth, 1, 1, 1), EARLY, OWN("other", ""), .examples = "5x6",
     TORCH("eq.Scalar ne.Scalar lt.Scalar le.Scalar gt.Scalar ge.Scalar")},
    {BINARY("Atan2", 8), GRADIENT("0: local(x0 x1); 1: local(x0 x1)"), .kernel = "Atan2",
     TORCH("atan2 arctan2"), PADDLE("atan2"), STABLEHLO("atan2")},
    {BINARY("Polygamma", 8), TORCH("polygamma")},
    {BINARY("Zeta", 8), GRADIENT("0: refused no closed form is known; 1: local(x0 x1)"),
     .kernel = "Zeta", TORCH("special_zeta")},
    {UNARY("BesselI0", 8, ""), GRADIENT("0: local(x0)"), .kernel = "BesselI0",
     TORCH("i0 special_i0")},
    {UNARY("BesselI0e", 8, ""), GRADIENT("0: local(x0 y0)"), .kernel = "BesselI0e",
     TORCH("special_i0e")},
    {UNARY("BesselI1", 8, ""), GRADIENT("0: local(x0 y0)"), .kernel = "BesselI1",
     TORCH("special_i1")},
    {UNARY("BesselI1e", 8, ""), GRADIENT("0: local(x0 y0)"), .kernel = "BesselI1e",
     TORCH("special_i1e")},
    {UNARY("Erfcx", 8, ""), GRADIENT("0: local(x0 y0)"), .kernel = "Erfcx", TORCH("special_erfcx")},
    {BINARY("GammaP", 8), GRADIENT("0: refused no closed form is known; 1: local(x0 x1)"),
     .kernel = "GammaP", TORCH("igamma special_gammainc")},
    {BINARY("GammaQ", 8), GRADIENT("0: refused no closed form is known; 1: local(x0 x1)"),
     .kernel = "GammaQ", TORCH("igammac special_gammaincc")},
    {BINARY("CopySign", 1), TORCH("copysign")},
    {BINARY("FloorDiv", 1), NNSCALER("floor_div"), TORCH("floor_divide"), PADDLE("floor_divide")},
    {BINARY("FMax", 1), TORCH("fmax"), PADDLE("fmax")},
    {BINARY("FMin", 1), TORCH("fmin"), PADDLE("fmin")},
    {OP("Gcd", same, 8, 2, 2), GRADIENT("all: zero"), EARLY, .kernel = "Gcd", OWN("", "Ai Ai"),
     .examples = "5x6:i64,6:i64", TORCH("gcd")},
    {BINARY("Heaviside", 1), TORCH("heaviside"), PADDLE("heaviside")},
    {BINARY("Hypot", 4), TORCH("hypot")},
    {OP("Lcm", same, 8, 2, 2), GRADIENT("all: zero"), EARLY, .kernel = "Lcm", OWN("", "Ai Ai"),
     .examples = "5x6:i64,6:i64", TORCH("lcm")},
    {BINARY("LogAddExp", 8), TORCH("logaddexp logaddexp2")},
    {BINARY("NextAfter", 1), GRADIENT("0: contract; 1: zero"), .kernel = "NextAfter",
     TORCH("nextafter")},
    {BINARY("Remainder", 1), TORCH("remainder remainder.Tensor"), PADDLE("remainder"),
     STABLEHLO("remainder")},
    {OP("ShiftRight", same, 1, 2, 2), GRADIENT("all: zero"), EARLY, .kernel = "ShiftRight",
     OWN("", "Ai Ai"), .examples = "5x6:i64,6:i64", TORCH("bitwise_right_shift __rshift__"),
     STABLEHLO("shift_right_arithmetic")},
    {BINARY("TruncDiv", 1), PADDLE("trunc_divide")},
    {BINARY("XLogY", 4), TORCH("xlogy")},
    {OP("Compare", truth, 1, 2, 2), EARLY, OWN("comparison_direction", ""), .examples = "5x6,6",
     STABLEHLO("compare")},
    {OP("NotEqual", truth, 1, 2, 2), GRADIENT("all: zero"), EARLY, .kernel = "NotEqual",
     OWN("", ""), .examples = "5x6,6", NNSCALER("ne"), TORCH("ne not_equal"), PADDLE("not_equal")},
    {OP("IsClose", truth, 4, 2, 2), EARLY, OWN("atol equal_nan rtol", ""), .examples = "5x6,6",
     TORCH("isclose"), PADDLE("isclose")},
    {OP("Clamp", same, 2, 1, 3), EARLY, OWN("max min", ""),
     .examples = "5x6,6,5x1; 5x6 min=0 max=3",
     TORCH("clamp.Tensor clip.Tensor clamp_min.Tensor clamp_max.Tensor"),
     STABLEHLO("clamp(; 1,0,2)")},
    {OP("Lerp", blend, 2, 2, 3), EARLY, OWN("weight", ""),
     .examples = "5x6,5x6,scalar; 5x6,5x6,5x1", TORCH("lerp"), PADDLE("lerp")},
    {OP("AddCMul", same, 3, 3, 3), EARLY, OWN("value", ""), .examples = "5x6,5x1,6",
     TORCH("addcmul")},
    {OP("AddCDiv", same, 3, 3, 3), EARLY, OWN("value", ""), .examples = "5x6,5x1,6",
     TORCH("addcdiv")},
    {OP("MaskedFill", same, 1, 2, 3), EARLY, OWN("value", ". .b"),
     .examples = "5x6,5x1:bool,scalar", NNSCALER("masked_fill"), TORCH("masked_fill")},
    {OP("LabelSmooth", same, 3, 1, 2), EARLY, OWN("epsilon", ".f .f"), .examples = "5x6,6",
     PADDLE("label_smooth")},
    {OP("CopyOnto", copy_onto, 0, 2, 2), EARLY, OWN("", ""), .examples = "5x6,6; 5x6,5x6",
     TORCH("copy_ copy")},
    {OP("FusedDropoutAdd", dropout_add, 2, 2, 3), EARLY_DRAWS, .outputs_max = 2,
     OWN("is_test mode p seed", ""), .examples = "5x6,5x6 -> 2", PADDLE("fused_dropout_add")},
    {OP("Elementwise", same, 1, 1, OPERATOR_ANY), EARLY, OWN("", ""), .examples = "5x6,6,5x1",
     PADDLE("elementwise_unary elementwise_binary")},
    {OP("FillLike", fill_like, 0, 1, 2), EARLY, OWN("dtype value", ""), .examples = "5x6 dtype=7",
     NNSCALER("fill zeros_like ones_like full_like"),
     TORCH("zeros_like ones_like full_like empty_like fill zero fill_ zero_"),
     PADDLE("full_like zeros_like ones_like empty_like fill")},
    {OP("NewFull", fill_new, 0, 1, 1), EARLY, OWN("dtype fill_value size", ""),
     .examples = "5x6 size=[4,7]; 5x6 size=[5,6]",
     TORCH("new_full new_zeros new_ones new_empty new_empty_strided")},
    {OP("Full", fill_new, 0, 0, 0), EARLY, OWN("dtype fill_value size", ""),
     .examples = "() size=[4,7]", NNSCALER("zeros ones empty full"),
     TORCH("zeros ones empty full empty_strided")},
    {OP("Arange", count_up, 0, 0, 0), EARLY, OWN("dtype end start step", ""),
     .examples = "() start=3 end=18 step=2", NNSCALER("arange"),
     TORCH("arange arange.start arange.start_step")},
    {OP("Linspace", linspace, 0, 0, 0), EARLY, OWN("dtype end start steps", ""),
     .examples = "() steps=7", NNSCALER("linspace"), TORCH("linspace")},
    {OP("Eye", eye, 0, 0, 0), EARLY, OWN("dtype m n", ""), .examples = "() n=5 m=6",
     NNSCALER("eye"), TORCH("eye")},
    {OP("ViewAsComplex", as_complex, 0, 1, 1), EARLY, OWN("", ".f"), .examples = "5x6x2",
     NNSCALER("view_as_complex"), TORCH("view_as_complex"), PADDLE("as_complex")},
    {OP("ViewAsReal", as_real, 0, 1, 1), EARLY, OWN("", ".c"), .examples = "5x6:c64",
     NNSCALER("view_as_real"), TORCH("view_as_real"), PADDLE("as_real")},
    {OP("ForeachUnary", foreach_element, 2, 1, OPERATOR_ANY), EARLY, .outputs_max = OPERATOR_MANY,
     OWN("", ""), .examples = "5x6,7 -> 2",
     TORCH("_foreach_abs _foreach_ceil _foreach_cos _foreach_erf _foreach_exp _foreach_expm1 "
           "_foreach_floor _foreach_frac _foreach_log _foreach_log10 _foreach_log1p _foreach_log2 "
           "_foreach_neg _foreach_reciprocal _foreach_round _foreach_rsqrt _foreach_sigmoid "
           "_foreach_sign _foreach_sin _foreach_sqrt _foreach_tan _foreach_tanh _foreach_trunc "
           "_foreach_zero")},
    {OP("ForeachBinary", foreach_element, 1, 1, OPERATOR_ANY), EARLY, .outputs_max = OPERATOR_MANY,
     OWN("alpha", ""), .examples = "5x6,7,5x6,7 -> 2",
     TORCH("_foreach_add _foreach_sub _foreach_mul _foreach_div _foreach_pow _foreach_maximum "
           "_foreach_minimum _foreach_clamp_max _foreach_clamp_min _foreach_copy")},
    {OP("ForeachNorm", foreach_norm, 2, 1, OPERATOR_ANY), EARLY, .outputs_max = OPERATOR_MANY,
     OWN("ord", ""), .examples = "5x6,7 -> 2", TORCH("_foreach_norm")},
    {0},
};
