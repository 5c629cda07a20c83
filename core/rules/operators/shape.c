/* shape.c - operators that rearrange elements.
 *
 *     Reshape        mixed radix, b s k -> (b s) k    the gcd walk of both shapes
 *     Transpose      d0 d1 d2 -> d0 d2 d1             numbered as in the input
 *     Split, equal   d0 (p^ j) -> d0 j, d0 j, d0 j    p: the parts, never cut; part q has p = q
 *     Split          d0 n^ -> d0 {n}, d0 {n-4}        parts of the dim, each clipped; never cut
 *     Concat         d0 {n}, d0 {n-4} -> d0 n         the same backwards: each operand a part of n
 *     Slice          {2*s0+1} -> s0                   every step-th from a start
 *     Tile           d0 -> (t0 d0)
 *
 * All are linear in their data, except for Tile, which repeats it, and Concat. Operators whose
 * output shape depends on data (Range, ConstantOfShape) are evaluated at load, or refused.
 */
#include "core/rules/operators/dims.h"
#include "core/rules/at_load.h"

#include <inttypes.h>

/* ---- views ---- */

static bool reshape(RuleCall *call, Error *err)
{
    Shape to;
    return args_reshape(call, &to, err) && dims_view(call, &to, err);
}

static bool flatten(RuleCall *call, Error *err)
{
    Shape to;
    return args_flatten(call, &to, err) && dims_view(call, &to, err);
}

static bool squeeze(RuleCall *call, Error *err)
{
    Shape to;
    return args_squeeze(call, &to, err) && dims_view(call, &to, err);
}

static bool unsqueeze(RuleCall *call, Error *err)
{
    Shape to;
    return args_unsqueeze(call, &to, err) && dims_view(call, &to, err);
}

static bool transpose(RuleCall *call, Error *err)
{
    int perm[DIMS_MAX];
    return args_permutation(call, perm, err) && dims_permute(call, perm, err);
}

/* ---- parts ---- */

/* Makes index dims for the dims of input 0 that are not in `whole`; the operands before `last` from
 * `first` on, and every output, have a row for each. */
static bool share_dims(RuleCall *call, const bool *whole, int n_operands, Error *err)
{
    const Shape *from = call->shape[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    for (int64_t d = 0; d < from->n_dims; d++) {
        if (whole[d])
            continue;
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        for (int i = 0; i < n_operands; i++)
            rule_unit(&space->operand[i], d, index);
        for (int o = 0; o < call->n_outputs; o++)
            rule_unit(rule_output(space, o), d, index);
    }
    return true;
}

/* The row of a part that begins at `start` of a dim with index dim `index`. */
static void part_row(Operand *operand, int axis, int index, int64_t start)
{
    Row *row = &operand->projection.row[axis];
    if (index < 0)
        return;
    row_unit(row, index);
    row->offset = -start;
    operand->projection.clip = true;
}

static void uneven_rows(RuleCall *call, int axis, const int64_t *sizes)
{
    OpSpace *space = call->space;
    int n = rule_index(space, "n", call->shape[0]->dim[axis], ROLE_FROZEN, REDUCE_NONE);
    rule_unit(&space->operand[0], axis, n);
    for (int64_t o = 0, start = 0; o < call->n_outputs; start += sizes[o++])
        part_row(rule_output(space, (int)o), axis, n, start);
}

static bool split_into(RuleCall *call, int axis, const int64_t *sizes, Error *err)
{
    bool equal = true;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = *call->shape[0];
        call->out_shape[o].dim[axis] = sizes[o];
        call->out_dtype[o] = call->dtype[0];
        equal &= sizes[o] == sizes[0];
    }
    if (!dims_beside(call, axis, true, err))
        return false;
    if (equal)
        dims_equal_parts(call, axis, sizes[0]);
    else
        uneven_rows(call, axis, sizes);
    return true;
}

static bool split(RuleCall *call, Error *err)
{
    int64_t *sizes = arena_array(call->arena, int64_t, call->n_outputs);
    int axis;
    return args_split(call, &axis, sizes, err) && split_into(call, axis, sizes, err);
}

