/* reduce.c - operators that fold a dim.
 *
 * Kept dims are index dims d0, d1, .. by their number in the input; the one folded dim is d,
 * several are numbered too. A fold whose parts combine (sum, max, min, product) is a REDUCE dim: a
 * cut of it leaves the output partial. Mean is a sum divided by the global count, so that uneven
 * parts stay right. Norms, logs of sums, arg max and cumulative sums do not combine that way: their
 * dim is frozen, as is the mean of integers, which rounds.
 */
#include "core/rules/args.h"

/* The index dim of a folded dim: "d", or "d2" where several are folded. */
static int folded_index(RuleCall *call, int64_t dim, bool only, IndexRole role, ReduceOp reduce)
{
    int64_t size = call->shape[0]->dim[dim];
    int index = -1;
    if (only)
        return rule_index(call->space, "d", size, role, reduce);
    index = rule_index_at(call, 'd', dim, size);
    if (index >= 0) {
        call->space->index[index].role = role;
        call->space->index[index].reduce = reduce;
    }
    return index;
}

/* Rows of a fold: input 0 has all index dims, output 0 those kept; a folded dim that stays in the
 * output has size 1 there. */
static bool fold(RuleCall *call, const bool *folded, IndexRole role, ReduceOp reduce, Error *err)
{
    const Shape *from = call->shape[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int n_folded = 0;
    for (int64_t d = 0; d < from->n_dims; d++)
        n_folded += folded[d];
    bool keep = call->out_shape[0].n_dims == from->n_dims;
    for (int64_t d = 0, at = 0; d < from->n_dims; d++) {
        int index = folded[d] ? folded_index(call, d, n_folded == 1, role, reduce)
                              : rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        if (!folded[d])
            rule_unit(rule_output(space, 0), at, index);
        at += keep || !folded[d];
    }
    return true;
}

static bool reduce(RuleCall *call, IndexRole role, ReduceOp how, Error *err)
{
    bool folded[DIMS_MAX];
    if (!args_reduce(call, folded, &call->out_shape[0], err))
        return false;
    call->out_dtype[0] = call->dtype[0];
    return fold(call, folded, role, how, err);
}

static bool reduce_sum(RuleCall *call, Error *err)
{
    return reduce(call, ROLE_REDUCE, REDUCE_SUM, err);
}

static bool reduce_mean(RuleCall *call, Error *err)
{
    return dtype_is_float(call->dtype[0]) ? reduce(call, ROLE_REDUCE, REDUCE_SUM, err)
                                          : reduce(call, ROLE_FROZEN, REDUCE_NONE, err);
}

static bool reduce_max(RuleCall *call, Error *err)
{
    return reduce(call, ROLE_REDUCE, REDUCE_MAX, err);
}

static bool reduce_min(RuleCall *call, Error *err)
{
    return reduce(call, ROLE_REDUCE, REDUCE_MIN, err);
}

static bool reduce_prod(RuleCall *call, Error *err)
{
    return reduce(call, ROLE_REDUCE, REDUCE_PROD, err);
}

static bool reduce_frozen(RuleCall *call, Error *err)
{
    return reduce(call, ROLE_FROZEN, REDUCE_NONE, err);
}

static bool arg_most(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    bool folded[DIMS_MAX] = {false};
    int axis;
    if (!args_axis(args_int(call, "axis", 0), from->n_dims, &axis, err))
        return false;
    folded[axis] = true;
    call->out_shape[0] = (Shape){0};
    for (int d = 0; d < from->n_dims; d++)
        if (d != axis || args_int(call, "keepdims", 1) != 0)
            call->out_shape[0].dim[call->out_shape[0].n_dims++] = d == axis ? 1 : from->dim[d];
    call->out_dtype[0] = DT_I64;
    return fold(call, folded, ROLE_FROZEN, REDUCE_NONE, err);
}

/* Along its axis every element depends on those before it. An axis computed in the run may be any.
 */
static bool cumulate(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t given = 0;
    int axis = -1;
    bool known = value_one_int(call->value[1], &given);
    if (known && !args_axis(given, from->n_dims, &axis, err))
        return false;
    call->out_shape[0] = *from;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int d = 0; d < from->n_dims; d++) {
        int index = !known || d == axis ? folded_index(call, d, known, ROLE_FROZEN, REDUCE_NONE)
                                        : rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return true;
}

#define REDUCE(name_, rule_, cost)                                                                 \
    {                                                                                              \
        .name = (name_), .rule = (rule_), .flops_per_point = (cost), .family = "reduce",           \
        .inputs_min = 1, .inputs_max = 2, .reads = 1 << 1                                          \
    }
#define ARG(name_)                                                                                 \
    {                                                                                              \
        .name = (name_), .rule = arg_most, .flops_per_point = 1, .family = "reduce",               \
        .inputs_min = 1, .inputs_max = 1                                                           \
    }
#define CUMULATE(name_)                                                                            \
    {                                                                                              \
        .name = (name_), .rule = cumulate, .flops_per_point = 1, .family = "reduce",               \
        .inputs_min = 2, .inputs_max = 2, .reads = 1 << 1                                          \
    }

const Operator operators_reduce[] = {
    REDUCE("ReduceSum", reduce_sum, 1),
    REDUCE("ReduceMean", reduce_mean, 1),
    REDUCE("ReduceMax", reduce_max, 1),
    REDUCE("ReduceMin", reduce_min, 1),
    REDUCE("ReduceProd", reduce_prod, 1),
    REDUCE("ReduceL1", reduce_sum, 2),
    REDUCE("ReduceSumSquare", reduce_sum, 2),
    REDUCE("ReduceL2", reduce_frozen, 2),
    REDUCE("ReduceLogSum", reduce_frozen, 1),
    REDUCE("ReduceLogSumExp", reduce_frozen, 5),
    ARG("ArgMax"),
    ARG("ArgMin"),
    CUMULATE("CumSum"),
    CUMULATE("CumProd"),
    {0},
};
