/* Rules of operators that work along one or a few dims: sorting, scans, triangles, rolls, padding.
 * These dims are never split; the others keep their axes. */
#include "core/peers/paddle/answer.h"

/* ---- sorting: topk, argsort, cummax, cummin ---- */

static bool along_axis(const SpmdCall *call, int n_dims, int *axis, Error *err)
{
    if (!spmd_axis(spmd_int(call, "axis", -1), n_dims, axis, err))
        return false;
    spmd_trace(call, "dim %d is sorted: not split", *axis);
    return true;
}

/* x -> out, indices */
static bool sort_forward(SpmdCall *call, Error *err)
{
    int axis;
    if (!along_axis(call, call->input[0].n_dims, &axis, err))
        return false;
    SpmdTensor *x = spmd_need(call, &call->input[0]);
    spmd_unsplit(x, axis);
    spmd_out(call, x);
    spmd_out(call, x);
    return true;
}

/* x, indices, out_grad -> x_grad: the three merged. */
static bool sort_gradient(SpmdCall *call, Error *err)
{
    int n_dims = call->input[0].n_dims, axis;
    if (!along_axis(call, n_dims, &axis, err))
        return false;
    for (int i = 1; i < 3; i++)
        if (!check_rank(&call->input[i], n_dims, i == 1 ? "indices" : "out_grad", err))
            return false;
    const char *letters = spmd_letters(call, n_dims, 'a');
    SpmdLetters merged;
    if (!need_merged(call, 3, letters, axis, &merged, err))
        return false;
    out_letters(call, letters, &merged);
    return true;
}

/* indices, x, out_grad -> x_grad: all like x; the indices must be split like x. */
static bool argsort_gradient(SpmdCall *call, Error *err)
{
    const SpmdTensor *indices = &call->input[0];
    SpmdTensor x = call->input[1];
    int axis;
    if (!along_axis(call, x.n_dims, &axis, err) || !check_rank(indices, x.n_dims, "indices", err))
        return false;
    for (int d = 0; d < x.n_dims; d++)
        if (!spmd_axes_equal(&x.dim[d], &indices->dim[d]))
            return error_kind(err, ERROR_INVALID,
                              "x and its indices are split differently on dim %d", d);
    spmd_unsplit(&x, axis);
    for (int i = 0; i < 3; i++)
        spmd_need(call, &x);
    spmd_out(call, &x);
    return true;
}

/* ---- cumsum ---- */

/* Flattened, the sum runs over all dims and the result has one dim. Exact: the static rule treats a
 * negative axis as no axis. */
static bool cumsum_unsplit(SpmdCall *call, SpmdTensor *tensor, int n_dims, Error *err)
{
    int64_t axis = spmd_int(call, "axis", -1);
    if (spmd_int(call, "flatten", 0)) {
        spmd_replicate(tensor);
        return true;
    }
    if (call->exact && axis < 0)
        return true;
    int at;
    if (!spmd_axis(axis, n_dims, &at, err))
        return false;
    spmd_trace(call, "dim %d is summed along: not split", at);
    spmd_unsplit(tensor, at);
    return true;
}

static bool cumsum_forward(SpmdCall *call, Error *err)
{
    SpmdTensor *x = spmd_need(call, &call->input[0]);
    if (!cumsum_unsplit(call, x, x->n_dims, err))
        return false;
    SpmdTensor *out = spmd_out(call, x);
    if (spmd_int(call, "flatten", 0))
        out->n_dims = 1;
    return true;
}

static bool cumsum_backward(SpmdCall *call, Error *err)
{
    const SpmdTensor *x = &call->input[0];
    SpmdTensor *out = spmd_out(call, &call->output[0]);
    if (!cumsum_unsplit(call, out, x->n_dims, err))
        return false;
    SpmdTensor *need = spmd_need(call, out);
    if (spmd_int(call, "flatten", 0)) {
        need->n_dims = x->n_dims;
        out->n_dims = 1;
    }
    return true;
}

