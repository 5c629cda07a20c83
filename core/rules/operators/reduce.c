/* reduce.c - operators that reduce dims, and scans along one.
 *
 * Kept dims are index dims d0, d1, .. by their number in the input; a single reduced dim is d,
 * several are numbered too. A reduction whose partial results can be combined (sum, max, min,
 * product) is a REDUCE dim: sharding it leaves the output partial. Mean is a sum divided by the
 * global count, so that uneven parts stay right. Norms, logs of sums, arg max and cumulative sums
 * do not combine that way: their dim is frozen, as is the mean of integers, which rounds.
 */
#include "core/rules/operators/dims.h"
#include "core/rules/at_load.h"

/* The index dim of a reduced dim: "d", or "d2" if several dims are reduced. */
static int folded_index(RuleCall *call, int64_t dim, bool only, IndexRole role, ReduceOp reduce)
{
    int64_t size = call->shape[0]->dim[dim];
    int index = -1;
    if (only)
        return rule_index(call->space, "d", size, role, reduce);
    index = rule_index_at(call, 'd', dim, size);
    if (index >= 0) {
        call->space->index[index].role = role;
        call->space->index[index].reduce = reduce;
    }
    return index;
}

/* Rows of a reduction: input 0 has all index dims, output 0 the kept ones; a reduced dim that stays
 * in the output has size 1 there. */
static bool fold(RuleCall *call, const bool *folded, IndexRole role, ReduceOp reduce, Error *err)
{
    const Shape *from = call->shape[0];
    OpSpace *space = rule_space(call, err);
    if (!space)
        return false;
    int n_folded = 0;
    for (int64_t d = 0; d < from->n_dims; d++)
        n_folded += folded[d];
    bool keep = call->out_shape[0].n_dims == from->n_dims;
    for (int64_t d = 0, at = 0; d < from->n_dims; d++) {
        int index = folded[d] ? folded_index(call, d, n_folded == 1, role, reduce)
                              : rule_index_at(call, 'd', d, from->dim[d]);
        rule_unit(&space->operand[0], d, index);
        if (!folded[d])
            rule_unit(rule_output(space, 0), at, index);
        at += keep || !folded[d];
    }
    return true;
}

static bool reduce(RuleCall *call, IndexRole role, ReduceOp how, Error *err)
{
    bool folded[DIMS_MAX];
    if (!args_reduce(call, folded, &call->out_shape[0], err))
        return false;
    call->out_dtype[0] = call->dtype[0];
    return fold(call, folded, role, how, err);
}

static bool reduce_sum(RuleCall *call, Error *err)
{
    return reduce(call, ROLE_REDUCE, REDUCE_SUM, err);
}

static bool reduce_mean(RuleCall *call, Error *err)
{
    return dtype_is_float(call->dtype[0]) ? reduce(call, ROLE_REDUCE, REDUCE_SUM, err)
                                          : reduce(call, ROLE_FROZEN, REDUCE_NONE, err);
}

static bool reduce_max(RuleCall *call, Error *err)
{
    return reduce(call, ROLE_REDUCE, REDUCE_MAX, err);
}

static bool reduce_min(RuleCall *call, Error *err)
{
    return reduce(call, ROLE_REDUCE, REDUCE_MIN, err);
}

static bool reduce_prod(RuleCall *call, Error *err)
{
    return reduce(call, ROLE_REDUCE, REDUCE_PROD, err);
}

static bool reduce_frozen(RuleCall *call, Error *err)
{
    return reduce(call, ROLE_FROZEN, REDUCE_NONE, err);
}

/* The place of the largest element along an axis, or among all elements. */
static bool arg_most(RuleCall *call, Error *err)
{
    const Shape *from = call->shape[0];
    bool folded[DIMS_MAX] = {false}, keep = args_int(call, "keepdims", 1) != 0;
    bool all = args_all_as_one_row(call) || from->n_dims == 0;
    int axis = 0;
    if (!all && !args_axis(args_int(call, "axis", 0), from->n_dims, &axis, err))
        return false;
    for (int d = 0; d < from->n_dims; d++)
        folded[d] = all || d == axis;
    call->out_shape[0] = dims_without(from, folded, keep);
    call->out_dtype[0] = DT_I64;
    return all ? rule_space(call, err) != NULL : fold(call, folded, ROLE_FROZEN, REDUCE_NONE, err);
}

static bool cumulate(RuleCall *call, Error *err)
{
    call->out_dtype[0] = call->dtype[0];
    return dims_cumulate(call, err);
}

