/* gradient.c - operators of the backward pass, as torch and Paddle name them.
 *
 *     ElementwiseGrad        d0 d1, d0 d1 -> d0 d1
 *     BroadcastGrad          d0 d1, d1, d0 d1 -> d0^ d1, d1      x, y, dy -> dx, dy
 *     SoftmaxGrad            d0 d^, d0 d^ -> d0 d^
 *     EmbeddingGrad          i0+ i1+ e, i0+ i1+ -> v e
 *
 * A dim that every gradient has can be sharded freely; a dim that none of them has is summed over
 * its shards. A dim that some have and others sum over is frozen, since one index dim cannot be
 * both; this cannot happen when only one gradient is computed.
 */
#include "core/rules/operators/dims.h"

#include <inttypes.h>

/* ---- by broadcasting ---- */

static bool has_dim(const Shape *shape, const Shape *base, int64_t dim)
{
    int64_t at = dim - base->n_dims + shape->n_dims;
    return at >= 0 && shape->dim[at] == base->dim[dim];
}

/* Output o has the shape of input first + o; all inputs broadcast to one shape. */
static bool broadcast_from(RuleCall *call, int first, Error *err)
{
    DimUse use[DIMS_MAX];
    Shape base;
    if (!args_broadcast(call->shape, call->n_inputs, &base, err))
        return false;
    for (int o = 0; o < call->n_outputs; o++) {
        if (first + o >= call->n_inputs || !call->shape[first + o])
            return error_set(err, "it has no input for its output %d", o);
        call->out_shape[o] = *call->shape[first + o];
        call->out_dtype[o] = call->dtype[first + o];
    }
    for (int64_t d = 0; d < base.n_dims; d++) {
        int n = 0;
        for (int o = 0; o < call->n_outputs; o++)
            n += has_dim(&call->out_shape[o], &base, d);
        use[d] = n == call->n_outputs ? DIM_MAP : n == 0 ? DIM_SUM : DIM_FROZEN;
    }
    return dims_space(call, &base, use, NULL, err);
}

static bool broadcast_grad(RuleCall *call, Error *err)
{
    return broadcast_from(call, 0, err);
}

/* The condition has no gradient. */
static bool where_grad(RuleCall *call, Error *err)
{
    return broadcast_from(call, 1, err);
}

static bool elementwise_grad(RuleCall *call, Error *err)
{
    return dims_pointwise(call, call->dtype[0], err);
}

/* ---- along an axis ---- */

static bool along_axis(RuleCall *call, Error *err)
{
    for (int i = 1; i < call->n_inputs; i++)
        if (call->shape[i] && !args_same_shape(call, 0, i, err))
            return false;
    call->out_dtype[0] = call->dtype[0];
    return dims_along(call, "axis", -1, DIM_FROZEN, err);
}

/* The gradient of picking along an axis: it has input 0's dims, the other operands have fewer along
 * the axis. */
static bool chosen_grad(RuleCall *call, Error *err)
{
    call->out_dtype[0] = call->dtype[0];
    return dims_along(call, "axis", -1, DIM_FROZEN, err);
}

/* x, dy of a reduction: dy broadcasts over the reduced dims. */
static bool reduce_grad(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0], *grad = call->shape[1];
    bool marked[DIMS_MAX];
    int index[DIMS_MAX];
    if (!dims_marked(call, "axes", marked, err))
        return false;
    bool keep = grad->n_dims == from->n_dims;
    Shape want = dims_without(from, marked, keep);
    if (!args_shape(call, 1, &want, err))
        return false;
    dims_answer(call, from, call->dtype[1]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int64_t d = 0, at = 0; d < from->n_dims; d++) {
        index[d] = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index[d]);
        rule_unit(rule_output(space, 0), d, index[d]);
        if (!marked[d])
            rule_unit(&space->operand[1], at, index[d]);
        at += keep || !marked[d];
    }
    return true;
}

/* ---- of moves ---- */

