/* Rules of expand, expand_as, tile, and their gradients. */
#include "core/peers/paddle/merge.h"

/* ---- expand: dims of size 1 become wider, new dims are added in front ---- */

/* Dims that keep their size keep their axes. `target` has a size per dim of the output, 0 or -1 to
 * keep it; x is right-aligned. */
static bool answer_expanded(SpmdCall *call, const SpmdTensor *x, SpmdInts target, Error *err)
{
    int more = target.n - x->n_dims;
    if (more < 0 || target.n > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "%d dims cannot be expanded to %d", x->n_dims, target.n);
    SpmdTensor *out = spmd_out_whole(call, target.n);
    for (int d = 0; d < x->n_dims; d++)
        if (target.at[more + d] == -1 || target.at[more + d] == x->shape.dim[d])
            out->dim[more + d] = x->dim[d];
    return true;
}

/* x is copied, so out stays partial. Exact: out is not partial. */
static bool expand(SpmdCall *call, Error *err)
{
    const SpmdTensor *x = &call->input[0];
    spmd_need_as_given(call, spmd_given(call, x));
    if (!answer_expanded(call, x, spmd_ints(call, "shape"), err))
        return false;
    if (!call->exact)
        memcpy(call->out.at[0]->partial, x->partial, sizeof x->partial);
    return true;
}

/* The mapping of `wide` on the dims of x, right-aligned, that have equal sizes. */
static SpmdTensor follow_wide(const SpmdTensor *x, const SpmdTensor *wide)
{
    SpmdTensor out = spmd_without_partial(x);
    spmd_replicate(&out);
    for (int d = 0; d < x->n_dims; d++) {
        int of_wide = d + wide->n_dims - x->n_dims;
        if (of_wide >= 0 && wide->shape.dim[of_wide] == x->shape.dim[d])
            out.dim[d] = wide->dim[of_wide];
    }
    return out;
}

static bool expand_backward(SpmdCall *call, Error *err)
{
    (void)err;
    SpmdTensor x = follow_wide(&call->input[0], &call->output[0]);
    SpmdTensor *out = spmd_out(call, &call->output[0]);
    int more = out->n_dims - x.n_dims;
    for (int d = 0; d < out->n_dims; d++)
        if (d < more || x.shape.dim[d - more] != out->shape.dim[d])
            spmd_unsplit(out, d);
    spmd_need(call, &x);
    return true;
}

/* x, out_grad; `needed`: the needed out_grad. */
static bool answer_gradient(SpmdCall *call, const SpmdTensor *needed, Error *err)
{
    const SpmdTensor *x = &call->input[0], *gradient = &call->input[1];
    if (gradient->n_dims < x->n_dims)
        return error_kind(err, ERROR_RANK, "the gradient has fewer dims than x");
    SpmdTensor need = follow_wide(x, gradient);
    SpmdTensor *of_x = spmd_out(call, &need);
    int more = gradient->n_dims - x->n_dims;
    for (int d = 0; d < gradient->n_dims; d++)
        if (d < more || !spmd_is_split(of_x, d - more))
            spmd_add_partial(of_x, &gradient->dim[d], REDUCE_SUM);
    spmd_need(call, &need);
    spmd_need_as_given(call, needed);
    return true;
}

/* Exact: out_grad may stay split on expanded dims. */
static bool expand_gradient(SpmdCall *call, Error *err)
{
    SpmdTensor reduced = spmd_without_partial(&call->input[1]);
    return answer_gradient(call, call->exact ? spmd_given(call, &call->input[1]) : &reduced, err);
}

static bool expand_as_gradient(SpmdCall *call, Error *err)
{
    SpmdTensor reduced = spmd_without_partial(&call->input[1]);
    return answer_gradient(call, &reduced, err);
}

/* ---- expand_as: to the shape of y, whose mapping decides ---- */

static bool expand_as(SpmdCall *call, Error *err)
{
    const SpmdTensor *x = &call->input[0], *y = &call->input[1];
    if (call->n_inputs < 2 || y->absent) {
        spmd_need_as_given(call, spmd_given(call, x));
        if (call->n_inputs > 1)
            spmd_need(call, y);
        return answer_expanded(call, x, spmd_ints(call, "target_shape"), err);
    }
    SpmdTensor need = follow_wide(x, y);
    spmd_need(call, &need);
    spmd_need(call, y);
    spmd_out(call, y);
    return true;
}

