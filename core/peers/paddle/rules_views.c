/* Rules of views: reshape, flatten, squeeze, unsqueeze, transpose, and their gradients. */
#include "core/peers/paddle/dim_trans.h"

/* ---- answers from transforms ---- */

typedef struct {
    DimTrans at[DIMS_MAX];
} Trans;

/* Carries x through the transforms to a tensor of the shape. */
static void answer_forward(SpmdCall *call, const Trans *trans, const Shape *shape, bool partial)
{
    SpmdTensor need, out;
    dim_trans_apply(call, &call->input[0], trans->at, shape, &need, &out);
    if (!partial) {
        spmd_clear_partial(&need);
        spmd_clear_partial(&out);
    }
    spmd_need_as_given(call, &need);
    spmd_out_as_given(call, &out);
}

/* Carries the given output through the transforms to x. Exact: the looser way. */
static void answer_backward(SpmdCall *call, const Trans *trans, bool partial)
{
    SpmdTensor out, x;
    const Shape *shape = &call->input[0].shape;
    if (call->exact)
        dim_trans_apply_loosely(call, &call->output[0], trans->at, shape, &out, &x);
    else
        dim_trans_apply(call, &call->output[0], trans->at, shape, &out, &x);
    spmd_need(call, &x);
    if (!partial)
        spmd_clear_partial(&out);
    spmd_out_as_given(call, &out);
}

/* ---- reshape ---- */

/* The target shape: 0 copies a dim, -1 is computed. The shape of the given output if that has a
 * different number of dims. */
static bool read_target(const SpmdCall *call, Shape *out, Error *err)
{
    const Shape *x = &call->input[0].shape;
    SpmdInts given = spmd_ints(call, "shape");
    int64_t known = 1, elements = shape_elements(x);
    int open = -1;
    if (call->n_outputs > 0 && shape_elements(&call->output[0].shape) == elements) {
        *out = call->output[0].shape;
        return true;
    }
    if (given.n > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "a shape has at most %d dims", DIMS_MAX);
    *out = (Shape){.n_dims = given.n};
    for (int d = 0; d < given.n; d++) {
        out->dim[d] = given.at[d] == 0 && d < x->n_dims ? x->dim[d] : given.at[d];
        if (out->dim[d] == -1 && open < 0)
            open = d;
        else if (out->dim[d] < 0 || __builtin_mul_overflow(known, out->dim[d], &known))
            return error_set(err, "dim %d of the target shape is not a size", d);
    }
    if (open >= 0 && (known == 0 || elements % known != 0))
        return error_set(err, "the shapes have not as many elements");
    if (open >= 0)
        out->dim[open] = elements / known;
    return shape_check(out, err);
}

static bool reshape(SpmdCall *call, Error *err)
{
    Trans trans;
    Shape target;
    if (!read_target(call, &target, err) ||
        !dim_trans_of_reshape(&call->input[0].shape, &target, trans.at, err))
        return false;
    answer_forward(call, &trans, &target, true);
    return true;
}

/* Exact: x keeps its partial axes and the given output its own. */
static bool reshape_backward(SpmdCall *call, Error *err)
{
    Trans trans;
    Shape target;
    if (!read_target(call, &target, err) ||
        !dim_trans_of_reshape(&target, &call->input[0].shape, trans.at, err))
        return false;
    answer_backward(call, &trans, call->exact);
    if (call->exact)
        memcpy(call->need.at[0]->partial, spmd_given(call, &call->input[0])->partial,
               sizeof call->need.at[0]->partial);
    return true;
}

/* x, out_grad: out_grad gets the mapping that x has in the output's shape. */
static bool reshape_gradient(SpmdCall *call, Error *err)
{
    Trans trans;
    SpmdTensor x, gradient;
    const Shape *shape = &call->input[1].shape;
    if (!dim_trans_of_reshape(&call->input[0].shape, shape, trans.at, err))
        return false;
    dim_trans_apply(call, &call->input[0], trans.at, shape, &x, &gradient);
    spmd_need_as_given(call, &x);
    spmd_need_as_given(call, &gradient);
    spmd_out_as_given(call, &x);
    return true;
}

/* x, out_grad of flatten, squeeze, unsqueeze: out_grad is carried back to x's shape. */
static bool view_gradient(SpmdCall *call, Error *err)
{
    Trans trans;
    SpmdTensor of_x, gradient;
    const SpmdTensor *x = &call->input[0];
    if (!dim_trans_of_reshape(&call->input[1].shape, &x->shape, trans.at, err))
        return false;
    dim_trans_apply(call, &call->input[1], trans.at, &x->shape, &gradient, &of_x);
    spmd_need_as_given(call, spmd_given(call, x));
    spmd_need_as_given(call, &gradient);
    spmd_out_as_given(call, &of_x);
    return true;
}

/* ---- flatten ---- */

typedef struct {
    int start, stop;
} Range;