/* Parts whose sizes are as the shares: the heads of queries, keys and values in one dim. */
static bool split_heads(RuleCall *call, Error *err)
{
    int64_t *sizes = arena_array(call->arena, int64_t, call->n_outputs), all = 0;
    Ints shares;
    int axis;
    if (!args_axis(args_int(call, "axis", 0), call->shape[0]->n_dims, &axis, err) ||
        !args_ints(call, -1, "shares", &shares, err))
        return false;
    int64_t size = call->shape[0]->dim[axis];
    for (int i = 0; i < shares.n; i++) {
        if (shares.at[i] < 1 || shares.at[i] > size)
            return error_kind(err, ERROR_OUT_OF_RANGE, "part %d has %" PRId64 " heads", i,
                              shares.at[i]);
        all += shares.at[i];
    }
    if (shares.n != call->n_outputs)
        return error_set(err, "it has %d outputs and %d shares", call->n_outputs, shares.n);
    if (all == 0 || size % all != 0)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "the %" PRId64 " numbers of dim %d are no multiple of %" PRId64 " heads",
                          size, axis, all);
    for (int i = 0; i < shares.n; i++)
        sizes[i] = size / all * shares.at[i];
    return split_into(call, axis, sizes, err);
}

/* Element s of the output is element start + step * s of the input. */
static void span_row(RuleCall *call, int d, const Span *span)
{
    OpSpace *space = call->space;
    int index = rule_index_at(call, 's', d, span->n);
    if (index < 0)
        return;
    Row *row = &space->operand[0].projection.row[d];
    rule_unit(rule_output(space, 0), d, index);
    row_unit(row, index);
    row->coef[index] = span->n > 0 ? span->step : 1;
    row->offset = span->start;
}

static bool slice(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    bool whole[DIMS_MAX] = {false};
    Span spans[DIMS_MAX];
    if (!args_slice(call, spans, err))
        return false;
    call->out_shape[0] = *from;
    call->out_dtype[0] = call->dtype[0];
    for (int64_t d = 0; d < from->n_dims; d++) {
        call->out_shape[0].dim[d] = spans[d].n;
        whole[d] = spans[d].n != from->dim[d] || (spans[d].step < 0 && spans[d].n > 1);
    }
    if (!share_dims(call, whole, 1, err))
        return false;
    for (int d = 0; d < from->n_dims; d++)
        if (whole[d])
            span_row(call, d, &spans[d]);
    call->space->operand[0].linear = LINEAR_ALONE;
    return true;
}

static bool concat(RuleCall *call, Error *err)
{
    bool whole[DIMS_MAX] = {false};
    int axis;
    if (!args_concat(call, &axis, &call->out_shape[0], err))
        return false;
    call->out_dtype[0] = call->dtype[0];
    whole[axis] = true;
    if (!share_dims(call, whole, call->n_inputs, err))
        return false;
    OpSpace *space = call->space;
    int n = rule_index(space, "n", call->out_shape[0].dim[axis], ROLE_MAP, REDUCE_NONE);
    rule_unit(rule_output(space, 0), axis, n);
    for (int64_t i = 0, start = 0; i < call->n_inputs; start += call->shape[i++]->dim[axis])
        part_row(&space->operand[i], axis, n, start);
    return true;
}

/* ---- copies ---- */

static bool tile(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    Ints repeats;
    if (!args_ints(call, 1, "repeats", &repeats, err))
        return false;
    if (repeats.n != from->n_dims)
        return error_kind(err, ERROR_RANK, "it has %d repeats for %" PRId64 " dims", repeats.n,
                          from->n_dims);
    return dims_repeat(call, repeats.at, repeats.n, err);
}

