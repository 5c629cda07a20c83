/* indexing.c - operators that read or write at positions given by tensors.
 *
 *     Index          d0 5 d2, i0 i1 -> d0 i0 i1 d2       x, positions ..
 *     IndexPut       5 d1, i0, i0 d1 -> 5 d1             x, positions .., values; i0+ where it adds
 *     IndexAdd       5 d1, i+, i+ d1 -> 5 d1
 *     ScatterRows    4 d1, i, i d1 -> 4 d1               as above, along dim 0
 *     Diagonal       4 d1 4 -> d1 4
 *
 * Dims that positions index are read and written whole; `axes` lists them, in the order of the
 * positions, else they are the leading dims. If updates are summed, x is added once.
 */
#include "core/rules/operators/dims.h"

#include <inttypes.h>

/* ---- several positions ---- */

typedef struct {
    int n, axis[DIMS_MAX]; /* of the position tensors: input 1 + i indexes dim axis[i] */
    bool picked[DIMS_MAX];
    int first;   /* first output dim that comes from the positions */
    Shape where; /* common shape of the positions */
    bool bools;  /* masks: how many places they have is data */
} Positions;

static bool read_positions(const RuleCall *call, int n, Positions *out, Error *err)
{
    const Shape *from = call->shape[0];
    Ints axes;
    *out = (Positions){.n = n};
    if (!args_ints(call, -1, "axes", &axes, err))
        return false;
    if (n < 1 || n > from->n_dims || (axes.given && axes.n != n))
        return error_kind(err, ERROR_RANK, "it has %d tensors of positions for %" PRId64 " dims", n,
                          from->n_dims);
    bool adjacent = true;
    for (int i = 0; i < n; i++) {
        if (!call->shape[1 + i])
            return error_set(err, "its input %d is absent", 1 + i);
        if (!args_axis(axes.given ? axes.at[i] : i, from->n_dims, &out->axis[i], err))
            return false;
        if (out->picked[out->axis[i]])
            return error_kind(err, ERROR_DUPLICATE, "axis %d is given twice", out->axis[i]);
        out->picked[out->axis[i]] = true;
        out->bools |= call->dtype[1 + i] == DT_BOOL;
        adjacent &= i == 0 || out->axis[i] == out->axis[i - 1] + 1;
    }
    out->first = adjacent ? out->axis[0] : 0;
    return args_broadcast(call->shape + 1, n, &out->where, err);
}

/* Shape of x at the positions. */
static bool picked_shape(const RuleCall *call, const Positions *at, Shape *out, Error *err)
{
    const Shape *from = call->shape[0];
    Shape rest = dims_without(from, at->picked, false);
    if (rest.n_dims + at->where.n_dims > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    *out = (Shape){.n_dims = rest.n_dims + at->where.n_dims};
    for (int64_t d = 0; d < out->n_dims; d++) {
        int64_t w = d - at->first;
        out->dim[d] = w < 0                  ? rest.dim[d]
                      : w < at->where.n_dims ? at->where.dim[w]
                                             : rest.dim[d - at->where.n_dims];
    }
    return true;
}

/* Index dims for the dims of x that are not indexed and for those of the positions, and their rows
 * in every operand. operand_of has the shape `whole` or broadcasts to it: it is x at the positions.
 * writes: the output is x. */
static void position_rows(RuleCall *call, const Positions *at, int operand_of, const Shape *whole,
                          bool writes, IndexRole role)
{
    OpSpace *space = call->space;
    Operand *part = &space->operand[operand_of];
    const Shape *from = call->shape[0];
    int index[DIMS_MAX] = {0};
    int64_t next = 0;
    for (int64_t d = 0; d < from->n_dims; d++) {
        if (at->picked[d])
            continue;
        int64_t to = next < at->first ? next : next + at->where.n_dims;
        index[to] = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index[to]);
        if (writes)
            rule_unit(rule_output(space, 0), d, index[to]);
        next++;
    }
    for (int64_t w = 0; w < at->where.n_dims; w++) {
        int i = role == ROLE_FROZEN || space->n_index == X_MAX
                    ? -1
                    : rule_index_at(call, 'i', w, at->where.dim[w]);
        if (i >= 0 && role == ROLE_REDUCE) {
            space->index[i].role = ROLE_REDUCE;
            space->index[i].reduce = REDUCE_SUM;
            space->operand[0].once = true;
        }
        index[at->first + w] = i;
        for (int p = 1; p <= at->n && i >= 0; p++) {
            Operand *operand = &space->operand[p];
            int64_t d = w - at->where.n_dims + operand->shape.n_dims;
            if (d >= 0 && operand->shape.dim[d] == at->where.dim[w])
                rule_unit(operand, d, i);
        }
    }
    int64_t skip = whole->n_dims - part->shape.n_dims;
    for (int64_t d = skip > 0 ? skip : 0; d < whole->n_dims; d++)
        if (part->shape.dim[d - skip] == whole->dim[d] && index[d] >= 0)
            rule_unit(part, d - skip, index[d]);
}

