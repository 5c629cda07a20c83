/* Rules of operators that read or write by indices. An indexed dim is never split, because each
 * rank needs all of it; the dims of the indices themselves pass to the output. */
#include "core/peers/paddle/answer.h"

/* ---- gather, index_select ---- */

/* The letters of x without dim `axis`, and of the output, whose dim `axis` is 'k' (missing for a
 * scalar index). Exact: a scalar index and a negative axis are refused. */
typedef struct {
    int axis;
    const char *x, *index, *out;
} GatherLetters;

static bool gather_letters(const SpmdCall *call, GatherLetters *letters, Error *err)
{
    int n_dims = call->input[0].n_dims, n_index = call->input[1].n_dims;
    int64_t axis = spmd_int(call, "axis", 0);
    if (!spmd_axis(axis, n_dims, &letters->axis, err))
        return false;
    if (axis < 0 && call->exact)
        return error_kind(err, ERROR_INVALID, "axis %d is less than 0", (int)axis);
    if (n_index > 1 || (n_index == 0 && call->exact))
        return error_kind(err, ERROR_INVALID, "index has %d dims but needs 1", n_index);
    spmd_trace(call, "dim %d is indexed: not split; k is the dim of the indices", letters->axis);
    letters->x = letters_without(call, n_dims, "k");
    letters->index = n_index == 1 ? "k" : "";
    letters->out = arena_printf(call->arena, "%.*s%s%s", letters->axis, letters->x, letters->index,
                                letters->x + letters->axis + 1);
    return true;
}

/* Exact: the indices keep an axis that x also has. */
static bool gather_forward(SpmdCall *call, Error *err)
{
    SpmdTensor x = call->input[0];
    const SpmdTensor *index = &call->input[1];
    GatherLetters letters;
    if (!gather_letters(call, &letters, err))
        return false;
    spmd_unsplit(&x, letters.axis);
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters.x, &x}, {letters.index, index}}, 2,
                    &merged, err))
        return false;
    need_letters(call, &x, letters.x, &merged);
    if (call->exact)
        spmd_need(call, index);
    else
        need_letters(call, index, letters.index, &merged);
    out_letters(call, letters.out, &merged);
    return true;
}

static bool gather_backward(SpmdCall *call, Error *err)
{
    GatherLetters letters;
    if (!gather_letters(call, &letters, err) ||
        !check_rank(&call->output[0], (int)strlen(letters.out), "out", err))
        return false;
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters.out, &call->output[0]}}, 1,
                    &merged, err))
        return false;
    need_letters(call, &call->input[0], letters.x, &merged);
    need_letters(call, &call->input[1], letters.index, &merged);
    spmd_out_as_given(call, spmd_given(call, &call->output[0]));
    return true;
}

/* x, index, out_grad -> x_grad. Exact: a negative axis counts as no axis. */
static bool gather_gradient(SpmdCall *call, Error *err)
{
    int64_t given = spmd_int(call, "axis", 0);
    int axis, n_dims = call->input[0].n_dims;
    bool single = call->input[1].n_dims == 0;
    SpmdTensor need = call->input[2];
    if (!spmd_axis(given, n_dims, &axis, err) ||
        !check_rank(&need, single ? n_dims - 1 : n_dims, "out_grad", err))
        return false;
    if (!single && (given >= 0 || !call->exact))
        spmd_unsplit(&need, axis);
    spmd_need_as_given(call, spmd_given(call, &call->input[0]));
    spmd_need_as_given(call, spmd_given(call, &call->input[1]));
    spmd_need_as_given(call, &need);
    if (single)
        spmd_insert_dim(&need, axis);
    SpmdTensor *out = spmd_out_as_given(call, &call->input[0]);
    memcpy(out->dim, need.dim, sizeof out->dim);
    return true;
}

