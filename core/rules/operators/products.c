/* products.c - matrix products of torch and Paddle: with a bias, scales, groups of rows.
 *
 *     Linear      d0 d1 k+, n k+, n -> d0 d1 n
 *     Baddbmm     b m n, b m k+, b k+ n -> b m n      the first operand is added once
 */
#include "core/rules/operators/dims.h"

/* x [.. k] times w [n k], or [k n] if w_last; a bias [n] is added once. */
static bool linear_layer(RuleCall *call, bool w_last, Error *err)
{
    const Shape *x = call->shape[0], *w = call->shape[1];
    bool swap_x = args_int(call, "trans_x", 0) != 0 && x->n_dims > 1;
    if (!args_rank(call, 0, 1, DIMS_MAX, err) || !args_rank(call, 1, 2, 2, err))
        return false;
    int64_t last = x->n_dims - 1, at_k = swap_x ? last - 1 : last, k = x->dim[at_k];
    int64_t n = w->dim[w_last ? 1 : 0];
    if (!args_same_size(call, 0, at_k, 1, w_last ? 0 : 1, err) ||
        (args_has(call, 2) && !args_shape(call, 2, &(Shape){.n_dims = 1, .dim = {n}}, err)))
        return false;
    Shape out = *x;
    if (swap_x)
        out.dim[last - 1] = x->dim[last];
    out.dim[last] = n;
    dims_answer(call, &out, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int64_t d = 0; d < last; d++) {
        int index = rule_index_at(call, 'd', d, out.dim[d]);
        rule_unit(&space->operand[0], swap_x && d == last - 1 ? last : d, index);
        for (int o = 0; o < call->n_outputs; o++)
            rule_unit(rule_output(space, o), d, index);
    }
    int dim_k = rule_index(space, "k", k, ROLE_REDUCE, REDUCE_SUM);
    int dim_n = rule_index(space, "n", n, ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[0], at_k, dim_k);
    rule_unit(&space->operand[1], w_last ? 0 : 1, dim_k);
    rule_unit(&space->operand[1], w_last ? 1 : 0, dim_n);
    for (int o = 0; o < call->n_outputs; o++)
        rule_unit(rule_output(space, o), last, dim_n);
    if (args_has(call, 2)) {
        rule_unit(&space->operand[2], 0, dim_n);
        space->operand[2].once = true;
    }
    return true;
}

static bool linear(RuleCall *call, Error *err)
{
    return linear_layer(call, false, err);
}

/* Paddle's gemm_epilogue: with trans_y the weight is [n k], as in Linear. */
static bool gemm_epilogue(RuleCall *call, Error *err)
{
    return linear_layer(call, args_int(call, "trans_y", 0) == 0, err);
}

