/* elementwise.c - one output element from one element of each operand, with broadcasting.
 *
 * Index dims d0, d1, .. are the dims of the output, right-aligned operands use those they have; a
 * dim of size 1 is no index dim (the others keep their number). Add, Sub and their kin are linear
 * together where no operand grows; Mul and Div are linear in the operand that the other one scales
 * by a single element.
 */
#include "core/rules/args.h"

/* The output has the operands' common shape. */
static OpSpace *pointwise_space(RuleCall *call, const Shape *out, Dtype dtype, Error *err)
{
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = *out;
        call->out_dtype[o] = dtype;
    }
    OpSpace *space = rule_space(call, err);
    if (!space)
        return NULL;

    int index[DIMS_MAX], n = (int)out->n_dims;
    for (int d = 0; d < n; d++)
        index[d] = rule_index_at(call, 'd', d, out->dim[d]);
    for (int i = 0; i < call->n_inputs + call->n_outputs; i++)
        if (!space->operand[i].absent)
            rule_align(&space->operand[i], index, n);
    return space;
}

static bool pointwise(RuleCall *call, Dtype dtype, Error *err)
{
    Shape out;
    return args_broadcast(call->shape, call->n_inputs, &out, err) &&
           pointwise_space(call, &out, dtype, err);
}

static bool same(RuleCall *call, Error *err)
{
    return pointwise(call, call->dtype[0], err);
}

static bool truth(RuleCall *call, Error *err)
{
    return pointwise(call, DT_BOOL, err);
}

static bool linear(RuleCall *call, Error *err)
{
    if (!pointwise(call, call->dtype[0], err))
        return false;
    call->space->operand[0].linear = LINEAR_ALONE;
    return true;
}

/* A partial operand that broadcasts would be added, and later summed, at its full size. */
static bool sum(RuleCall *call, Error *err)
{
    if (!pointwise(call, call->dtype[0], err))
        return false;
    bool grows = false;
    for (int i = 0; i < call->n_inputs; i++)
        grows |= !call->shape[i] || !shape_equal(call->shape[i], &call->out_shape[0]);
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
    if (!pointwise(call, call->dtype[0], err))
        return false;
    for (int i = 0; i < 2; i++)
        if (scales(call, i, 1 - i))
            call->space->operand[i].linear = LINEAR_ALONE;
    return true;
}

/* Integer quotients are rounded, so only floats are linear. */
static bool div_(RuleCall *call, Error *err)
{
    if (!pointwise(call, call->dtype[0], err))
        return false;
    if (dtype_is_float(call->dtype[0]) && scales(call, 0, 1))
        call->space->operand[0].linear = LINEAR_ALONE;
    return true;
}

static bool where(RuleCall *call, Error *err)
{
    return pointwise(call, call->dtype[1], err);
}

static bool cast(RuleCall *call, Error *err)
{
    Dtype dtype;
    return args_dtype(call, "to", DT_NONE, &dtype, err) && pointwise(call, dtype, err);
}

/* The operands after the first are single elements, whose dims do not count: the bounds of Clip. */
static bool one_operand(RuleCall *call, Error *err)
{
    for (int i = 1; i < call->n_inputs; i++)
        if (call->shape[i] && shape_elements(call->shape[i]) != 1)
            return error_set(err, "its input %d is not one element", i);
    return pointwise_space(call, call->shape[0], call->dtype[0], err);
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

/* The target shape, a constant, is read whole. A dim that grows is an index dim of the output
 * alone, as the groups of grouped-query attention are. */
static bool expand(RuleCall *call, Error *err)
{
    Shape out;
    if (!args_expand(call, &out, err))
        return false;
    call->out_shape[0] = out;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
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

#define ROW(name_, rule_, cost, min, max)                                                          \
    {                                                                                              \
        .name = (name_), .rule = (rule_), .flags = OPERATOR_EARLY, .flops_per_point = (cost),      \
        .family = "elementwise", .inputs_min = (min), .inputs_max = (max)                          \
    }
#define UNARY(name, cost) ROW(name, same, cost, 1, 1)
#define BINARY(name, rule) ROW(name, rule, 1, 2, 2)
#define MANY(name, rule) ROW(name, rule, 1, 1, OPERATOR_ANY)

/* Costs are flops an element: 1 for an instruction, 4 for a polynomial, 8 for several. */
const Operator operators_elementwise[] = {
    UNARY("Abs", 1),
    UNARY("Acos", 4),
    UNARY("Acosh", 8),
    UNARY("Asin", 4),
    UNARY("Asinh", 8),
    UNARY("Atan", 4),
    UNARY("Atanh", 8),
    UNARY("BitwiseNot", 1),
    UNARY("Ceil", 1),
    UNARY("Celu", 4),
    UNARY("Cos", 4),
    UNARY("Cosh", 8),
    UNARY("Elu", 4),
    UNARY("Erf", 4),
    UNARY("Exp", 4),
    UNARY("Floor", 1),
    UNARY("Gelu", 8),
    UNARY("HardSigmoid", 2),
    UNARY("HardSwish", 4),
    UNARY("LeakyRelu", 1),
    UNARY("Log", 4),
    UNARY("Mish", 8),
    UNARY("Not", 1),
    UNARY("Reciprocal", 1),
    UNARY("Relu", 1),
    UNARY("Round", 1),
    UNARY("Selu", 4),
    UNARY("Shrink", 1),
    UNARY("Sigmoid", 4),
    UNARY("Sign", 1),
    UNARY("Sin", 4),
    UNARY("Sinh", 8),
    UNARY("Softplus", 8),
    UNARY("Softsign", 2),
    UNARY("Sqrt", 1),
    UNARY("Swish", 4),
    UNARY("Tan", 8),
    UNARY("Tanh", 4),
    UNARY("ThresholdedRelu", 1),
    ROW("IsInf", truth, 1, 1, 1),
    ROW("IsNaN", truth, 1, 1, 1),
    ROW("Neg", linear, 1, 1, 1),
    ROW("Cast", cast, 1, 1, 1),
    ROW("Clip", one_operand, 2, 1, 3),

    BINARY("Add", sum),
    BINARY("Sub", sum),
    BINARY("Mul", mul),
    BINARY("Div", div_),
    BINARY("BitShift", same),
    BINARY("BitwiseAnd", same),
    BINARY("BitwiseOr", same),
    BINARY("BitwiseXor", same),
    BINARY("Mod", same),
    BINARY("PRelu", same),
    ROW("Pow", same, 4, 2, 2),
    BINARY("And", truth),
    BINARY("Or", truth),
    BINARY("Xor", truth),
    BINARY("Equal", truth),
    BINARY("Greater", truth),
    BINARY("GreaterOrEqual", truth),
    BINARY("Less", truth),
    BINARY("LessOrEqual", truth),
    ROW("Where", where, 1, 3, 3),

    MANY("Max", same),
    MANY("Min", same),
    MANY("Mean", sum),
    MANY("Sum", sum),
    {.name = "Identity",
     .rule = linear,
     .flags = OPERATOR_EARLY | OPERATOR_VIEW,
     .family = "elementwise",
     .inputs_min = 1,
     .inputs_max = 1},
    {.name = "Dropout",
     .rule = dropout,
     .flags = OPERATOR_EARLY,
     .flops_per_point = 1,
     .family = "elementwise",
     .inputs_min = 1,
     .inputs_max = 3,
     .outputs_max = 2},
    {.name = "Expand",
     .rule = expand,
     .flags = OPERATOR_EARLY,
     .family = "elementwise",
     .inputs_min = 2,
     .inputs_max = 2,
     .reads = 1 << 1},
    {0},
};