/* Removes from the indices the axes that split other dims of x. */
static void index_without(SpmdTensor *index, const SpmdTensor *x)
{
    for (int d = 0; d < x->n_dims; d++)
        for (int i = 0; i < x->dim[d].n; i++)
            for (int of_index = 0; of_index < index->n_dims; of_index++)
                spmd_axes_remove(&index->dim[of_index], x->dim[d].axis[i]);
}

/* Answers for x and index; *out is the mapping of the output. */
static bool index_select_needs(SpmdCall *call, SpmdTensor *out, SpmdAxes *indices, Error *err)
{
    int axis;
    if (!spmd_axis(spmd_int(call, "axis", 0), call->input[0].n_dims, &axis, err) ||
        !check_rank(&call->input[1], 1, "index", err))
        return false;
    SpmdTensor *x = spmd_need(call, &call->input[0]);
    spmd_unsplit(x, axis);
    SpmdTensor *index = spmd_need(call, &call->input[1]);
    index_without(index, x);
    spmd_trace(call, "dim %d is indexed: not split; the indices: %s", axis,
               spmd_show_axes(call, &index->dim[0]));
    *out = *x;
    *indices = out->dim[axis] = index->dim[0];
    return true;
}

static bool index_select_forward(SpmdCall *call, Error *err)
{
    SpmdTensor out;
    SpmdAxes indices;
    if (!index_select_needs(call, &out, &indices, err))
        return false;
    spmd_out(call, &out);
    return true;
}

/* x, index, out_grad -> x_grad. Each rank adds at its own indices, so the sum is partial. */
static bool index_select_gradient(SpmdCall *call, Error *err)
{
    SpmdTensor out_grad;
    SpmdAxes indices;
    if (!check_rank(&call->input[2], call->input[0].n_dims, "out_grad", err) ||
        !index_select_needs(call, &out_grad, &indices, err))
        return false;
    spmd_need(call, &out_grad);
    return spmd_set_partial(spmd_out(call, call->need.at[0]), &indices, REDUCE_SUM, err);
}

/* ---- gather_nd: the last dim of the indices holds coordinates of leading dims of x ---- */

/* Exact: a single index of one coordinate is treated as a list. */

static bool gather_nd_sizes(const SpmdCall *call, int *n_leading, int *n_batch, Error *err)
{
    const SpmdTensor *x = &call->input[0], *index = &call->input[1];
    *n_leading = *n_batch = 0;
    if (index->n_dims < 1)
        return error_kind(err, ERROR_INVALID, "index has no dims");
    *n_batch = index->n_dims - 1;
    int64_t n = index->shape.dim[*n_batch];
    if (call->exact && x->n_dims == 1 && index->n_dims == 1) {
        *n_batch = 1;
        *n_leading = 1;
        return true;
    }
    *n_leading = (int)n;
    return (n >= 0 && n <= x->n_dims) ||
           error_kind(err, ERROR_INVALID, "an index of %d coordinates into %d dims", *n_leading,
                      x->n_dims);
}

/* Exact: an axis may then split both a dim of the indices and one of x. */
static bool gather_nd_forward(SpmdCall *call, Error *err)
{
    int n_leading, n_batch;
    if (!gather_nd_sizes(call, &n_leading, &n_batch, err))
        return false;
    SpmdTensor *x = spmd_need(call, &call->input[0]);
    spmd_trace(call, "the first %d dims are indexed: not split", n_leading);
    for (int d = 0; d < n_leading; d++)
        spmd_unsplit(x, d);
    SpmdTensor *index = spmd_need(call, &call->input[1]);
    spmd_unsplit(index, n_batch);
    if (!call->exact)
        index_without(index, x);
    SpmdTensor *out = spmd_out_whole(call, n_batch + x->n_dims - n_leading);
    memcpy(out->dim, index->dim, (size_t)n_batch * sizeof *out->dim);
    memcpy(out->dim + n_batch, x->dim + n_leading,
           (size_t)(x->n_dims - n_leading) * sizeof *out->dim);
    return true;
}

