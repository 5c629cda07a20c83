/* tensor.c - operators of torch, Paddle and nnScaler that move elements and that no ONNX operator
 * expresses.
 *
 *     FlattenDims   a b c d -> a (b c) d
 *     Repeat        d0 d1 -> t0 (t1 d1)            BroadcastTo   d0 1 -> d0 d1
 *     Roll, Flip    d0 5 -> d0 5                   the dims that move are read whole
 *     Select        d0 5 d2 -> d0 d2               Unbind    d0 3 -> d0, d0, d0
 *     Chunk         d0 (p^ j) -> d0 j, d0 j        unequal parts read their dim whole
 *
 * Views can be applied to partial values, like all operators that only move elements.
 */
#include "core/rules/operators/dims.h"

#include <inttypes.h>

/* ---- views ---- */

/* Input 1 has the target shape. */
static bool reshape_as(RuleCall *call, Error *err)
{
    if (shape_elements(call->shape[0]) != shape_elements(call->shape[1]))
        return error_kind(err, ERROR_RANK,
                          "its inputs 0 and 1 have %" PRId64 " and %" PRId64 " elements",
                          shape_elements(call->shape[0]), shape_elements(call->shape[1]));
    return dims_view(call, call->shape[1], err);
}

static bool flatten_dims(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    Shape to = {.n_dims = 1, .dim = {1}};
    int first, last;
    if (from->n_dims == 0)
        return dims_view(call, &to, err);
    if (!args_axis(args_int(call, "start_axis", 0), from->n_dims, &first, err) ||
        !args_axis(args_int(call, "stop_axis", -1), from->n_dims, &last, err))
        return false;
    if (first > last)
        return error_kind(err, ERROR_OUT_OF_RANGE, "it stops at axis %d, before it starts", last);
    to.n_dims = from->n_dims - (last - first);
    for (int d = 0; d < to.n_dims; d++)
        to.dim[d] = d == first ? 1 : from->dim[d < first ? d : d + last - first];
    for (int d = first; d <= last; d++)
        to.dim[first] *= from->dim[d];
    return dims_view(call, &to, err);
}

/* Applies the inverse of perm. */
static bool permute_back(RuleCall *call, Error *err)
{
    int perm[DIMS_MAX] = {0}, back[DIMS_MAX];
    if (!args_permutation(call, perm, err))
        return false;
    for (int d = 0; d < call->shape[0]->n_dims; d++)
        back[perm[d]] = d;
    return dims_permute(call, back, err);
}

static bool swap_axes(RuleCall *call, Error *err)
{
    int64_t n = call->shape[0]->n_dims;
    int perm[DIMS_MAX] = {0}, a, b;
    if (!args_axis(args_int(call, "axis0", 0), n, &a, err) ||
        !args_axis(args_int(call, "axis1", 1), n, &b, err))
        return false;
    for (int d = 0; d < n; d++)
        perm[d] = d == a ? b : d == b ? a : d;
    return dims_permute(call, perm, err);
}

static bool move_axis(RuleCall *call, Error *err)
{
    int64_t n = call->shape[0]->n_dims;
    int perm[DIMS_MAX] = {0}, from, to;
    if (!args_axis(args_int(call, "source", 0), n, &from, err) ||
        !args_axis(args_int(call, "destination", 0), n, &to, err))
        return false;
    for (int d = 0, next = 0; d < n; d++) {
        next += next == from;
        perm[d] = d == to ? from : next++;
    }
    return dims_permute(call, perm, err);
}

/* ---- copies ---- */

/* Broadcasts input 0 to `to`; a dim that grows is an index dim of the output only. */
static bool broadcast(RuleCall *call, const Shape *to, Error *err)
{
    const Shape *both[2] = {call->shape[0], to};
    Shape common;
    if (!args_broadcast(both, 2, &common, err))
        return false;
    if (!shape_equal(&common, to))
        return error_set(err, "its input 0 is larger than its target");
    dims_answer(call, to, call->dtype[0]);
    OpSpace *space = dims_space(call, to, NULL, NULL, err);
    if (space && shape_elements(call->shape[0]) == shape_elements(to))
        space->operand[0].linear = LINEAR_ALONE;
    return space;
}

