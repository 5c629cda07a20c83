/* experts.c - gates, and dispatch and combine of a mixture of experts.
 *
 *     MoeCombine       t h, s k+, s k+ -> s h
 */
#include "core/rules/operators/dims.h"

#include <inttypes.h>

/* x times the sigmoid of x times y; without y the last dim holds both halves. */
static bool swiglu(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    if (args_has(call, 1))
        return dims_pointwise(call, call->dtype[0], err);
    int64_t last = from->n_dims - 1;
    if (last < 0 || from->dim[last] % 2 != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "the last dim of its input 0 has no two equal halves");
    Shape out = *from;
    out.dim[last] /= 2;
    dims_answer(call, &out, call->dtype[0]);
    OpSpace *space = dims_space(call, &out, NULL, NULL, err);
    if (!space || out.dim[last] == 0)
        return space;
    int pair[2] = {
        rule_index(space, "p", 2, ROLE_FROZEN, REDUCE_NONE),
        opspace_find_index(space, str_from(arena_printf(call->arena, "d%" PRId64, last)))};
    rule_radix(space, &space->operand[0], last, pair, 2);
    return true;
}

/* x [s h], gate [s e] -> x by expert [e capacity h], weights [s k], places [k s], counts [e],
 * experts [s k]. Which tokens fit into the capacity depends on all tokens. */
static bool moe_dispatch(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0], *gate = call->shape[1];
    int64_t k = args_int(call, "k", 1), room = args_int(call, "capacity", 1);
    if (!args_rank(call, 0, 2, 2, err) || !args_rank(call, 1, 2, 2, err) ||
        !args_same_size(call, 0, 0, 1, 0, err))
        return false;
    if (k < 0 || room < 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "k or its capacity is negative");
    const Shape outputs[5] = {{.n_dims = 3, .dim = {gate->dim[1], room, x->dim[1]}},
                              {.n_dims = 2, .dim = {x->dim[0], k}},
                              {.n_dims = 2, .dim = {k, x->dim[0]}},
                              {.n_dims = 1, .dim = {gate->dim[1]}},
                              {.n_dims = 2, .dim = {x->dim[0], k}}};
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = outputs[o];
        call->out_dtype[o] = o == 0 ? call->dtype[0] : o == 1 ? DT_F32 : DT_I32;
    }
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int h = rule_index(space, "h", x->dim[1], ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[0], 1, h);
    rule_unit(rule_output(space, 0), 2, h);
    return true;
}

/* Each token is the weighted sum of k rows of x. */
static bool moe_combine(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0], *weight = call->shape[1];
    if (!args_rank(call, 0, 2, 2, err) || !args_rank(call, 1, 2, 2, err) ||
        !args_same_shape(call, 1, 2, err))
        return false;
    call->out_shape[0] = (Shape){.n_dims = 2, .dim = {weight->dim[0], x->dim[1]}};
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int s = rule_index(space, "s", weight->dim[0], ROLE_MAP, REDUCE_NONE);
    int h = rule_index(space, "h", x->dim[1], ROLE_MAP, REDUCE_NONE);
    int k = rule_index(space, "k", weight->dim[1], ROLE_REDUCE, REDUCE_SUM);
    rule_unit(&space->operand[0], 1, h);
    rule_align(&space->operand[1], (const int[]){s, k}, 2);
    rule_align(&space->operand[2], (const int[]){s, k}, 2);
    rule_align(rule_output(space, 0), (const int[]){s, h}, 2);
    return true;
}

#define FAMILY "experts"

const Operator operators_experts[] = {
    {OP("Swiglu", swiglu, 6, 1, 2), OWN("", ""), EARLY, .kernel = "Swiglu",
     .examples = "5x6,5x6; 5x8", PADDLE("swiglu")},
    {OP("MoeGateDispatch", moe_dispatch, 1, 2, 3), .outputs_max = 5, OWN("capacity k use_pad", ""),
     .examples = "5x6,5x4 k=2 capacity=3 -> 5", PADDLE("moe_gate_dispatch")},
    {OP("MoeCombine", moe_combine, 2, 3, 3), OWN("", ". .f .i"), .examples = "7x6,5x2,5x2:i32",
     PADDLE("moe_combine")},
    {0},
};
