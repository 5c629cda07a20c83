/* Rules of reductions, argmax, and their gradients. */
#include "core/peers/paddle/merge.h"

/* The reduced dims of x, and whether they stay with size 1. */
typedef struct {
    bool gone[DIMS_MAX];
    bool kept;
} Reduced;

#define KEPT "keep_dim keepdim keepdims"

static void reduce_all(Reduced *out)
{
    for (int d = 0; d < DIMS_MAX; d++)
        out->gone[d] = true;
}

/* Reads the axes; all dims if there are none. */
static bool read_axes(const SpmdCall *call, Reduced *out, Error *err)
{
    SpmdInts axes = spmd_ints(call, "axis");
    *out = (Reduced){.kept = spmd_int(call, KEPT, 0)};
    for (int i = 0; i < axes.n; i++) {
        int axis;
        if (!spmd_axis(axes.at[i], call->input[0].shape.n_dims, &axis, err))
            return false;
        out->gone[axis] = true;
    }
    if (axes.n == 0)
        reduce_all(out);
    return true;
}

/* Reads one axis, or all if the attribute `of_all` is set. */
static bool read_axis(const SpmdCall *call, const char *of_all, Reduced *out, Error *err)
{
    int axis;
    *out = (Reduced){.kept = spmd_int(call, KEPT, 0)};
    if (spmd_int(call, of_all, 0)) {
        reduce_all(out);
        return true;
    }
    if (!spmd_axis(spmd_int(call, "axis", -1), call->input[0].shape.n_dims, &axis, err))
        return false;
    out->gone[axis] = true;
    return true;
}

/* p_norm has one axis, the others a list. */
static bool read_reduced(const SpmdCall *call, Reduced *out, Error *err)
{
    return call->rule->letters ? read_axis(call, call->rule->letters, out, err)
                               : read_axes(call, out, err);
}

/* ---- reductions ---- */

/* The letters of the output: '1' for a dim that stays with size 1. */
static const char *letters_left(const SpmdCall *call, const Reduced *reduced, const char *letters)
{
    int n = 0;
    char *left = arena_array(call->arena, char, strlen(letters) + 1);
    for (int d = 0; letters[d]; d++)
        if (!reduced->gone[d] || reduced->kept)
            left[n++] = reduced->gone[d] ? '1' : letters[d];
    return left;
}

/* x with the splits that the reduction allows: an average needs parts of equal size, and norms and
 * logarithms of sums cannot be added over parts. Exact: neither is checked. */
static SpmdTensor reducible(const SpmdCall *call, const Reduced *reduced, ReduceOp op)
{
    SpmdTensor x = call->input[0];
    for (int d = 0; d < x.n_dims && !call->exact; d++) {
        if (reduced->gone[d] && call->rule->number)
            spmd_unsplit(&x, d);
        if (reduced->gone[d] && op == REDUCE_AVG)
            spmd_axes_trim(call, &x.dim[d], x.shape.dim[d]);
    }
    return x;
}

static bool reduce(SpmdCall *call, ReduceOp op, Error *err)
{
    Reduced reduced;
    SpmdLetters merged;
    if (!read_reduced(call, &reduced, err))
        return false;
    SpmdTensor given = reducible(call, &reduced, op);
    SpmdOperand x = {spmd_letters(call, given.n_dims, 'a'), &given};
    if (!spmd_merge(call, SPMD_CLASSIC, &x, 1, &merged, err))
        return false;
    const char *left = letters_left(call, &reduced, x.letters);
    SpmdTensor *out = spmd_out_whole(call, 0);
    spmd_set_letters(spmd_need(call, x.tensor), x.letters, &merged);
    spmd_set_letters(out, left, &merged);
    spmd_partial_of_letters(out, left, &merged, op);
    return true;
}

/* Exact: the static rule answers sum for every reduction, also for max. */
static bool reduce_as_sum(SpmdCall *call, Error *err)
{
    return reduce(call, call->exact ? REDUCE_SUM : call->rule->reduce, err);
}

