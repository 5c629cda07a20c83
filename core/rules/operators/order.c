/* order.c - operators of torch and Paddle that order, count or fold elements and that no ONNX
 * operator expresses.
 *
 *     Sort           d0 d^ -> d0 d^, d0 d^
 *     MaxWithIndex   d0 d^ -> d0, d0
 *     ReduceAny      d0 d1+ -> d0  d1:any
 *     Bucketize      d0, b+ -> d0            each shard of the borders counts those below
 *
 * If the size of an output depends on data, it is -1.
 */
#include "core/rules/operators/dims.h"

#include <inttypes.h>

/* ---- order ---- */

static bool sort(RuleCall *call, Error *err)
{
    for (int o = 0; o < call->n_outputs; o++)
        call->out_dtype[o] = o == 0 ? call->dtype[0] : DT_I64;
    return dims_along(call, "axis", -1, DIM_FROZEN, err);
}

static bool arg_sort(RuleCall *call, Error *err)
{
    call->out_dtype[0] = DT_I64;
    return dims_along(call, "axis", -1, DIM_FROZEN, err);
}

static bool log_cum_sum_exp(RuleCall *call, Error *err)
{
    call->out_dtype[0] = call->dtype[0];
    return dims_cumulate(call, err);
}

/* ---- folds ---- */

static bool fold(RuleCall *call, Dtype dtype, IndexRole role, ReduceOp reduce, Error *err)
{
    const Shape *from = call->shape[0];
    bool folded[DIMS_MAX], keep = args_int(call, "keepdims", 0) != 0;
    if (!dims_marked(call, "axes", folded, err))
        return false;
    Shape out = dims_without(from, folded, keep);
    dims_answer(call, &out, dtype);
    OpSpace *space = rule_space(call, err);
    for (int64_t d = 0, at = 0; space && d < from->n_dims; d++) {
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        for (int o = 0; o < call->n_outputs && !folded[d]; o++)
            rule_unit(rule_output(space, o), at, index);
        if (folded[d] && index >= 0) {
            space->index[index].role = role;
            space->index[index].reduce = reduce;
        }
        at += keep || !folded[d];
    }
    return space;
}

static bool fold_all(RuleCall *call, Error *err)
{
    return fold(call, DT_BOOL, ROLE_REDUCE, REDUCE_ALL, err);
}

static bool fold_any(RuleCall *call, Error *err)
{
    return fold(call, DT_BOOL, ROLE_REDUCE, REDUCE_ANY, err);
}

static bool fold_frozen(RuleCall *call, Error *err)
{
    return fold(call, call->dtype[0], ROLE_FROZEN, REDUCE_NONE, err);
}

/* One element along an axis, and its index; over all elements if no axis is given. */
static bool pick_one(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    bool gone[DIMS_MAX] = {false}, keep = args_int(call, "keepdims", 0) != 0;
    int axis;
    if (!args_attr(call, "axis"))
        return fold_frozen(call, err);
    if (!args_axis(args_int(call, "axis", -1), from->n_dims, &axis, err))
        return false;
    gone[axis] = true;
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = dims_without(from, gone, keep);
        call->out_dtype[o] = o == 0 ? call->dtype[0] : DT_I64;
    }
    if (!dims_beside(call, axis, keep, err))
        return false;
    call->space->operand[0].linear = LINEAR_NO;
    rule_unit(&call->space->operand[0], axis,
              rule_index(call->space, "d", from->dim[axis], ROLE_FROZEN, REDUCE_NONE));
    return true;
}

/* Sums of absolute values, and counts, can be summed over shards; roots cannot. */
static bool vector_norm(RuleCall *call, Error *err)
{
    double order = args_float(call, "ord", 2);
    bool counts = order >= 0 && order <= 0, adds = order >= 1 && order <= 1;
    return counts || adds ? fold(call, call->dtype[0], ROLE_REDUCE, REDUCE_SUM, err)
                          : fold_frozen(call, err);
}

/* The number of elements: each shard counts its own. */
static bool count_elements(RuleCall *call, Error *err)
{
    return fold(call, DT_I64, ROLE_REDUCE, REDUCE_SUM, err);
}

/* If no range is given it is from the least to the largest element, which depends on all of
 * them. */
static bool histogram(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t n_bins = args_int(call, "bins", 100);
    double lo = args_float(call, "min", 0), hi = args_float(call, "max", 0);
    DimUse use[DIMS_MAX];
    if (n_bins < 0)
        return error_kind(err, ERROR_OUT_OF_RANGE, "it has %" PRId64 " bins", n_bins);
    for (int64_t d = 0; d < from->n_dims; d++)
        use[d] = lo < hi ? DIM_SUM : DIM_FROZEN;
    call->out_shape[0] = (Shape){.n_dims = 1, .dim = {n_bins}};
    call->out_dtype[0] = call->dtype[0];
    OpSpace *space = dims_space(call, from, use, NULL, err);
    if (space)
        row_whole(&rule_output(space, 0)->projection.row[0], n_bins);
    return space;
}