static bool gather_nd_backward(SpmdCall *call, Error *err)
{
    const SpmdTensor *out = &call->output[0];
    int n_leading, n_batch;
    if (!gather_nd_sizes(call, &n_leading, &n_batch, err) ||
        !check_rank(out, n_batch + call->input[0].n_dims - n_leading, "out", err))
        return false;
    SpmdTensor *x = need_whole(call, &call->input[0]);
    memcpy(x->dim + n_leading, out->dim + n_batch,
           (size_t)(x->n_dims - n_leading) * sizeof *out->dim);
    SpmdTensor *index = need_whole(call, &call->input[1]);
    memcpy(index->dim, out->dim, (size_t)n_batch * sizeof *out->dim);
    spmd_out_as_given(call, spmd_given(call, out));
    return true;
}

/* The letters of x, index and updates: "11b", "a1", "ab", where 1 is never split: the coordinates,
 * and the dims of x that they choose places of. `rows`: those of the batch dims, "a". */
typedef struct {
    const char *x, *index, *updates, *rows;
} ScatterNdLetters;

static bool scatter_nd_letters(const SpmdCall *call, ScatterNdLetters *letters, Error *err)
{
    int n_leading, n_batch, n_dims = call->input[0].n_dims;
    if (!gather_nd_sizes(call, &n_leading, &n_batch, err) ||
        !check_rank(&call->input[2], n_batch + n_dims - n_leading, "updates", err))
        return false;
    const char *rest = spmd_letters(call, n_dims - n_leading, 'a');
    letters->rows = spmd_letters(call, n_batch, (char)('a' + n_dims - n_leading));
    char *whole = arena_array(call->arena, char, n_leading + 1);
    memset(whole, '1', (size_t)n_leading);
    letters->x = arena_printf(call->arena, "%s%s", whole, rest);
    letters->index = arena_printf(call->arena, "%s1", letters->rows);
    letters->updates = arena_printf(call->arena, "%s%s", letters->rows, rest);
    spmd_trace(call, "the first %d dims are indexed: not split", n_leading);
    return true;
}

static void unsplit_ones(SpmdTensor *tensor, const char *letters)
{
    for (int d = 0; d < tensor->n_dims; d++)
        if (letters[d] == '1')
            spmd_unsplit(tensor, d);
}

/* x, index, updates -> x with the updates added: partial over the axes that split the updates'
 * rows. */
static bool scatter_nd_sum(SpmdCall *call, Error *err)
{
    ScatterNdLetters letters;
    SpmdLetters merged;
    if (!scatter_nd_letters(call, &letters, err))
        return false;
    SpmdTensor x = call->input[0], index = call->input[1];
    unsplit_ones(&x, letters.x);
    unsplit_ones(&index, letters.index);
    const SpmdOperand operands[] = {
        {letters.index, &index}, {letters.updates, &call->input[2]}, {letters.x, &x}};
    if (!spmd_merge(call, SPMD_CLASSIC, operands, 3, &merged, err))
        return false;
    need_letters(call, &call->input[0], letters.x, &merged);
    need_letters(call, &call->input[1], letters.index, &merged);
    need_letters(call, &call->input[2], letters.updates, &merged);
    SpmdTensor *out = out_letters(call, letters.x, &merged);
    for (const char *row = letters.rows; *row; row++)
        if (!spmd_set_partial(out, merged_axes(&merged, *row), REDUCE_SUM, err))
            return false;
    return true;
}

static bool scatter_nd_sum_backward(SpmdCall *call, Error *err)
{
    ScatterNdLetters letters;
    SpmdLetters merged;
    SpmdTensor out = call->output[0];
    if (!scatter_nd_letters(call, &letters, err) ||
        !check_rank(&out, call->input[0].n_dims, "out", err))
        return false;
    unsplit_ones(&out, letters.x);
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters.x, &out}}, 1, &merged, err))
        return false;
    need_letters(call, &call->input[0], letters.x, &merged);
    need_letters(call, &call->input[1], letters.index, &merged);
    need_letters(call, &call->input[2], letters.updates, &merged);
    out_letters(call, letters.x, &merged);
    return true;
}