/* Which elements are kept depends on their index in the whole matrix. */
static bool trilu(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    if (!args_rank(call, 0, 2, DIMS_MAX, err))
        return false;
    OpSpace *space = rule_space_as(call, from, call->dtype[0], err);
    if (!space)
        return false;
    for (int64_t d = 0; d < from->n_dims; d++) {
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        if (index >= 0 && d >= from->n_dims - 2)
            space->index[index].role = ROLE_FROZEN;
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return true;
}

/* ---- evaluated before the run ---- */

static bool known_before(RuleCall *call, Error *err)
{
    (void)call;
    return error_set(err, "it is evaluated before the run, from shapes and constants, and has no "
                          "index space");
}

/* The output does not depend on elements of the inputs, so each of its dims is an index dim. */
static bool made_space(RuleCall *call, Error *err)
{
    OpSpace *space = rule_space(call, err);
    for (int d = 0; space && d < call->out_shape[0].n_dims; d++)
        rule_unit(rule_output(space, 0), d, rule_index_at(call, 'd', d, call->out_shape[0].dim[d]));
    return space != NULL;
}

static bool shape_is_data(Error *err)
{
    return error_kind(err, ERROR_NOT_INFERABLE,
                      "the shape of its output depends on data that only the run knows");
}

static bool constant_of_shape(RuleCall *call, Error *err)
{
    Ints sizes;
    const Attr *value = args_attr(call, "value");
    Shape *out = &call->out_shape[0];
    if (!call->value[0])
        return shape_is_data(err);
    if (!args_ints(call, 0, "", &sizes, err))
        return false;
    if (sizes.n > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    *out = (Shape){.n_dims = sizes.n};
    for (int d = 0; d < sizes.n; d++)
        out->dim[d] = sizes.at[d];
    call->out_dtype[0] = value && value->type == ATTR_TENSOR ? (Dtype)value->dtype : DT_F32;
    return shape_check(out, err) && made_space(call, err);
}

static bool range(RuleCall *call, Error *err)
{
    int n_ints = 0, n_floats = 0;
    for (int i = 0; i < 3; i++) {
        const Value *value = call->value[i];
        bool one = value && shape_elements(&value->shape) == 1;
        n_ints += one && value->ints;
        n_floats += one && value->floats;
    }
    if (n_ints < 3 && n_floats < 3)
        return shape_is_data(err);
    call->out_shape[0].n_dims = 1;
    call->out_dtype[0] = call->dtype[0];
    return args_range(call, &call->out_shape[0].dim[0], err) && made_space(call, err);
}

#define FAMILY "shape"

const Operator operators_shape[] = {
    {OP("Reshape", reshape, 0, 1, 2), GRADIENT("0: view"), HOST(reshape), RANK(LENGTH, 1), EARLY,
     .reads = 1 << 1, ONNX("allowzero consumed_inputs shape", ". .i"), .kernel = "view",
     .examples = "6x10,=[12,5]; 6x4x5,=[6,20]; 12x5,=[3,4,5]; 6x4x5,=[0,-1]",
     NNSCALER("reshape(;; allowzero:=1) view(size=shape, shape=shape;; allowzero:=1)"),
     TORCH("reshape(shape=shape, size=shape, out_shape=shape;; allowzero:=1) view(shape=shape, "
           "size=shape, out_shape=shape;; allowzero:=1) _unsafe_view(shape=shape, size=shape, "
           "out_shape=shape;; allowzero:=1) _reshape_alias(shape=shape, size=shape, "
           "out_shape=shape;; allowzero:=1)"),
     PADDLE("reshape reshape2"), .paddle = "reshape", .dtensor = "of_size view",
     PADDLE_CALLS("reshape reshape2: 6x10,=[12,5] | shape=[12,5]; 6x4x5,=[6,20] | shape=[6,20]; "
                  "12x5,=[3,4,5] | shape=[3,4,5]; 4x6x8,=[192] | shape=[192]; 6x1x10,=[1,2,3,10] | "
                  "shape=[1,2,3,10]; flatten: 5x4x6x3,=[5,24,3] | start_axis=1 stop_axis=2; "
                  "5x1x6x3,=[5,6,3] | start_axis=1 stop_axis=2; reshape_grad(6x10,0): "
                  "12x5,=[6,10]; flatten_grad(5x4x6,0): 5x24,=[5,4,6]"),
     TORCH_CALLS(
         "view _unsafe_view reshape view_copy: 6x10,=[12,5] | shape=[12,5] size=[12,5]; "
         "6x4x5,=[6,20] | shape=[6,20] size=[6,20]; 12x5,=[3,4,5] | shape=[3,4,5] size=[3,4,5]; "
         "view reshape: 6x1x10,=[1,2,3,10] | shape=[1,2,3,10] size=[1,2,3,10]; flatten: "
         "5x4x6x3,=[5,24,3] | start_dim=1 end_dim=2; ravel: 6x10,=[60]")},
    {OP("Flatten", flatten, 0, 1, 1), GRADIENT("0: view"), HOST(flatten), EARLY, .reads = 1 << 1,
     ONNX("axis", ""), .kernel = "view", .examples = "4x3x5 axis=2; 4x3x5 axis=0",
     .paddle = "reshape", .dtensor = "of_size view"},
    {OP("Squeeze", squeeze, 0, 1, 2), GRADIENT("0: view"), HOST(squeeze), RANK(LESS, 1), EARLY,
     .reads = 1 << 1, ONNX("axes keep_larger", ". .i"), .kernel = "view",
     .examples = "5x1x6,=[1]; 1x5x1x6; 5x1x6 axes=[0,1] keep_larger=1",
     NNSCALER("squeeze(dim=axes;; keep_larger:=1)"), TORCH("squeeze(dim=axes;; keep_larger:=1)"),
     PADDLE("squeeze(axis=axes;; keep_larger:=1) squeeze2(axis=axes;; keep_larger:=1)"),
     .paddle = "squeeze", .dtensor = "of_size view",
     PADDLE_CALLS("squeeze: 5x1x6x1,=[1] | axis=[1]; unsqueeze_grad(5x6,0): 5x1x6,=[1] | axis=[1]"),
     TORCH_CALLS("squeeze: 5x1x6x1,=[1] | dim=1")},
    {OP("Unsqueeze", unsqueeze, 0, 1, 2), GRADIENT("0: view"), HOST(unsqueeze), RANK(MORE, 1),
     EARLY, .reads = 1 << 1, ONNX("axes", ". .i"), .kernel = "view",
     .examples = "5x6,=[1]; 5x6,=[0,-1]", NNSCALER("unsqueeze(dim=axes)"),
     TORCH("unsqueeze(dim=axes)"), PADDLE("unsqueeze(axis=axes) unsqueeze2(axis=axes)"),
     .paddle = "unsqueeze", .dtensor = "of_size view",
     PADDLE_CALLS(
         "unsqueeze unsqueeze2: 5x6,=[1] | axis=[1]; squeeze_grad(5x1x6,0): 5x6,=[1] | axis=[1]"),
     TORCH_CALLS("unsqueeze: 5x6,=[1] | dim=1")},
    {OP("com.microsoft::ExpandDims", unsqueeze, 0, 2, 2), GRADIENT("0: view"), HOST(unsqueeze),
     RANK(MORE, 1), EARLY, .reads = 1 << 1, OWN("", ". .i"), .kernel = "view",
     .examples = "5x6,=1; 5x6,=-1"},
    {OP("Transpose", transpose, 0, 1, 1), GRADIENT("0: move"), HOST(transpose), EARLY_VIEW,
     ONNX("perm", ""), .kernel = "Transpose", .examples = "5x6x4 perm=[2,0,1]; 5x6x4",
     NNSCALER("permute(dims=perm)"), TORCH("permute(dims=perm) t numpy_T"),
     PADDLE("transpose transpose2"), STABLEHLO("transpose(dims=perm)"), .paddle = "transpose",
     .dtensor = "permute permute",
     PADDLE_CALLS("transpose_grad: 5x6x4 perm=[2,0,1] | perm=[1,2,0]"),
     TORCH_CALLS("transpose: 5x6x4 perm=[2,1,0] | dim0=0 dim1=2; t: 5x6 perm=[1,0]")},
    {OP("Split", split, 0, 1, 2), GRADIENT("0: move"), HOST(split), RANK(SPLIT, 1), EARLY_PICKS,
     .outputs_max = OPERATOR_MANY, .reads = 1 << 1, ONNX("axis num_outputs split", ". .fi"),
     .kernel = "Split", .examples = "5x9,=[4,5] axis=1 -> 2; 5x9 axis=1 num_outputs=3 -> 3",
     TORCH("split_with_sizes(split_sizes=split, dim=axis)"), .paddle = "split",
     .dtensor = "split split_with_sizes",
     PADDLE_CALLS("split: 5x9x4,=[4,5] axis=1 -> 2 | axis=1 sections=[4,5]; split_with_num: "
                  "5x8x4,=[4,4] axis=1 -> 2 | axis=1 num=2"),
     TORCH_CALLS("split: 5x8x4,=[4,4] axis=1 -> 2 | dim=1 split_size=4; split_with_sizes: "
                 "5x9x4,=[4,5] axis=1 -> 2 | dim=1 split_sizes=[4,5]; chunk: 5x8x4,=[4,4] axis=1 "
                 "-> 2 | dim=1 chunks=2")},
    {OP("SplitHeads", split_heads, 0, 1, 1), GRADIENT("0: move"), EARLY_PICKS,
     .outputs_max = OPERATOR_MANY, OWN("axis shares", ""), .kernel = "Split",
     .examples = "5x12 axis=1 shares=[4,1,1] -> 3; 5x6 axis=1 shares=[1,1] -> 2"},
    {OP("Slice", slice, 0, 1, 5), GRADIENT("0: move"), HOST(slice), RANK(AXES, 1), EARLY_PICKS,
     .reads = OPERATOR_ANY, ONNX("axes ends starts", ". Ai Ai Ai Ai"), .kernel = "Slice",
     .examples = "7x9,=[1,2],=[7,9],=[0,1],=[1,3]; 7x9,=[8],=[0],=[1],=[-2]; 7x9,=[2],=[6],=[0]",
     TORCH("slice(dim=axes, start=starts, end=ends, step=steps;; axes:=0, starts:=0, "
           "ends:=9223372036854775807, steps:=1)"),
     PADDLE("slice strided_slice(strides=steps)"), .paddle = "slice", .dtensor = "slice slice",
     PADDLE_CALLS(
         "slice: 7x9x4,=[2],=[7],=[1],=[1] | axes=[1] starts=[2] ends=[7] infer_flags=[1]; "
         "strided_slice: 7x9x4,=[1],=[8],=[1],=[3] | axes=[1] starts=[1] ends=[8] strides=[3]; "
         "7x8,=[0],=[8],=[1],=[2] | axes=[1] starts=[0] ends=[8] strides=[2]; "
         "7x8,=[2],=[8],=[1],=[2] | axes=[1] starts=[2] ends=[8] strides=[2]"),
     TORCH_CALLS("slice: 7x9x4,=[2],=[7],=[1],=[1] | dim=1 start=2 end=7 step=1; flip: "
                 "5x6x4,=[-1],=[-9],=[1],=[-1] | dims=[1]")},
    {OP("Concat", concat, 0, 1, OPERATOR_ANY), GRADIENT("all: move"), HOST(concat), EARLY_PICKS,
     ONNX("axis", "A+"), .kernel = "Concat",
     .examples = "5x6,5x4,5x3 axis=1; 5x6,5x6 axis=0; 1x4,3x4 axis=0",
     NNSCALER("cat(dim=axis;; axis:=0)"),
     TORCH("cat(dim=axis;; axis:=0) concat(dim=axis;; axis:=0) concatenate(dim=axis;; axis:=0)"),
     PADDLE("concat(axis=axis;; axis:=0)"), STABLEHLO("concatenate(dimension=axis)"),
     .paddle = "concat", .dtensor = "along_first cat",
     PADDLE_CALLS("concat: 5x6,5x4,5x3 axis=1 | axis=1; 4x6,2x6 axis=0 | axis=0"),
     TORCH_CALLS("cat: 4x6,4x8,4x2 axis=1 | dim=1")},
    {OP("Tile", tile, 0, 2, 2), GRADIENT("0: move"), RANK(SAME, 1), EARLY, .reads = 1 << 1,
     ONNX("", ". .fi"), .kernel = "Tile", .examples = "5x6,=[1,2]; 5x6,=[3,2]", .paddle = "tile",
     .dtensor = "tile repeat", PADDLE_CALLS("tile: 5x6,=[1,2] | repeat_times=[1,2]"),
     TORCH_CALLS("repeat tile: 5x6,=[1,2] | repeats=[1,2] dims=[1,2]")},
    {OP("Trilu", trilu, 0, 1, 2), GRADIENT("0: move(x1)"), EARLY, ONNX("upper", ". .i"),
     .kernel = "Trilu", .examples = "5x6x7 upper=0",
     NNSCALER("triu(;; upper:=1) tril(;; upper:=0)"), TORCH("triu(;; upper:=1) tril(;; upper:=0)"),
     PADDLE("triu(;; upper:=1) tril(;; upper:=0) tril_triu triu_grad(;; upper:=1)"),
     .dtensor = "unary triu", PADDLE_CALLS("triu: 5x6x7 upper=1; tril_triu: 5x6x7 upper=0"),
     TORCH_CALLS("triu: 5x6x7 upper=1; tril: 5x6x7 upper=0")},
    {OP("Constant", known_before, 0, 0, 0), HOST(constant), EARLY,
     ONNX("sparse_value value value_float value_floats value_int value_ints value_string "
          "value_strings",
          ""),
     .kernel = "Constant"},
    {OP("Shape", known_before, 0, 1, 1), HOST(shape), EARLY, ONNX("end start", ""),
     .kernel = "Shape"},
    {OP("Size", known_before, 0, 1, 1), HOST(size), EARLY, ONNX("", ""), .kernel = "Size"},
    {OP("Range", range, 0, 3, 3), HOST(range), RANK(ONE, 0), EARLY,
     .reads = 1 << 0 | 1 << 1 | 1 << 2, ONNX("stash_type", "Afi Afi Afi"), .kernel = "Range"},
    {OP("ConstantOfShape", constant_of_shape, 0, 1, 1), HOST(constant_of_shape), RANK(LENGTH, 0),
     EARLY, .reads = 1 << 0, ONNX("value", ".i"), .kernel = "ConstantOfShape"},
    {0},
};
