/* elementwise.c - one output element from one element of each operand, with broadcasting.
 *
 * Index dims d0, d1, .. are the dims of the output, right-aligned operands use those they have; a
 * dim of size 1 is no index dim (the others keep their number). Add, Sub and the like are linear
 * together where no operand grows; Mul and Div are linear in the operand that the other one scales
 * by a single element.
 */
#include "core/rules/operators/dims.h"
#include "core/rules/at_load.h"

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
    if (!dims_pointwise(call, call->dtype[0], err))
        return false;
    call->space->operand[0].linear = LINEAR_ALONE;
    return true;
}

/* Linear unless an operand broadcasts: a partial operand that broadcasts would be added, and later
 * summed, at its full size. */
static bool sum(RuleCall *call, Error *err)
{
    if (!dims_pointwise(call, call->dtype[0], err))
        return false;
    bool grows = false;
    for (int i = 0; i < call->n_inputs; i++) {
        grows |= !call->shape[i] || !shape_equal(call->shape[i], &call->out_shape[0]);
        call->space->operand[i].addend = call->n_inputs > 1;
    }
    for (int i = 0; i < call->n_inputs && !grows; i++)
        call->space->operand[i].linear = call->n_inputs == 1 ? LINEAR_ALONE : LINEAR_TOGETHER;
    return true;
}

static bool scales(const RuleCall *call, int operand, int other)
{
    return shape_elements(call->shape[other]) == 1 &&
           shape_elements(call->shape[operand]) == shape_elements(&call->out_shape[0]);
}

static bool mul(RuleCall *call, Error *err)
{
    if (!dims_pointwise(call, call->dtype[0], err))
        return false;
    for (int i = 0; i < 2; i++)
        if (scales(call, i, 1 - i))
            call->space->operand[i].linear = LINEAR_ALONE;
    return true;
}

/* Integer quotients are rounded, so only floats are linear. */
static bool div_(RuleCall *call, Error *err)
{
    if (!dims_pointwise(call, call->dtype[0], err))
        return false;
    if (dtype_is_float(call->dtype[0]) && scales(call, 0, 1))
        call->space->operand[0].linear = LINEAR_ALONE;
    return true;
}

static bool where(RuleCall *call, Error *err)
{
    return dims_pointwise(call, call->dtype[1], err);
}

static bool cast(RuleCall *call, Error *err)
{
    Dtype dtype;
    return args_dtype(call, "to", DT_NONE, &dtype, err) && dims_pointwise(call, dtype, err);
}

/* Operands after the first are single elements, whose dims do not count, such as the bounds of
 * Clip. */
static bool one_operand(RuleCall *call, Error *err)
{
    for (int i = 1; i < call->n_inputs; i++)
        if (call->shape[i] && shape_elements(call->shape[i]) != 1)
            return error_set(err, "its input %d is not one element", i);
    dims_answer(call, call->shape[0], call->dtype[0]);
    return dims_space(call, call->shape[0], NULL, NULL, err);
}

/* The mask is bool since opset 10. Ratio and training mode are single elements. */
static bool dropout(RuleCall *call, Error *err)
{
    if (!one_operand(call, err))
        return false;
    if (call->n_outputs > 1 && call->opset >= 10)
        call->out_dtype[1] = DT_BOOL;
    return true;
}

/* The target shape is a constant that is read whole. A dim that grows is an index dim of the output
 * only, such as the groups of grouped-query attention. */
static bool expand(RuleCall *call, Error *err)
{
    Shape out;
    if (!args_expand(call, &out, err))
        return false;
    OpSpace *space = rule_space_as(call, &out, call->dtype[0], err);
    if (!space)
        return false;

    int index[DIMS_MAX], n = (int)out.n_dims;
    for (int d = 0; d < n; d++)
        index[d] = rule_index_at(call, 'd', d, out.dim[d]);
    rule_align(&space->operand[0], index, n);
    rule_align(rule_output(space, 0), index, n);
    if (shape_elements(call->shape[0]) == shape_elements(&out))
        space->operand[0].linear = LINEAR_ALONE;
    return true;
}

#define FAMILY "elementwise"
#define UNARY(name, flops) OP(name, same, flops, 1, 1), EARLY, .kernel = name, .examples = "5x6"
#define BINARY(name, rule) OP(name, rule, 1, 2, 2), EARLY, .kernel = name