/* Results that leave out their own element start with the one before it, or behind it. */
static void leave_out_own(OpSpace *space, int along)
{
    Projection *read = &space->operand[0].projection;
    for (int d = 0; d < read->n_dims; d++)
        if (read->row[d].coef[along] != 0)
            read->row[d].offset = -space->index[along].carries;
    read->clip = true;
}

/* Parts of the dim of a running sum are summed by themselves, and what those before a part add up
 * to is added to it. Likewise for products, whose index dim has the reduction. */
static void carry(RuleCall *call, ReduceOp reduce)
{
    OpSpace *space = call->space;
    int frozen = -1, n = 0;
    for (int j = 0; j < space->n_index; j++)
        if (space->index[j].role == ROLE_FROZEN) {
            frozen = j;
            n++;
        }
    if (n != 1)
        return;
    space->index[frozen].carries = args_int(call, "reverse", 0) != 0 ? -1 : 1;
    space->index[frozen].reduce = reduce;
    if (args_int(call, "exclusive", 0) != 0)
        leave_out_own(space, frozen);
}

/* A running sum is linear in its input. */
static bool cumulate_sum(RuleCall *call, Error *err)
{
    if (!cumulate(call, err))
        return false;
    call->space->operand[0].linear = LINEAR_ALONE;
    carry(call, REDUCE_NONE);
    return true;
}

static bool cumulate_product(RuleCall *call, Error *err)
{
    if (!cumulate(call, err))
        return false;
    carry(call, REDUCE_PROD);
    return true;
}

#define FAMILY "reduce"
#define FOLD(name, rule, flops, types)                                                             \
    OP(name, rule, flops, 1, 2), .reads = 1 << 1, RANK(REDUCED, 1), .kernel = name,                \
                                 ONNX("axes keepdims noop_with_empty_axes", types)
#define PADDLE_FOLDS(names, more)                                                                  \
    PADDLE_CALLS(names ": 5x6x4,=[1] keepdims=0 | axis=[1] keepdim=0 keep_dim=0; "                 \
                       "5x6x4,=[0,2] keepdims=1 | axis=[0,2] keepdim=1 keep_dim=1" more)
#define TORCH_FOLDS(names, more)                                                                   \
    TORCH_CALLS(names ": 5x6x4,=[1] keepdims=0 | dim=[1] keepdim=0; "                              \
                      "5x6x4,=[0,2] keepdims=1 | dim=[0,2] keepdim=1" more)

/* Without an axis, over all elements. */
#define ALONG_OR_ALL(axis, keepdims)                                                               \
    "(" axis "=axis, " keepdims "=keepdims;; keepdims:=0, axis:=[])"

