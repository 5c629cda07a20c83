/* shape.c - operators that rearrange elements.
 *
 *     Reshape & kin  mixed radix, b s k -> (b s) k    the gcd walk of both shapes
 *     Transpose      d0 d1 d2 -> d0 d2 d1             numbered as in the input
 *     Split, equal   d0 (p^ j) -> d0 j, d0 j, d0 j    p: the parts, never cut; part q lies at p = q
 *     Split          d0 n^ -> d0 {n}, d0 {n-4}        parts of the dim, each clipped; never cut
 *     Concat         d0 {n}, d0 {n-4} -> d0 n         the same backwards: each operand a part of n
 *     Slice          {2*s0+1} -> s0                   every step-th from a start
 *     Tile           d0 -> (t0 d0)
 *
 * All are linear in their data, but for Tile, which grows it, and Concat. Operators whose output
 * shape is data (Range, ConstantOfShape) are evaluated before the run, or refused.
 */
#include "core/rules/args.h"
#include "core/space/einsum.h"

#include <inttypes.h>

/* ---- views ---- */

static bool view(RuleCall *call, const Shape *to, Error *err)
{
    call->out_shape[0] = *to;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    const OpSpace *rows = space ? reshape_opspace(call->arena, call->shape[0], to, err) : NULL;
    if (!rows)
        return false;
    space->n_index = rows->n_index;
    memcpy(space->index, rows->index, sizeof space->index);
    space->operand[0].projection = rows->operand[0].projection;
    space->operand[0].linear = LINEAR_ALONE;
    rule_output(space, 0)->projection = rows->operand[1].projection;
    return true;
}

static bool reshape(RuleCall *call, Error *err)
{
    Shape to;
    return args_reshape(call, &to, err) && view(call, &to, err);
}

static bool flatten(RuleCall *call, Error *err)
{
    Shape to;
    return args_flatten(call, &to, err) && view(call, &to, err);
}

static bool squeeze(RuleCall *call, Error *err)
{
    Shape to;
    return args_squeeze(call, &to, err) && view(call, &to, err);
}

static bool unsqueeze(RuleCall *call, Error *err)
{
    Shape to;
    return args_unsqueeze(call, &to, err) && view(call, &to, err);
}

static bool transpose(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int perm[DIMS_MAX], index[DIMS_MAX], n = (int)from->n_dims;
    if (!args_permutation(call, perm, err))
        return false;
    call->out_shape[0] = (Shape){.n_dims = n};
    for (int d = 0; d < n; d++)
        call->out_shape[0].dim[d] = from->dim[perm[d]];
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    for (int d = 0; d < n; d++)
        index[d] = rule_index_at(call, 'd', d, from->dim[d]);
    for (int d = 0; d < n; d++) {
        rule_unit(&space->operand[0], d, index[d]);
        rule_unit(rule_output(space, 0), d, index[perm[d]]);
    }
    space->operand[0].linear = LINEAR_ALONE;
    return true;
}

/* ---- parts ---- */

/* Index dims for the dims of input 0 that `whole` does not name; every operand in [first, last) and
 * every output has a row for each. */
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

static void split_rows(RuleCall *call, int axis, int64_t part)
{
    OpSpace *space = call->space;
    int p = rule_index(space, "p", call->n_outputs, ROLE_FROZEN, REDUCE_NONE);
    int j = rule_index(space, "j", part, ROLE_MAP, REDUCE_NONE), pair[2], n = 0;
    if (p >= 0)
        pair[n++] = p;
    if (j >= 0)
        pair[n++] = j;
    row_radix(&space->operand[0].projection.row[axis], space, pair, n);
    for (int o = 0; o < call->n_outputs; o++)
        rule_unit(rule_output(space, o), axis, j);
}

/* The row of a part that begins at `start` of a dim which `index` runs over. */
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

