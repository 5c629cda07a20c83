/* cross_entropy.c - the loss of a training step, in parts whose sums over the classes can be
 * sharded.
 *
 *     SumExp     b s v+, b s 1 -> b s 1                 scores, their maximum
 *     TokenLoss  b s v+, b s 1, b s 1, b s -> b s       scores, maximum, sum, labels
 *
 * As one operator with its classes frozen it would gather the scores; so three numbers a label are
 * summed instead. TokenLoss is log(sum) + maximum, which one shard adds, less the score of the
 * label, which the shard that holds it subtracts. Its gradient is that of all three together:
 * exp(score - maximum) / sum, less 1 at the label. Source: the vocabulary-parallel cross entropy of
 * Megatron-LM.
 */
#include "core/rules/operators/dims.h"

/* Rows of the dims before the last; returns the index dim of the last, or -1. */
static OpSpace *over_classes(RuleCall *call, Error *err)
{
    OpSpace *space = rule_space(call, err);
    const Shape *scores = call->shape[0];
    if (!space)
        return NULL;
    for (int64_t d = 0; d + 1 < scores->n_dims; d++) {
        int index = rule_index_at(call, 'd', d, scores->dim[d]);
        for (int i = 0; i < call->n_inputs; i++)
            rule_unit(&space->operand[i], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    int64_t last = scores->n_dims - 1;
    int v = rule_index(space, "v", scores->dim[last], ROLE_REDUCE, REDUCE_SUM);
    rule_unit(&space->operand[0], last, v);
    return space;
}

static bool sum_exp(RuleCall *call, Error *err)
{
    if (!args_rank(call, 0, 1, DIMS_MAX, err))
        return false;
    Shape one = *call->shape[0];
    one.dim[one.n_dims - 1] = 1;
    if (!args_shape(call, 1, &one, err))
        return false;
    call->out_shape[0] = one;
    call->out_dtype[0] = call->dtype[0];
    return over_classes(call, err);
}

static bool token_loss(RuleCall *call, Error *err)
{
    if (!args_rank(call, 0, 1, DIMS_MAX, err))
        return false;
    Shape one = *call->shape[0], labels = dims_without_one(&one, (int)one.n_dims - 1);
    one.dim[one.n_dims - 1] = 1;
    if (!args_shape(call, 1, &one, err) || !args_shape(call, 2, &one, err) ||
        !args_shape(call, 3, &labels, err))
        return false;
    call->out_shape[0] = labels;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = over_classes(call, err);
    if (space)
        space->operand[1].once = space->operand[2].once = true;
    return space;
}

#define FAMILY "cross_entropy"

const Operator operators_cross_entropy[] = {
    {OP("SumExp", sum_exp, 2, 2, 2), GRADIENT("0: zero; 1: zero"), OWN("", "Af Af"),
     .kernel = "SumExp", .examples = "5x6x7,5x6x1"},
    {OP("TokenLoss", token_loss, 2, 4, 4), .flags = OPERATOR_GRADIENT_IN_PLACE | OPERATOR_LABELS,
     GRADIENT("0: TokenLossGrad(x0 x1 x2 x3); 1: zero; 2: zero"),
     OWN("ignore_index label_smoothing", "Af Af Af .i"), .kernel = "TokenLoss",
     .examples = "5x6x7,5x6x1,5x6x1,5x6:i64"},
    {0},
};