static bool index_by(RuleCall *call, Error *err)
{
    Positions at;
    Shape out;
    if (!read_positions(call, call->n_inputs - 1, &at, err))
        return false;
    call->out_dtype[0] = call->dtype[0];
    if (at.bools) {
        call->out_shape[0] = (Shape){.n_dims = -1};
        return rule_space(call, err);
    }
    if (!picked_shape(call, &at, &out, err))
        return false;
    call->out_shape[0] = out;
    OpSpace *space = rule_space(call, err);
    if (space)
        position_rows(call, &at, call->n_inputs, &out, false, ROLE_MAP);
    return space;
}

/* A value with fewer elements than the target broadcasts to it. */
static bool index_put(RuleCall *call, Error *err)
{
    int value = call->n_inputs - 1;
    bool adds = args_int(call, "accumulate", 0) != 0;
    Positions at;
    Shape part, common;
    if (!call->shape[value])
        return error_set(err, "its input %d is absent", value);
    if (!read_positions(call, value - 1, &at, err))
        return false;
    call->out_shape[0] = *call->shape[0];
    call->out_dtype[0] = call->dtype[0];
    if (at.bools)
        return rule_space(call, err);
    if (!picked_shape(call, &at, &part, err))
        return false;
    const Shape *both[2] = {&part, call->shape[value]};
    if (!args_broadcast(both, 2, &common, err))
        return false;
    if (!shape_equal(&common, &part))
        return error_set(err, "its input %d is larger than what it is written to", value);
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    position_rows(call, &at, value, &part, true, adds ? ROLE_REDUCE : ROLE_FROZEN);
    space->operand[0].linear = space->operand[value].linear = LINEAR_TOGETHER;
    return true;
}

/* ---- one list of positions ---- */

/* x, positions [i], source: like x except for the axis, where it has one place per position. */
static bool along_positions(RuleCall *call, int axis, bool adds, Error *err)
{
    const Shape *from = call->shape[0], *positions = call->shape[1], *source = call->shape[2];
    DimUse use[DIMS_MAX];
    Shape want = *from;
    want.dim[axis] = shape_elements(positions);
    if (!args_rank(call, 1, 0, 1, err) || !args_shape(call, 2, &want, err))
        return false;
    for (int d = 0; d < from->n_dims; d++)
        use[d] = d == axis ? DIM_WHOLE : DIM_MAP;
    dims_answer(call, from, call->dtype[0]);
    /* positions would right-align with the last dim of x */
    OpSpace *space = dims_space(call, from, use, NULL, err);
    if (!space)
        return false;
    if (positions->n_dims == 1)
        row_whole(&space->operand[1].projection.row[0], positions->dim[0]);
    space->operand[0].linear = space->operand[2].linear = LINEAR_TOGETHER;
    int i = adds ? rule_index(space, "i", source->dim[axis], ROLE_REDUCE, REDUCE_SUM) : -1;
    if (i < 0)
        return true;
    rule_unit(&space->operand[1], 0, i);
    rule_unit(&space->operand[2], axis, i);
    space->operand[0].once = true;
    return true;
}

static bool index_add(RuleCall *call, Error *err)
{
    int axis;
    return args_axis(args_int(call, "axis", 0), call->shape[0]->n_dims, &axis, err) &&
           along_positions(call, axis, true, err);
}

static bool index_copy(RuleCall *call, Error *err)
{
    int axis;
    return args_axis(args_int(call, "axis", 0), call->shape[0]->n_dims, &axis, err) &&
           along_positions(call, axis, false, err);
}

static bool scatter_rows(RuleCall *call, Error *err)
{
    return args_rank(call, 0, 1, DIMS_MAX, err) &&
           along_positions(call, 0, args_int(call, "overwrite", 1) == 0, err);
}

static bool index_fill(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    DimUse use[DIMS_MAX];
    int axis;
    if (!args_axis(args_int(call, "axis", 0), from->n_dims, &axis, err))
        return false;
    for (int d = 0; d < from->n_dims; d++)
        use[d] = d == axis ? DIM_WHOLE : DIM_MAP;
    dims_answer(call, from, call->dtype[0]);
    OpSpace *space = dims_space(call, from, use, NULL, err);
    for (int i = 1; space && i < call->n_inputs; i++)
        for (int64_t d = 0; call->shape[i] && d < call->shape[i]->n_dims; d++)
            row_whole(&space->operand[i].projection.row[d], call->shape[i]->dim[d]);
    return space;
}