/* c + a b, batch by batch; c may broadcast. */
static bool baddbmm(RuleCall *call, Error *err)
{
    const Shape *c = call->shape[0], *a = call->shape[1], *b = call->shape[2];
    Shape out = {.n_dims = 3}, common;
    const Shape *both[2] = {c, &out};
    if (!args_rank(call, 1, 3, 3, err) || !args_rank(call, 2, 3, 3, err) ||
        !args_same_size(call, 1, 0, 2, 0, err) || !args_same_size(call, 1, 2, 2, 1, err))
        return false;
    out.dim[0] = a->dim[0];
    out.dim[1] = a->dim[1];
    out.dim[2] = b->dim[2];
    if (!args_broadcast(both, 2, &common, err))
        return false;
    if (!shape_equal(&common, &out))
        return error_set(err, "its input 0 is larger than the product");
    dims_answer(call, &out, call->dtype[1]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int index[3] = {rule_index(space, "b", out.dim[0], ROLE_MAP, REDUCE_NONE),
                    rule_index(space, "m", out.dim[1], ROLE_MAP, REDUCE_NONE),
                    rule_index(space, "n", out.dim[2], ROLE_MAP, REDUCE_NONE)};
    int k = rule_index(space, "k", a->dim[2], ROLE_REDUCE, REDUCE_SUM);
    rule_align(&space->operand[0], index, 3);
    rule_align(&space->operand[1], (const int[]){index[0], index[1], k}, 3);
    rule_align(&space->operand[2], (const int[]){index[0], k, index[2]}, 3);
    rule_align(rule_output(space, 0), index, 3);
    space->operand[0].once = true;
    return true;
}

static bool outer(RuleCall *call, Error *err)
{
    const Shape *a = call->shape[0], *b = call->shape[1];
    if (!args_rank(call, 0, 1, 1, err) || !args_rank(call, 1, 1, 1, err))
        return false;
    OpSpace *space = rule_space_as(call, &(Shape){.n_dims = 2, .dim = {a->dim[0], b->dim[0]}},
                                   call->dtype[0], err);
    if (!space)
        return false;
    int index[2] = {rule_index(space, "m", a->dim[0], ROLE_MAP, REDUCE_NONE),
                    rule_index(space, "n", b->dim[0], ROLE_MAP, REDUCE_NONE)};
    rule_unit(&space->operand[0], 0, index[0]);
    rule_unit(&space->operand[1], 0, index[1]);
    rule_align(rule_output(space, 0), index, 2);
    return true;
}

/* a [m k] times b [k n], or [n k] if b_is_transposed; scales are single elements, or follow m or
 * n. */
static bool scaled_matmul(RuleCall *call, Error *err)
{
    const Shape *a = call->shape[0], *b = call->shape[1];
    bool swap = args_int(call, "b_is_transposed", 0) != 0;
    if (!args_rank(call, 0, 2, 2, err) || !args_rank(call, 1, 2, 2, err) ||
        !args_same_size(call, 0, 1, 1, swap, err))
        return false;
    Shape out = {.n_dims = 2, .dim = {a->dim[0], b->dim[!swap]}};
    if (!args_dtype(call, "out_dtype", call->dtype[0], &call->out_dtype[0], err))
        return false;
    call->out_shape[0] = out;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int m = rule_index(space, "m", out.dim[0], ROLE_MAP, REDUCE_NONE);
    int k = rule_index(space, "k", a->dim[1], ROLE_REDUCE, REDUCE_SUM);
    int n = rule_index(space, "n", out.dim[1], ROLE_MAP, REDUCE_NONE);
    rule_align(&space->operand[0], (const int[]){m, k}, 2);
    rule_unit(&space->operand[1], swap, k);
    rule_unit(&space->operand[1], !swap, n);
    rule_align(rule_output(space, 0), (const int[]){m, n}, 2);
    for (int i = 2; i < call->n_inputs; i++) {
        const Shape *scale = call->shape[i];
        if (!scale || scale->n_dims != 2)
            continue;
        if (scale->dim[0] == out.dim[0])
            rule_unit(&space->operand[i], 0, m);
        if (scale->dim[1] == out.dim[1])
            rule_unit(&space->operand[i], 1, n);
    }
    return true;
}

/* The rows of a, [m k], are divided into groups that end at offs; each group has its own matrix of
 * b [g k n]. Two stacks of matrices, [g m k] and [g k n], are multiplied pairwise. */
static bool grouped_matmul(RuleCall *call, Error *err)
{
    const Shape *a = call->shape[0], *b = call->shape[1];
    bool stacks = a->n_dims == 3;
    if (!args_rank(call, 0, 2, 3, err) || !args_rank(call, 1, 3, 3, err) ||
        !args_same_size(call, 0, a->n_dims - 1, 1, 1, err) ||
        (stacks && !args_same_size(call, 0, 0, 1, 0, err)))
        return false;
    Shape out = *a;
    out.dim[out.n_dims - 1] = b->dim[2];
    dims_answer(call, &out, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int g = stacks ? rule_index(space, "g", b->dim[0], ROLE_MAP, REDUCE_NONE) : -1;
    int m =
        rule_index(space, "m", a->dim[a->n_dims - 2], stacks ? ROLE_MAP : ROLE_FROZEN, REDUCE_NONE);
    int k = rule_index(space, "k", b->dim[1], ROLE_REDUCE, REDUCE_SUM);
    int n = rule_index(space, "n", b->dim[2], ROLE_MAP, REDUCE_NONE);
    rule_align(&space->operand[0], (const int[]){g, m, k}, 3);
    rule_align(rule_output(space, 0), (const int[]){g, m, n}, 3);
    if (stacks)
        rule_unit(&space->operand[1], 0, g);
    rule_unit(&space->operand[1], 1, k);
    rule_unit(&space->operand[1], 2, n);
    return true;
}

/* x [.. i], dy [.. o], and optionally earlier dw [i o] and db [o] -> dw, db: sums over the rows. */
static bool linear_grad_add(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0], *grad = call->shape[1];
    int64_t last = x->n_dims - 1;
    if (!args_rank(call, 0, 2, DIMS_MAX, err) || !args_rank(call, 1, x->n_dims, x->n_dims, err))
        return false;
    for (int64_t d = 0; d < last; d++)
        if (!args_same_size(call, 0, d, 1, d, err))
            return false;
    Shape weight = {.n_dims = 2, .dim = {x->dim[last], grad->dim[last]}};
    Shape bias = {.n_dims = 1, .dim = {grad->dim[last]}};
    for (int i = 2; i < call->n_inputs; i++)
        if (args_has(call, i) && call->shape[i]->n_dims > 0 &&
            !args_shape(call, i, i == 2 ? &weight : &bias, err))
            return false;
    dims_answer(call, &weight, call->dtype[0]);
    if (call->n_outputs > 1)
        call->out_shape[1] = bias;
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int64_t d = 0; d < last; d++) {
        int index = rule_index_at(call, 'd', d, x->dim[d]);
        if (index < 0)
            continue;
        space->index[index].role = ROLE_REDUCE;
        space->index[index].reduce = REDUCE_SUM;
        rule_unit(&space->operand[0], d, index);
        rule_unit(&space->operand[1], d, index);
    }
    int i = rule_index(space, "i", x->dim[last], ROLE_MAP, REDUCE_NONE);
    int o = rule_index(space, "o", grad->dim[last], ROLE_MAP, REDUCE_NONE);
    rule_unit(&space->operand[0], last, i);
    rule_unit(&space->operand[1], last, o);
    for (int at = 2; at < call->n_inputs + call->n_outputs; at++) {
        Operand *operand = &space->operand[at];
        if (operand->absent || operand->shape.n_dims == 0)
            continue;
        rule_align(operand, (const int[]){i, o}, 2);
        operand->once = at < call->n_inputs;
    }
    return true;
}