static bool split(RuleCall *call, Error *err)
{
    int64_t *sizes = arena_array(call->arena, int64_t, call->n_outputs);
    bool whole[DIMS_MAX] = {false}, equal = true;
    int axis;
    if (!args_split(call, &axis, sizes, err))
        return false;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = *call->shape[0];
        call->out_shape[o].dim[axis] = sizes[o];
        call->out_dtype[o] = call->dtype[0];
        equal &= sizes[o] == sizes[0];
    }
    whole[axis] = true;
    if (!share_dims(call, whole, 1, err))
        return false;
    if (equal)
        split_rows(call, axis, sizes[0]);
    else
        uneven_rows(call, axis, sizes);
    call->space->operand[0].linear = LINEAR_ALONE;
    return true;
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
    call->out_shape[0] = *from;
    call->out_dtype[0] = call->dtype[0];
    for (int d = 0; d < repeats.n; d++)
        if (repeats.at[d] < 0 ||
            __builtin_mul_overflow(from->dim[d], repeats.at[d], &call->out_shape[0].dim[d]))
            return error_kind(err, ERROR_OUT_OF_RANGE, "it repeats dim %d %" PRId64 " times", d,
                              repeats.at[d]);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    for (int d = 0; d < repeats.n; d++) {
        int t = -1, j = -1, pair[2], n = 0;
        if (space->n_index + 2 > X_MAX)
            return error_kind(err, ERROR_RANK, "it repeats too many dims");
        t = rule_index_at(call, 't', d, repeats.at[d]);
        j = rule_index_at(call, 'd', d, from->dim[d]);
        if (t >= 0)
            pair[n++] = t;
        if (j >= 0)
            pair[n++] = j;
        rule_unit(&space->operand[0], d, j);
        row_radix(&rule_output(space, 0)->projection.row[d], space, pair, n);
    }
    return true;
}

/* Which elements stay depends on where they lie in the whole matrix. */
static bool trilu(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    if (!args_rank(call, 0, 2, DIMS_MAX, err))
        return false;
    call->out_shape[0] = *from;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
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

/* Made of no elements of its inputs: each dim of the output is an index dim by itself. */
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

#define VIEW(name_, rule_, min, max)                                                               \
    {                                                                                              \
        .name = (name_), .rule = (rule_), .flags = OPERATOR_EARLY | OPERATOR_VIEW,                 \
        .family = "shape", .inputs_min = (min), .inputs_max = (max), .reads = 1 << 1               \
    }
#define MOVE(name_, rule_, min, max, out, reads_)                                                  \
    {                                                                                              \
        .name = (name_), .rule = (rule_), .flags = OPERATOR_EARLY, .family = "shape",              \
        .inputs_min = (min), .inputs_max = (max), .outputs_max = (out), .reads = (reads_)          \
    }

const Operator operators_shape[] = {
    VIEW("Reshape", reshape, 1, 2),
    VIEW("Flatten", flatten, 1, 1),
    VIEW("Squeeze", squeeze, 1, 2),
    VIEW("Unsqueeze", unsqueeze, 1, 2),
    MOVE("Transpose", transpose, 1, 1, 1, 0),
    MOVE("Split", split, 1, 2, OPERANDS_MAX / 2, 1 << 1),
    MOVE("Slice", slice, 1, 5, 1, OPERATOR_ANY),
    MOVE("Concat", concat, 1, OPERATOR_ANY, 1, 0),
    MOVE("Tile", tile, 2, 2, 1, 1 << 1),
    MOVE("Trilu", trilu, 1, 2, 1, 0),
    MOVE("Constant", known_before, 0, 0, 1, 0),
    MOVE("Shape", known_before, 1, 1, 1, 0),
    MOVE("Size", known_before, 1, 1, 1, 0),
    MOVE("Range", range, 3, 3, 1, 7),
    MOVE("ConstantOfShape", constant_of_shape, 1, 1, 1, 1),
    {0},
};
