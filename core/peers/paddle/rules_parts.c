/* Rules of split, unbind, concat, stack, slice, strided_slice, and their gradients. */
#include "core/peers/paddle/align.h"

static bool read_axis(const SpmdCall *call, int64_t n_dims, int *out, Error *err)
{
    return spmd_axis(spmd_int(call, "axis", 0), n_dims, out, err);
}

/* The letters without the one of a dim. */
static const char *letters_without(const SpmdCall *call, const char *letters, int dim)
{
    return arena_printf(call->arena, "%.*s%s", dim, letters, letters + dim + 1);
}

/* ---- split, unbind: the axis is never split over the mesh ---- */

/* The number of parts: given outputs, sections, or `num`; for unbind the size of the dim. */
static bool count_parts(const SpmdCall *call, int axis, int64_t *out, Error *err)
{
    SpmdInts sections = spmd_ints(call, "sections");
    bool unbound = call->rule->number;
    *out = unbound           ? call->input[0].shape.dim[axis]
           : call->n_outputs ? call->n_outputs
           : sections.given  ? sections.n
                             : spmd_int(call, "num", 0);
    return (*out > 0 && *out <= OPERANDS_MAX) ||
           error_kind(err, ERROR_OUT_OF_RANGE, "an op has 1 to %d outputs", OPERANDS_MAX);
}

/* Exact: unbind leaves x partial, but not the parts. */
static bool split(SpmdCall *call, Error *err)
{
    int axis;
    int64_t n;
    SpmdLetters merged;
    SpmdTensor x = call->input[0];
    if (!read_axis(call, x.n_dims, &axis, err) || !count_parts(call, axis, &n, err))
        return false;
    spmd_unsplit(&x, axis);
    SpmdOperand operand = {spmd_letters(call, x.n_dims, 'a'), &x};
    if (!spmd_merge(call, SPMD_CLASSIC, &operand, 1, &merged, err))
        return false;
    spmd_set_letters(&x, operand.letters, &merged);
    if (!call->exact || !call->rule->number)
        spmd_clear_partial(&x);
    spmd_need_as_given(call, &x);
    if (call->rule->number)
        spmd_remove_dim(&x, axis);
    for (int64_t i = 0; i < n; i++)
        spmd_out(call, &x);
    return true;
}

/* Exact: the axis is merged before it becomes unsplit, so it may win a mesh axis from another
 * dim. */
static bool split_backward(SpmdCall *call, Error *err)
{
    int axis;
    SpmdLetters merged;
    const SpmdTensor *x = &call->input[0];
    if (!read_axis(call, x->shape.n_dims, &axis, err))
        return false;
    const char *letters = spmd_letters(call, (int)x->shape.n_dims, 'a');
    const char *of_parts = call->rule->number ? letters_without(call, letters, axis) : letters;
    SpmdOperand *operand = arena_array(call->arena, SpmdOperand, call->n_outputs);
    SpmdTensor *part = arena_array(call->arena, SpmdTensor, call->n_outputs);
    for (int i = 0; i < call->n_outputs; i++) {
        part[i] = call->output[i];
        if (!call->exact && !call->rule->number)
            spmd_unsplit(&part[i], axis);
        operand[i] = (SpmdOperand){of_parts, &part[i]};
    }
    if (!spmd_merge(call, SPMD_CLASSIC, operand, call->n_outputs, &merged, err))
        return false;
    merged.axes[(unsigned char)letters[axis]].n = 0;
    spmd_set_letters(spmd_need(call, x), letters, &merged);
    for (int i = 0; i < call->n_outputs; i++)
        spmd_set_letters(spmd_out(call, &part[i]), of_parts, &merged);
    return true;
}

/* ---- concat ---- */

/* The inputs (out_grad too) with the letters of their dims. */
static SpmdOperand *lettered_inputs(SpmdCall *call)
{
    SpmdOperand *operand = arena_array(call->arena, SpmdOperand, call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++)
        operand[i] = (SpmdOperand){spmd_letters(call, call->input[i].n_dims, 'a'), &call->input[i]};
    return operand;
}