#define FAMILY "products"

const Operator operators_products[] = {
    {OP("Linear", linear, 2, 2, 3), GRADIENT("0: contract(x1); 1: contract(x0); 2: contract"),
     OWN("", ""), .kernel = "Linear", .examples = "3x5x6,7x6,7", NNSCALER("linear"),
     TORCH("linear")},
    {OP("GemmEpilogue", gemm_epilogue, 2, 2, 3), .outputs_max = 2,
     OWN("activation trans_x trans_y", ""),
     .examples = "5x6,6x7,7 -> 2; 6x5,7x6,7 trans_x=1 trans_y=1",
     PADDLE("fused_gemm_epilogue linear_v2(transpose_weight=trans_y)")},
    {OP("Baddbmm", baddbmm, 2, 3, 3), OWN("alpha beta", ""),
     .examples = "3x5x7,3x5x6,3x6x7; 5x1,3x5x6,3x6x7", NNSCALER("baddbmm"), TORCH("baddbmm"),
     PADDLE("baddbmm")},
    {OP("Outer", outer, 1, 2, 2), OWN("", ""), .examples = "5,6", NNSCALER("outer"),
     TORCH("outer ger"), PADDLE("outer")},
    {OP("ScaledMatMul", scaled_matmul, 2, 2, 5),
     OWN("b_is_transposed out_dtype use_fast_accum", ""),
     .examples =
         "5x6:f8e4m3fn,6x7:f8e4m3fn,scalar,scalar out_dtype=1; 5x6,7x6,5x1,1x7 b_is_transposed=1",
     TORCH("_scaled_mm scaled_mm")},
    {OP("GroupedMatMul", grouped_matmul, 2, 2, 3), OWN("out_dtype", ""), .kernel = "GroupedMatMul",
     GRADIENT("0: GroupedGrad(x1 x2); 1: GroupedWeightGrad(x0 x2)"),
     .examples = "5x6,3x6x7,3:i32; 3x5x6,3x6x7",
     TORCH("grouped_mm _grouped_mm _scaled_grouped_mm")},
    {OP("LinearGradAdd", linear_grad_add, 2, 2, 4), .outputs_max = 2,
     OWN("has_bias multi_precision", ""), .examples = "3x5x6,3x5x7,6x7,7 -> 2",
     PADDLE("fused_linear_param_grad_add")},
    {0},
};
