/* index.c - operators that pick elements by index.
 *
 *     Gather          v+ e1, i0 i1 -> i0 i1 e1     v: the dim picked from
 *     Gather by one   * e1,  -> e1                 that dim is read whole
 *     GatherND        * * e2, i0 * -> i0 e2        the dims picked from are read whole
 *     GatherElements  d0 *, d0 d1 -> d0 d1
 *
 * If v is sharded, each shard gives the rows that it holds and zeros elsewhere: a partial sum. Data
 * dims keep their number (e1), index dims theirs (i0), batch dims are b0, b1, .. If the indices are
 * known to be 0, 1, 2 .. n-1 over the whole dim, or the coordinates themselves, the op is a view
 * (kernel "project"): the data dim is (i0 i1), or i1. Exporters write masks that way; treated as
 * gathers they would cost an all-gather.
 */
#include "core/rules/args.h"
#include "core/rules/at_load.h"

#include <inttypes.h>

/* ---- Gather ---- */

/* The reduction of shards: a shard has zeros where another one has the row, so they are summed;
 * bools are combined by or. */
static ReduceOp masked_reduce(Dtype dtype)
{
    return dtype == DT_BOOL ? REDUCE_ANY : REDUCE_SUM;
}

static bool is_projection(const RuleCall *call, int axis)
{
    const Value *indices = call->value[1];
    return indices && value_is_iota(indices) &&
           shape_elements(&indices->shape) == call->shape[0]->dim[axis];
}

static void project_axis(RuleCall *call, int axis, const int *index, int n)
{
    OpSpace *space = call->space;
    int used[DIMS_MAX], n_used = 0;
    for (int i = 0; i < n; i++)
        if (index[i] >= 0)
            used[n_used++] = index[i];
    row_radix(&space->operand[0].projection.row[axis], space, used, n_used);
    space->operand[0].linear = LINEAR_ALONE;
    space->kernel = "project";
    space->early = true;
}

static bool gather(RuleCall *call, Error *err)
{
    const Shape *data = call->shape[0], *indices = call->shape[1];
    int axis, index[DIMS_MAX], n = (int)indices->n_dims;
    if (!args_gather(call, &axis, &call->out_shape[0], err))
        return false;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    for (int i = 0; i < n; i++) {
        index[i] = rule_index_at(call, 'i', i, indices->dim[i]);
        rule_unit(&space->operand[1], i, index[i]);
        rule_unit(rule_output(space, 0), axis + i, index[i]);
    }
    if (is_projection(call, axis))
        project_axis(call, axis, index, n);
    else if (n > 0 && call->dtype[0] != DT_STR)
        rule_unit(
            &space->operand[0], axis,
            rule_index(space, "v", data->dim[axis], ROLE_REDUCE, masked_reduce(call->dtype[0])));
    for (int d = 0; d < data->n_dims; d++) {
        if (d == axis)
            continue;
        int element = rule_index_at(call, 'e', d, data->dim[d]);
        rule_unit(&space->operand[0], d, element);
        rule_unit(rule_output(space, 0), d < axis ? d : d + n - 1, element);
    }
    return true;
}

/* ---- GatherND ---- */

typedef struct {
    int n_batch, n_picked, n_lead; /* n_lead: dims of the indices before the last */
} Pick;

static bool read_pick(const RuleCall *call, Pick *pick, Error *err)
{
    const Shape *data = call->shape[0], *indices = call->shape[1];
    int64_t n_batch = args_int(call, "batch_dims", 0), lead = indices->n_dims - 1;
    if (!args_rank(call, 0, 1, DIMS_MAX, err) || !args_rank(call, 1, 1, DIMS_MAX, err))
        return false;
    if (n_batch < 0 || n_batch > lead || indices->dim[lead] < 1 ||
        indices->dim[lead] > data->n_dims - n_batch)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "%" PRId64 " batch dims and indices of %" PRId64 " do not fit %" PRId64
                          " dims",
                          n_batch, indices->dim[lead > 0 ? lead : 0], data->n_dims);
    for (int64_t d = 0; d < n_batch; d++)
        if (!args_same_size(call, 0, d, 1, d, err))
            return false;
    *pick = (Pick){(int)n_batch, (int)indices->dim[lead], (int)lead};
    return true;
}