/* Flops are per element: 1 for an instruction, 4 for a polynomial, 8 for several. */
const Operator operators_elementwise[] = {
    {UNARY("Abs", 1), GRADIENT("0: local(x0)"), HOST(abs), ONNX("consumed_inputs", ".fi"),
     NNSCALER("abs"), TORCH("abs"), PADDLE("abs"), STABLEHLO("abs")},
    {UNARY("Acos", 4), GRADIENT("0: local(x0)"), ONNX("", ".f"), TORCH("acos arccos"),
     PADDLE("acos")},
    {UNARY("Acosh", 8), GRADIENT("0: local(x0)"), ONNX("", ".f"), TORCH("acosh arccosh"),
     PADDLE("acosh")},
    {UNARY("Asin", 4), GRADIENT("0: local(x0)"), ONNX("", ".f"), TORCH("asin arcsin"),
     PADDLE("asin")},
    {UNARY("Asinh", 8), GRADIENT("0: local(x0)"), ONNX("", ".f"), TORCH("asinh arcsinh"),
     PADDLE("asinh")},
    {UNARY("Atan", 4), GRADIENT("0: local(x0)"), ONNX("", ".f"), TORCH("atan arctan"),
     PADDLE("atan")},
    {UNARY("Atanh", 8), GRADIENT("0: local(x0)"), ONNX("", ".f"), TORCH("atanh arctanh"),
     PADDLE("atanh")},
    {OP("BitwiseNot", same, 1, 1, 1), GRADIENT("all: zero"), EARLY, ONNX("", ".i"),
     .kernel = "BitwiseNot", .examples = "5x6:i64", NNSCALER("bitwise_not"), TORCH("bitwise_not"),
     PADDLE("bitwise_not"), STABLEHLO("not")},
    {UNARY("Ceil", 1), GRADIENT("0: zero"), HOST(ceil), ONNX("consumed_inputs", ".f"),
     NNSCALER("ceil"), TORCH("ceil"), PADDLE("ceil"), STABLEHLO("ceil")},
    {UNARY("Celu", 4), GRADIENT("0: local(x0)"), ONNX("alpha", ".f"), TORCH("celu"),
     PADDLE("celu")},
    {UNARY("Cos", 4), GRADIENT("0: local(x0)"), ONNX("", ".f"), NNSCALER("cos"), TORCH("cos"),
     PADDLE("cos"), STABLEHLO("cosine")},
    {UNARY("Cosh", 8), GRADIENT("0: local(x0)"), ONNX("", ".f"), TORCH("cosh"), PADDLE("cosh")},
    {UNARY("Elu", 4), GRADIENT("0: local(x0)"), ONNX("alpha consumed_inputs", ".f"), TORCH("elu"),
     PADDLE("elu")},
    {UNARY("Erf", 4), GRADIENT("0: local(x0)"), ONNX("", ".fi"), NNSCALER("erf"), TORCH("erf"),
     PADDLE("erf")},
    {UNARY("Exp", 4), GRADIENT("0: local(y0)"), HOST(exp), ONNX("consumed_inputs", ".f"),
     NNSCALER("exp"), TORCH("exp"), PADDLE("exp"), STABLEHLO("exponential")},
    {UNARY("Floor", 1), GRADIENT("0: zero"), HOST(floor), ONNX("consumed_inputs", ".f"),
     TORCH("floor"), PADDLE("floor"), STABLEHLO("floor")},
    {UNARY("Gelu", 8), GRADIENT("0: local(x0)"), ONNX("approximate", ".f"), NNSCALER("gelu"),
     TORCH("gelu"), PADDLE("gelu(approximate=approximate)"), .paddle = "unary"},
    {UNARY("HardSigmoid", 2), GRADIENT("0: local(x0)"), ONNX("alpha beta consumed_inputs", ".f"),
     TORCH("hardsigmoid(;; alpha:=0.16666667)"), PADDLE("hardsigmoid(slope=alpha, offset=beta)")},
    {UNARY("HardSwish", 4), GRADIENT("0: local(x0)"), ONNX("", ".f"), TORCH("hardswish"),
     PADDLE("hardswish")},
    {UNARY("LeakyRelu", 1), GRADIENT("0: local(x0)"), ONNX("alpha consumed_inputs", ".f"),
     TORCH("leaky_relu(negative_slope=alpha)"), PADDLE("leaky_relu(negative_slope=alpha)")},
    {UNARY("Log", 4), GRADIENT("0: local(x0)"), HOST(log), ONNX("consumed_inputs", ".f"),
     NNSCALER("log"), TORCH("log"), PADDLE("log"), STABLEHLO("log")},
    {UNARY("Mish", 8), GRADIENT("0: local(x0)"), ONNX("", ".f"), TORCH("mish"), PADDLE("mish")},
    {OP("Not", same, 1, 1, 1), GRADIENT("all: zero"), HOST(not ), EARLY, ONNX("", ".b"),
     .kernel = "Not", .examples = "5x6:bool", TORCH("logical_not"), PADDLE("logical_not")},
    {UNARY("Reciprocal", 1), GRADIENT("0: local(y0)"), HOST(reciprocal),
     ONNX("consumed_inputs", ".f"), TORCH("reciprocal"), PADDLE("reciprocal")},
    {UNARY("Relu", 1), GRADIENT("0: local(y0)"), ONNX("consumed_inputs", ".fi"), NNSCALER("relu"),
     TORCH("relu"), PADDLE("relu")},
    {UNARY("Round", 1), GRADIENT("0: zero"), HOST(round), ONNX("", ".f"), TORCH("round"),
     PADDLE("round"), STABLEHLO("round_nearest_even")},
    {UNARY("Selu", 4), GRADIENT("0: local(x0)"), ONNX("alpha consumed_inputs gamma", ".f"),
     TORCH("selu"), PADDLE("selu(scale=gamma)")},
    {UNARY("Shrink", 1), GRADIENT("0: local(x0)"), ONNX("bias lambd", ".fi")},
    {UNARY("Sigmoid", 4), GRADIENT("0: local(y0)"), ONNX("consumed_inputs", ".f"),
     NNSCALER("sigmoid"), TORCH("sigmoid"), PADDLE("sigmoid"), STABLEHLO("logistic")},
    {UNARY("Sign", 1), GRADIENT("0: zero"), HOST(sign), ONNX("", ".fi"), NNSCALER("sign"),
     TORCH("sign sgn"), PADDLE("sign"), STABLEHLO("sign")},
    {UNARY("Sin", 4), GRADIENT("0: local(x0)"), ONNX("", ".f"), NNSCALER("sin"), TORCH("sin"),
     PADDLE("sin"), STABLEHLO("sine")},
    {UNARY("Sinh", 8), GRADIENT("0: local(x0)"), ONNX("", ".f"), TORCH("sinh"), PADDLE("sinh")},
    {UNARY("Softplus", 8), GRADIENT("0: local(x0)"), ONNX("", ".f"), TORCH("softplus(beta=beta)"),
     PADDLE("softplus(beta=beta)")},
    {UNARY("Softsign", 2), GRADIENT("0: local(x0)"), ONNX("", ".f"), TORCH("softsign"),
     PADDLE("softsign")},
    {UNARY("Sqrt", 1), GRADIENT("0: local(y0)"), HOST(sqrt), ONNX("consumed_inputs", ".f"),
     NNSCALER("sqrt"), TORCH("sqrt"), PADDLE("sqrt"), STABLEHLO("sqrt")},
    {UNARY("Swish", 4), GRADIENT("0: local(x0)"), ONNX("alpha", ".f"), NNSCALER("silu"),
     TORCH("silu"), PADDLE("silu swish")},
    {UNARY("Tan", 8), GRADIENT("0: local(y0)"), ONNX("", ".f"), TORCH("tan"), PADDLE("tan"),
     STABLEHLO("tan")},
    {UNARY("Tanh", 4), GRADIENT("0: local(y0)"), ONNX("consumed_inputs", ".f"), NNSCALER("tanh"),
     TORCH("tanh"), PADDLE("tanh"), STABLEHLO("tanh")},
    {UNARY("ThresholdedRelu", 1), GRADIENT("0: local(x0)"), ONNX("alpha", ".f"),
     TORCH("threshold(threshold=alpha)"), PADDLE("thresholded_relu(threshold=alpha)")},
    {OP("IsInf", truth, 1, 1, 1), GRADIENT("all: zero"), EARLY,
     ONNX("detect_negative detect_positive", ".f"), .kernel = "IsInf", .examples = "5x6",
     NNSCALER("isinf"), TORCH("isinf"), PADDLE("isinf")},
    {OP("IsNaN", truth, 1, 1, 1), GRADIENT("all: zero"), EARLY, ONNX("", ".f"), .kernel = "IsNaN",
     .examples = "5x6", NNSCALER("isnan"), TORCH("isnan"), PADDLE("isnan")},
    {OP("Neg", linear, 1, 1, 1), GRADIENT("0: contract *-1"), HOST(neg), EARLY,
     ONNX("consumed_inputs", ".fi"), .kernel = "Neg", .examples = "5x6", NNSCALER("neg"),
     TORCH("neg negative"), STABLEHLO("negate"), .paddle = "neg"},
    {OP("Cast", cast, 1, 1, 1), GRADIENT("0: contract"), HOST(cast), EARLY_VIEW,
     ONNX("round_mode saturate to", ""), .kernel = "Cast", .examples = "5x6 to=7",
     .paddle = "unary", .dtensor = "cast _to_copy", PADDLE_CALLS("cast: 5x6:i64 to=1"),
     TORCH_CALLS("to.dtype: 5x6:i64 to=1")},
    {OP("Clip", one_operand, 2, 1, 3),
     GRADIENT("0: local(x0 x1 x2); 1: local(x0 x1 x2); 2: local(x0 x1 x2)"), EARLY,
     ONNX("consumed_inputs max min", "Afi Afi Afi"), .kernel = "Clip",
     .examples = "5x6,scalar,scalar", NNSCALER("clamp(min=min, max=max) clamp_min(min=min)"),
     TORCH("clamp(min=min, max=max) clip(min=min, max=max) clamp_min(min=min) clamp_max(max=max)"),
     PADDLE("clip(min=min, max=max)"), PADDLE_CALLS("clip(0): 5x6,scalar,scalar"),
     TORCH_CALLS("clamp clip: 5x6,scalar,scalar")},
    {OP("Add", sum, 1, 2, 2), .kernel = "Add", .flags = OPERATOR_EARLY | OPERATOR_ADDS,
     GRADIENT("all: contract"), HOST(add), ONNX("axis broadcast consumed_inputs", "Afi Afi"),
     .examples = "5x6,5x6; 4x5x6,5x1; 5x6,scalar", NNSCALER("add accum"), TORCH("add"),
     PADDLE("add elementwise_add"), STABLEHLO("add")},
    {BINARY("Sub", sum), GRADIENT("0: contract; 1: contract *-1"), HOST(sub),
     ONNX("axis broadcast consumed_inputs", "Afi Afi"),
     .examples = "5x6,5x6; 4x5x6,5x1; 5x6,scalar", NNSCALER("sub"),
     TORCH("sub subtract rsub.Tensor(; 1,0)"), PADDLE("subtract elementwise_sub"),
     STABLEHLO("subtract"), .dtensor = "ordered sub rsub"},
    {BINARY("Mul", mul), GRADIENT("0: contract(x1); 1: contract(x0)"), HOST(mul),
     ONNX("axis broadcast consumed_inputs", "Afi Afi"),
     .examples = "5x6,5x6; 4x5x6,5x1; 5x6,scalar; 5x6,1x1", NNSCALER("mul"), TORCH("mul multiply"),
     PADDLE("multiply elementwise_mul"), STABLEHLO("multiply")},
    {BINARY("Div", div_), GRADIENT("0: local(x1); 1: local(x0 x1)"), HOST(div),
     ONNX("axis broadcast consumed_inputs", "Afi Afi"),
     .examples = "5x6,5x6; 4x5x6,5x1; 5x6,scalar; 5x6,1x1", NNSCALER("div"),
     TORCH("div true_divide"), PADDLE("divide elementwise_div"), STABLEHLO("divide"),
     .dtensor = "ordered div reciprocal"},
    {BINARY("BitShift", same), GRADIENT("all: zero"), ONNX("direction", "Ai Ai"),
     .examples = "5x6:u8,5x6:u8 direction=LEFT",
     TORCH("bitwise_left_shift(;; direction:=LEFT) __lshift__(;; direction:=LEFT)"),
     STABLEHLO("shift_left(;; direction:=LEFT) shift_right_logical(;; direction:=RIGHT)")},
    {BINARY("BitwiseAnd", same), GRADIENT("all: zero"), ONNX("", "Ai Ai"),
     .examples = "5x6:i64,6:i64", TORCH("bitwise_and __and__"), PADDLE("bitwise_and"),
     STABLEHLO("and")},
    {BINARY("BitwiseOr", same), GRADIENT("all: zero"), ONNX("", "Ai Ai"),
     .examples = "5x6:i64,6:i64", NNSCALER("bitwise_or"), TORCH("bitwise_or __or__"),
     PADDLE("bitwise_or"), STABLEHLO("or")},
    {BINARY("BitwiseXor", same), GRADIENT("all: zero"), ONNX("", "Ai Ai"),
     .examples = "5x6:i64,6:i64", TORCH("bitwise_xor __xor__"), PADDLE("bitwise_xor"),
     STABLEHLO("xor")},
    {BINARY("Mod", same), GRADIENT("0: contract; 1: local(x0 x1)"), HOST(mod),
     ONNX("fmod", "Afi Afi"), .examples = "5x6:i64,6:i64",
     TORCH("fmod(;; fmod:=1) fmod.Tensor(;; fmod:=1)")},
    {BINARY("PRelu", same), GRADIENT("0: local(x0 x1); 1: local(x0)"),
     ONNX("consumed_inputs", "Afi Afi"), .examples = "5x6,5x6; 3x5x6,5x1",
     TORCH("prelu _prelu_kernel"), PADDLE("prelu")},
    {OP("Pow", same, 4, 2, 2), GRADIENT("0: local(x0 x1); 1: local(x0 x1)"), HOST(pow), EARLY,
     ONNX("axis broadcast", ".fi .fi"), .kernel = "Pow", .examples = "5x6,5x6",
     TORCH("pow.Tensor_Tensor"), PADDLE("elementwise_pow"), STABLEHLO("power")},
    {BINARY("And", truth), GRADIENT("all: zero"), HOST(and), ONNX("axis broadcast", "Ab Ab"),
     .examples = "5x6:bool,5x6:bool", TORCH("logical_and"), PADDLE("logical_and")},
    {BINARY("Or", truth), GRADIENT("all: zero"), HOST(or), ONNX("axis broadcast", "Ab Ab"),
     .examples = "5x6:bool,5x6:bool", TORCH("logical_or"), PADDLE("logical_or")},
    {BINARY("Xor", truth), GRADIENT("all: zero"), HOST(xor), ONNX("axis broadcast", "Ab Ab"),
     .examples = "5x6:bool,5x6:bool", TORCH("logical_xor"), PADDLE("logical_xor")},
    {BINARY("Equal", truth), GRADIENT("all: zero"), HOST(equal), ONNX("axis broadcast", "A A"),
     .examples = "5x6,5x6", NNSCALER("eq"), TORCH("eq"), PADDLE("equal")},
    {BINARY("Greater", truth), GRADIENT("all: zero"), HOST(greater),
     ONNX("axis broadcast", "Afi Afi"), .examples = "5x6,5x6", NNSCALER("gt"), TORCH("gt greater"),
     PADDLE("greater_than")},
    {BINARY("GreaterOrEqual", truth), GRADIENT("all: zero"), HOST(greater_equal),
     ONNX("", "Afi Afi"), .examples = "5x6,5x6", NNSCALER("ge"), TORCH("ge greater_equal"),
     PADDLE("greater_equal")},
    {BINARY("Less", truth), GRADIENT("all: zero"), HOST(less), ONNX("axis broadcast", "Afi Afi"),
     .examples = "5x6,5x6", NNSCALER("lt"), TORCH("lt less"), PADDLE("less_than")},
    {BINARY("LessOrEqual", truth), GRADIENT("all: zero"), HOST(less_equal), ONNX("", "Afi Afi"),
     .examples = "5x6,5x6", NNSCALER("le"), TORCH("le less_equal"), PADDLE("less_equal")},
    {OP("Where", where, 1, 3, 3), GRADIENT("0: zero; 1: local(x0); 2: local(x0)"), HOST(where),
     EARLY, ONNX("", ".b A A"), .kernel = "Where", .examples = "5x1:bool,6,5x6", NNSCALER("where"),
     TORCH("where"), PADDLE("where"), STABLEHLO("select")},
    {OP("Max", same, 1, 1, OPERATOR_ANY), GRADIENT("all: local(inputs)"), HOST(max), EARLY,
     ONNX("consumed_inputs", "Afi+"), .kernel = "Max", .examples = "5x6,5x6; 4x5x6,5x1; 5x6,6,5x1",
     TORCH("maximum max.other"), PADDLE("maximum"), STABLEHLO("maximum"),
     PADDLE_CALLS("maximum: 5x6,5x6; 4x5x6,5x1"),
     TORCH_CALLS("clamp_min(0): 5x6,scalar; maximum fmax: 4x5x6,5x1; maximum: 5x6,5x6")},
    {OP("Min", same, 1, 1, OPERATOR_ANY), GRADIENT("all: local(inputs)"), HOST(min), EARLY,
     ONNX("consumed_inputs", "Afi+"), .kernel = "Min", .examples = "5x6,5x6; 5x6,6,5x1",
     TORCH("minimum min.other"), PADDLE("minimum"), STABLEHLO("minimum"),
     PADDLE_CALLS("minimum: 4x5x6,5x1"),
     TORCH_CALLS("clamp_max(0): 5x6,scalar; minimum fmin: 4x5x6,5x1")},
    {OP("Mean", sum, 1, 1, OPERATOR_ANY), GRADIENT("all: contract *mean"), EARLY,
     ONNX("consumed_inputs", "Af+"), .kernel = "Mean", .examples = "5x6,5x6; 5x6,6,5x1"},
    {OP("Sum", sum, 1, 1, OPERATOR_ANY), GRADIENT("all: contract"), HOST(add),
     .flags = OPERATOR_EARLY | OPERATOR_ADDS, ONNX("consumed_inputs", "Af+"), .kernel = "Sum",
     .examples = "5x6,5x6; 5x6,6,5x1", PADDLE("add_n"), PADDLE_CALLS("add_n: 5x6,5x6,5x6")},
    {OP("Identity", linear, 0, 1, 1), GRADIENT("0: view"), HOST(identity), SEQUENCE(pass), EARLY,
     ONNX("", ""), .kernel = "view", .examples = "5x6",
     NNSCALER("clone contiguous detach identity"),
     TORCH("clone alias detach contiguous lift_fresh positive to_dense wait_tensor"),
     PADDLE("assign share_data"), STABLEHLO("optimization_barrier"), .dtensor = "unary alias"},
    {OP("Dropout", dropout, 1, 1, 3), GRADIENT("0: DropoutBackward(x1 x2 y1); 1: zero"),
     .flags = OPERATOR_EARLY | OPERATOR_DRAWS | OPERATOR_KEEPS_MASK, .outputs_max = 2,
     ONNX("consumed_inputs is_test ratio seed", ".f .f .b"), .kernel = "Dropout",
     .examples = "5x6; 5x6 -> 2", NNSCALER("dropout"),
     TORCH("dropout native_dropout feature_dropout"), PADDLE("dropout(; 0)"),
     .dtensor = "unary alias"},
    {OP("Expand", expand, 0, 2, 2), GRADIENT("0: contract"), HOST(expand), RANK(BROADCAST, 1),
     EARLY_PICKS, .reads = 1 << 1, ONNX("", ". .i"), .kernel = "Expand",
     .examples = "5x1,=[4,5,6]; 5x6,=[5,1]", .paddle = "expand", .dtensor = "of_size expand",
     PADDLE_CALLS("expand: 5x1x6,=[4,5,7,6] | shape=[4,5,7,6]; expand_as expand_as_v2(0,4x5x7x6): "
                  "5x1x6,=[4,5,7,6] | target_shape=[4,5,7,6]; sum_grad(5x6x4,0): 5x1x4,=[5,6,4] | "
                  "axis=[1] keepdim=1"),
     TORCH_CALLS("expand broadcast_to expand_copy: 5x1x6,=[4,5,7,6] | size=[4,5,7,6]; "
                 "expand_as(0,4x5x7x6): 5x1x6,=[4,5,7,6]")},
    {0},
};