/* How many borders are below each element of input `values`: summed over shards of the borders. */
static bool count_below(RuleCall *call, int values, int borders, Error *err)
{
    const Shape *from = call->shape[values], *sorted = call->shape[borders];
    int64_t lead = sorted->n_dims - 1;
    if (!args_rank(call, borders, 1, DIMS_MAX, err) ||
        (lead > 0 && !args_rank(call, borders, from->n_dims, from->n_dims, err)))
        return false;
    call->out_shape[0] = *from;
    call->out_dtype[0] = DT_I64;
    OpSpace *space = rule_space(call, err);
    for (int64_t d = 0; space && d < from->n_dims; d++) {
        int index = rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[values], d, index);
        rule_unit(rule_output(space, 0), d, index);
        if (d >= lead)
            continue;
        if (!args_same_size(call, borders, d, values, d, err))
            return false;
        rule_unit(&space->operand[borders], d, index);
    }
    if (space)
        rule_unit(&space->operand[borders], lead,
                  rule_index(space, "b", sorted->dim[lead], ROLE_REDUCE, REDUCE_SUM));
    return space;
}

static bool bucketize(RuleCall *call, Error *err)
{
    return count_below(call, 0, 1, err);
}

static bool search_sorted(RuleCall *call, Error *err)
{
    return count_below(call, 1, 0, err);
}

/* ---- sizes that are data ---- */

static bool counted_by_run(RuleCall *call, Error *err)
{
    for (int o = 0; o < call->n_outputs; o++) {
        call->out_shape[o] = (Shape){.n_dims = 1, .dim = {-1}};
        call->out_dtype[o] = o == 0 ? call->dtype[0] : DT_I64;
    }
    return rule_space(call, err);
}

/* One row per element found, one column per dim; or each column as a separate output. */
static bool non_zero_rows(RuleCall *call, Error *err)
{
    Shape table = {.n_dims = 2, .dim = {-1, call->shape[0]->n_dims}};
    Shape column = {.n_dims = 1, .dim = {-1}};
    dims_answer(call, call->n_outputs > 1 ? &column : &table, DT_I64);
    return rule_space(call, err);
}

/* torch's outputs: the unique elements, the index of each element among them, their counts. */
static bool unique2(RuleCall *call, Error *err)
{
    if (!counted_by_run(call, err))
        return false;
    if (call->n_outputs > 1)
        call->out_shape[1] = *call->shape[0];
    return rule_space(call, err);
}

#define FAMILY "order"