/* Aligns all inputs on every letter except that of the axis (-1: on all). */
static SpmdTensor *align_inputs(SpmdCall *call, int n_dims, int axis)
{
    SpmdTensor *aligned = arena_array(call->arena, SpmdTensor, call->n_inputs);
    const char *letters = spmd_letters(call, n_dims, 'a');
    if (axis >= 0)
        letters = letters_without(call, letters, axis);
    spmd_align(call, lettered_inputs(call), call->n_inputs, letters, true, aligned);
    for (int i = 0; i < call->n_inputs; i++)
        spmd_need_as_given(call, &aligned[i]);
    return aligned;
}

static int most_dims(const SpmdTensor *tensor, int n)
{
    int most = 0;
    for (int i = 0; i < n; i++)
        most = tensor[i].n_dims > most ? tensor[i].n_dims : most;
    return most;
}

/* Exact: no answer if all inputs are empty. */
static bool nothing_to_align(const SpmdCall *call)
{
    for (int i = 0; i < call->n_inputs; i++)
        if (call->input[i].shape.n_dims == 0 || call->input[i].shape.dim[0] > 0)
            return false;
    return call->exact;
}

/* Exact: with at most one dim nothing is aligned, and inputs stay partial. */
static void need_partial(SpmdCall *call)
{
    for (int i = 0; i < call->n_inputs; i++)
        memcpy(call->need.at[i]->partial, call->input[i].partial, sizeof call->input[i].partial);
}

/* Out is partial like its parts. Exact: it is not. */
static bool concat(SpmdCall *call, Error *err)
{
    int axis, n_dims = most_dims(call->input, call->n_inputs);
    if (!read_axis(call, n_dims, &axis, err))
        return false;
    if (nothing_to_align(call))
        return true;
    const SpmdTensor *aligned = align_inputs(call, n_dims, axis);
    SpmdTensor *out = spmd_out_as_given(call, &aligned[0]);
    if (call->exact)
        spmd_clear_partial(out);
    if (call->exact && n_dims == 1)
        need_partial(call);
    return true;
}

/* Answers `part` for every input; the output keeps its mapping. Exact: one axis a dim. */
static void parts_need(SpmdCall *call, SpmdTensor part)
{
    if (call->exact)
        spmd_keep_largest_axes(call, &part);
    for (int i = 0; i < call->n_inputs; i++)
        spmd_need(call, &part);
    spmd_out_as_given(call, &call->output[0]);
}

static bool concat_backward(SpmdCall *call, Error *err)
{
    int axis;
    if (!read_axis(call, call->output[0].n_dims, &axis, err))
        return false;
    SpmdTensor part = call->output[0];
    spmd_unsplit(&part, axis);
    parts_need(call, part);
    return true;
}

/* The parts, then out_grad. */
static bool concat_gradient(SpmdCall *call, Error *err)
{
    int axis, n_dims = most_dims(call->input, call->n_inputs);
    if (!read_axis(call, n_dims, &axis, err))
        return false;
    if (nothing_to_align(call))
        return true;
    if (call->exact && n_dims == 1)
        return error_set(err, "parts of one dim have no gradient rule in Paddle");
    const SpmdTensor *aligned = align_inputs(call, n_dims, axis);
    for (int i = 0; i < call->n_inputs - 1; i++)
        spmd_out_as_given(call, &aligned[i]);
    return true;
}

/* ---- stack: out has one more dim, which is not split ---- */

static bool stack(SpmdCall *call, Error *err)
{
    int axis, n_dims = most_dims(call->input, call->n_inputs);
    if (!read_axis(call, n_dims + 1, &axis, err))
        return false;
    align_inputs(call, n_dims, -1);
    if (call->exact && n_dims == 0)
        need_partial(call);
    spmd_insert_dim(spmd_out_as_given(call, call->need.at[0]), axis);
    return true;
}

static bool stack_backward(SpmdCall *call, Error *err)
{
    int axis;
    if (!read_axis(call, call->output[0].n_dims, &axis, err))
        return false;
    SpmdTensor part = call->output[0];
    spmd_remove_dim(&part, axis);
    parts_need(call, part);
    return true;
}