/* x, out_grad -> x_grad */
static bool cumsum_gradient(SpmdCall *call, Error *err)
{
    const SpmdTensor *x = &call->input[0];
    spmd_need_as_given(call, spmd_given(call, x));
    SpmdTensor *out_grad = spmd_need(call, &call->input[1]);
    if (!cumsum_unsplit(call, out_grad, x->n_dims, err))
        return false;
    SpmdTensor *gradient = spmd_out(call, out_grad);
    if (spmd_int(call, "flatten", 0)) {
        gradient->n_dims = x->n_dims;
        out_grad->n_dims = 1;
    }
    return true;
}

/* ---- triu, tril_triu, roll, pad ---- */

/* The dims that an operator works along, a bit per dim. */
typedef bool DimsFn(const SpmdCall *call, int n_dims, unsigned *dims, Error *err);

static bool last_two(const SpmdCall *call, int n_dims, unsigned *dims, Error *err)
{
    (void)call;
    *dims = n_dims < 2 ? 0 : 3U << (n_dims - 2);
    return n_dims >= 2 ||
           error_kind(err, ERROR_INVALID, "x has %d dims but needs 2 or more", n_dims);
}

/* Without an axis all dims, since the tensor is flattened. */
static bool rolled(const SpmdCall *call, int n_dims, unsigned *dims, Error *err)
{
    SpmdInts axes = spmd_ints(call, "axis");
    int n_shifts = spmd_ints(call, "shifts").n;
    if (n_shifts != (axes.n > 0 ? axes.n : 1))
        return error_kind(err, ERROR_INVALID, "%d shifts of %d axes", n_shifts, axes.n);
    *dims = axes.n == 0 ? ~0U : 0;
    for (int i = 0; i < axes.n; i++) {
        int axis;
        if (!spmd_axis(axes.at[i], n_dims, &axis, err))
            return false;
        *dims |= 1U << axis;
    }
    return true;
}

static bool padded(const SpmdCall *call, int n_dims, unsigned *dims, Error *err)
{
    SpmdInts paddings = spmd_ints(call, "paddings");
    *dims = 0;
    if (paddings.n != 2 * n_dims)
        return error_kind(err, ERROR_INVALID, "%d paddings for %d dims", paddings.n, n_dims);
    for (int i = 0; i < paddings.n; i++)
        if (paddings.at[i] != 0)
            *dims |= 1U << (i / 2);
    return true;
}

static bool unsplit_dims(const SpmdCall *call, DimsFn *dims_of, SpmdTensor *tensor, Error *err)
{
    unsigned dims;
    if (!dims_of(call, tensor->n_dims, &dims, err))
        return false;
    for (int d = 0; d < tensor->n_dims; d++) {
        if (!(dims & 1U << d))
            continue;
        spmd_trace(call, "the op works along dim %d: not split", d);
        spmd_unsplit(tensor, d);
    }
    return true;
}

/* x -> out; also out_grad -> x_grad */
static bool dims_forward(SpmdCall *call, DimsFn *dims_of, Error *err)
{
    SpmdTensor *x = spmd_need(call, &call->input[0]);
    if (!unsplit_dims(call, dims_of, x, err))
        return false;
    spmd_out(call, x);
    return true;
}

static bool dims_backward(SpmdCall *call, DimsFn *dims_of, Error *err)
{
    SpmdTensor *out = spmd_out(call, &call->output[0]);
    if (!unsplit_dims(call, dims_of, out, err))
        return false;
    spmd_need(call, out);
    return true;
}

/* x, out_grad -> x_grad: all like the two merged. */
static bool dims_gradient(SpmdCall *call, DimsFn *dims_of, Error *err)
{
    SpmdTensor given[2] = {call->input[0], call->input[1]};
    if (!check_rank(&given[1], given[0].n_dims, "out_grad", err) ||
        !unsplit_dims(call, dims_of, &given[0], err) ||
        !unsplit_dims(call, dims_of, &given[1], err))
        return false;
    const char *letters = spmd_letters(call, given[0].n_dims, 'a');
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters, &given[0]}, {letters, &given[1]}},
                    2, &merged, err))
        return false;
    need_letters(call, &given[0], letters, &merged);
    need_letters(call, &given[1], letters, &merged);
    out_letters(call, letters, &merged);
    return true;
}

