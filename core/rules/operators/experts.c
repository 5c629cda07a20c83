/* experts.c - gates, and dispatch and combine of a mixture of experts.
 *
 *     MoeCombine       t h, s k+, s k+ -> s h
 *     ExpertDispatch   b s h, b s e -> b e s h      a row for each token and expert it chose
 *     ExpertCombine    b e+ s h, b s e+ -> b s h    their sum, weighted
 *
 * The last two drop no token. Where a token did not choose an expert its row is 0, and the plan
 * takes it as not there (core/plan/routed.h): so every dim is an index dim, and experts are sharded
 * by sending rows or by adding up what each rank's experts make.
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
    OpSpace *space = rule_space_as(call, &(Shape){.n_dims = 2, .dim = {weight->dim[0], x->dim[1]}},
                                   call->dtype[0], err);
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

/* How many of the tokens each expert gets, as the attribute expects it: a token chooses k experts,
 * each of them once. */
static bool check_load(const RuleCall *call, int64_t n_experts, Error *err)
{
    int64_t k = args_int(call, "k", 1);
    const Attr *load = args_attr(call, "load");
    if (k < 1 || k > n_experts)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "k is %" PRId64 ": a token chooses from 1 to all %" PRId64 " experts", k,
                          n_experts);
    if (!load)
        return true;
    if (load->type != ATTR_FLOATS || load->n != n_experts)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "load needs one share for each of %" PRId64 " experts", n_experts);
    double sum = 0, most = 0;
    for (int i = 0; i < load->n; i++) {
        if (!(load->floats[i] >= 0))
            return error_kind(err, ERROR_OUT_OF_RANGE, "the load of expert %d is negative", i);
        sum += load->floats[i];
        most = load->floats[i] > most ? load->floats[i] : most;
    }
    if (!(sum > 0) || most * (double)k > sum * (1 + 1e-6))
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "a token chooses %" PRId64 " experts, each once: the load of one is at "
                          "most 1/%" PRId64 " of all, and that of some is above 0",
                          k, k);
    return true;
}

static bool expert_dispatch(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0], *choice = call->shape[1];
    if (!args_rank(call, 0, 3, 3, err) || !args_rank(call, 1, 3, 3, err) ||
        !args_same_size(call, 0, 0, 1, 0, err) || !args_same_size(call, 0, 1, 1, 1, err) ||
        !check_load(call, choice->dim[2], err))
        return false;
    call->out_shape[0] =
        (Shape){.n_dims = 4, .dim = {x->dim[0], choice->dim[2], x->dim[1], x->dim[2]}};
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int b = rule_index(space, "b", x->dim[0], ROLE_MAP, REDUCE_NONE);
    int s = rule_index(space, "s", x->dim[1], ROLE_MAP, REDUCE_NONE);
    int e = rule_index(space, "e", choice->dim[2], ROLE_MAP, REDUCE_NONE);
    int h = rule_index(space, "h", x->dim[2], ROLE_MAP, REDUCE_NONE);
    rule_align(&space->operand[0], (const int[]){b, s, h}, 3);
    rule_align(&space->operand[1], (const int[]){b, s, e}, 3);
    rule_align(rule_output(space, 0), (const int[]){b, e, s, h}, 4);
    return true;
}

static bool expert_combine(RuleCall *call, Error *err)
{
    const Shape *y = call->shape[0];
    if (!args_rank(call, 0, 4, 4, err) || !args_rank(call, 1, 3, 3, err) ||
        !args_same_size(call, 0, 0, 1, 0, err) || !args_same_size(call, 0, 2, 1, 1, err) ||
        !args_same_size(call, 0, 1, 1, 2, err))
        return false;
    OpSpace *space = rule_space_as(
        call, &(Shape){.n_dims = 3, .dim = {y->dim[0], y->dim[2], y->dim[3]}}, call->dtype[0], err);
    if (!space)
        return false;
    int b = rule_index(space, "b", y->dim[0], ROLE_MAP, REDUCE_NONE);
    int s = rule_index(space, "s", y->dim[2], ROLE_MAP, REDUCE_NONE);
    int e = rule_index(space, "e", y->dim[1], ROLE_REDUCE, REDUCE_SUM);
    int h = rule_index(space, "h", y->dim[3], ROLE_MAP, REDUCE_NONE);
    rule_align(&space->operand[0], (const int[]){b, e, s, h}, 4);
    rule_align(&space->operand[1], (const int[]){b, s, e}, 3);
    rule_align(rule_output(space, 0), (const int[]){b, s, h}, 3);
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
    {OP("ExpertDispatch", expert_dispatch, 1, 2, 2), OWN("k load worst", "Af A"),
     .kernel = "Einsum", GRADIENT("0: contract(x1); 1: contract(x0)"),
     .examples = "5x7x3,5x7x4 k=2; 1x5x3,1x5x4"},
    {OP("ExpertCombine", expert_combine, 2, 2, 2), OWN("", "Af A"), .kernel = "Einsum",
     GRADIENT("0: contract(x1); 1: contract(x0)"), .examples = "5x4x7x3,5x7x4; 1x4x5x3,1x5x4"},
    {0},
};