/* x, index, out_grad -> x_grad. `exact` reproduces Paddle, where x_grad is not partial over the
 * axes that split out_grad's rows. */
static bool gather_nd_gradient(SpmdCall *call, Error *err)
{
    int n_leading, n_batch;
    if (!call->exact)
        return scatter_nd_sum(call, err);
    if (!gather_nd_sizes(call, &n_leading, &n_batch, err))
        return false;
    for (int i = 0; i < 3; i++)
        spmd_need_as_given(call, spmd_given(call, &call->input[i]));
    const SpmdTensor *out_grad = &call->input[2];
    SpmdTensor *out = spmd_out_as_given(call, &call->input[0]);
    int shift = out_grad->n_dims - out->n_dims;
    for (int d = 0; d < out->n_dims; d++)
        out->dim[d] = d >= n_leading && d + shift >= 0 ? out_grad->dim[d + shift] : (SpmdAxes){0};
    return true;
}

/* ---- scatter ---- */

/* The letters of the indices, "a" or "a1" by rank; updates have "abc". */
static bool scatter_letters(const SpmdCall *call, const SpmdTensor *x, const SpmdTensor *index,
                            const char **x_letters, const char **index_letters, Error *err)
{
    *x_letters = spmd_letters(call, x->n_dims, 'a');
    *index_letters = spmd_letters(call, index->n_dims, 'a');
    return (x->n_dims >= 1 && index->n_dims <= 2) ||
           error_kind(err, ERROR_INVALID, "index of %d dims into %d", index->n_dims, x->n_dims);
}

static bool scatter_forward(SpmdCall *call, Error *err)
{
    const SpmdTensor *x = &call->input[0], *index = &call->input[1], *updates = &call->input[2];
    const char *letters, *index_letters;
    if (!scatter_letters(call, x, index, &letters, &index_letters, err) ||
        !check_rank(updates, x->n_dims, "updates", err))
        return false;
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{index_letters, index}, {letters, updates}},
                    2, &merged, err))
        return false;
    const SpmdAxes *rows = merged_axes(&merged, 'a');
    spmd_unsplit(need_letters(call, x, letters, &merged), 0);
    need_letters(call, index, index_letters, &merged);
    need_letters(call, updates, letters, &merged);
    SpmdTensor *out = out_letters(call, letters, &merged);
    spmd_unsplit(out, 0);
    return spmd_set_partial(out, rows, REDUCE_SUM, err);
}

static bool scatter_backward(SpmdCall *call, Error *err)
{
    SpmdTensor out = call->output[0];
    const SpmdTensor *index = &call->input[1];
    const char *letters, *index_letters;
    if (!scatter_letters(call, &out, index, &letters, &index_letters, err))
        return false;
    spmd_unsplit(&out, 0);
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters, &out}}, 1, &merged, err))
        return false;
    need_letters(call, &call->input[0], letters, &merged);
    need_letters(call, index, index_letters, &merged);
    need_letters(call, &call->input[2], letters, &merged);
    spmd_out(call, &out);
    return true;
}

/* `exact` reproduces Paddle, which applies the rule of scatter. */
static bool scatter_nd_forward(SpmdCall *call, Error *err)
{
    return call->exact ? scatter_forward(call, err) : scatter_nd_sum(call, err);
}

static bool scatter_nd_backward(SpmdCall *call, Error *err)
{
    return call->exact ? scatter_backward(call, err) : scatter_nd_sum_backward(call, err);
}

/* index, updates, out_grad -> x_grad, updates_grad */
static bool scatter_gradient(SpmdCall *call, Error *err)
{
    (void)err;
    need_whole(call, &call->input[0]);
    spmd_unsplit(spmd_need(call, &call->input[1]), 0);
    SpmdTensor out_grad = call->input[2];
    spmd_unsplit(&out_grad, 0);
    spmd_need(call, &out_grad);
    spmd_out_as_given(call, &out_grad);
    spmd_out(call, &out_grad);
    return true;
}