static bool read_range(const SpmdCall *call, Range *out, Error *err)
{
    int64_t n = call->input[0].shape.n_dims;
    *out = (Range){0};
    if (n == 0)
        return error_kind(err, ERROR_RANK, "a scalar has no dims to flatten");
    if (!spmd_axis(spmd_int(call, "start_axis", 1), n, &out->start, err) ||
        !spmd_axis(spmd_int(call, "stop_axis", -1), n, &out->stop, err))
        return false;
    return out->start <= out->stop || error_set(err, "start_axis is after stop_axis");
}

static bool flatten(SpmdCall *call, Error *err)
{
    Trans trans;
    Range range;
    const Shape *x = &call->input[0].shape;
    if (!read_range(call, &range, err))
        return false;
    Shape target = {0};
    for (int d = 0; d < x->n_dims; d++) {
        if (d > range.start && d <= range.stop)
            target.dim[target.n_dims - 1] *= x->dim[d];
        else
            target.dim[target.n_dims++] = x->dim[d];
    }
    if (!dim_trans_of_reshape(x, &target, trans.at, err))
        return false;
    answer_forward(call, &trans, &target, true);
    return true;
}

static bool flatten_backward(SpmdCall *call, Error *err)
{
    Range range;
    Trans trans = {0};
    const Shape *x = &call->input[0].shape;
    if (!read_range(call, &range, err))
        return false;
    int gone = range.stop - range.start;
    if (call->output[0].n_dims != x->n_dims - gone)
        return error_kind(err, ERROR_RANK, "the output has %d dims, not %d", call->output[0].n_dims,
                          (int)x->n_dims - gone);
    for (int d = 0; d < x->n_dims; d++) {
        bool inside = d >= range.start && d <= range.stop;
        trans.at[d] = dim_trans_of_dim(inside ? range.start : d < range.start ? d : d - gone);
        if (!inside || gone == 0)
            continue;
        trans.at[d].n_pieces = gone + 1;
        trans.at[d].piece = d - range.start;
        memcpy(trans.at[d].size, &x->dim[range.start], sizeof(int64_t) * (size_t)(gone + 1));
        if (x->dim[d] == 1)
            trans.at[d] = (DimTrans){0};
    }
    answer_backward(call, &trans, false);
    return true;
}

/* ---- squeeze, unsqueeze: remove or add dims of size 1, which have no axes ---- */

/* The removed dims of x: the given ones of size 1, or all of size 1 if none are given. */
static bool read_squeezed(const SpmdCall *call, bool *gone, Error *err)
{
    const Shape *x = &call->input[0].shape;
    SpmdInts axes = spmd_ints(call, "axis");
    for (int d = 0; d < x->n_dims; d++)
        gone[d] = axes.n == 0 && x->dim[d] == 1;
    for (int i = 0; i < axes.n; i++) {
        int axis;
        if (!spmd_axis(axes.at[i], x->n_dims, &axis, err))
            return false;
        gone[axis] = x->dim[axis] == 1;
    }
    return true;
}

static DimTrans kept_dim(int from, int64_t size)
{
    return size == 1 ? (DimTrans){0} : dim_trans_of_dim(from);
}

static bool squeeze(SpmdCall *call, Error *err)
{
    bool gone[DIMS_MAX] = {0};
    Trans trans;
    const Shape *x = &call->input[0].shape;
    Shape target = {0};
    if (!read_squeezed(call, gone, err))
        return false;
    for (int d = 0; d < x->n_dims; d++) {
        if (gone[d])
            continue;
        trans.at[target.n_dims] = kept_dim(d, x->dim[d]);
        target.dim[target.n_dims++] = x->dim[d];
    }
    answer_forward(call, &trans, &target, false);
    return true;
}

static bool squeeze_backward(SpmdCall *call, Error *err)
{
    bool gone[DIMS_MAX] = {0};
    Trans trans;
    const Shape *x = &call->input[0].shape;
    if (!read_squeezed(call, gone, err))
        return false;
    int from = 0;
    for (int d = 0; d < x->n_dims; d++) {
        trans.at[d] = gone[d] ? (DimTrans){0} : kept_dim(from, x->dim[d]);
        from += !gone[d];
    }
    if (from != call->output[0].n_dims)
        return error_kind(err, ERROR_RANK, "the output has %d dims, not %d", call->output[0].n_dims,
                          from);
    answer_backward(call, &trans, false);
    return true;
}

/* For every dim of the output the dim of x, or -1 for a new one. Axes are positions in the output;
 * a repeated axis is a new dim at the end. A negative axis counts from the end of x plus the dims
 * added so far. */
static bool read_unsqueezed(const SpmdCall *call, int *from, int *n_out, Error *err)
{
    const Shape *x = &call->input[0].shape;
    SpmdInts axes = spmd_ints(call, "axis");
    int n = (int)x->n_dims + axes.n;
    unsigned is_new = 0;
    *n_out = n;
    if (n > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "a tensor has at most %d dims", DIMS_MAX);
    for (int i = 0; i < axes.n; i++) {
        int64_t axis = axes.at[i] + (axes.at[i] < 0 ? x->n_dims + 1 : 0);
        if (axis < 0 || axis >= n)
            return error_set(err, "axis %lld is not a position in a tensor with %d dims",
                             (long long)axes.at[i], n);
        is_new |= 1U << axis;
    }
    for (int d = 0, next = 0; d < n; d++)
        from[d] = is_new & 1U << d || next == x->n_dims ? -1 : next++;
    return true;
}