/* Parts .., dy -> the gradient of each part. */
static bool concat_grad(RuleCall *call, Error *err)
{
    const Shape *grad = call->shape[call->n_inputs - 1];
    DimUse use[DIMS_MAX] = {DIM_MAP};
    int axis;
    if (!grad || call->n_outputs > call->n_inputs - 1)
        return error_set(err, "it has more outputs than parts");
    if (!args_axis(args_int(call, "axis", 0), grad->n_dims, &axis, err))
        return false;
    for (int o = 0; o < call->n_outputs; o++) {
        if (!args_has(call, o))
            return error_set(err, "its input %d is absent", o);
        if (!args_rank(call, o, grad->n_dims, grad->n_dims, err))
            return false;
        for (int d = 0; d < grad->n_dims; d++)
            if (d != axis && !args_same_size(call, o, d, call->n_inputs - 1, d, err))
                return false;
        call->out_shape[o] = *call->shape[o];
        call->out_dtype[o] = call->dtype[o];
    }
    use[axis] = DIM_WHOLE;
    return dims_space(call, grad, use, NULL, err);
}

/* x, dy of a slice of x along `axes`, zeros around it. */
static bool slice_grad(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0], *grad = call->shape[1];
    DimUse use[DIMS_MAX];
    bool marked[DIMS_MAX];
    if (!dims_marked(call, "axes", marked, err))
        return false;
    for (int64_t d = 0; d < from->n_dims; d++) {
        bool same = grad->n_dims == from->n_dims && grad->dim[d] == from->dim[d];
        if (!marked[d] && grad->n_dims == from->n_dims && !args_same_size(call, 0, d, 1, d, err))
            return false;
        use[d] = marked[d] || !same ? DIM_WHOLE : DIM_MAP;
    }
    dims_answer(call, from, call->dtype[0]);
    OpSpace *space = dims_space(call, from, use, NULL, err);
    if (space)
        space->operand[1].linear = LINEAR_ALONE;
    return space;
}

/* x, dy of repeated copies of x: dy's dims are (t d), and the copies are summed. */
static bool repeat_grad(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0], *grad = call->shape[1];
    int64_t skip = grad->n_dims - from->n_dims;
    if (!args_rank(call, 1, from->n_dims, DIMS_MAX, err))
        return false;
    dims_answer(call, from, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    for (int64_t d = 0; space && d < grad->n_dims; d++) {
        int64_t own = d < skip ? 1 : from->dim[d - skip];
        if (own == 0 || grad->dim[d] % own != 0 || space->n_index + 2 > X_MAX)
            return error_kind(err, ERROR_NOT_DIVISIBLE,
                              "dim %" PRId64 " of its input 1 is %" PRId64
                              ", and not copies of the %" PRId64 " of its input 0",
                              d, grad->dim[d], own);
        int pair[2] = {rule_index_at(call, 't', d, grad->dim[d] / own), -1};
        if (pair[0] >= 0) {
            space->index[pair[0]].role = ROLE_REDUCE;
            space->index[pair[0]].reduce = REDUCE_SUM;
        }
        if (d >= skip) {
            pair[1] = rule_index_at(call, 'd', d - skip, own);
            rule_unit(&space->operand[0], d - skip, pair[1]);
            rule_unit(rule_output(space, 0), d - skip, pair[1]);
        }
        rule_radix(space, &space->operand[1], d, pair, 2);
    }
    return space;
}

/* ---- norms ---- */

static bool is_tail(const Shape *shape, const Shape *from)
{
    for (int64_t d = from->n_dims - shape->n_dims; d < from->n_dims; d++)
        if (!has_dim(shape, from, d))
            return false;
    return shape->n_dims > 0;
}

/* The first normalized dim: from an attribute, else the first dim that the longest scale or bias
 * has. */
static bool norm_axis(const RuleCall *call, int *axis, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t n_norm = 1;
    Ints sizes;
    if (!args_ints(call, -1, "normalized_shape", &sizes, err))
        return false;
    if (sizes.n > 0)
        return args_axis(-(int64_t)sizes.n, from->n_dims, axis, err);
    for (int i = 1; i < call->n_inputs; i++)
        if (call->shape[i] && call->shape[i]->n_dims < from->n_dims &&
            call->shape[i]->n_dims > n_norm && is_tail(call->shape[i], from))
            n_norm = call->shape[i]->n_dims;
    return args_axis(args_int(call, "axis", -n_norm), from->n_dims, axis, err);
}

/* Whether statistics right-align with x: without the normalized dims they do not, and then nothing
 * is sharded. */
static bool aligns(const RuleCall *call, int64_t n_norm)
{
    for (int i = 1; i < call->n_inputs; i++)
        if (call->shape[i] && call->shape[i]->n_dims != call->shape[0]->n_dims &&
            call->shape[i]->n_dims != n_norm)
            return false;
    return call->shape[0]->n_dims != 2 * n_norm;
}