static bool triangle_forward(SpmdCall *call, Error *err)
{
    return dims_forward(call, last_two, err);
}

static bool triangle_backward(SpmdCall *call, Error *err)
{
    return dims_backward(call, last_two, err);
}

static bool roll_forward(SpmdCall *call, Error *err)
{
    return dims_forward(call, rolled, err);
}

static bool roll_gradient(SpmdCall *call, Error *err)
{
    return dims_gradient(call, rolled, err);
}

static bool pad_forward(SpmdCall *call, Error *err)
{
    return dims_forward(call, padded, err);
}

static bool pad_backward(SpmdCall *call, Error *err)
{
    return dims_backward(call, padded, err);
}

/* ---- one_hot, unique, nonzero ---- */

static bool one_hot_forward(SpmdCall *call, Error *err)
{
    (void)err;
    spmd_need_as_given(call, spmd_given(call, &call->input[0]));
    SpmdTensor *out = spmd_out(call, &call->input[0]);
    out->dim[out->n_dims++] = (SpmdAxes){0};
    return true;
}

static bool one_hot_backward(SpmdCall *call, Error *err)
{
    const SpmdTensor *x = &call->input[0];
    if (!check_rank(&call->output[0], x->n_dims + 1, "out", err))
        return false;
    SpmdTensor *out = spmd_out(call, &call->output[0]);
    spmd_unsplit(out, -1);
    spmd_need(call, out)->n_dims = x->n_dims;
    return true;
}

/* x -> out, indices, inverse, counts */
static bool unique_forward(SpmdCall *call, Error *err)
{
    (void)err;
    const SpmdTensor *x = need_whole(call, &call->input[0]);
    spmd_out_whole(call, spmd_ints(call, "axis").n > 0 ? x->n_dims : 1);
    for (int i = 0; i < 3; i++)
        spmd_out_whole(call, 1);
    return true;
}

/* Exact: all dims have the letter of broadcast dims, so an x split over two axes is refused. */
static bool nonzero_merge(SpmdCall *call, const SpmdTensor *tensor, Error *err)
{
    char *letters = arena_array(call->arena, char, tensor->n_dims + 1);
    memset(letters, '1', (size_t)tensor->n_dims);
    SpmdLetters merged;
    return !call->exact ||
           spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters, tensor}}, 1, &merged, err);
}

static bool nonzero_forward(SpmdCall *call, Error *err)
{
    need_whole(call, &call->input[0]);
    spmd_out_whole(call, 2);
    return nonzero_merge(call, &call->input[0], err);
}

static bool nonzero_backward(SpmdCall *call, Error *err)
{
    need_whole(call, &call->input[0]);
    spmd_out_whole(call, 2);
    return nonzero_merge(call, &call->output[0], err);
}

/* ---- where: condition, x, y broadcast ---- */

/* Exact: dims of size 1 have letters too, as if they could be split. */
static const char *where_letters(const SpmdCall *call, const SpmdTensor *tensor, int n_dims)
{
    return spmd_broadcast_letters(call, tensor, n_dims, call->exact);
}

/* Merges condition, x, y and (n == 4) out_grad; operand[] gets the letters of each. Exact: instead
 * of y, x is merged again with y's letters. */
static bool where_merge(SpmdCall *call, int n_dims, int n, SpmdOperand *operand,
                        SpmdLetters *merged, Error *err)
{
    SpmdOperand asked[4];
    SpmdTensor y = call->input[1];
    for (int d = y.n_dims; d < SPMD_DIMS_MAX; d++)
        y.dim[d].n = 0;
    y.n_dims = call->input[2].n_dims;
    for (int i = 0; i < n; i++) {
        const SpmdTensor *given = &call->input[i];
        operand[i] = (SpmdOperand){where_letters(call, given, n_dims), given};
        asked[i] = operand[i];
    }
    if (call->exact)
        asked[2].tensor = &y;
    return spmd_merge(call, SPMD_CLASSIC, asked, n, merged, err);
}