static bool unsqueeze(SpmdCall *call, Error *err)
{
    int from[DIMS_MAX] = {0}, n;
    Trans trans;
    const Shape *x = &call->input[0].shape;
    if (!read_unsqueezed(call, from, &n, err))
        return false;
    Shape target = {.n_dims = n};
    for (int d = 0; d < n; d++) {
        target.dim[d] = from[d] < 0 ? 1 : x->dim[from[d]];
        trans.at[d] = kept_dim(from[d], target.dim[d]);
    }
    answer_forward(call, &trans, &target, false);
    return true;
}

static bool unsqueeze_backward(SpmdCall *call, Error *err)
{
    int from[DIMS_MAX] = {0}, n;
    Trans trans;
    const Shape *x = &call->input[0].shape;
    if (!read_unsqueezed(call, from, &n, err))
        return false;
    if (n != call->output[0].n_dims)
        return error_kind(err, ERROR_RANK, "the output has %d dims, not %d", call->output[0].n_dims,
                          n);
    for (int d = 0; d < n; d++)
        if (from[d] >= 0)
            trans.at[from[d]] = kept_dim(d, x->dim[from[d]]);
    answer_backward(call, &trans, false);
    return true;
}

/* ---- transpose ---- */

/* perm[d]: the dim of x that becomes dim d of the output; inverted for a gradient. */
static bool read_permutation(const SpmdCall *call, int n, int *perm, Error *err)
{
    SpmdInts given = spmd_ints(call, "perm");
    unsigned seen = 0;
    if (given.n != n)
        return error_set(err, "perm has %d entries for %d dims", given.n, n);
    for (int d = 0; d < n; d++) {
        if (!spmd_axis(given.at[d], n, &perm[d], err))
            return false;
        if (seen & 1U << perm[d])
            return error_set(err, "perm has dim %d twice", perm[d]);
        seen |= 1U << perm[d];
    }
    return true;
}

static SpmdTensor permuted(const SpmdTensor *tensor, const int *perm, bool inverse)
{
    SpmdTensor out = *tensor;
    for (int d = 0; d < tensor->n_dims; d++) {
        int to = inverse ? perm[d] : d, from = inverse ? d : perm[d];
        out.dim[to] = tensor->dim[from];
        out.shape.dim[to] = tensor->shape.dim[from];
    }
    return out;
}

/* Linear in x, so partial values stay partial. Exact: x keeps axes that do not divide a dim, out
 * loses them. */
static bool transpose(SpmdCall *call, Error *err)
{
    int perm[DIMS_MAX] = {0};
    if (!read_permutation(call, call->input[0].n_dims, perm, err))
        return false;
    SpmdTensor x = call->input[0];
    if (!call->exact)
        spmd_drop_indivisible(call, &x);
    SpmdTensor out = permuted(&x, perm, false);
    spmd_drop_indivisible(call, &out);
    spmd_need_as_given(call, &x);
    spmd_out_as_given(call, &out);
    return true;
}

static bool transpose_gradient(SpmdCall *call, Error *err)
{
    int perm[DIMS_MAX] = {0};
    if (!read_permutation(call, call->input[0].n_dims, perm, err))
        return false;
    SpmdTensor of_x = permuted(&call->input[0], perm, true);
    spmd_need(call, &call->input[0]);
    spmd_out(call, &of_x);
    return true;
}

static bool transpose_backward(SpmdCall *call, Error *err)
{
    int perm[DIMS_MAX] = {0};
    if (!read_permutation(call, call->output[0].n_dims, perm, err))
        return false;
    SpmdTensor x = permuted(&call->output[0], perm, true);
    spmd_drop_indivisible(call, &x);
    spmd_need(call, &x);
    spmd_out(call, &call->output[0]);
    return true;
}

#define VIEW(given_names, function, given_flags)                                                   \
    {                                                                                              \
        .names = given_names, .forward = function, .backward = function##_backward,                \
        .flags = given_flags, .inputs = {1, 1}, .outputs = {                                       \
            1,                                                                                     \
            1                                                                                      \
        }                                                                                          \
    }

const SpmdRule spmd_rules_views[] = {
    VIEW("reshape reshape2", reshape, SPMD_LISTS),
    VIEW("flatten", flatten, SPMD_LISTS),
    VIEW("squeeze", squeeze, 0),
    VIEW("unsqueeze unsqueeze2", unsqueeze, 0),
    VIEW("transpose transpose2", transpose, SPMD_LISTS),
    {.names = "reshape_grad", .forward = reshape_gradient, .flags = SPMD_LISTS, .inputs = {2, 2}},
    {.names = "flatten_grad squeeze_grad unsqueeze_grad",
     .forward = view_gradient,
     .flags = SPMD_LISTS,
     .inputs = {2, 2}},
    {.names = "transpose_grad",
     .forward = transpose_gradient,
     .flags = SPMD_LISTS,
     .inputs = {1, 1}},
    {0},
};
