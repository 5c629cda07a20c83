/* move.c - operators that only move elements: reshapes, Transpose, Expand, Slice, Split, Concat.
 *
 * A reshape copies: a local part is row-major in both of its shapes. The others look up, per dim,
 * the input place of the global index of each output place.
 */
#include "core/rules/args.h"
#include "core/run/kernel.h"

#include <inttypes.h>

/* The picks must fill the output; missing elements are on other ranks. */
static bool pick_all(const KernelCall *call, Local *to, const Local *from, const Picks *picks,
                     Error *err)
{
    int64_t n_missing = shape_elements(&to->shape) - kernel_pick(call, to, from, picks);
    return n_missing == 0 ||
           error_kind(err, ERROR_RUN, "%" PRId64 " elements are on other ranks", n_missing);
}

static bool check_type(const Local *a, const Local *b, Error *err)
{
    return a->dtype == b->dtype || error_kind(err, ERROR_RUN, "types differ: %s and %s",
                                              dtype_name(a->dtype), dtype_name(b->dtype));
}

static bool copy(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err) || !check_type(call->input[0], call->output[0], err))
        return false;
    int64_t n_in = shape_elements(&call->input[0]->shape);
    int64_t n_out = shape_elements(&call->output[0]->shape);
    if (n_in != n_out)
        return error_kind(err, ERROR_RUN, "%" PRId64 " elements are held, %" PRId64 " are needed",
                          n_in, n_out);
    elements_copy(call->output[0]->dtype, call->output[0]->data, call->input[0]->data, 1, n_in);
    return true;
}

/* Picks the output from an input of equal rank, all dims by global index. */
static bool aligned(const KernelCall *call, const Local *in, const Local *out, Picks *picks,
                    int64_t stride[DIMS_MAX], Error *err)
{
    if (!check_type(in, out, err))
        return false;
    if (in->shape.n_dims != out->shape.n_dims)
        return error_kind(err, ERROR_RUN, "input and output have different numbers of dims");
    *picks = picks_new(call->scratch, &out->shape);
    row_major_strides(&in->shape, stride);
    for (int d = 0; d < picks->n_dims; d++)
        picks_match(picks, d, &out->runs[d], 0, 1, &in->runs[d], stride[d]);
    return true;
}

static bool transpose(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err) || !check_type(call->input[0], call->output[0], err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    const Attr *perm = op_attr(kernel_graph(call), call->op, "perm");
    Picks picks = picks_new(call->scratch, &out->shape);
    int64_t stride[DIMS_MAX];
    row_major_strides(&in->shape, stride);
    if (in->shape.n_dims != picks.n_dims || (perm && perm->n != picks.n_dims))
        return error_kind(err, ERROR_RUN, "the permutation does not fit the dims");
    for (int d = 0; d < picks.n_dims; d++) {
        int64_t from = perm ? perm->ints[d] : picks.n_dims - 1 - d;
        if (from < 0 || from >= picks.n_dims)
            return error_kind(err, ERROR_RUN, "the permutation does not fit the dims");
        picks_match(&picks, d, &out->runs[d], 0, 1, &in->runs[from], stride[from]);
    }
    return pick_all(call, out, in, &picks, err);
}

static bool expand(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err) || !check_type(call->input[0], call->output[0], err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    int64_t skip = out->shape.n_dims - in->shape.n_dims, stride[DIMS_MAX];
    if (skip < 0)
        return error_kind(err, ERROR_RUN, "the input has more dims than the output");
    Picks picks = picks_new(call->scratch, &out->shape); /* dims that repeat stay at place 0 */
    row_major_strides(&in->shape, stride);
    for (int d = 0; d < picks.n_dims; d++) {
        int64_t e = d - skip;
        if (e >= 0 && (in->whole.dim[e] != 1 || out->whole.dim[d] == 1))
            picks_match(&picks, d, &out->runs[d], 0, 1, &in->runs[e], stride[e]);
    }
    return pick_all(call, out, in, &picks, err);
}

/* Start of a slice: negative counts from the end, clamped to the dim. */
static int64_t slice_start(int64_t start, int64_t step, int64_t size)
{
    if (start < 0)
        start += size;
    int64_t most = step < 0 ? size - 1 : size;
    return start < 0 ? 0 : start > most ? most : start;
}