static int where_dims(const SpmdCall *call)
{
    int n_dims = 0;
    for (int i = 0; i < 3; i++)
        n_dims = call->input[i].n_dims > n_dims ? call->input[i].n_dims : n_dims;
    return n_dims;
}

static bool where_forward(SpmdCall *call, Error *err)
{
    int n_dims = where_dims(call);
    SpmdOperand operand[3];
    SpmdLetters merged;
    if (!where_merge(call, n_dims, 3, operand, &merged, err))
        return false;
    for (int i = 0; i < 3; i++)
        need_letters(call, &call->input[i], operand[i].letters, &merged);
    out_letters(call, spmd_letters(call, n_dims, 'a'), &merged);
    return true;
}

static bool where_backward(SpmdCall *call, Error *err)
{
    int n_dims = where_dims(call);
    const SpmdTensor *out = &call->output[0];
    const char *letters = spmd_letters(call, out->n_dims, 'a');
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters, out}}, 1, &merged, err))
        return false;
    for (int i = 0; i < 3; i++)
        need_letters(call, &call->input[i], where_letters(call, &call->input[i], n_dims), &merged);
    spmd_out(call, out);
    return true;
}

/* condition, x, y, out_grad -> x_grad, y_grad */
static bool where_gradient(SpmdCall *call, Error *err)
{
    int n_dims = where_dims(call);
    SpmdOperand operand[4];
    SpmdLetters merged;
    if (!where_merge(call, n_dims, 4, operand, &merged, err))
        return false;
    for (int i = 0; i < 4; i++)
        need_letters(call, &call->input[i], operand[i].letters, &merged);
    for (int i = 1; i < 3; i++) {
        SpmdTensor *gradient = out_letters(call, spmd_letters(call, n_dims, 'a'), &merged);
        spmd_reduce_broadcast(gradient, call->input[i].n_dims,
                              call->exact ? NULL : &call->input[i].shape);
    }
    return true;
}

const SpmdRule spmd_rules_axis[] = {
    {.names = "topk cummax cummin",
     .forward = sort_forward,
     .backward = sort_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {1, 1},
     .outputs = {2, 2}},
    {.names = "topk_grad cummax_grad cummin_grad", .forward = sort_gradient, .inputs = {3, 3}},
    {.names = "argsort",
     .forward = sort_forward,
     .backward = argsort_gradient,
     .flags = SPMD_LISTS | SPMD_GRADIENT,
     .inputs = {1, 1},
     .outputs = {2, 2}},
    {.names = "argsort_grad", .forward = argsort_gradient, .flags = SPMD_LISTS, .inputs = {3, 3}},
    {.names = "cumsum",
     .forward = cumsum_forward,
     .backward = cumsum_backward,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "cumsum_grad", .forward = cumsum_gradient, .inputs = {2, 2}},
    {.names = "triu tril_triu",
     .forward = triangle_forward,
     .backward = triangle_backward,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "triu_grad tril_triu_grad", .forward = triangle_forward, .inputs = {1, 1}},
    {.names = "roll",
     .forward = roll_forward,
     .backward = roll_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "roll_grad", .forward = roll_gradient, .inputs = {2, 2}},
    {.names = "pad",
     .forward = pad_forward,
     .backward = pad_backward,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "pad_grad", .forward = pad_forward, .inputs = {1, 1}},
    {.names = "one_hot",
     .forward = one_hot_forward,
     .backward = one_hot_backward,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "unique", .forward = unique_forward, .inputs = {1, 1}},
    {.names = "nonzero",
     .forward = nonzero_forward,
     .backward = nonzero_backward,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "where",
     .forward = where_forward,
     .backward = where_backward,
     .inputs = {3, 3},
     .outputs = {1, 1}},
    {.names = "where_grad", .forward = where_gradient, .inputs = {4, 4}},
    {0},
};
