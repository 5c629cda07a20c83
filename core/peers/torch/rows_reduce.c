/* rows_reduce.c - strategies of operators along some dims: sums, norms, scans, sorts, softmax.
 *
 * The other dims may always be sharded. Sharding a reduced dim leaves a partial result if
 * reductions of parts can be combined, and is not allowed otherwise.
 */
#include "core/layout/sharding.h"
#include "core/peers/torch/family.h"

#include <math.h>

static bool keeps_dims(const StrategyCall *call)
{
    return strategy_int(call, "keepdim", 0) != 0;
}

/* data: "sum". Values partial by the same reduction pass. */
static bool reduction(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err)
{
    ReduceOp reduce = REDUCE_NONE;
    unsigned dims;
    if (!strategy_need(call, 1, err) ||
        !strategy_dims(call, "dim", strategy_shape_of(call, 0)->n_dims, &dims, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    reduce_from_name(str_from(op->data), &reduce);
    strategy_rows_dims(call, dims, reduce, !keeps_dims(call), rows);
    strategy_rows_pass(rows, 1u << reduce);
    return true;
}

static bool is_even(const Shape *shape, const Placement *placements, const Mesh *mesh, int dim)
{
    int64_t n_parts = 1;
    for (int i = 0; i < mesh->n_axes; i++)
        if (placement_is_shard(&placements[i]) && placements[i].dim == dim &&
            (__builtin_mul_overflow(n_parts, mesh->axes[i].size, &n_parts) ||
             (placements[i].kind != PLACE_SHARD &&
              __builtin_mul_overflow(n_parts, placements[i].factor, &n_parts))))
            return false;
    return shape->dim[dim] % n_parts == 0;
}

/* An average of averages is the average only for equal parts. */
static bool averages_evenly(const StrategyCall *call, const StrategyRows *rows,
                            const Placement *const *inputs)
{
    (void)rows;
    const Shape *shape = strategy_shape_of(call, 0);
    unsigned dims = 0;
    strategy_dims(call, "dim", shape->n_dims, &dims, NULL);
    for (int d = 0; d < shape->n_dims; d++)
        if (dims & 1u << d && !is_even(shape, inputs[0], call->mesh, d))
            return false;
    return true;
}

static bool mean(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    rows->filter = averages_evenly;
    return reduction(call, op, rows, err);
}

/* Extremes of all elements, of one dim with their indices, or of two tensors. */
static bool extreme(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    const StrategyOp *other =
        strategy_find(op->data[1] == 'a' ? STR("max.other") : STR("min.other"), STRATEGY_TORCH);
    if (call->n_inputs == 2)
        return other->rows(call, other, rows, err);
    if (!op_attr(call->graph, call->graph_op, "dim"))
        return reduction(call, op, rows, err);
    const StrategyOp *along = strategy_find(STR("max.dim"), STRATEGY_TORCH);
    return along->rows(call, along, rows, err);
}

/* Reductions whose parts cannot be combined; data: the number of outputs. */
static bool closed_reduction(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                             Error *err)
{
    unsigned dims;
    if (!strategy_need(call, 1, err) ||
        !strategy_dims(call, "dim", strategy_shape_of(call, 0)->n_dims, &dims, err))
        return false;
    strategy_rows_begin(call, op->data[0] - '0', rows);
    strategy_rows_dims(call, dims, REDUCE_NONE, !keeps_dims(call), rows);
    return true;
}

/* The p of a norm; infinity may be a string. */
static double norm_of(const StrategyCall *call)
{
    const char *names[] = {"ord", "p"};
    for (int i = 0; i < 2; i++) {
        const Attr *attr = op_attr(call->graph, call->graph_op, names[i]);
        if (attr && attr->type == ATTR_STRING)
            return str_starts(attr->s, STR("-")) ? -INFINITY : INFINITY;
        if (attr)
            return strategy_number(call, names[i], 2);
    }
    return 2;
}

/* The partial of a norm: NormP(p), except for counts (p = 0) and extremes. */
static bool norm_cell(const StrategyCall *call, StrategyCell *out, Error *err)
{
    double p = norm_of(call);
    if (!isinf(p) && (p != floor(p) || fabs(p) > INT32_MAX))
        return error_kind(err, ERROR_UNSUPPORTED, "%s: p must be a whole number of 32 bits",
                          call->op);
    *out = cell_partial(isinf(p) ? (p > 0 ? REDUCE_MAX : REDUCE_MIN) : REDUCE_SUM);
    if (!isinf(p) && p != 0)
        out->placement = (Placement){.kind = PLACE_NORM_PARTIAL, .factor = (int64_t)p};
    return true;
}

static bool norm(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    (void)op;
    unsigned dims;
    StrategyCell part;
    if (!strategy_need(call, 1, err) || !norm_cell(call, &part, err) ||
        !strategy_dims(call, "dim", strategy_shape_of(call, 0)->n_dims, &dims, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    strategy_rows_dims(call, dims, REDUCE_SUM, !keeps_dims(call), rows);
    for (int r = 0; r < rows->row.n; r++)
        if (placement_is_partial(&rows->row.at[r][0].placement))
            rows->row.at[r][0] = part;
    if (isinf(norm_of(call)))
        strategy_rows_pass(rows, 1u << part.placement.reduce);
    return true;
}

/* The norm of a difference: both inputs are sharded alike, which leaves a partial. The replicated
 * row comes last. */
static bool distance(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    (void)op;
    StrategyCell part;
    const StrategyOp *pairs = strategy_find(STR("where"), STRATEGY_TORCH);
    if (!strategy_need(call, 2, err) || !norm_cell(call, &part, err) ||
        !pairs->rows(call, pairs, rows, err))
        return false;
    for (int r = 0; r < rows->row.n; r++)
        rows->row.at[r][0] = part;
    strategy_row(rows);
    return true;
}

/* The index of an extreme needs whole dims: a partial or sharded input must not be sharded in
 * another dim instead. */
static bool keeps_other_cuts(const StrategyCall *call, const StrategyRows *rows,
                             const Placement *const *inputs)
{
    (void)rows;
    unsigned dims = 0;
    strategy_dims(call, "dim", strategy_shape_of(call, 0)->n_dims, &dims, NULL);
    for (int i = 0; i < call->mesh->n_axes; i++) {
        const Placement *given = &call->input[0].placements[i];
        bool opens =
            placement_is_partial(given) || (placement_is_shard(given) && dims & 1u << given->dim);
        if (opens && inputs[0][i].kind != PLACE_REPLICATE)
            return false;
    }
    return true;
}

static bool arg_extreme(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                        Error *err)
{
    rows->filter = call->profile == STRATEGY_TORCH ? keeps_other_cuts : NULL;
    return closed_reduction(call, op, rows, err);
}

/* Works along one dim; data: the number of outputs, and `-` if they lack the dim. */
static bool along_dim(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err)
{
    int64_t dim;
    if (!strategy_need(call, 1, err) ||
        !strategy_dim(call, "dim", strategy_shape_of(call, 0)->n_dims, -1, &dim, err))
        return false;
    strategy_rows_begin(call, op->data[0] - '0', rows);
    bool removes = op->data[1] == '-' && !keeps_dims(call);
    strategy_rows_dims(call, 1u << dim, REDUCE_NONE, removes, rows);
    strategy_rows_text(rows, op->partial);
    return true;
}

static bool median(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    if (op_attr(call->graph, call->graph_op, "dim"))
        return along_dim(call, op, rows, err);
    strategy_rows_begin(call, 1, rows);
    return true;
}

/* Counts of parts add up if all ranks have the same bins. */
static bool histogram(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err)
{
    (void)op;
    if (!strategy_need(call, 1, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    if (strategy_number(call, "max", 0) != 0)
        strategy_rows_dims(call, ~0u, REDUCE_SUM, true, rows);
    return true;
}

const StrategyOp ops_reduce[] = {
    {"sum nansum linalg__powsum _foreach_powsum", reduction, "sum", NULL, OP_UNEVEN, NULL},
    {"prod", reduction, "prod", NULL, OP_UNEVEN, NULL},
    {"amax _foreach_max", reduction, "max", NULL, OP_UNEVEN, NULL},
    {"amin", reduction, "min", NULL, OP_UNEVEN, NULL},
    {"mean", mean, "avg", NULL, 0, NULL},
    {"max.dim min.dim mode kthvalue", along_dim, "2-", NULL, OP_UNEVEN, NULL},
    {"median nanmedian", median, "2-", NULL, OP_UNEVEN, NULL},
    {"max", extreme, "max", NULL, OP_UNEVEN, NULL},
    {"min", extreme, "min", NULL, OP_UNEVEN, NULL},
    {"all any std var logsumexp", closed_reduction, "1", NULL, OP_UNEVEN, NULL},
    {"var_mean", closed_reduction, "2", NULL, OP_UNEVEN, NULL},
    {"argmax argmin", arg_extreme, "1", NULL, OP_UNEVEN, NULL},
    {"linalg_vector_norm norm _foreach_norm", norm, NULL, NULL, OP_UNEVEN, NULL},
    {"dist", distance, NULL, NULL, 0, NULL},
    {"cumsum", along_dim, "1", "P(sum)->P(sum); P(avg)->P(avg)", OP_UNEVEN, NULL},
    {"cumprod logcumsumexp", along_dim, "1", NULL, OP_UNEVEN, NULL},
    {"cummax cummin sort topk", along_dim, "2", NULL, OP_UNEVEN, NULL},
    {"softmax _softmax log_softmax _log_softmax _safe_softmax _softmax_backward_data "
     "_log_softmax_backward_data linalg_cross",
     along_dim, "1", NULL, OP_UNEVEN, NULL},
    {"histc", histogram, NULL, NULL, OP_UNEVEN, NULL},
    {0},
};