static bool slice(const KernelCall *call, Error *err)
{
    const int64_t *starts = NULL, *axes = NULL, *steps = NULL;
    int64_t n_starts, n_axes, n_steps, stride[DIMS_MAX];
    Picks picks;
    if (!kernel_needs(call, 1, err) ||
        !kernel_ints_of(call, "starts", 1, &starts, &n_starts, err) ||
        !kernel_ints_of(call, "axes", 3, &axes, &n_axes, err) ||
        !kernel_ints(call, 4, &steps, &n_steps, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    if (!aligned(call, in, out, &picks, stride, err))
        return false;
    if ((n_axes >= 0 && n_axes != n_starts) || (n_steps >= 0 && n_steps != n_starts))
        return error_kind(err, ERROR_RUN, "starts, axes and steps have different lengths");

    for (int64_t i = 0; i < n_starts; i++) {
        int64_t axis = n_axes >= 0 ? axes[i] : i, step = n_steps >= 0 ? steps[i] : 1;
        axis += axis < 0 ? picks.n_dims : 0;
        if (axis < 0 || axis >= picks.n_dims)
            return error_kind(err, ERROR_RUN, "a sliced axis is outside the dims");
        int64_t start = slice_start(starts[i], step, in->whole.dim[axis]);
        picks_match(&picks, (int)axis, &out->runs[axis], start, step, &in->runs[axis],
                    stride[axis]);
    }
    return pick_all(call, out, in, &picks, err);
}

static bool split(const KernelCall *call, Error *err)
{
    int64_t axis, start = 0, stride[DIMS_MAX];
    if (!kernel_needs(call, 1, err) ||
        !kernel_axis(call, 0, call->input[0]->shape.n_dims, &axis, err))
        return false;
    const Local *in = call->input[0];
    for (int q = 0; q < call->n_outputs; q++) {
        Local *out = call->output[q];
        if (!out)
            return error_kind(err, ERROR_RUN, "output %d is absent", q);
        Picks picks;
        if (!aligned(call, in, out, &picks, stride, err))
            return false;
        picks_match(&picks, (int)axis, &out->runs[axis], start, 1, &in->runs[axis], stride[axis]);
        if (!pick_all(call, out, in, &picks, err))
            return false;
        start += out->whole.dim[axis];
    }
    return true;
}

static bool concat(const KernelCall *call, Error *err)
{
    int64_t axis, start = 0, n_found = 0, stride[DIMS_MAX];
    if (!kernel_needs(call, call->n_inputs, err))
        return false;
    Local *out = call->output[0];
    if (!kernel_axis(call, 0, out->shape.n_dims, &axis, err))
        return false;
    for (int i = 0; i < call->n_inputs; i++) {
        const Local *in = call->input[i];
        Picks picks;
        if (!aligned(call, in, out, &picks, stride, err))
            return false;
        picks_match(&picks, (int)axis, &out->runs[axis], -start, 1, &in->runs[axis], stride[axis]);
        n_found += kernel_pick(call, out, in, &picks);
        start += in->whole.dim[axis];
    }
    int64_t n_missing = shape_elements(&out->shape) - n_found;
    return n_missing == 0 ||
           error_kind(err, ERROR_RUN, "%" PRId64 " elements are on other ranks", n_missing);
}

static bool tile(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err) || !check_type(call->input[0], call->output[0], err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    if (in->shape.n_dims != out->shape.n_dims)
        return error_kind(err, ERROR_RUN, "input and output have different numbers of dims");
    Picks picks = picks_new(call->scratch, &out->shape);
    int64_t stride[DIMS_MAX];
    row_major_strides(&in->shape, stride);
    for (int d = 0; d < picks.n_dims; d++) {
        picks_global(&picks, d, &out->runs[d], 1);
        int64_t size = in->whole.dim[d];
        for (int64_t i = 0; i < picks.size[d]; i++) {
            int64_t place = size > 0 ? runs_find(&in->runs[d], picks.from[d][i] % size) : -1;
            picks.from[d][i] = place < 0 ? PICK_NONE : place * stride[d];
        }
    }
    return pick_all(call, out, in, &picks, err);
}

/* Keeps the triangle above (or below) diagonal k of the last two dims. */
static bool trilu(const KernelCall *call, Error *err)
{
    int64_t k = 0;
    if (!kernel_needs(call, 1, err) || !check_type(call->input[0], call->output[0], err) ||
        !kernel_same_shape(call, err) ||
        (kernel_input(call, 1) && !kernel_scalar(call->input[1], &k, err)))
        return false;
    Local *out = call->output[0];
    bool upper = op_attr_int(kernel_graph(call), call->op, "upper", 1) != 0;
    int last = (int)out->shape.n_dims - 1;
    if (last < 1)
        return error_kind(err, ERROR_RUN, "a triangle needs two dims");
    Picks global = picks_new(call->scratch, &out->shape);
    for (int d = last - 1; d <= last; d++)
        picks_global(&global, d, &out->runs[d], 1);
    int64_t n = shape_elements(&out->shape);
    Picks kept = picks_new(call->scratch, &(Shape){.n_dims = 1, .dim = {n}});
    for (int64_t i = 0; i < n; i++) {
        int64_t column = global.from[last][i % global.size[last]];
        int64_t row = global.from[last - 1][i / global.size[last] % global.size[last - 1]];
        bool keeps = upper ? column - row >= k : column - row <= k;
        kept.from[0][i] = keeps ? i : PICK_NONE;
    }
    kernel_pick(call, out, call->input[0], &kept);
    return true;
}

/* ---- Roll ---- */

/* Places of a dim of n take what is `shift` before them, from the other end where that is outside.
 */
static bool roll_dim(Picks *picks, int d, int64_t shift, int64_t n, const Runs *held,
                     int64_t stride, Error *err)
{
    for (int64_t i = 0; i < picks->size[d]; i++) {
        int64_t at = (picks->from[d][i] - shift % n) % n;
        int64_t place = runs_find(held, at < 0 ? at + n : at);
        if (place < 0)
            return error_kind(err, ERROR_RUN, "a part of its input is on another rank");
        picks->from[d][i] = place * stride;
    }
    return true;
}

/* All elements are one row. */
static bool roll_all(const KernelCall *call, const Ints *shifts, Error *err)
{
    const Local *in = call->input[0];
    int64_t n = shape_elements(&in->whole), shift = 0;
    Picks picks = picks_new(call->scratch, &(Shape){.n_dims = 1, .dim = {n}});
    Runs all = runs_whole(call->scratch, n);
    if (!kernel_whole(in, 0, in->shape.n_dims, err))
        return false;
    for (int i = 0; i < shifts->n; i++)
        shift += n > 0 ? shifts->at[i] % n : 0;
    picks_global(&picks, 0, &all, 1);
    if (!roll_dim(&picks, 0, shift, n, &all, 1, err))
        return false;
    kernel_pick(call, call->output[0], in, &picks);
    return true;
}

static bool roll(const KernelCall *call, Error *err)
{
    const Local *in = call->input[0];
    Local *out = call->output[0];
    Ints axes, shifts;
    RuleCall rule = kernel_rule_call(call);
    if (!kernel_needs(call, 1, err) || !args_ints(&rule, -1, "axes", &axes, err) ||
        !args_ints(&rule, -1, "shifts", &shifts, err))
        return false;
    if (in->dtype != out->dtype || (axes.n > 0 && axes.n != shifts.n))
        return error_kind(err, ERROR_RUN, "it has %d shifts for %d axes", shifts.n, axes.n);
    if (axes.n == 0)
        return roll_all(call, &shifts, err);
    int64_t stride[DIMS_MAX], by[DIMS_MAX] = {0};
    row_major_strides(&in->shape, stride);
    for (int i = 0; i < axes.n; i++) {
        int axis;
        if (!args_axis(axes.at[i], in->shape.n_dims, &axis, err))
            return false;
        by[axis] = shifts.at[i];
    }
    Picks picks = picks_new(call->scratch, &out->shape);
    for (int d = 0; d < picks.n_dims; d++) {
        picks_global(&picks, d, &out->runs[d], 1);
        if (!roll_dim(&picks, d, by[d], in->whole.dim[d], &in->runs[d], stride[d], err))
            return false;
    }
    kernel_pick(call, out, in, &picks);
    return true;
}

/* Element k of every window at once, for one k after the other: along a dim in several runs places
 * do not add up. */
static bool windows(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err) || !check_type(call->input[0], call->output[0], err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    RuleCall rule = kernel_rule_call(call);
    int axis, last = (int)in->shape.n_dims;
    int64_t step = args_int(&rule, "step", 1), dilation = args_int(&rule, "dilation", 1);
    int64_t stride[DIMS_MAX], n_found = 0;
    if (out->shape.n_dims != last + 1 || !args_axis(args_int(&rule, "axis", -1), last, &axis, err))
        return error_kind(err, ERROR_RUN, "the output has not one dim more than the input");
    row_major_strides(&in->shape, stride);
    const int64_t *element = kernel_globals(call->scratch, &out->runs[last]);
    for (int64_t k = 0; k < out->shape.dim[last]; k++) {
        Picks picks = picks_new(call->scratch, &out->shape); /* a sink keeps it */
        for (int d = 0; d < last; d++)
            if (d != axis)
                picks_match(&picks, d, &out->runs[d], 0, 1, &in->runs[d], stride[d]);
        for (int64_t i = 0; i < out->shape.dim[last]; i++)
            picks.from[last][i] = i == k ? 0 : PICK_NONE;
        picks_match(&picks, axis, &out->runs[axis], element[k] * dilation, step, &in->runs[axis],
                    stride[axis]);
        n_found += kernel_pick(call, out, in, &picks);
    }
    int64_t n_missing = shape_elements(&out->shape) - n_found;
    return n_missing == 0 ||
           error_kind(err, ERROR_RUN, "%" PRId64 " elements are on other ranks", n_missing);
}

const Kernel kernels_move[] = {
    {"Transpose", transpose, NULL, 0, ROUNDING_EXACT},
    {"Expand", expand, NULL, 1, ROUNDING_EXACT},
    {"Slice", slice, NULL, 1, ROUNDING_EXACT},
    {"Split", split, NULL, 1, ROUNDING_EXACT},
    {"Concat", concat, NULL, 0, ROUNDING_EXACT},
    {"Tile", tile, NULL, 1, ROUNDING_EXACT},
    {"Trilu", trilu, NULL, 0, ROUNDING_EXACT},
    {"Roll", roll, NULL, 0, ROUNDING_EXACT},
    {"Windows", windows, NULL, 0, ROUNDING_EXACT},
    {"view", copy, NULL, 1, ROUNDING_EXACT},
    {0},
};