/* x, then scale, statistics and dy in any order -> dx, dscale, dbias. dscale and dbias are sums
 * over the leading dims, so these are frozen if they are computed. */
static bool norm_grad(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    DimUse use[DIMS_MAX];
    int axis;
    if (!norm_axis(call, &axis, err))
        return false;
    Shape tail = {.n_dims = from->n_dims - axis};
    memcpy(tail.dim, from->dim + axis, (size_t)tail.n_dims * sizeof *tail.dim);
    bool free = call->n_outputs == 1 && aligns(call, tail.n_dims);
    for (int d = 0; d < from->n_dims; d++)
        use[d] = d < axis && free ? DIM_MAP : DIM_FROZEN;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = o == 0 ? *from : tail;
        call->out_dtype[o] = call->dtype[0];
    }
    return dims_space(call, from, use, NULL, err);
}

/* ---- products and picks ---- */

/* x [.. m k], y [.. k n], dz [.. m n] -> dx, dy: dx sums over n, dy over m, and both have k. */
static bool matmul_grad(RuleCall *call, Error *err)
{
    const Shape *x = call->shape[0], *y = call->shape[1];
    int64_t lead = x->n_dims - 2;
    bool swap_x = args_int(call, "trans_x", 0) != 0, swap_y = args_int(call, "trans_y", 0) != 0;
    bool one = call->n_outputs < 2;
    if (!args_rank(call, 0, 2, DIMS_MAX, err) || !args_rank(call, 1, x->n_dims, x->n_dims, err) ||
        !args_rank(call, 2, x->n_dims, x->n_dims, err))
        return false;
    int64_t m = x->dim[lead + swap_x], k = x->dim[lead + !swap_x], n = y->dim[lead + !swap_y];
    if (!args_same_size(call, 0, lead + !swap_x, 1, lead + swap_y, err) ||
        !args_same_size(call, 0, lead + swap_x, 2, lead, err) ||
        !args_same_size(call, 1, lead + !swap_y, 2, lead + 1, err))
        return false;
    for (int64_t d = 0; d < lead; d++)
        if (!args_same_size(call, 0, d, 1, d, err) || !args_same_size(call, 0, d, 2, d, err))
            return false;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = o == 0 ? *x : *y;
        call->out_dtype[o] = call->dtype[o];
    }
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    Operand *operand[5] = {&space->operand[0], &space->operand[1], &space->operand[2],
                           rule_output(space, 0), one ? NULL : rule_output(space, 1)};
    for (int64_t d = 0; d < lead; d++) {
        int index = rule_index_at(call, 'b', d, x->dim[d]);
        for (int i = 0; i < 5; i++)
            if (operand[i])
                rule_unit(operand[i], d, index);
    }
    int at_m = rule_index(space, "m", m, one ? ROLE_MAP : ROLE_FROZEN, REDUCE_NONE);
    int at_k = rule_index(space, "k", k, ROLE_MAP, REDUCE_NONE);
    int at_n = one ? rule_index(space, "n", n, ROLE_REDUCE, REDUCE_SUM)
                   : rule_index(space, "n", n, ROLE_FROZEN, REDUCE_NONE);
    for (int i = 0; i < 5; i++) {
        if (!operand[i])
            continue;
        bool is_x = i == 0 || i == 3, is_z = i == 2;
        bool swap = is_z ? false : is_x ? swap_x : swap_y;
        rule_unit(operand[i], lead + swap, is_x || is_z ? at_m : at_k);
        rule_unit(operand[i], lead + !swap, is_x ? at_k : at_n);
    }
    return true;
}