/* The given output replaces y. */
static bool expand_as_backward(SpmdCall *call, Error *err)
{
    (void)err;
    SpmdTensor need = follow_wide(&call->input[0], &call->output[0]);
    spmd_need(call, &need);
    if (call->n_inputs > 1)
        spmd_need(call, &call->output[0]);
    spmd_out(call, &call->output[0]);
    return true;
}

/* ---- tile: repeated dims are not split ---- */

typedef struct {
    int n;                /* dims of the output */
    int more;             /* new dims in front of x's */
    bool again[DIMS_MAX]; /* repeated */
} Tiling;

static bool read_tiling(const SpmdCall *call, const SpmdTensor *x, Tiling *out, Error *err)
{
    SpmdInts repeat = spmd_ints(call, "repeat_times");
    *out = (Tiling){.n = repeat.n > x->n_dims ? repeat.n : x->n_dims};
    out->more = out->n - x->n_dims;
    if (out->n > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "a tensor has at most %d dims", DIMS_MAX);
    for (int i = 0; i < repeat.n; i++)
        out->again[out->n - repeat.n + i] = repeat.at[i] != 1;
    return true;
}

static bool tile(SpmdCall *call, Error *err)
{
    Tiling tiling;
    const SpmdTensor *x = &call->input[0];
    if (!read_tiling(call, x, &tiling, err))
        return false;
    SpmdTensor *need = spmd_need(call, x), *out = spmd_out_whole(call, tiling.n);
    for (int d = 0; d < x->n_dims; d++) {
        if (tiling.again[tiling.more + d])
            spmd_unsplit(need, d);
        out->dim[tiling.more + d] = need->dim[d];
    }
    return true;
}

static bool tile_backward(SpmdCall *call, Error *err)
{
    Tiling tiling;
    const SpmdTensor *x = &call->input[0];
    if (!read_tiling(call, x, &tiling, err))
        return false;
    if (call->output[0].n_dims != tiling.n)
        return error_kind(err, ERROR_RANK, "the output has %d dims but needs %d",
                          call->output[0].n_dims, tiling.n);
    SpmdTensor *need = spmd_need(call, x), *out = spmd_out(call, &call->output[0]);
    for (int d = 0; d < x->n_dims; d++) {
        if (tiling.again[tiling.more + d])
            spmd_unsplit(out, tiling.more + d);
        need->dim[d] = out->dim[tiling.more + d];
    }
    return true;
}

/* x, out_grad */
static bool tile_gradient(SpmdCall *call, Error *err)
{
    Tiling tiling;
    const SpmdTensor *x = &call->input[0], *gradient = &call->input[1];
    if (!read_tiling(call, x, &tiling, err))
        return false;
    const char *plain = spmd_letters(call, tiling.n, 'a');
    char *letters = arena_array(call->arena, char, tiling.n + 1);
    for (int d = 0; d < tiling.n; d++)
        letters[d] = d >= tiling.more && tiling.again[d] ? '1' : plain[d];
    SpmdTensor whole_x = *x, whole_gradient = *gradient;
    for (int d = tiling.more; d < tiling.n; d++) {
        if (!tiling.again[d])
            continue;
        spmd_unsplit(&whole_x, d - tiling.more);
        spmd_unsplit(&whole_gradient, d);
    }
    SpmdOperand operand[] = {{plain + tiling.more, &whole_x}, {letters, &whole_gradient}};
    SpmdLetters merged;
    if (!spmd_merge(call, SPMD_BY_LISTS, operand, 2, &merged, err))
        return false;
    spmd_set_letters(spmd_need(call, x), letters + tiling.more, &merged);
    spmd_set_letters(spmd_need(call, gradient), letters, &merged);
    SpmdTensor *of_x = spmd_out(call, call->need.at[0]);
    for (int d = 0; d < tiling.more; d++)
        spmd_add_partial(of_x, &merged.axes[(unsigned char)letters[d]], REDUCE_SUM);
    return true;
}

const SpmdRule spmd_rules_expand[] = {
    {.names = "expand",
     .forward = expand,
     .backward = expand_backward,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "expand_as expand_as_v2",
     .forward = expand_as,
     .backward = expand_as_backward,
     .inputs = {1, 2},
     .outputs = {1, 1}},
    {.names = "expand_grad", .forward = expand_gradient, .inputs = {2, 2}},
    {.names = "expand_as_grad", .forward = expand_as_gradient, .inputs = {2, 2}},
    {.names = "tile",
     .forward = tile,
     .backward = tile_backward,
     .flags = SPMD_LISTS,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "tile_grad", .forward = tile_gradient, .flags = SPMD_LISTS, .inputs = {2, 2}},
    {0},
};