const Operator operators_order[] = {
    {OP("Sort", sort, 16, 1, 1), .outputs_max = 2, OWN("axis descending stable", ""),
     .examples = "5x6x4 axis=1 -> 2", NNSCALER("sort(dim=axis)"),
     TORCH("sort(dim=axis) msort(;; axis:=0)"), PADDLE("argsort")},
    {OP("ArgSort", arg_sort, 16, 1, 1), OWN("axis descending stable", ""),
     .examples = "5x6x4 axis=1", TORCH("argsort(dim=axis)")},
    {OP("LogCumSumExp", log_cum_sum_exp, 8, 1, 1), OWN("axis flatten", ".f"),
     .examples = "5x6x4 axis=1", TORCH("logcumsumexp(dim=axis;; axis:=-1)"),
     PADDLE("logcumsumexp(axis=axis;; axis:=-1)")},
    {OP("CumMax", sort, 1, 1, 1), .outputs_max = 2, OWN("axis", ""),
     .examples = "5x6x4 axis=1 -> 2", TORCH("cummax(dim=axis)"), PADDLE("cummax")},
    {OP("CumMin", sort, 1, 1, 1), .outputs_max = 2, OWN("axis", ""),
     .examples = "5x6x4 axis=1 -> 2", TORCH("cummin(dim=axis)"), PADDLE("cummin")},
    {OP("MaxWithIndex", pick_one, 1, 1, 1), .outputs_max = 2, OWN("axes axis keepdims", ""),
     .examples = "5x6x4 axis=1 -> 2; 5x6x4", NNSCALER("max(dim=axis, keepdim=keepdims)"),
     TORCH("max.dim(dim=axis, keepdim=keepdims)")},
    {OP("MinWithIndex", pick_one, 1, 1, 1), .outputs_max = 2, OWN("axes axis keepdims", ""),
     .examples = "5x6x4 axis=1 -> 2", NNSCALER("min(dim=axis, keepdim=keepdims)"),
     TORCH("min.dim(dim=axis, keepdim=keepdims)")},
    {OP("KthValue", pick_one, 16, 1, 1), .outputs_max = 2, OWN("axes axis k keepdims", ""),
     .examples = "5x6x4 axis=1 -> 2", TORCH("kthvalue(dim=axis, keepdim=keepdims)"),
     PADDLE("kthvalue(keepdim=keepdims)")},
    {OP("MedianWithIndex", pick_one, 16, 1, 1), .outputs_max = 2, OWN("axes axis keepdims", ""),
     .examples = "5x6x4 axis=1 -> 2; 5x6x4 axis=1 keepdims=1 -> 2",
     TORCH("median.dim(dim=axis, keepdim=keepdims) nanmedian.dim(dim=axis, keepdim=keepdims)")},
    {OP("ModeWithIndex", pick_one, 16, 1, 1), .outputs_max = 2, OWN("axes axis keepdims", ""),
     .examples = "5x6x4 axis=1 -> 2", TORCH("mode(dim=axis, keepdim=keepdims)"),
     PADDLE("mode(keepdim=keepdims)")},
    {OP("ReduceAll", fold_all, 1, 1, 1), OWN("axes keepdims", ""),
     .examples = "5x6x4:bool axes=[1]", TORCH("all(dim=axes, keepdim=keepdims)"),
     PADDLE("all(axis=axes, keepdim=keepdims)")},
    {OP("ReduceAny", fold_any, 1, 1, 1), OWN("axes keepdims", ""),
     .examples = "5x6x4:bool axes=[1]", NNSCALER("any(dim=axes, keepdim=keepdims)"),
     TORCH("any(dim=axes, keepdim=keepdims)"), PADDLE("any(axis=axes, keepdim=keepdims)")},
    {OP("Var", fold_frozen, 3, 1, 1), OWN("axes correction keepdims", ""),
     .examples = "5x6x4 axes=[0,2] keepdims=1", NNSCALER("var(dim=axes, keepdim=keepdims)"),
     TORCH("var(dim=axes, keepdim=keepdims)")},
    {OP("Std", fold_frozen, 3, 1, 1), OWN("axes correction keepdims", ""),
     .examples = "5x6x4 axes=[0,2] keepdims=1", NNSCALER("std(dim=axes, keepdim=keepdims)"),
     TORCH("std(dim=axes, keepdim=keepdims)")},
    {OP("VarMean", fold_frozen, 3, 1, 1), .outputs_max = 2, OWN("axes correction keepdims", ""),
     .examples = "5x6x4 axes=[1] -> 2", TORCH("var_mean(dim=axes, keepdim=keepdims)")},
    {OP("VectorNorm", vector_norm, 2, 1, 1), OWN("axes keepdims ord", ""),
     .examples = "5x6x4 axes=[1]; 5x6x4 axes=[1] ord=1.0",
     NNSCALER("norm(dim=axes, p=ord, keepdim=keepdims)"),
     TORCH(
         "linalg_vector_norm(dim=axes, keepdim=keepdims) norm(dim=axes, p=ord, keepdim=keepdims)"),
     PADDLE("p_norm(axis=axes, porder=ord, keepdim=keepdims)")},
    {OP("NumElements", count_elements, 0, 1, 1), OWN("axes keepdims", ""), .examples = "5x6",
     PADDLE("numel")},
    {OP("Histogram", histogram, 4, 1, 1), OWN("bins max min", ""),
     .examples = "5x6 bins=7; 5x6 bins=7 min=0.0 max=1.0", TORCH("histc")},
    {OP("Bucketize", bucketize, 8, 2, 2), OWN("out_int32 right", ""), .examples = "5x6,7",
     TORCH("bucketize"), PADDLE("bucketize")},
    {OP("SearchSorted", search_sorted, 8, 2, 2), OWN("out_int32 right", ""),
     .examples = "7,5x6; 5x7,5x6", TORCH("searchsorted"), PADDLE("searchsorted")},
    {OP("BinCount", counted_by_run, 1, 1, 1), OWN("minlength", ".i"), .examples = "6:i64",
     TORCH("bincount"), PADDLE("bincount")},
    {OP("MaskedSelect", counted_by_run, 1, 2, 2), OWN("", ". .b"), .examples = "5x6,5x6:bool",
     TORCH("masked_select"), PADDLE("masked_select")},
    {OP("NonZeroRows", non_zero_rows, 1, 1, 1), .outputs_max = 10, OWN("as_tuple", ""),
     .examples = "5x6", NNSCALER("nonzero"), TORCH("nonzero argwhere"), PADDLE("nonzero")},
    {OP("Unique2", unique2, 16, 1, 1), .outputs_max = 3,
     OWN("return_counts return_inverse sorted", ""), .examples = "5x6 -> 3",
     TORCH("unique2 _unique2 unique_dim")},
    {0},
};