/* Adds rows of dy to the rows that the indices select: dy [i.. e..], indices [i..] -> [n, e..]. */
static bool embedding_grad(RuleCall *call, Error *err)
{
    const Shape *grad = call->shape[0], *indices = call->shape[1];
    Shape *out = &call->out_shape[0];
    int64_t n_rows = args_int(call, "num_weights", -1), lead = indices->n_dims;
    bool table = args_has(call, 2); /* the table itself, given only for its shape */
    if (!args_rank(call, 0, lead, DIMS_MAX, err) ||
        (table && !args_rank(call, 2, 1, DIMS_MAX, err)))
        return false;
    if (!table && n_rows < 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "its num_weights is not there, or negative");
    for (int64_t d = 0; d < lead; d++)
        if (!args_same_size(call, 0, d, 1, d, err))
            return false;
    *out = (Shape){.n_dims = 1 + grad->n_dims - lead,
                   .dim = {table ? call->shape[2]->dim[0] : n_rows}};
    for (int64_t d = lead; d < grad->n_dims; d++)
        out->dim[1 + d - lead] = grad->dim[d];
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = out->n_dims <= DIMS_MAX ? rule_space(call, err) : NULL;
    if (!space)
        return error_kind(err, ERROR_RANK, "the shape of its output is not legal");
    for (int64_t d = 0; d < grad->n_dims; d++) {
        int index = rule_index_at(call, d < lead ? 'i' : 'e', d, grad->dim[d]);
        rule_unit(&space->operand[0], d, index);
        if (d >= lead)
            rule_unit(rule_output(space, 0), 1 + d - lead, index);
        else
            rule_unit(&space->operand[1], d, index);
        if (d < lead && index >= 0) {
            space->index[index].role = ROLE_REDUCE;
            space->index[index].reduce = REDUCE_SUM;
        }
    }
    return true;
}

/* The gradient of a part, zero elsewhere: the output's shape is `input_sizes`. */
static bool part_grad(RuleCall *call, Error *err)
{
    const Shape *grad = call->shape[0];
    Shape *out = &call->out_shape[0];
    Ints sizes;
    int axis;
    if (!args_ints(call, -1, "input_sizes", &sizes, err))
        return false;
    if (!sizes.given || sizes.n > DIMS_MAX || sizes.n < 1)
        return error_set(err, "it has no input sizes");
    *out = (Shape){.n_dims = sizes.n};
    for (int d = 0; d < sizes.n; d++)
        out->dim[d] = sizes.at[d];
    bool select = grad->n_dims == sizes.n - 1;
    if (!args_axis(args_int(call, "axis", 0), sizes.n, &axis, err))
        return false;
    for (int d = 0; d < sizes.n; d++)
        if (sizes.at[d] < 0 || (!select && grad->n_dims != sizes.n) ||
            (d != axis && grad->dim[d - (select && d > axis)] != sizes.at[d]))
            return error_kind(
                err, ERROR_RANK,
                "its input 0 does not fit dim %d of its input_sizes, which is %" PRId64, d,
                sizes.at[d]);
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    for (int d = 0; space && d < sizes.n; d++) {
        if (d == axis)
            continue;
        int index = rule_index_at(call, 'd', d, out->dim[d]);
        rule_unit(&space->operand[0], d - (select && d > axis), index);
        rule_unit(rule_output(space, 0), d, index);
    }
    if (space)
        space->operand[0].linear = LINEAR_ALONE;
    return space;
}

/* Outputs have the shapes of the first inputs. How each depends on the operands differs from output
 * to output, so nothing is sharded. */
static bool whole_grad(RuleCall *call, Error *err)
{
    for (int o = 0; o < call->n_outputs; o++) {
        if (!args_has(call, o))
            return error_set(err, "it has no input for its output %d", o);
        call->out_shape[o] = *call->shape[o];
        call->out_dtype[o] = call->dtype[o];
    }
    return rule_space(call, err);
}

/* q, k, v [batch places heads width], then results of the forward pass -> dq, dk, dv. Heads and
 * samples are independent if there are as many key heads as query heads. */
static bool attention_grad(RuleCall *call, Error *err)
{
    static const int dims[2] = {0, 2};
    const Shape *q = call->shape[0];
    if (!whole_grad(call, err))
        return false;
    OpSpace *space = call->space;
    for (int i = 0; i < 3; i++)
        if (!args_rank(call, i, 4, 4, err) || !args_same_size(call, 0, 0, i, 0, err))
            return false;
    for (int j = 0; j < 2; j++) {
        int at = dims[j];
        if (call->shape[1]->dim[at] != q->dim[at])
            continue;
        int index = rule_index(space, j == 0 ? "b" : "h", q->dim[at], ROLE_MAP, REDUCE_NONE);
        for (int i = 0; i < call->n_inputs + call->n_outputs; i++) {
            Operand *operand = &space->operand[i];
            if (!operand->absent && operand->shape.n_dims == 4 &&
                operand->shape.dim[at] == q->dim[at])
                rule_unit(operand, at, index);
        }
    }
    return true;
}