/* out_grad */
static bool stack_gradient(SpmdCall *call, Error *err)
{
    int axis;
    const SpmdTensor *gradient = &call->input[0];
    if (!read_axis(call, gradient->n_dims, &axis, err))
        return false;
    int64_t n = gradient->shape.dim[axis];
    if (n > OPERANDS_MAX)
        return error_kind(err, ERROR_OUT_OF_RANGE, "an op has at most %d outputs", OPERANDS_MAX);
    spmd_unsplit(spmd_need(call, gradient), axis);
    for (int64_t i = 0; i < n; i++)
        spmd_remove_dim(spmd_out(call, gradient), axis);
    return true;
}

/* ---- slice ---- */

typedef struct {
    bool cut[DIMS_MAX];  /* the dim is sliced */
    bool gone[DIMS_MAX]; /* one element is selected and the dim removed */
} Sliced;

static bool mark_axes(SpmdInts axes, int64_t n_dims, bool *marked, Error *err)
{
    for (int i = 0; i < axes.n; i++) {
        int axis;
        if (!spmd_axis(axes.at[i], n_dims, &axis, err))
            return false;
        marked[axis] = true;
    }
    return true;
}

static bool read_sliced(const SpmdCall *call, bool with_gone, Sliced *out, Error *err)
{
    int64_t n = call->input[0].shape.n_dims;
    *out = (Sliced){0};
    return mark_axes(spmd_ints(call, "axes"), n, out->cut, err) &&
           (!with_gone || mark_axes(spmd_ints(call, "decrease_axis"), n, out->gone, err));
}

static const char *letters_left(const SpmdCall *call, const Sliced *sliced, const char *letters)
{
    int n = 0;
    char *left = arena_array(call->arena, char, strlen(letters) + 1);
    for (int d = 0; letters[d]; d++)
        if (!sliced->gone[d])
            left[n++] = letters[d];
    return left;
}

static void make_whole(const Sliced *sliced, const char *letters, SpmdLetters *merged)
{
    for (int d = 0; letters[d]; d++)
        if (sliced->cut[d])
            merged->axes[(unsigned char)letters[d]].n = 0;
}

/* Merges the tensors and answers; input 0 has all the letters. */
static bool answer_slice(SpmdCall *call, const Sliced *sliced, Error *err)
{
    SpmdLetters merged;
    SpmdOperand x = {spmd_letters(call, call->input[0].n_dims, 'a'), &call->input[0]};
    const char *left = letters_left(call, sliced, x.letters);
    if (!spmd_merge(call, SPMD_CLASSIC, &x, 1, &merged, err))
        return false;
    make_whole(sliced, x.letters, &merged);
    spmd_set_letters(spmd_need(call, x.tensor), x.letters, &merged);
    spmd_set_letters(spmd_out_whole(call, 0), left, &merged);
    return true;
}

/* Exact: the static rule ignores decrease_axis. */
static bool slice(SpmdCall *call, Error *err)
{
    Sliced sliced;
    return read_sliced(call, !call->exact, &sliced, err) && answer_slice(call, &sliced, err);
}

static bool slice_eager(SpmdCall *call, Error *err)
{
    Sliced sliced;
    return read_sliced(call, true, &sliced, err) && answer_slice(call, &sliced, err);
}

static bool slice_backward(SpmdCall *call, Error *err)
{
    Sliced sliced;
    SpmdLetters merged;
    const SpmdTensor *x = &call->input[0];
    if (!read_sliced(call, !call->exact, &sliced, err))
        return false;
    const char *letters = spmd_letters(call, x->n_dims, 'a');
    SpmdOperand out = {letters_left(call, &sliced, letters), &call->output[0]};
    if (!spmd_merge(call, SPMD_CLASSIC, &out, 1, &merged, err))
        return false;
    make_whole(&sliced, letters, &merged);
    spmd_set_letters(spmd_need(call, x), letters, &merged);
    spmd_set_letters(spmd_out(call, &call->output[0]), out.letters, &merged);
    return true;
}

static void unsplit_cut(const Sliced *sliced, const char *letters, const char *all,
                        SpmdTensor *tensor)
{
    for (int d = 0; d < tensor->n_dims && letters[d]; d++)
        if (sliced->cut[strchr(all, letters[d]) - all])
            spmd_unsplit(tensor, d);
}