/* -1 in the target keeps the dim. */
static bool broadcast_by(RuleCall *call, const char *attr, Error *err)
{
    const Shape *from = call->shape[0];
    Shape to = {0};
    Ints sizes;
    if (!args_ints(call, -1, attr, &sizes, err))
        return false;
    if (!sizes.given || sizes.n > DIMS_MAX || sizes.n < from->n_dims)
        return error_kind(err, ERROR_RANK, "its target has the wrong number of dims");
    to.n_dims = sizes.n;
    for (int d = 0; d < sizes.n; d++) {
        int64_t at = d - sizes.n + from->n_dims, own = at >= 0 ? from->dim[at] : -1;
        to.dim[d] = sizes.at[d] == -1 ? own : sizes.at[d];
        if (to.dim[d] < 0)
            return error_kind(err, ERROR_OUT_OF_RANGE, "its target has a negative size");
    }
    return broadcast(call, &to, err);
}

static bool broadcast_to(RuleCall *call, Error *err)
{
    return broadcast_by(call, "shape", err);
}

/* The target is the shape of input 1, or the attribute target_shape if there is none. */
static bool expand_as(RuleCall *call, Error *err)
{
    if (!args_has(call, 1))
        return broadcast_by(call, "target_shape", err);
    Shape to = *call->shape[1];
    return broadcast(call, &to, err);
}

/* Repeats the whole tensor; more repeats than dims add leading dims. */
static bool repeat(RuleCall *call, Error *err)
{
    Ints repeats;
    int64_t times[DIMS_MAX], rank = call->shape[0]->n_dims;
    if (!args_ints(call, -1, "repeats", &repeats, err))
        return false;
    int64_t n = repeats.n > rank ? repeats.n : rank, first = n - repeats.n;
    if (!repeats.given || n > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "it has the wrong number of repeats");
    for (int64_t d = 0; d < n; d++)
        times[d] = d < first ? 1 : repeats.at[d - first];
    return dims_repeat(call, times, n, err);
}

/* (d t): repeats each element. */
static bool repeat_interleave(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t times = args_int(call, "repeats", 1);
    int axis;
    if (!args_axis(args_int(call, "axis", 0), from->n_dims, &axis, err))
        return false;
    dims_answer(call, from, call->dtype[0]);
    if (times < 0 || __builtin_mul_overflow(from->dim[axis], times, &call->out_shape[0].dim[axis]))
        return error_kind(err, ERROR_OUT_OF_RANGE, "it repeats dim %d %" PRId64 " times", axis,
                          times);
    OpSpace *space = rule_space(call, err);
    for (int d = 0; space && d < from->n_dims; d++) {
        int pair[2] = {rule_index_at(call, 'd', d, from->dim[d]),
                       d == axis ? rule_index_at(call, 't', d, times) : -1};
        rule_unit(&space->operand[0], d, pair[0]);
        rule_radix(space, rule_output(space, 0), d, pair, 2);
    }
    return space;
}

/* ---- moves ---- */

/* Dims listed in `axes` are read whole; without `axes` all dims are. */
static bool move_along(RuleCall *call, Error *err)
{
    bool marked[DIMS_MAX];
    DimUse use[DIMS_MAX];
    if (!dims_marked(call, "axes", marked, err))
        return false;
    for (int64_t d = 0; d < call->shape[0]->n_dims; d++)
        use[d] = marked[d] ? DIM_WHOLE : DIM_MAP;
    dims_answer(call, call->shape[0], call->dtype[0]);
    OpSpace *space = dims_space(call, call->shape[0], use, NULL, err);
    if (space)
        space->operand[0].linear = LINEAR_ALONE;
    return space;
}

/* A shift in a dim of n that goes on at its ends, the shorter way round. */
static int64_t shortest_shift(int64_t shift, int64_t n)
{
    shift %= n;
    shift += shift < 0 ? n : 0;
    return shift > n / 2 ? shift - n : shift;
}

/* Output place j reads input place j - shift; elements that leave the dim at one end come in at the
 * other. Without an axis for each shift dims are rolled whole. */