/* dloss, x [N C ..], labels, weights, total -> dx. */
static bool loss_grad(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[1], *labels = call->shape[2];
    int64_t classes = from->n_dims > 1 ? 1 : 0;
    Shape without = dims_without_one(from, (int)classes);
    if (!args_rank(call, 1, 1, DIMS_MAX, err) || !args_shape(call, 2, &without, err))
        return false;
    OpSpace *space = rule_space_as(call, from, call->dtype[1], err);
    for (int64_t d = 0; space && d < from->n_dims; d++) {
        int index = d == classes ? rule_index(space, "c", from->dim[d], ROLE_FROZEN, REDUCE_NONE)
                                 : rule_index_at(call, 'd', d, from->dim[d]);
        int64_t at = d < classes ? d : d - 1;
        rule_unit(&space->operand[1], d, index);
        rule_unit(rule_output(space, 0), d, index);
        if (d != classes)
            rule_unit(&space->operand[2], at, index);
        if (d != classes && shape_equal(call->shape[0], labels))
            rule_unit(&space->operand[0], at, index);
    }
    return space;
}

#define FAMILY "gradient"

const Operator operators_gradient[] = {
    {OP("ElementwiseGrad", elementwise_grad, 4, 1, 4), OWN("", ""), .examples = "5x6,5x6",
     TORCH("threshold_backward gelu_backward sigmoid_backward tanh_backward silu_backward "
           "mish_backward elu_backward leaky_relu_backward hardtanh_backward hardsigmoid_backward "
           "hardswish_backward softplus_backward logit_backward native_dropout_backward"),
     PADDLE(
         "relu_grad gelu_grad clip_grad pow_grad round_grad mish_grad elu_grad selu_grad celu_grad "
         "stanh_grad softplus_grad softshrink_grad thresholded_relu_grad logit_grad dropout_grad "
         "cast_grad elementwise_unary_grad abs_grad acos_grad acosh_grad asin_grad asinh_grad "
         "atan_grad atanh_grad ceil_grad cos_grad cosh_grad digamma_grad erf_grad erfinv_grad "
         "exp_grad expm1_grad floor_grad hardshrink_grad hardsigmoid_grad hardswish_grad "
         "hardtanh_grad leaky_relu_grad lgamma_grad log_grad log10_grad log1p_grad log2_grad "
         "logsigmoid_grad reciprocal_grad relu6_grad rsqrt_grad sigmoid_grad silu_grad sin_grad "
         "sinh_grad softsign_grad sqrt_grad square_grad swish_grad tan_grad tanh_grad "
         "tanh_shrink_grad trunc_grad scale_grad label_smooth_grad")},
    {OP("BroadcastGrad", broadcast_grad, 2, 2, 3), .outputs_max = 2, OWN("", ""),
     .examples = "5x6,6,5x6 -> 2; 5x6,5x1,5x6",
     PADDLE("add_grad subtract_grad multiply_grad divide_grad maximum_grad minimum_grad fmax_grad "
            "fmin_grad elementwise_add_grad elementwise_sub_grad elementwise_mul_grad "
            "elementwise_div_grad elementwise_pow_grad swiglu_grad expand_grad expand_as_grad "
            "expand_as_v2_grad")},
    {OP("WhereGrad", where_grad, 1, 4, 4), .outputs_max = 2, OWN("", ".b"),
     .examples = "5x6:bool,5x6,6,5x6 -> 2", PADDLE("where_grad")},
    {OP("SoftmaxGrad", along_axis, 4, 2, 2), OWN("axis", ".f .f"), .examples = "5x6x4,5x6x4 axis=1",
     TORCH("_softmax_backward_data(dim=axis) _log_softmax_backward_data(dim=axis)"),
     PADDLE("softmax_grad log_softmax_grad")},
    {OP("CumSumGrad", along_axis, 1, 1, 2), OWN("axis", ".f .f"), .examples = "5x6x4,5x6x4 axis=1",
     PADDLE("cumsum_grad(; 1)")},
    {OP("ChosenGrad", chosen_grad, 1, 2, 3), OWN("axis", ".f .i .f"),
     .examples = "5x6x4,5x3x4:i64,5x3x4 axis=1",
     PADDLE("argsort_grad(; 1,0,2) topk_grad cummax_grad cummin_grad kthvalue_grad "
            "cross_entropy_with_softmax_grad(; 1,0,2) c_softmax_with_cross_entropy_grad(; 0,1,2) "
            "c_softmax_with_multi_label_cross_entropy_grad(; 0,1,3)")},
    {OP("ReduceGrad", reduce_grad, 1, 2, 2), OWN("axes", ""),
     .examples = "5x6x4,5x4 axes=[1]; 5x6x4,5x1x4 axes=[1]",
     PADDLE("sum_grad(axis=axes) mean_grad(axis=axes) reduce_sum_grad(axis=axes) "
            "prod_grad(axis=axes) mean_all_grad max_grad(axis=axes; 0,2) min_grad(axis=axes; 0,2) "
            "amax_grad(axis=axes; 0,2) amin_grad(axis=axes; 0,2) logsumexp_grad(axis=axes; 0,2) "
            "p_norm_grad(axis=axes; 0,2)")},
    {OP("NormGrad", norm_grad, 12, 2, 7), .outputs_max = 3, OWN("axis normalized_shape", ""),
     .examples = "5x6x4,4,5x6x1,5x6x1,5x6x4; 5x6x4,4,5x6x1,5x6x1,5x6x4 -> 3",
     TORCH("native_layer_norm_backward(; 1,0,2,3,4,5) _fused_rms_norm_backward(; 1,0,2,3)"),
     PADDLE("layer_norm_grad(begin_norm_axis=axis) rms_norm_grad fused_rms_norm_grad")},
    {OP("MatMulGrad", matmul_grad, 4, 3, 3), .outputs_max = 2, OWN("trans_x trans_y", ""),
     .examples = "3x5x6,3x6x7,3x5x7; 3x5x6,3x7x6,3x5x7 trans_y=1 -> 2",
     PADDLE("matmul_grad matmul_v2_grad bmm_grad")},
    {OP("EmbeddingGrad", embedding_grad, 1, 2, 3),
     OWN("num_weights padding_idx scale_grad_by_freq", ".f .i .f"),
     .examples = "3x5x4,3x5:i64 num_weights=7; 3x5x4,3x5:i64,7x4",
     TORCH("embedding_dense_backward"),
     PADDLE("c_embedding_grad(; 2,1,0) embedding_grad(; 2,0,1) lookup_table_v2_grad(; 2,0,1)")},
    {OP("ConcatGrad", concat_grad, 1, 2, OPERATOR_ANY), .outputs_max = OPERATOR_MANY,
     OWN("axis", ""), .examples = "5x6,5x4,5x10 axis=1 -> 2", PADDLE("concat_grad")},
    {OP("SliceGrad", slice_grad, 0, 2, 2), OWN("axes ends starts", ""),
     .examples = "5x6x4,5x2x4 axes=[1]", PADDLE("slice_grad strided_slice_grad")},
    {OP("RepeatGrad", repeat_grad, 1, 2, 2), OWN("", ""), .examples = "5x6,3x5x12",
     PADDLE("tile_grad")},
    {OP("WholeGrad", whole_grad, 0, 2, OPERATOR_ANY), .outputs_max = 3, OWN("", ""),
     .examples = "5x6,7,5x6 -> 2",
     PADDLE("conv2d_grad conv3d_grad depthwise_conv2d_grad conv2d_transpose_grad group_norm_grad "
            "instance_norm_grad batch_norm_grad einsum_grad roi_align_grad")},
    {OP("AttentionGrad", attention_grad, 8, 3, 9), .outputs_max = 3, OWN("", ""),
     .examples = "3x5x4x6,3x7x4x6,3x7x4x6,3x5x4x6 -> 3",
     PADDLE("flash_attention_grad flashmask_attention_grad")},
    {OP("PartGrad", part_grad, 0, 1, 1), OWN("axis end index input_sizes start step", ""),
     .examples = "5x3x4 input_sizes=[5,6,4] axis=1; 5x4 input_sizes=[5,6,4] axis=1",
     TORCH("slice_backward(dim=axis) select_backward(dim=axis)")},
    {OP("LossGrad", loss_grad, 2, 3, 5), OWN("ignore_index reduction", ". . .i"),
     .examples = "5x4,5x6x4,5x4:i64; scalar,5x6,5:i64,6",
     TORCH("nll_loss_backward nll_loss2d_backward")},
    {0},
};