/* input, out_grad; out_grad comes first in the merge, sliced dims are left out. */
static bool slice_gradient(SpmdCall *call, Error *err)
{
    Sliced sliced;
    SpmdLetters merged;
    if (!read_sliced(call, true, &sliced, err))
        return false;
    SpmdTensor x = call->input[0], gradient = call->input[1];
    const char *letters = spmd_letters(call, x.n_dims, 'a');
    const char *left = letters_left(call, &sliced, letters);
    unsplit_cut(&sliced, letters, letters, &x);
    unsplit_cut(&sliced, left, letters, &gradient);
    SpmdOperand operand[] = {{left, &gradient}, {letters, &x}};
    if (!spmd_merge(call, SPMD_CLASSIC, operand, 2, &merged, err))
        return false;
    spmd_set_letters(spmd_need(call, &x), letters, &merged);
    spmd_set_letters(spmd_need(call, &gradient), left, &merged);
    spmd_out(call, call->need.at[0]);
    return true;
}

/* ---- strided_slice ---- */

/* True if every part of the dim has a whole number of strides and the same number of selected
 * elements. Exact: remainders and the ends of the slice are ignored. */
static bool parts_slice_equally(const SpmdCall *call, int64_t size, int64_t parts, int64_t stride)
{
    SpmdInts starts = spmd_ints(call, "starts"), ends = spmd_ints(call, "ends");
    if (size / parts % stride != 0 || call->exact)
        return size / parts % stride == 0;
    return size % parts == 0 && starts.n == 1 && ends.n == 1 && starts.at[0] >= 0 &&
           starts.at[0] < stride && ends.at[0] > size - stride + starts.at[0];
}

/* A single stride along the last dim keeps the dim's axes if all parts are sliced the same way. */
static bool strided_slice(SpmdCall *call, Error *err)
{
    Sliced sliced;
    const SpmdTensor *x = &call->input[0];
    SpmdInts strides = spmd_ints(call, "strides");
    int last = x->n_dims - 1;
    if (!read_sliced(call, false, &sliced, err))
        return false;
    if (strides.n == 1 && strides.at[0] != 0 && last >= 0 && sliced.cut[last]) {
        int64_t parts = spmd_axes_size(call, &x->dim[last]);
        sliced.cut[last] = !parts_slice_equally(call, x->shape.dim[last], parts, strides.at[0]);
    }
    return answer_slice(call, &sliced, err);
}

static bool strided_slice_eager(SpmdCall *call, Error *err)
{
    Sliced sliced;
    return read_sliced(call, false, &sliced, err) && answer_slice(call, &sliced, err);
}

const SpmdRule spmd_rules_parts[] = {
    {.names = "split split_with_num",
     .forward = split,
     .backward = split_backward,
     .inputs = {1, 1},
     .outputs = {1, SPMD_ANY}},
    {.names = "unbind",
     .forward = split,
     .backward = split_backward,
     .inputs = {1, 1},
     .outputs = {1, SPMD_ANY},
     .number = 1},
    {.names = "concat",
     .forward = concat,
     .backward = concat_backward,
     .flags = SPMD_LISTS,
     .inputs = {1, SPMD_ANY},
     .outputs = {1, 1}},
    {.names = "concat_grad",
     .forward = concat_gradient,
     .flags = SPMD_LISTS,
     .inputs = {2, SPMD_ANY}},
    {.names = "stack",
     .forward = stack,
     .backward = stack_backward,
     .flags = SPMD_LISTS,
     .inputs = {1, SPMD_ANY},
     .outputs = {1, 1}},
    {.names = "stack_grad", .forward = stack_gradient, .inputs = {1, 1}},
    {.names = "slice",
     .forward = slice,
     .backward = slice_backward,
     .eager = slice_eager,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "strided_slice",
     .forward = strided_slice,
     .backward = slice_gradient,
     .eager = strided_slice_eager,
     .flags = SPMD_GRADIENT,
     .inputs = {1, 1},
     .outputs = {1, 1}},
    {.names = "slice_grad strided_slice_grad", .forward = slice_gradient, .inputs = {2, 2}},
    {0},
};