/* ---- diagonals ---- */

static int64_t diagonal_size(int64_t rows, int64_t columns, int64_t offset)
{
    rows -= offset < 0 ? -offset : 0;
    columns -= offset > 0 ? offset : 0;
    int64_t size = rows < columns ? rows : columns;
    return size > 0 ? size : 0;
}

static bool read_offset(const RuleCall *call, int64_t *out, Error *err)
{
    *out = args_int(call, "offset", 0);
    return (*out > -(INT64_C(1) << 60) && *out < INT64_C(1) << 60) ||
           error_kind(err, ERROR_OUT_OF_RANGE, "its offset is too far");
}

/* Two dims become one, the last. */
static bool diagonal(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    bool gone[DIMS_MAX] = {false};
    int64_t offset;
    int a, b;
    if (!args_axis(args_int(call, "axis1", 0), from->n_dims, &a, err) ||
        !args_axis(args_int(call, "axis2", 1), from->n_dims, &b, err) ||
        !read_offset(call, &offset, err))
        return false;
    if (a == b)
        return error_kind(err, ERROR_DUPLICATE, "axis %d is given twice", a);
    gone[a] = gone[b] = true;
    Shape out = dims_without(from, gone, false);
    out.dim[out.n_dims++] = diagonal_size(from->dim[a], from->dim[b], offset);
    dims_answer(call, &out, call->dtype[0]);
    OpSpace *space = rule_space(call, err);
    for (int d = 0, at = 0; space && d < from->n_dims; d++) {
        if (gone[d])
            continue;
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        rule_unit(rule_output(space, 0), at++, index);
    }
    if (space)
        space->operand[0].linear = LINEAR_ALONE;
    return space;
}

/* Puts a vector on a diagonal, or takes the diagonal of a matrix. */
static bool diag(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t offset;
    if (!args_rank(call, 0, 1, 2, err))
        return false;
    if (!read_offset(call, &offset, err))
        return false;
    int64_t side = from->dim[0] + (offset < 0 ? -offset : offset);
    Shape out = {.n_dims = 2, .dim = {side, side}};
    if (from->n_dims == 2)
        out = (Shape){.n_dims = 1, .dim = {diagonal_size(from->dim[0], from->dim[1], offset)}};
    dims_answer(call, &out, call->dtype[0]);
    return rule_space(call, err);
}

#define FAMILY "indexing"

const Operator operators_indexing[] = {
    {OP("Index", index_by, 0, 2, 11), OWN("axes", ""),
     .examples = "5x6x4,3x7:i64 axes=[1]; 5x6x4,7:i64,3x7:i64 axes=[0,2]",
     TORCH("index _unsafe_index")},
    {OP("IndexPut", index_put, 0, 3, 12), OWN("accumulate axes", ""),
     .examples =
         "5x6x4,7:i64,7x6x4; 5x6x4,7:i64,6x1 accumulate=1; 5x6x4,7:i64,3x7:i64,3x7x4 accumulate=1",
     TORCH("index_put _unsafe_index_put _index_put_impl_"), PADDLE("index_put")},
    {OP("IndexAdd", index_add, 0, 3, 3), OWN("alpha axis", ". .i"),
     .examples = "5x6x4,7:i64,5x7x4 axis=1", TORCH("index_add(dim=axis)"),
     PADDLE("index_add gather_grad index_select_grad")},
    {OP("IndexCopy", index_copy, 0, 3, 3), OWN("axis", ". .i"),
     .examples = "5x6x4,7:i64,5x7x4 axis=1", TORCH("index_copy(dim=axis)")},
    {OP("IndexFill", index_fill, 0, 2, 3), OWN("axis value", ". .i"),
     .examples = "5x6x4,3:i64 axis=1", TORCH("index_fill(dim=axis)")},
    {OP("ScatterRows", scatter_rows, 0, 3, 3), OWN("overwrite", ". .i"),
     .examples = "5x6,7:i64,7x6; 5x6,7:i64,7x6 overwrite=0", PADDLE("scatter")},
    {OP("Diagonal", diagonal, 0, 1, 1), OWN("axis1 axis2 offset", ""),
     .examples = "5x6x4 axis1=0 axis2=2 offset=1", TORCH("diagonal(dim1=axis1, dim2=axis2)"),
     PADDLE("diagonal")},
    {OP("Diag", diag, 0, 1, 1), OWN("offset", ""), .examples = "5 offset=-2; 5x6",
     NNSCALER("diag(diagonal=offset)"), TORCH("diag(diagonal=offset)"), PADDLE("diag")},
    {0},
};