static bool roll(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    Ints axes, shifts;
    if (!args_ints(call, -1, "axes", &axes, err) || !args_ints(call, -1, "shifts", &shifts, err) ||
        !move_along(call, err))
        return false;
    Operand *rolled = &call->space->operand[0];
    for (int i = 0; i < axes.n && axes.n == shifts.n; i++) {
        int axis;
        if (!args_axis(axes.at[i], from->n_dims, &axis, err))
            return false;
        int index = rule_index_at(call, 'j', axis, from->dim[axis]);
        if (index < 0)
            continue;
        rule_unit(rolled, axis, index);
        rule_unit(rule_output(call->space, 0), axis, index);
        rolled->projection.row[axis].offset = -shortest_shift(shifts.at[i], from->dim[axis]);
        rolled->projection.row[axis].ends = ENDS_WRAP;
        rolled->projection.clip = true;
    }
    return true;
}

static bool select_one(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int axis, place;
    if (!args_axis(args_int(call, "axis", 0), from->n_dims, &axis, err) ||
        !args_axis(args_int(call, "index", 0), from->dim[axis], &place, err))
        return false;
    Shape out = dims_without_one(from, axis);
    dims_answer(call, &out, call->dtype[0]);
    return dims_beside(call, axis, false, err);
}

static bool unbind(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int axis;
    if (!args_axis(args_int(call, "axis", 0), from->n_dims, &axis, err))
        return false;
    if (call->n_outputs != from->dim[axis])
        return error_set(err, "it has %d outputs for a dim of %" PRId64, call->n_outputs,
                         from->dim[axis]);
    Shape out = dims_without_one(from, axis);
    dims_answer(call, &out, call->dtype[0]);
    return dims_beside(call, axis, false, err);
}

/* The sizes of the parts along an axis: `size` is that of all but a smaller last one, or lists
 * them; else there are `chunks` parts of equal size. */
static bool part_sizes(const RuleCall *call, int64_t all, int64_t *sizes, Error *err)
{
    Ints given;
    if (!args_ints(call, -1, "size", &given, err))
        return false;
    int64_t n = args_int(call, "chunks", call->n_outputs), left = all;
    int64_t each = given.n == 1 ? given.at[0] : n > 0 ? all / n + (all % n != 0) : 0;
    bool listed = given.n > 1, fits = listed ? given.n == call->n_outputs : each > 0;
    for (int o = 0; fits && o < call->n_outputs; o++) {
        sizes[o] = listed ? given.at[o] : clamp(left, 0, each);
        fits = sizes[o] >= 0 && sizes[o] <= left;
        left -= fits ? sizes[o] : 0;
    }
    return (fits && left == 0) ||
           error_set(err, "its %d outputs do not make up the %" PRId64 " of their axis",
                     call->n_outputs, all);
}

/* Equal parts are (p^ j), as in Split. */
static bool chunk(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t *sizes = arena_array(call->arena, int64_t, call->n_outputs);
    bool equal = true;
    int axis;
    if (!args_axis(args_int(call, "axis", 0), from->n_dims, &axis, err) ||
        !part_sizes(call, from->dim[axis], sizes, err))
        return false;
    dims_answer(call, from, call->dtype[0]);
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o].dim[axis] = sizes[o];
        equal &= sizes[o] == sizes[0];
    }
    if (!dims_beside(call, axis, true, err))
        return false;
    if (equal)
        dims_equal_parts(call, axis, sizes[0]);
    return true;
}

static bool stack(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int axis;
    if (from->n_dims == DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    if (!args_axis(args_int(call, "axis", 0), from->n_dims + 1, &axis, err))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        if (!call->shape[i])
            return error_set(err, "its input %d is absent", i);
        else if (!args_same_shape(call, 0, i, err))
            return false;
    call->out_shape[0] = (Shape){.n_dims = from->n_dims + 1};
    for (int d = 0; d <= from->n_dims; d++)
        call->out_shape[0].dim[d] = d == axis ? call->n_inputs : from->dim[d - (d > axis)];
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    for (int d = 0; space && d < from->n_dims; d++) {
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        for (int i = 0; i < call->n_inputs; i++)
            rule_unit(&space->operand[i], d, index);
        rule_unit(rule_output(space, 0), d + (d >= axis), index);
    }
    for (int i = 0; space && i < call->n_inputs; i++)
        space->operand[i].linear = LINEAR_TOGETHER;
    return space;
}

/* Overwrites a part: src has input 0's dims, except that it may lack the axis. */
static bool part_scatter(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0], *part = call->shape[1];
    int axis;
    if (!args_axis(args_int(call, "axis", 0), from->n_dims, &axis, err))
        return false;
    bool select = part->n_dims == from->n_dims - 1;
    for (int d = 0; d < from->n_dims; d++)
        if ((!select && part->n_dims != from->n_dims) ||
            (d != axis && part->dim[d - (select && d > axis)] != from->dim[d]))
            return error_kind(err, ERROR_RANK, "dim %d of its input 0 is not one of its input 1",
                              d);
    dims_answer(call, from, call->dtype[0]);
    if (!dims_beside(call, axis, true, err))
        return false;
    OpSpace *space = call->space;
    for (int d = 0; d < from->n_dims; d++)
        if (d != axis)
            space->operand[1].projection.row[d - (select && d > axis)] =
                space->operand[0].projection.row[d];
    space->operand[0].linear = space->operand[1].linear = LINEAR_TOGETHER;
    return true;
}