const Operator operators_reduce[] = {
    {FOLD("ReduceSum", reduce_sum, 1, ".fi .i"), GRADIENT("0: contract"), HOST(reduce_sum),
     .examples = "5x6x4,=[1] keepdims=0; 5x6x4,=[0,2] keepdims=1; 5x6:i64 keepdims=0",
     NNSCALER("sum(dim=axes, keepdim=keepdims;; keepdims:=0)"),
     TORCH("sum(dim=axes, keepdim=keepdims;; keepdims:=0) nansum(dim=axes, keepdim=keepdims;; "
           "keepdims:=0)"),
     PADDLE(
         "sum(axis=axes, keepdim=keepdims;; keepdims:=0) reduce_sum(axis=axes, keepdim=keepdims;; "
         "keepdims:=0) reduce_base(axis=axes, keepdim=keepdims;; keepdims:=0)"),
     .paddle = "reduction", .dtensor = "reduce sum",
     PADDLE_FOLDS("sum reduce_sum reduce_base", "; sum reduce_sum: 5x6 keepdims=0"),
     TORCH_FOLDS("sum nansum", "; sum: 4x6 keepdims=0")},
    {FOLD("ReduceMean", reduce_mean, 1, ".fi .i"), GRADIENT("0: contract *mean"),
     .examples = "5x6x4,=[1] keepdims=0; 5x6x4,=[0,2] keepdims=1; 5x6:i64 keepdims=0",
     NNSCALER("mean(dim=axes, keepdim=keepdims;; keepdims:=0)"),
     TORCH("mean(dim=axes, keepdim=keepdims;; keepdims:=0)"),
     PADDLE("mean(axis=axes, keepdim=keepdims;; keepdims:=0) mean_all(;; keepdims:=0)"),
     .paddle = "reduction", .dtensor = "reduce mean",
     PADDLE_FOLDS("mean", "; mean mean_all: 5x6 keepdims=0"),
     TORCH_FOLDS("mean", "; 4x6 keepdims=0")},
    {FOLD("ReduceMax", reduce_max, 1, ". .i"), GRADIENT("0: ReduceMaxBackward(x0 y0)"),
     HOST(reduce_max),
     .examples = "5x6x4,=[1] keepdims=0; 5x6x4,=[0,2] keepdims=1; 5x6:i64 keepdims=0",
     TORCH("amax(dim=axes, keepdim=keepdims;; keepdims:=0) max(dim=axes, keepdim=keepdims;; "
           "keepdims:=0)"),
     PADDLE("max(axis=axes, keepdim=keepdims;; keepdims:=0) reduce_max(axis=axes, "
            "keepdim=keepdims;; keepdims:=0) amax(axis=axes, keepdim=keepdims;; keepdims:=0)"),
     .paddle = "reduction", .dtensor = "reduce amax",
     PADDLE_FOLDS("max reduce_max amax",
                  "; max: 5x6 keepdims=0; any: 5x6x4:bool,=[1] keepdims=0 | axis=[1] keepdim=0"),
     TORCH_FOLDS("amax",
                 "; max: 4x6 keepdims=0; any: 5x6x4:bool,=[1] keepdims=0 | dim=[1] keepdim=0")},
    {FOLD("ReduceMin", reduce_min, 1, ". .i"), GRADIENT("0: ReduceMaxBackward(x0 y0)"),
     HOST(reduce_min), .examples = "5x6x4,=[1] keepdims=0; 5x6x4,=[0,2] keepdims=1",
     TORCH("amin(dim=axes, keepdim=keepdims;; keepdims:=0) min(dim=axes, keepdim=keepdims;; "
           "keepdims:=0)"),
     PADDLE("min(axis=axes, keepdim=keepdims;; keepdims:=0) reduce_min(axis=axes, "
            "keepdim=keepdims;; keepdims:=0) amin(axis=axes, keepdim=keepdims;; keepdims:=0)"),
     .paddle = "reduction", .dtensor = "reduce amin",
     PADDLE_FOLDS("min amin",
                  "; min: 5x6 keepdims=0; all: 5x6x4:bool,=[1] keepdims=0 | axis=[1] keepdim=0"),
     TORCH_FOLDS("amin",
                 "; min: 4x6 keepdims=0; all: 5x6x4:bool,=[1] keepdims=0 | dim=[1] keepdim=0")},
    {FOLD("ReduceProd", reduce_prod, 1, ".fi .i"), GRADIENT("0: ReduceProdBackward(x0 y0)"),
     HOST(reduce_prod), .examples = "5x6x4,=[1] keepdims=0; 5x6x4,=[0,2] keepdims=1",
     NNSCALER("prod(dim=axes, keepdim=keepdims;; keepdims:=0)"),
     TORCH("prod(dim=axes, keepdim=keepdims;; keepdims:=0)"),
     PADDLE("prod(axis=axes, keepdim=keepdims;; keepdims:=0) reduce_prod(axis=axes, "
            "keepdim=keepdims;; keepdims:=0)"),
     .paddle = "reduction", .dtensor = "reduce prod", PADDLE_FOLDS("prod", ""),
     TORCH_FOLDS("prod", "; 4x6 keepdims=0")},
    {FOLD("ReduceL1", reduce_sum, 2, ".fi .i"), GRADIENT("0: local(x0)"),
     .examples = "5x6x4,=[1] keepdims=0"},
    {FOLD("ReduceSumSquare", reduce_sum, 2, ".fi .i"), GRADIENT("0: local(x0)"),
     .examples = "5x6x4,=[1] keepdims=0",
     PADDLE("squared_l2_norm(axis=axes, keepdim=keepdims;; keepdims:=0)"),
     PADDLE_CALLS("squared_l2_norm: 6,=[0] keepdims=1 | axis=[0] keepdim=1 keep_dim=1")},
    {FOLD("ReduceL2", reduce_frozen, 2, ".fi .i"), GRADIENT("0: local(x0 y0)"),
     .examples = "5x6x4,=[1] keepdims=0",
     TORCH("frobenius_norm(dim=axes, keepdim=keepdims;; keepdims:=0)"),
     PADDLE("frobenius_norm(axis=axes, keepdim=keepdims;; keepdims:=0)"), .paddle = "reduction",
     .dtensor = "reduce linalg_vector_norm", PADDLE_FOLDS("frobenius_norm", ""),
     TORCH_CALLS("linalg_vector_norm: 5x6x4,=[1] keepdims=0 | dim=[1] keepdim=0")},
    {FOLD("ReduceLogSum", reduce_frozen, 1, ".fi .i"), GRADIENT("0: local(y0)"),
     .examples = "5x6x4,=[1] keepdims=0"},
    {FOLD("ReduceLogSumExp", reduce_frozen, 5, ".fi .i"), GRADIENT("0: local(x0 y0)"),
     .examples = "5x6x4,=[1] keepdims=0",
     NNSCALER("logsumexp(dim=axes, keepdim=keepdims;; keepdims:=0)"),
     TORCH("logsumexp(dim=axes, keepdim=keepdims;; keepdims:=0)"),
     PADDLE("logsumexp(axis=axes, keepdim=keepdims;; keepdims:=0)"), .paddle = "reduction",
     .dtensor = "reduce logsumexp", PADDLE_FOLDS("logsumexp", ""), TORCH_FOLDS("logsumexp", "")},
    {OP("ArgMax", arg_most, 1, 1, 1), .flags = OPERATOR_CHOOSES, GRADIENT("all: zero"),
     ONNX("axis flatten keepdims select_last_index", ".fi"), .kernel = "ArgMax",
     NNSCALER("argmax" ALONG_OR_ALL("dim", "keepdim")),
     TORCH("argmax" ALONG_OR_ALL("dim", "keepdim")),
     PADDLE("argmax" ALONG_OR_ALL("axis", "keepdims")),
     .examples = "5x6x4 axis=1; 5x6x4 axis=2 keepdims=0; 5x6x4 flatten=1", .paddle = "arg",
     .dtensor = "along_first argmax",
     PADDLE_CALLS("argmax: 5x6x4 axis=1 keepdims=0 | axis=1 keepdims=0 flatten=0"),
     TORCH_CALLS("argmax: 5x6x4 axis=1 keepdims=0 | dim=1 keepdim=0")},
    {OP("ArgMin", arg_most, 1, 1, 1), GRADIENT("all: zero"),
     ONNX("axis flatten keepdims select_last_index", ".fi"), .kernel = "ArgMin",
     NNSCALER("argmin" ALONG_OR_ALL("dim", "keepdim")),
     TORCH("argmin" ALONG_OR_ALL("dim", "keepdim")),
     PADDLE("argmin" ALONG_OR_ALL("axis", "keepdims")), .examples = "5x6x4 axis=1", .paddle = "arg",
     .dtensor = "along_first argmin",
     PADDLE_CALLS("argmin: 5x6x4 axis=2 keepdims=1 | axis=2 keepdims=1 flatten=0"),
     TORCH_CALLS("argmin: 5x6x4 axis=2 keepdims=1 | dim=2 keepdim=1")},
    {OP("CumSum", cumulate_sum, 1, 1, 2), GRADIENT("0: CumSumBackward(x1)"), .reads = 1 << 1,
     ONNX("axis exclusive flatten reverse", ".fi .i"), .kernel = "CumSum",
     .examples = "5x6x4,=1; 5x6x4 axis=1; 5x6 flatten=1; 5x6x4,=1 exclusive=1; 5x6x4,=1 "
                 "exclusive=1 reverse=1",
     NNSCALER("cumsum(dim=axis;; axis:=-1)"), TORCH("cumsum(dim=axis;; axis:=-1)"),
     PADDLE("cumsum(axis=axis;; axis:=-1)"), .dtensor = "scan cumsum",
     PADDLE_CALLS("cumsum: 5x6x4,=1 | axis=1 flatten=0 exclusive=0 reverse=0"),
     TORCH_CALLS("cumsum: 5x6x4,=1 | dim=1")},
    {OP("CumProd", cumulate_product, 1, 1, 2), GRADIENT("0: CumProdBackward(x0 x1 y0)"),
     .reads = 1 << 1, ONNX("axis exclusive flatten reverse", ".fi .i"), .kernel = "CumProd",
     .examples = "5x6x4,=1; 5x6x4 axis=1; 5x6x4,=1 exclusive=1",
     TORCH("cumprod(dim=axis;; axis:=-1)"), PADDLE("cumprod(dim=axis;; axis:=-1)"),
     .dtensor = "scan cumprod", TORCH_CALLS("cumprod: 5x6x4,=1 | dim=1")},
    {0},
};