static bool reduce_by_name(SpmdCall *call, Error *err)
{
    return reduce(call, call->rule->reduce, err);
}

static bool reduce_base(SpmdCall *call, Error *err)
{
    static const ReduceOp types[] = {REDUCE_SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD,
                                     REDUCE_AVG, REDUCE_ANY, REDUCE_ALL};
    int64_t type = spmd_int(call, "reduce_type", 0);
    if (type < 0 || type >= (int64_t)(sizeof types / sizeof *types))
        return error_set(err, "reduce_type %lld is not a reduction", (long long)type);
    return reduce(call, types[type], err);
}

static bool reduce_backward(SpmdCall *call, Error *err)
{
    Reduced reduced;
    SpmdLetters merged;
    if (!read_reduced(call, &reduced, err))
        return false;
    const char *letters = spmd_letters(call, call->input[0].n_dims, 'a');
    SpmdOperand out = {letters_left(call, &reduced, letters), &call->output[0]};
    if (!spmd_merge(call, SPMD_CLASSIC, &out, 1, &merged, err))
        return false;
    spmd_set_letters(spmd_need(call, &call->input[0]), letters, &merged);
    spmd_out_as_given(call, spmd_given(call, &call->output[0]));
    return true;
}

/* ---- gradients: x [, out], out_grad ---- */

/* If the dims were kept, lists pass too. */
static bool reduce_gradient(SpmdCall *call, Error *err)
{
    Reduced reduced;
    const SpmdTensor *x = &call->input[0], *gradient = &call->input[call->n_inputs - 1];
    SpmdTensor of_x = *gradient;
    if (gradient->n_dims != x->n_dims) {
        if (!read_reduced(call, &reduced, err))
            return false;
        spmd_keep_largest_axes(call, &of_x);
        for (int d = 0; d < x->n_dims; d++)
            if (reduced.gone[d])
                spmd_insert_dim(&of_x, d);
    }
    spmd_need(call, &of_x);
    for (int i = 1; i < call->n_inputs; i++)
        spmd_need(call, gradient);
    spmd_out(call, &of_x);
    return true;
}

/* ---- to one number ---- */

static bool to_one(SpmdCall *call, const SpmdTensor *need, int n_dims)
{
    SpmdTensor *out = spmd_out_whole(call, n_dims);
    spmd_need_as_given(call, need);
    for (int d = 0; d < need->n_dims; d++)
        spmd_add_partial(out, &need->dim[d], call->rule->reduce);
    return true;
}

static bool to_scalar(SpmdCall *call, Error *err)
{
    (void)err;
    Reduced all = {0};
    reduce_all(&all);
    SpmdTensor given = reducible(call, &all, call->rule->reduce);
    SpmdTensor need = spmd_without_partial(&given);
    return to_one(call, &need, 0);
}

/* The number of elements does not depend on whether x is partial. */
static bool numel(SpmdCall *call, Error *err)
{
    (void)err;
    return to_one(call, spmd_given(call, &call->input[0]), 0);
}

static bool to_one_element(SpmdCall *call, Error *err)
{
    (void)err;
    SpmdTensor need = spmd_without_partial(&call->input[0]);
    return to_one(call, &need, 1);
}

/* ---- argmax, argmin ---- */

/* Exact: a flattened result has a mapping of one dim although it is a scalar. */
static bool argmax(SpmdCall *call, Error *err)
{
    Reduced reduced;
    const SpmdTensor *x = &call->input[0];
    if (!read_axis(call, "flatten", &reduced, err))
        return false;
    SpmdTensor *need = spmd_need(call, x);
    for (int d = 0; d < x->n_dims; d++)
        if (reduced.gone[d])
            spmd_unsplit(need, d);
    SpmdTensor *out = spmd_out(call, need);
    for (int d = x->n_dims - 1; d >= 0 && !reduced.kept; d--)
        if (reduced.gone[d])
            spmd_remove_dim(out, d);
    if (call->exact && spmd_int(call, "flatten", 0) && !reduced.kept)
        spmd_insert_dim(out, 0);
    return true;
}

