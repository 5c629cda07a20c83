/* rows_pointwise.c - torch's operators on one element from each operand. In-place forms have the
 * row of the others: the reader gives the changed tensor its new value. */
#include "core/peers/torch_export/shapes.h"

#include <math.h>

#define UNARY(name, ours)                                                                          \
    {                                                                                              \
        name, "self", ours "(self)", NULL                                                          \
    }
#define UNARY_FLOAT(name, ours)                                                                    \
    {                                                                                              \
        name, "self", ours "(float(self))", NULL                                                   \
    }
#define BINARY(name, ours)                                                                         \
    {                                                                                              \
        name, "self other", ours "(self, other)", NULL                                             \
    }
#define SAME(name)                                                                                 \
    {                                                                                              \
        name, "self", "self", NULL                                                                 \
    }

static void make_floor_divide(Call *c);

/* True division makes floats; the others round, of floats and of whole numbers. */
static void make_div(Call *c)
{
    Str mode = call_text(c, "rounding_mode");
    ExportTerm out;
    if (str_eq(mode, STR("floor"))) {
        make_floor_divide(c);
        return;
    }
    if (mode.n == 0)
        recipe_run(c, "Div(float(self), float(other))", &out, 1);
    else
        recipe_run(c, "Div(self, other)", &out, 1);
    ExportTerm inputs[] = {call_term(c, "self"), call_term(c, "other")};
    bool floats = dtype_is_float(terms_promoted(inputs, 2));
    if (str_eq(mode, STR("trunc")) && floats) /* towards zero */
        out = emit2(c, "Mul", emit1(c, "Sign", out), emit1(c, "Floor", emit1(c, "Abs", out)));
    call_results(c, &out, 1);
}

/* Floats are divided and rounded down; of whole numbers the rest with the sign of the divisor goes
 * first, so that nothing is left to round. */
static void make_floor_divide(Call *c)
{
    ExportTerm inputs[] = {call_term(c, "self"), call_term(c, "other")}, out;
    if (dtype_is_float(terms_promoted(inputs, 2)))
        recipe_run(c, "Floor(Div(self, other))", &out, 1);
    else
        recipe_run(c, "Div(Sub(self, Mod(self, other)), other)", &out, 1);
    call_results(c, &out, 1);
}

/* The rest: of `fmod` with the sign of the first operand, of `remainder` with that of the second.
 */
static void make_rest(Call *c, bool like_c)
{
    ExportTerm inputs[] = {call_term(c, "self"), call_term(c, "other")};
    bool floats = dtype_is_float(terms_promoted(inputs, 2));
    Attr attr = attr_int(c->e, "fmod", 1);
    ExportTerm out;
    if (floats && !like_c)
        recipe_run(c, "Sub(self, Mul(Floor(Div(self, other)), other))", &out, 1);
    else
        out = emit(c, "Mod", inputs, 2, &attr, like_c);
    call_results(c, &out, 1);
}

static void make_remainder(Call *c)
{
    make_rest(c, false);
}

static void make_fmod(Call *c)
{
    make_rest(c, true);
}

/* Numbers and powers of types: 2 ** x of whole x is whole. */
static void make_pow(Call *c)
{
    ExportTerm inputs[] = {call_term(c, "self"), call_term(c, "exponent")};
    ExportTerm out = emit(c, "Pow", inputs, 2, NULL, 0);
    call_results(c, &out, 1);
}

/* To so many digits behind the point. */
static void make_round(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out;
    int64_t digits = call_int(c, "decimals");
    double power = pow(10, (double)(digits < 0 ? -digits : digits));
    const char *up = digits < 0 ? "Div" : "Mul", *down = digits < 0 ? "Mul" : "Div";
    out = digits == 0 ? x : emit2(c, up, x, term_number(power));
    out = emit1(c, "Round", out);
    out = digits == 0 ? out : emit2(c, down, out, term_number(power));
    call_results(c, &out, 1);
}