/* ---- index_put: writes value at n lists of indices ---- */

/* x, index.., value [, out_grad]: the indices address the first dims of x; value has one dim for
 * all of them.
 */
static bool index_put_needs(SpmdCall *call, int n_indices, SpmdTensor *x, SpmdTensor *value,
                            Error *err)
{
    const SpmdTensor *given = &call->input[0], *given_value = &call->input[n_indices + 1];
    *x = spmd_without_partial(given);
    *value = spmd_without_partial(given_value);
    if (n_indices < 1 || n_indices > x->n_dims)
        return error_kind(err, ERROR_INVALID, "%d indices into %d dims", n_indices, x->n_dims);
    spmd_trace(call, "the first %d dims are indexed: not split", n_indices);
    for (int d = 0; d < n_indices; d++)
        spmd_unsplit(x, d);
    spmd_replicate(value);
    for (int d = 1; d < value->n_dims && n_indices - 1 + d < x->n_dims; d++)
        value->dim[d] = x->dim[n_indices - 1 + d];
    spmd_need(call, x);
    for (int i = 1; i <= n_indices; i++)
        unsplit_from(spmd_need_as_given(call, &call->input[i]), 0);
    spmd_need(call, value);
    return true;
}

static bool index_put_forward(SpmdCall *call, Error *err)
{
    SpmdTensor x, value;
    if (!index_put_needs(call, call->n_inputs - 2, &x, &value, err))
        return false;
    spmd_out(call, &x);
    return true;
}

static bool index_put_gradient(SpmdCall *call, Error *err)
{
    SpmdTensor x, value;
    if (!index_put_needs(call, call->n_inputs - 3, &x, &value, err))
        return false;
    spmd_need(call, &x);
    spmd_out(call, &x);
    spmd_out(call, &value);
    return true;
}

/* ---- take_along_axis, put_along_axis ---- */

/* The letters of x: '1' for the axis and for dims whose sizes differ from those of `other`. */
static bool along_letters(const SpmdCall *call, int n_dims, const SpmdTensor *x,
                          const SpmdTensor *const *other, int n_others, int *axis,
                          const char **letters, Error *err)
{
    int64_t at = spmd_int(call, "axis", 0);
    *axis = 0;
    *letters = spmd_letters(call, n_dims, 'a');
    if (at < 0 || at >= n_dims)
        return error_kind(err, ERROR_INVALID, "axis %d of %d dims", (int)at, n_dims);
    *axis = (int)at;
    for (int i = 0; i < n_others; i++) {
        if (!check_rank(other[i], n_dims, "index", err))
            return false;
        for (int d = 0; d < n_dims; d++)
            if (d != at && x->shape.dim[d] != other[i]->shape.dim[d])
                *letters = letters_with(call, *letters, d, '1');
    }
    return true;
}

/* x, index -> out */
static bool take_along_forward(SpmdCall *call, Error *err)
{
    SpmdTensor x = call->input[0];
    const SpmdTensor *index = &call->input[1];
    const char *letters;
    int axis;
    if (!along_letters(call, x.n_dims, &x, &index, 1, &axis, &letters, err))
        return false;
    const char *x_letters = letters_with(call, letters, axis, '1');
    spmd_unsplit(&x, axis);
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{x_letters, &x}, {letters, index}}, 2,
                    &merged, err))
        return false;
    need_letters(call, &x, x_letters, &merged);
    need_letters(call, index, letters, &merged);
    out_letters(call, letters, &merged);
    return true;
}

/* x, index, out_grad -> x_grad: all follow out_grad. Where the axis is split the sum is partial.
 * Exact: it is not. */
