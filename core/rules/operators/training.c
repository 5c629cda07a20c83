/* training.c - steps of optimizers, one parameter at a time, and checks of gradients.
 *
 *     AdamStep   a0 a1, a0 a1, 1, a0 a1, a0 a1, ?, 1, 1, ? -> a0 a1, a0 a1, a0 a1, ?, 1, 1, ?
 *
 * Tensors with the parameter's shape are updated element by element; learning rates and powers of
 * the decay are read whole.
 */
#include "core/rules/operators/dims.h"

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

const Operator operators_training[] = {
    {OP("AdamStep", adam, 16, 5, 10), .outputs_max = 7,
     .examples = "5x6,5x6,1,5x6,5x6,-,1,1 -> 3; 5x6:f16,5x6:f16,1,5x6,5x6,5x6,1,1,5x6 -> 7",
     PADDLE("adam adamw")},
    {OP("SgdStep", sgd, 2, 3, 4), .outputs_max = 2, .examples = "5x6:f16,1,5x6:f16,5x6 -> 2",
     PADDLE("sgd")},
    {OP("CheckFiniteAndUnscale", check_finite, 2, 2, OPERATOR_ANY), .outputs_max = OPERATOR_MANY,
     .examples = "5x6,7,1 -> 3", PADDLE("check_finite_and_unscale")},
    {0},
};