static void make_clamp(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), low = call_term(c, "min"), high = call_term(c, "max");
    bool tensors = low.kind == TERM_TENSOR || high.kind == TERM_TENSOR;
    ExportTerm inputs[] = {x, low, high};
    Dtype dtype = terms_promoted(inputs, 3);
    ExportTerm out = emit_cast(c, x, dtype);
    if (tensors) {
        out = term_is(low) ? emit2(c, "Max", out, low) : out;
        out = term_is(high) ? emit2(c, "Min", out, high) : out;
    } else {
        inputs[0] = out;
        out = emit(c, "Clip", inputs, 3, NULL, 0);
    }
    call_results(c, &out, 1);
}

/* Half of the channels, gated by the other half. */
static void make_glu(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), halves[2];
    Attr attrs[] = {attr_int(c->e, "axis", call_axis(c, "dim", x.rank)),
                    attr_int(c->e, "num_outputs", 2)};
    emit_many(c, "Split", &x, 1, attrs, 2, halves, 2);
    ExportTerm out = emit2(c, "Mul", halves[0], emit1(c, "Sigmoid", halves[1]));
    call_results(c, &out, 1);
}

/* A weight for each channel, dim 1. */
static void make_prelu(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), weight = call_tensor(c, "weight");
    if (weight.rank == 1 && x.rank > 1)
        weight = reshape_along(c, weight, 1, x.rank);
    ExportTerm out = emit2(c, "PRelu", x, weight);
    call_results(c, &out, 1);
}

/* In evaluation nothing is dropped. */
static void make_dropout(Call *c)
{
    ExportTerm x = call_tensor(c, call_given(c, "input") ? "input" : "self"), p = call_term(c, "p");
    if (call_bool(c, "train")) {
        ExportTerm inputs[] = {x, emit_constant(c, p, DT_F32),
                               emit_constant(c, term_int(1), DT_BOOL)};
        x = emit(c, "Dropout", inputs, 3, NULL, 0);
    }
    call_results(c, &x, 1);
}