static bool take_along_gradient(SpmdCall *call, Error *err)
{
    const SpmdTensor *x = &call->input[0], *index = &call->input[1], *out_grad = &call->input[2];
    const char *letters;
    int axis;
    if (!along_letters(call, out_grad->n_dims, x, &index, 1, &axis, &letters, err))
        return false;
    const char *x_letters = letters_with(call, letters, axis, '1');
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters, out_grad}}, 1, &merged, err))
        return false;
    need_letters(call, x, x_letters, &merged);
    need_letters(call, index, letters, &merged);
    need_letters(call, out_grad, letters, &merged);
    SpmdTensor *x_grad = out_letters(call, x_letters, &merged);
    if (!call->exact)
        spmd_partial_of_letters(x_grad, x_letters, &merged, REDUCE_SUM);
    return true;
}

/* x, index, value -> out */
static bool put_along_forward(SpmdCall *call, Error *err)
{
    const SpmdTensor *other[2] = {&call->input[1], &call->input[2]};
    const char *letters;
    int axis;
    if (!along_letters(call, call->input[0].n_dims, &call->input[0], other, 2, &axis, &letters,
                       err))
        return false;
    letters = letters_with(call, letters, axis, '1');
    SpmdLetters merged;
    if (!need_merged(call, 3, letters, axis, &merged, err))
        return false;
    out_letters(call, letters, &merged);
    return true;
}

/* x, index, value, out, out_grad -> x_grad, value_grad: all follow out_grad. */
static bool put_along_gradient(SpmdCall *call, Error *err)
{
    const SpmdTensor *other[2] = {&call->input[1], &call->input[2]}, *out_grad = &call->input[4];
    const char *letters;
    int axis;
    if (!along_letters(call, out_grad->n_dims, &call->input[0], other, 2, &axis, &letters, err))
        return false;
    letters = letters_with(call, letters, axis, '1');
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_CLASSIC, (SpmdOperand[]){{letters, out_grad}}, 1, &merged, err))
        return false;
    for (int i = 0; i < 5; i++)
        need_letters(call, &call->input[i], letters, &merged);
    out_letters(call, letters, &merged);
    out_letters(call, letters, &merged);
    return true;
}

const SpmdRule spmd_rules_index[] = {
    {.names = "gather",
     .forward = gather_forward,
     .backward = gather_backward,
     .inputs = {2, 2},
     .outputs = {1, 1}},
    {.names = "gather_grad", .forward = gather_gradient, .inputs = {3, 3}},
    {.names = "index_select",
     .forward = index_select_forward,
     .backward = index_select_gradient,
     .flags = SPMD_LISTS | SPMD_GRADIENT,
     .inputs = {2, 2},
     .outputs = {1, 1}},
    {.names = "index_select_grad",
     .forward = index_select_gradient,
     .flags = SPMD_LISTS,
     .inputs = {3, 3}},
    {.names = "gather_nd",
     .forward = gather_nd_forward,
     .backward = gather_nd_backward,
     .inputs = {2, 2},
     .outputs = {1, 1}},
    {.names = "gather_nd_grad", .forward = gather_nd_gradient, .inputs = {3, 3}},
    {.names = "scatter",
     .forward = scatter_forward,
     .backward = scatter_backward,
     .inputs = {3, 3},
     .outputs = {1, 1}},
    {.names = "scatter_nd_add",
     .forward = scatter_nd_forward,
     .backward = scatter_nd_backward,
     .inputs = {3, 3},
     .outputs = {1, 1}},
    {.names = "scatter_grad", .forward = scatter_gradient, .inputs = {3, 3}},
    {.names = "index_put",
     .forward = index_put_forward,
     .backward = index_put_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {3, SPMD_ANY},
     .outputs = {1, 1}},
    {.names = "index_put_grad", .forward = index_put_gradient, .inputs = {4, SPMD_ANY}},
    {.names = "take_along_axis",
     .forward = take_along_forward,
     .backward = take_along_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {2, 2},
     .outputs = {1, 1}},
    {.names = "take_along_axis_grad", .forward = take_along_gradient, .inputs = {3, 3}},
    {.names = "put_along_axis",
     .forward = put_along_forward,
     .backward = put_along_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {3, 3},
     .outputs = {2, 2}},
    {.names = "put_along_axis_grad", .forward = put_along_gradient, .inputs = {5, 5}},
    {0},
};