static bool pick_shape(RuleCall *call, const Pick *pick, Error *err)
{
    const Shape *data = call->shape[0], *indices = call->shape[1];
    Shape *out = &call->out_shape[0];
    int rest = pick->n_batch + pick->n_picked;
    if (pick->n_lead + data->n_dims - rest > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    *out = (Shape){0};
    for (int d = 0; d < pick->n_lead; d++)
        out->dim[out->n_dims++] = indices->dim[d];
    for (int64_t d = rest; d < data->n_dims; d++)
        out->dim[out->n_dims++] = data->dim[d];
    return true;
}

/* Sets *dim to the leading dim of the indices whose coordinate is component c, if data dim c has
 * the same size; -1 when that size is 1. */
static bool is_coordinate(const RuleCall *call, const Pick *pick, int c, int *dim)
{
    const Value *indices = call->value[1];
    int64_t size = call->shape[0]->dim[c];
    Affine row;
    if (!indices || !value_component(indices, c, &row) || row.offset != 0)
        return false;
    *dim = -1;
    for (int d = 0; d < pick->n_lead; d++) {
        if (row.coef[d] == 0)
            continue;
        if (row.coef[d] != 1 || *dim >= 0)
            return false;
        *dim = d;
    }
    return *dim < 0 ? size == 1 : indices->shape.dim[*dim] == size;
}

/* Whether all picked dims are coordinates, each of another dim, as listed in dims[c]. */
static bool picks_coordinates(const RuleCall *call, const Pick *pick, int *dims)
{
    bool taken[DIMS_MAX] = {false};
    for (int c = 0; c < pick->n_picked; c++) {
        if (pick->n_batch > 0 || !is_coordinate(call, pick, c, &dims[c]))
            return false;
        if (dims[c] >= 0 && taken[dims[c]])
            return false;
        if (dims[c] >= 0)
            taken[dims[c]] = true;
    }
    return true;
}

static bool gather_nd(RuleCall *call, Error *err)
{
    const Shape *data = call->shape[0], *indices = call->shape[1];
    Pick pick = {0};
    int index[DIMS_MAX] = {0}, dims[DIMS_MAX] = {0};
    if (!read_pick(call, &pick, err) || !pick_shape(call, &pick, err))
        return false;
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;

    for (int d = 0; d < pick.n_lead; d++) {
        index[d] = rule_index_at(call, d < pick.n_batch ? 'b' : 'i', d, indices->dim[d]);
        rule_unit(&space->operand[1], d, index[d]);
        rule_unit(rule_output(space, 0), d, index[d]);
        if (d < pick.n_batch)
            rule_unit(&space->operand[0], d, index[d]);
    }
    int rest = pick.n_batch + pick.n_picked;
    for (int d = rest; d < data->n_dims; d++) {
        int element = rule_index_at(call, 'e', d, data->dim[d]);
        rule_unit(&space->operand[0], d, element);
        rule_unit(rule_output(space, 0), pick.n_lead + d - rest, element);
    }
    if (!picks_coordinates(call, &pick, dims))
        return true;
    for (int c = 0; c < pick.n_picked; c++)
        rule_unit(&space->operand[0], c, dims[c] < 0 ? -1 : index[dims[c]]);
    space->kernel = "project";
    space->early = true;
    return true;
}

/* ---- GatherElements ---- */

/* Coordinates along other dims than the axis are those of the data. If the data is longer than the
 * indices along a dim, shards of both would not start at the same coordinates, so that dim is
 * frozen. */
static bool gather_elements(RuleCall *call, Error *err)
{
    const Shape *data = call->shape[0], *indices = call->shape[1];
    int axis;
    if (!args_rank(call, 1, data->n_dims, data->n_dims, err) ||
        !args_axis(args_int(call, "axis", 0), data->n_dims, &axis, err))
        return false;
    OpSpace *space = rule_space_as(call, indices, call->dtype[0], err);
    if (!space)
        return false;

    for (int d = 0; d < data->n_dims; d++) {
        if (d != axis && indices->dim[d] > data->dim[d])
            return error_kind(err, ERROR_OUT_OF_RANGE,
                              "dim %d of its input 1 is %" PRId64
                              ", and of its input 0 only %" PRId64,
                              d, indices->dim[d], data->dim[d]);
        bool follows = d != axis && indices->dim[d] == data->dim[d];
        int index = rule_index_at(call, 'd', d, indices->dim[d]);
        if (follows)
            rule_unit(&space->operand[0], d, index);
        else if (index >= 0 && d != axis)
            space->index[index].role = ROLE_FROZEN;
        rule_unit(&space->operand[1], d, index);
        rule_unit(rule_output(space, 0), d, index);
    }
    return true;
}

#define FAMILY "index"

const Operator operators_index[] = {
    {OP("Gather", gather, 0, 2, 2), GRADIENT("0: GatherGrad(x1)"), HOST(gather), .reads = 1 << 1,
     .flags = OPERATOR_PICKS, ONNX("axis padding_idx", ". .i"), .kernel = "Gather",
     .examples = "5x6x4,3x7:i64 axis=1; 5x6,7:i64 axis=0; 5x6x4,scalar:i64 axis=1",
     NNSCALER("embedding(; 1,0) index_select(dim=axis)"), TORCH("embedding index_select(dim=axis)"),
     PADDLE("embedding(; 1,0) lookup_table_v2(; 1,0) c_embedding(;; axis:=0) gather index_select"),
     .paddle = "gather", .dtensor = "gather index",
     PADDLE_CALLS(
         "gather: 5x6x4,7:i64 axis=1 | axis=1; 5x6x4,scalar:i64 axis=1 | axis=1; index_select: "
         "5x6x4,7:i64 axis=0 | axis=0; embedding lookup_table_v2(1,0): 7x6,5x4:i64 axis=0 | "
         "padding_idx=-1 sparse=0; c_embedding(0,1): 7x6,5x4:i64 axis=0 | start_index=0"),
     TORCH_CALLS("select: 5x6x4,=2 axis=1 | dim=1 index=2; index_select: 5x6x4,7:i64 axis=1 | "
                 "dim=1; embedding: 7x6,5x4:i64 axis=0")},
    {OP("GatherND", gather_nd, 0, 2, 2), GRADIENT("0: move(x1)"), .reads = 1 << 1,
     ONNX("batch_dims", ". .i"), .kernel = "GatherND",
     .examples = "5x6x4,3x2:i64; 3x6x4,3x7x1:i64 batch_dims=1", PADDLE("gather_nd"),
     .dtensor = "gather_nd index", PADDLE_CALLS("gather_nd: 5x6x4,3x2:i64")},
    {OP("GatherElements", gather_elements, 0, 2, 2), GRADIENT("0: move(x1)"), ONNX("axis", ". .i"),
     .kernel = "GatherElements", .examples = "5x6,5x4:i64 axis=1",
     NNSCALER("gather(dim=axis; 0,2)"), TORCH("gather(dim=axis) take_along_dim(dim=axis)"),
     PADDLE("take_along_axis"), .dtensor = "along_first gather",
     PADDLE_CALLS("take_along_axis: 5x6,5x4:i64 axis=1 | axis=1; 5x6,4x6:i64 axis=1 | axis=1"),
     TORCH_CALLS("gather: 5x6x4,5x3x4:i64 axis=1 | dim=1; 5x6,5x1:i64 axis=1 | dim=1; 5x6,4x6:i64 "
                 "axis=1 | dim=1")},
    {0},
};