/* `paddings`: two numbers per dim, from the first dim; `pad`: the same from the last dim; or before
 * and after for one axis. */
static bool read_padding(const RuleCall *call, int64_t *before, int64_t *after, Error *err)
{
    int64_t n = call->shape[0]->n_dims;
    Ints all, last;
    if (!args_ints(call, -1, "paddings", &all, err) || !args_ints(call, -1, "pad", &last, err))
        return false;
    const Ints *given = all.given ? &all : &last;
    if (given->n % 2 != 0 || given->n > 2 * n)
        return error_kind(err, ERROR_RANK, "it has %d numbers for %" PRId64 " dims", given->n, n);
    for (int64_t i = 0; i < given->n / 2; i++) {
        int64_t d = all.given ? i : n - 1 - i;
        before[d] = given->at[2 * i];
        after[d] = given->at[2 * i + 1];
    }
    int axis;
    if (given->given)
        return true;
    if (!args_axis(args_int(call, "axis", 0), n, &axis, err))
        return false;
    before[axis] = args_int(call, "before", 0);
    after[axis] = args_int(call, "after", 0);
    return true;
}

static bool pad_pairs(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t before[DIMS_MAX] = {0}, after[DIMS_MAX] = {0};
    DimUse use[DIMS_MAX];
    if (!read_padding(call, before, after, err))
        return false;
    dims_answer(call, from, call->dtype[0]);
    for (int64_t d = 0; d < from->n_dims; d++) {
        int64_t *size = &call->out_shape[0].dim[d];
        use[d] = before[d] == 0 && after[d] == 0 ? DIM_MAP : DIM_WHOLE;
        if (__builtin_add_overflow(*size, before[d], size) ||
            __builtin_add_overflow(*size, after[d], size) || *size < 0)
            return error_kind(err, ERROR_OUT_OF_RANGE, "dim %" PRId64 " has no size left", d);
    }
    return dims_space(call, from, use, NULL, err);
}

#define FAMILY "tensor"