/* A flattened result is not split. Exact: it gets a dim if none is kept. */
static void keep_given_out(SpmdCall *call, bool kept)
{
    SpmdTensor *out = spmd_out(call, &call->output[0]);
    if (!spmd_int(call, "flatten", 0))
        return;
    if (kept)
        spmd_replicate(out);
    else if (call->exact)
        spmd_insert_dim(out, out->n_dims);
}

/* Exact: if the axis is kept with size 1, x gets its axes too. */
static bool argmax_backward(SpmdCall *call, Error *err)
{
    Reduced reduced;
    const SpmdTensor *x = &call->input[0], *out = &call->output[0];
    if (!read_axis(call, "flatten", &reduced, err))
        return false;
    bool all = reduced.kept && call->exact && !spmd_int(call, "flatten", 0);
    SpmdTensor *need = spmd_need(call, x);
    for (int d = 0, from = 0; d < x->n_dims; d++) {
        if ((!reduced.gone[d] || all) && from < out->n_dims)
            need->dim[d] = out->dim[from];
        from += !reduced.gone[d] || reduced.kept;
    }
    keep_given_out(call, reduced.kept);
    return true;
}

/* A row of a plain reduction; `op` is its real reduction, which some eager rules use. `whole`:
 * reduced dims may not be split. */
#define REDUCTION(given_names, op, in_eager, whole)                                                \
    {                                                                                              \
        .names = given_names, .forward = reduce_as_sum, .eager = in_eager,                         \
        .backward = reduce_backward, .inputs = {1, 1}, .outputs = {1, 1}, .reduce = op,            \
        .number = whole                                                                            \
    }

const SpmdRule spmd_rules_reduce[] = {
    REDUCTION("sum reduce_sum", REDUCE_SUM, NULL, 0),
    REDUCTION("frobenius_norm logsumexp", REDUCE_SUM, NULL, 1),
    REDUCTION("squared_l2_norm", REDUCE_SUM, to_one_element, 0),
    REDUCTION("max", REDUCE_MAX, reduce_by_name, 0),
    REDUCTION("amax reduce_max", REDUCE_MAX, NULL, 0),
    REDUCTION("min", REDUCE_MIN, reduce_by_name, 0),
    REDUCTION("amin", REDUCE_MIN, NULL, 0),
    REDUCTION("prod", REDUCE_PROD, NULL, 0),
    REDUCTION("any", REDUCE_ANY, reduce_by_name, 0),
    REDUCTION("all", REDUCE_ALL, reduce_by_name, 0),
    {.names = "p_norm",
     .forward = reduce_by_name,
     .backward = reduce_backward,
     .inputs = {1, 1},
     .outputs = {1, 1},
     .letters = "asvector",
     .number = 1,
     .reduce = REDUCE_SUM},
    {.names = "reduce_base",
     .forward = reduce_base,
     .backward = reduce_backward,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "mean", .forward = reduce_by_name, .inputs = {1, 1}, .reduce = REDUCE_AVG},
    {.names = "mean_all",
     .forward = to_scalar,
     .backward = reduce_gradient,
     .flags = SPMD_GRADIENT,
     .inputs = {1, 1},
     .outputs = {1, 1},
     .reduce = REDUCE_AVG},
    {.names = "numel", .forward = numel, .inputs = {1, 1}, .reduce = REDUCE_SUM},
    {.names = "sum_grad max_grad min_grad mean_grad mean_all_grad logsumexp_grad",
     .forward = reduce_gradient,
     .flags = SPMD_LISTS,
     .inputs = {2, 3}},
    {.names = "p_norm_grad",
     .forward = reduce_gradient,
     .flags = SPMD_LISTS,
     .inputs = {3, 3},
     .letters = "asvector"},
    {.names = "argmax argmin",
     .forward = argmax,
     .backward = argmax_backward,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {0},
};