/* Bits of bools are bools. */
const TorchRow rows_pointwise[] = {
    UNARY("neg negative", "Neg"),
    UNARY("abs absolute", "Abs"),
    UNARY("sign sgn", "Sign"),
    UNARY("relu", "Relu"),
    UNARY("bitwise_not", "BitwiseNot"),
    UNARY("floor", "Floor"),
    UNARY("ceil", "Ceil"),
    {"round.decimals special_round", "self decimals=0", NULL, make_round},
    UNARY("round", "Round"),
    {"trunc fix", "self", "Mul(Sign(self), Floor(Abs(self)))", NULL},
    {"frac", "self", "Sub(self, Mul(Sign(self), Floor(Abs(self))))", NULL},
    UNARY_FLOAT("exp", "Exp"),
    UNARY_FLOAT("log", "Log"),
    UNARY_FLOAT("sqrt", "Sqrt"),
    UNARY_FLOAT("reciprocal", "Reciprocal"),
    UNARY_FLOAT("erf special_erf", "Erf"),
    UNARY_FLOAT("tanh", "Tanh"),
    UNARY_FLOAT("sigmoid", "Sigmoid"),
    UNARY_FLOAT("sin", "Sin"),
    UNARY_FLOAT("cos", "Cos"),
    UNARY_FLOAT("tan", "Tan"),
    UNARY_FLOAT("sinh", "Sinh"),
    UNARY_FLOAT("cosh", "Cosh"),
    UNARY_FLOAT("asin arcsin", "Asin"),
    UNARY_FLOAT("acos arccos", "Acos"),
    UNARY_FLOAT("atan arctan", "Atan"),
    UNARY_FLOAT("asinh arcsinh", "Asinh"),
    UNARY_FLOAT("acosh arccosh", "Acosh"),
    UNARY_FLOAT("atanh arctanh", "Atanh"),
    UNARY_FLOAT("mish", "Mish"),
    {"rsqrt", "self", "Reciprocal(Sqrt(float(self)))", NULL},
    {"exp2 special_exp2", "self", "Pow(2.0, float(self))", NULL},
    {"expm1", "self", "Sub(Exp(float(self)), 1)", NULL},
    {"log1p", "self", "Log(Add(float(self), 1))", NULL},
    {"log2", "self", "Mul(Log(float(self)), 1.4426950408889634)", NULL},
    {"log10", "self", "Mul(Log(float(self)), 0.4342944819032518)", NULL},
    {"erfc", "self", "Sub(1, Erf(float(self)))", NULL},
    UNARY_FLOAT("lgamma special_gammaln", "Lgamma"),
    UNARY_FLOAT("erfinv special_erfinv", "Erfinv"),
    {"special_expit", "self", "Sigmoid(float(self))", NULL},
    {"deg2rad", "self", "Mul(float(self), 0.017453292519943295)", NULL},
    {"rad2deg", "self", "Mul(float(self), 57.29577951308232)", NULL},
    {"sinc special_sinc", "self",
     "Where(Equal(self, 0), 1.0, Div(Sin(Mul(self, 3.141592653589793)), Mul(self, "
     "3.141592653589793)))",
     NULL},
    {"logit special_logit", "self eps=",
     "Log(Div(given(eps, Clip(self, eps, Sub(1, eps)), self), Sub(1, "
     "given(eps, Clip(self, eps, Sub(1, eps)), self))))",
     NULL},
    {"tanhshrink", "self", "Sub(self, Tanh(self))", NULL},
    {"hardshrink", "self lambd=0.5", "Where(LessOrEqual(Abs(self), lambd), 0, self)", NULL},
    {"softshrink", "self lambd=0.5", "Mul(Sign(self), Relu(Sub(Abs(self), like(lambd, self))))",
     NULL},
    {"softsign", "self", "Div(self, Add(1, Abs(self)))", NULL},
    {"rrelu", "self lower=0.125 upper=0.3333333333333333 training=False",
     "Where(Greater(self, 0), self, Mul(self, Div(Add(lower, upper), 2.0)))", NULL},
    {"square", "self", "Mul(self, self)", NULL},
    {"isnan", "self", "IsNaN(float(self))", NULL},
    {"isinf", "self", "IsInf(float(self))", NULL},
    {"isfinite", "self", "Not(Or(IsNaN(float(self)), IsInf(float(self))))", NULL},
    {"logical_not", "self", "Not(cast(self, bool))", NULL},

    {"silu", "self", "Swish(float(self))", NULL},
    {"gelu", "self approximate=none", "Gelu(self; approximate=approximate)", NULL},
    {"hardswish", "self", "HardSwish(self)", NULL},
    {"hardsigmoid", "self", "HardSigmoid(self; alpha=0.16666666666666666, beta=0.5)", NULL},
    {"hardtanh", "self min_val=-1 max_val=1", "Clip(self, min_val, max_val)", NULL},
    {"relu6", "self", "Clip(self, 0, 6)", NULL},
    {"leaky_relu", "self negative_slope=0.01", "LeakyRelu(self; alpha=~negative_slope)", NULL},
    {"elu", "self alpha=1 scale=1 input_scale=1",
     "scaled(Elu(scaled(self, input_scale); alpha=~alpha), scale)", NULL},
    {"celu", "self alpha=1", "Celu(self; alpha=~alpha)", NULL},
    {"selu", "self", "Selu(self)", NULL},
    {"softplus", "self beta=1 threshold=20", "Div(Softplus(scaled(self, beta)), like(beta, self))",
     NULL},
    {"log_sigmoid", "self", "Neg(Softplus(Neg(self)))", NULL},
    {"prelu _prelu_kernel", "self weight", NULL, make_prelu},
    {"threshold", "self threshold value",
     "Where(Greater(self, threshold), self, like(value, self))", NULL},
    {"glu", "self dim=-1", NULL, make_glu},

    {"add", "self other alpha=1", "Add(self, scaled(other, alpha))", NULL},
    {"sub subtract", "self other alpha=1", "Sub(self, scaled(other, alpha))", NULL},
    {"rsub", "self other alpha=1", "Sub(other, scaled(self, alpha))", NULL},
    BINARY("mul multiply", "Mul"),
    {"div divide", "self other rounding_mode=", NULL, make_div},
    {"true_divide", "self other", "Div(float(self), float(other))", NULL},
    {"floor_divide", "self other", NULL, make_floor_divide},
    {"remainder", "self other", NULL, make_remainder},
    {"fmod", "self other", NULL, make_fmod},
    {"float_power", "self exponent", "Pow(cast(self, f64), cast(exponent, f64))", NULL},
    {"pow", "self exponent", NULL, make_pow},
    BINARY("maximum max.other", "Max"),
    BINARY("minimum min.other", "Min"),
    BINARY("eq", "Equal"),
    {"ne not_equal", "self other", "Not(Equal(self, other))", NULL},
    BINARY("lt less", "Less"),
    BINARY("le less_equal", "LessOrEqual"),
    BINARY("gt greater", "Greater"),
    BINARY("ge greater_equal", "GreaterOrEqual"),
    {"logical_and", "self other", "And(cast(self, bool), cast(other, bool))", NULL},
    {"logical_or", "self other", "Or(cast(self, bool), cast(other, bool))", NULL},
    {"logical_xor", "self other", "Xor(cast(self, bool), cast(other, bool))", NULL},
    BINARY("bitwise_and __and__ __iand__", "BitwiseAnd"),
    BINARY("bitwise_or __or__ __ior__", "BitwiseOr"),
    BINARY("bitwise_xor __xor__ __ixor__", "BitwiseXor"),
    {"where", "condition self other", "Where(condition, self, other)", NULL},
    {"masked_fill", "self mask value", "Where(mask, like(value, self), self)", NULL},
    {"clamp clip", "self min= max=", NULL, make_clamp},
    {"clamp_min", "self min", "Max(self, min)", NULL},
    {"clamp_max", "self max", "Min(self, max)", NULL},
    {"addcmul", "self tensor1 tensor2 value=1", "Add(self, scaled(Mul(tensor1, tensor2), value))",
     NULL},
    {"addcdiv", "self tensor1 tensor2 value=1", "Add(self, scaled(Div(tensor1, tensor2), value))",
     NULL},
    {"atan2 arctan2", "self other", "Atan2(float(self), float(other))", NULL},
    {"hypot", "self other", "Sqrt(Add(Mul(self, self), Mul(other, other)))", NULL},
    {"logaddexp", "self other",
     "Add(Max(self, other), Log(Add(1, Exp(Neg(Abs(Sub(self, other)))))))", NULL},
    {"xlogy special_xlogy", "self other",
     "Where(And(Equal(self, 0), LessOrEqual(other, 0)), 0, Mul(self, Log(float(other))))", NULL},
    {"ldexp", "self other", "Mul(self, Pow(2.0, float(other)))", NULL},
    {"fmax", "self other",
     "Where(IsNaN(float(self)), other, Where(IsNaN(float(other)), self, Max(self, other)))", NULL},
    {"fmin", "self other",
     "Where(IsNaN(float(self)), other, Where(IsNaN(float(other)), self, Min(self, other)))", NULL},
    {"copysign", "self other", "Mul(Abs(float(self)), Where(Less(other, 0), -1.0, 1.0))", NULL},
    {"heaviside", "self values", "Where(Equal(self, 0), values, cast(Greater(self, 0), f32))",
     NULL},
    {"isclose", "self other rtol=1e-05 atol=1e-08 equal_nan=False",
     "LessOrEqual(Abs(Sub(self, other)), Add(atol, Mul(rtol, Abs(other))))", NULL},
    {"bitwise_left_shift __lshift__ __ilshift__", "self other",
     "Mul(self, cast(Pow(2.0, float(other)), i64))", NULL},
    {"lerp", "self end weight", "Add(self, Mul(weight, Sub(end, self)))", NULL},

    SAME("clone contiguous alias detach lift lift_fresh lift_fresh_copy pin_memory resolve_conj "
         "resolve_neg"),
    {"to.other type_as", "self other", "like(self, other)", NULL},
    {"copy", "self src non_blocking=False", "Expand(like(src, self), Shape(self))", NULL},
    {"to.device", "self device dtype", "cast(self, dtype)", NULL},
    {"to _to_copy", "self dtype=", "cast(self, dtype)", NULL},
    {"dropout feature_dropout alpha_dropout", "input p train", NULL, make_dropout},
    {"dropout_ feature_dropout_ alpha_dropout_", "self p train", NULL, make_dropout},
    {0},
};