const Operator operators_tensor[] = {
    {OP("FlattenDims", flatten_dims, 0, 1, 1), GRADIENT("0: view"), OWN("start_axis stop_axis", ""),
     EARLY, .kernel = "view", .examples = "3x4x5x6 start_axis=1 stop_axis=2",
     NNSCALER("flatten(start_dim=start_axis, end_dim=stop_axis)"),
     TORCH("flatten(start_dim=start_axis, end_dim=stop_axis)"), PADDLE("flatten")},
    {OP("ReshapeAs", reshape_as, 0, 2, 2), GRADIENT("0: view"), OWN("", ""), EARLY,
     .kernel = "view", .examples = "6x10,12x5", TORCH("view_as reshape_as"),
     PADDLE("reshape_grad(; 1,0) flatten_grad(; 1,0) squeeze_grad(; 1,0) unsqueeze_grad(; 1,0)"),
     .paddle = "reshape"},
    {OP("TransposeBack", permute_back, 0, 1, 1), EARLY, OWN("perm", ""),
     .examples = "5x6x4 perm=[2,0,1]", PADDLE("transpose_grad")},
    {OP("SwapAxes", swap_axes, 0, 1, 1), EARLY, OWN("axis0 axis1", ""),
     .examples = "5x6x4 axis0=0 axis1=2", NNSCALER("transpose(dim0=axis0, dim1=axis1)"),
     TORCH("transpose(dim0=axis0, dim1=axis1) swapaxes swapdims(dim0=axis0, dim1=axis1)")},
    {OP("MoveAxis", move_axis, 0, 1, 1), EARLY, OWN("destination source", ""),
     .examples = "5x6x4 source=0 destination=2", TORCH("movedim moveaxis")},
    {OP("BroadcastTo", broadcast_to, 0, 1, 1), EARLY, OWN("shape", ""),
     .examples = "5x1 shape=[4,5,6]", NNSCALER("expand(size=shape)"),
     TORCH("expand(size=shape, out_shape=shape) broadcast_to(size=shape, out_shape=shape)"),
     PADDLE("expand expand_v2"), .paddle = "expand"},
    {OP("ExpandAs", expand_as, 0, 1, 2), EARLY, OWN("target_shape", ""),
     .examples = "5x1,4x5x6; 5x1 target_shape=[4,5,6]", NNSCALER("expand_as"), TORCH("expand_as"),
     PADDLE("expand_as expand_as_v2")},
    {OP("Repeat", repeat, 0, 1, 1), EARLY, OWN("repeats", ""), .examples = "5x6 repeats=[3,1,2]",
     NNSCALER("repeat"), TORCH("repeat tile(dims=repeats)"), PADDLE("tile(repeat_times=repeats)")},
    {OP("RepeatInterleave", repeat_interleave, 0, 1, 1), EARLY, OWN("axis repeats", ""),
     .examples = "5x6 repeats=3 axis=1", TORCH("repeat_interleave(dim=axis)"),
     PADDLE("repeat_interleave")},
    {OP("Roll", roll, 0, 1, 1), GRADIENT("0: move"), .kernel = "Roll", EARLY,
     OWN("axes shifts", ""),
     .examples = "5x6x4 axes=[1] shifts=[2]; 16x9 axes=[0,1] shifts=[-1,3]; 5x6 shifts=[7]",
     TORCH("roll(dims=axes)"), PADDLE("roll(axis=axes) roll_grad(axis=axes; 1)")},
    {OP("Flip", move_along, 0, 1, 1), GRADIENT("0: move"), .kernel = "Flip", EARLY, OWN("axes", ""),
     .examples = "5x6x4 axes=[1]", TORCH("flip(dims=axes)"), PADDLE("flip(axis=axes)"),
     STABLEHLO("reverse(dims=axes)")},
    {OP("Select", select_one, 0, 1, 1), EARLY, OWN("axis index", ""),
     .examples = "5x6x4 axis=1 index=2", TORCH("select(dim=axis)")},
    {OP("Unbind", unbind, 0, 1, 1), EARLY, .outputs_max = OPERATOR_MANY, OWN("axis", ""),
     .examples = "5x3x4 axis=1 -> 3", NNSCALER("unbind(dim=axis)"), TORCH("unbind(dim=axis)"),
     PADDLE("unbind unstack stack_grad")},
    {OP("Chunk", chunk, 0, 1, 1), EARLY, .outputs_max = OPERATOR_MANY, OWN("axis chunks size", ""),
     .examples = "5x9 axis=1 chunks=3 -> 3; 5x7 axis=1 size=3 -> 3",
     NNSCALER("split(split_size_or_sections=size, dim=axis) chunk(dim=axis)"),
     TORCH("split(split_size=size, dim=axis) chunk(dim=axis)"),
     PADDLE("split(sections=size) split_with_num(num=chunks)")},
    {OP("Stack", stack, 0, 1, OPERATOR_ANY), EARLY, OWN("axis", ""),
     .examples = "5x6,5x6,5x6 axis=1", NNSCALER("stack(dim=axis)"), TORCH("stack(dim=axis)"),
     PADDLE("stack")},
    {OP("PartScatter", part_scatter, 0, 2, 2), EARLY, OWN("axis end index start step", ""),
     .examples = "5x6x4,5x2x4 axis=1; 5x6x4,5x4 axis=1",
     TORCH("slice_scatter(dim=axis) select_scatter(dim=axis)"), PADDLE("set_value")},
    {OP("PadPairs", pad_pairs, 0, 1, 1), EARLY, OWN("mode pad paddings value", ""),
     .examples = "5x6x4 paddings=[0,0,2,1,0,0]; 5x6x4 pad=[1,2]", NNSCALER("pad"),
     TORCH("constant_pad_nd(dim=axis) pad(dim=axis)"), PADDLE("pad")},
    {0},
};
