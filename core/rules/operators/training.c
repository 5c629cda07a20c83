/* training.c - updates of parameters by optimizers, one parameter at a time, clipping, and checks
 * of gradients.
 *
 *     AdamWUpdate  a0 a1, a0 a1, , , , a0 a1, a0 a1 -> a0 a1, a0 a1, a0 a1 core/rules/optimizer.h
 *     ClipFactor   ,  -> ,
 *     LossScaleUpdate  , 1, 1 -> 1, 1
 *     AdamStep     a0 a1, a0 a1, 1, a0 a1, a0 a1, ?, 1, 1, ? -> a0 a1, a0 a1, a0 a1, ?, 1, 1, ?
 *
 * The global norm of all gradients is a ReduceSumSquare of each, added up: partial over every axis
 * that shards a gradient, so each element counts once.
 *
 * Tensors with the parameter's shape are updated element by element; learning rates and powers of
 * the decay are read whole.
 */
#include "core/rules/operators/dims.h"
#include "core/rules/optimizer.h"

/* from[o]: the input of which output o is the updated value, among the first n. */
static bool step(RuleCall *call, const int *from, int n, Error *err)
{
    const Shape *param = call->shape[0];
    for (int o = 0; o < n && o < call->n_outputs; o++) {
        call->out_shape[o] = *param;
        call->out_dtype[o] = call->dtype[0];
        if (from[o] >= call->n_inputs || !call->shape[from[o]])
            continue;
        call->out_shape[o] = *call->shape[from[o]];
        call->out_dtype[o] = call->dtype[from[o]];
    }
    OpSpace *space = rule_space(call, err);
    for (int64_t d = 0; space && d < param->n_dims; d++) {
        int index = rule_index_at(call, 'a', d, param->dim[d]);
        for (int i = 0; i < call->n_inputs; i++)
            if (call->shape[i] && shape_equal(call->shape[i], param))
                rule_unit(&space->operand[i], d, index);
        for (int o = 0; o < call->n_outputs; o++)
            if (shape_equal(&call->out_shape[o], param))
                rule_unit(rule_output(space, o), d, index);
    }
    for (int o = 0; space && o < n && o < call->n_outputs; o++)
        if (from[o] < call->n_inputs && call->shape[from[o]])
            rule_output(space, o)->updates = (uint16_t)(1 + from[o]);
    return space;
}

/* param, grad, rate, moments 1, 2 and largest 2, two powers, master, skip */
static bool adam(RuleCall *call, Error *err)
{
    static const int from[7] = {0, 3, 4, 5, 6, 7, 8};
    return step(call, from, 7, err);
}

/* param, rate, grad, master */
static bool sgd(RuleCall *call, Error *err)
{
    static const int from[2] = {0, 3};
    return step(call, from, 2, err);
}

/* Parameter, gradient, rate, step, factor, states -> parameter, states */
static bool update(RuleCall *call, Error *err)
{
    const Optimizer *row = optimizer_of_op(op_operator(call->graph, call->op));
    double hyper[HYPER_COUNT];
    int states[OPTIMIZER_STATES_MAX], from[1 + OPTIMIZER_STATES_MAX] = {0};
    optimizer_read_hyper(call, row, hyper);
    int n = optimizer_states(row, hyper, states);
    for (int i = 0; i < n; i++) {
        int input = UPDATE_STATES + i;
        from[1 + i] = input;
        if (!args_has(call, input))
            return error_set(err, "its state %s, input %d, is absent", row->state[states[i]].name,
                             input);
        if (!args_shape(call, input, call->shape[0], err))
            return false;
    }
    if (call->n_inputs > UPDATE_STATES + n || call->n_outputs > 1 + n)
        return error_set(err, "it has more operands than %d state%s", n, n == 1 ? "" : "s");
    return args_shape(call, UPDATE_GRADIENT, call->shape[0], err) && step(call, from, 1 + n, err);
}

/* Sum of squares of all gradients, loss scale -> what gradients are multiplied by, their norm */
static bool clip_factor(RuleCall *call, Error *err)
{
    for (int i = 0; i < call->n_inputs; i++)
        if (args_has(call, i) && !args_rank(call, i, 0, 0, err))
            return false;
    args_float(call, "clip", 0);
    args_float(call, "scale", 1);
    args_float(call, "norm_type", 2);
    args_int(call, "checked", 0);
    dims_answer(call, call->shape[0], call->dtype[0]);
    return rule_space(call, err);
}

/* Sum of squares, scale, good steps in a row -> scale, good steps */
static bool scale_update(RuleCall *call, Error *err)
{
    for (int i = 1; i < 3; i++)
        if (!args_rank(call, i, 0, 1, err))
            return false;
    args_float(call, "growth_factor", 2);
    args_float(call, "backoff_factor", 0.5);
    args_int(call, "growth_interval", 2000);
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = *call->shape[1 + o];
        call->out_dtype[o] = call->dtype[1 + o];
    }
    OpSpace *space = rule_space(call, err);
    for (int o = 0; space && o < call->n_outputs; o++)
        rule_output(space, o)->updates = (uint16_t)(2 + o);
    return space;
}

/* Gradients .., scale -> gradients .., and whether one is not finite; this depends on all of them,
 * so nothing is sharded. */
static bool check_finite(RuleCall *call, Error *err)
{
    int n = call->n_inputs - 1;
    if (call->n_outputs > n + 1)
        return error_set(err, "it has more outputs than gradients and a flag");
    for (int o = 0; o < call->n_outputs; o++) {
        if (o < n && !call->shape[o])
            return error_set(err, "its input %d is absent", o);
        call->out_shape[o] = o < n ? *call->shape[o] : (Shape){.n_dims = 1, .dim = {1}};
        call->out_dtype[o] = o < n ? call->dtype[o] : DT_BOOL;
    }
    return rule_space(call, err);
}

#define FAMILY "training"
#define UPDATE(op, flops, n, attrs, examples_)                                                     \
    OP(op, update, flops, 4, UPDATE_STATES + (n)),                                                 \
        .outputs_max = 1 + (n), OWN(attrs "maximize weight_decay", ".f .f .f .i .f+"),             \
        .kernel = "SgdUpdate", .examples = (examples_)
#define BARE "5x6,5x6,scalar,scalar:i64"
#define ONE_STATE BARE ",scalar,5x6"
#define TWO_STATES ONE_STATE ",5x6"

const Operator operators_training[] = {
    {UPDATE("SgdUpdate", 2, 0, "", BARE "; " BARE ",scalar weight_decay=0.5")},
    {UPDATE("MomentumUpdate", 5, 1, "dampening momentum ",
            ONE_STATE " -> 2; " BARE ",-,5x6 dampening=0.5 -> 2")},
    {UPDATE("NesterovUpdate", 7, 1, "momentum ", ONE_STATE " -> 2")},
    {UPDATE("AdamUpdate", 16, 3, "amsgrad beta1 beta2 decoupled_weight_decay eps ",
            TWO_STATES " -> 3; " TWO_STATES ",5x6 amsgrad=1 -> 4")},
    {UPDATE("AdamWUpdate", 16, 3, "amsgrad beta1 beta2 eps ",
            TWO_STATES " -> 3; " TWO_STATES ",5x6 amsgrad=1 -> 4")},
    {UPDATE("AdagradUpdate", 7, 1, "eps initial_accumulator_value lr_decay ", ONE_STATE " -> 2")},
    {UPDATE("RmspropUpdate", 9, 3, "alpha centered eps momentum ",
            ONE_STATE " -> 2; " TWO_STATES ",5x6 momentum=0.5 centered=1 -> 4")},
    {UPDATE("AdamaxUpdate", 10, 2, "beta1 beta2 eps ", TWO_STATES " -> 3")},
    {UPDATE("NadamUpdate", 16, 2, "beta1 beta2 decoupled_weight_decay eps momentum_decay ",
            TWO_STATES " -> 3")},
    {UPDATE("RadamUpdate", 16, 2, "beta1 beta2 decoupled_weight_decay eps ", TWO_STATES " -> 3")},
    {OP("ClipFactor", clip_factor, 4, 1, 2), .outputs_max = 2,
     OWN("checked clip norm_type scale", ".f+"), .kernel = "ClipFactor",
     .examples = "scalar clip=1.0; scalar,scalar clip=1.0 norm_type=1.0 -> 2"},
    {OP("LossScaleUpdate", scale_update, 2, 3, 3), .outputs_max = 2,
     OWN("backoff_factor growth_factor growth_interval", ""), .kernel = "LossScaleUpdate",
     .examples = "scalar,1,1 -> 2"},
    {OP("AdamStep", adam, 16, 5, 10), .outputs_max = 7,
     OWN("beta1 beta2 coeff epsilon lazy_mode lr_ratio multi_precision with_decay", ""),
     .examples = "5x6,5x6,1,5x6,5x6,-,1,1 -> 3; 5x6:f16,5x6:f16,1,5x6,5x6,5x6,1,1,5x6 -> 7",
     PADDLE("adam adamw")},
    {OP("SgdStep", sgd, 2, 3, 4), .outputs_max = 2, OWN("multi_precision", ""),
     .examples = "5x6:f16,1,5x6:f16,5x6 -> 2", PADDLE("sgd")},
    {OP("CheckFiniteAndUnscale", check_finite, 2, 2, OPERATOR_ANY), .outputs_max = OPERATOR_MANY,
     OWN("", ""), .examples = "5x6,7,1 -> 3", PADDLE("check_finite_and_unscale")},
    {0},
};
