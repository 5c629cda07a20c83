/* vescale.c - strategies of veScale that differ from torch's.
 *
 * veScale has a shard in equal blocks, IS(d,k), which cat produces and split consumes; it treats
 * partial inputs of random operators and `empty_like` differently, and has its own errors for
 * attention. Its topk shards the sorted dim like any other, which gives wrong values; this is kept.
 */
#include "core/peers/torch/family.h"

static const StrategyOp *torch_op(const char *name)
{
    return strategy_find(str_from(name), STRATEGY_TORCH);
}

static bool as_torch(const StrategyCall *call, const char *name, StrategyRows *rows, Error *err)
{
    const StrategyOp *op = torch_op(name);
    return op->rows(call, op, rows, err);
}

/* data: the torch operator with the same rows; partial: further rows. */
static bool like_torch(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                       Error *err)
{
    if (!as_torch(call, op->data, rows, err))
        return false;
    strategy_rows_text(rows, op->partial);
    return true;
}

/* Operators that depend on values need whole tensors. data: the number of outputs. */
static bool whole(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    strategy_rows_begin(call, op->data[0] - '0', rows);
    return strategy_need(call, 1, err);
}

/* ---- blocks ---- */

static StrategyCell cell_blocks(int64_t dim, int64_t blocks)
{
    if (blocks == 1)
        return cell_plain_shard(dim);
    return (StrategyCell){CELL_FIXED, {PLACE_INTERLEAVED, (int)dim, blocks, REDUCE_NONE}};
}

/* The number of blocks of input i along dim: 1 for a plain shard, 0 for none. */
static int64_t n_blocks(const StrategyCall *call, int input, int64_t dim)
{
    for (int axis = 0; axis < call->mesh->n_axes; axis++) {
        const Placement *placement = &call->input[input].placements[axis];
        if (placement_is_shard(placement) && placement->dim == dim)
            return placement->kind == PLACE_SHARD ? 1 : placement->factor;
    }
    return 0;
}

/* Concatenating shards gives one block for each block of each tensor. */
static bool cat(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    (void)op;
    int64_t dim;
    if (!as_torch(call, "cat", rows, err) ||
        !strategy_dim(call, "dim", strategy_shape_of(call, 0)->n_dims, 0, &dim, err))
        return false;
    int64_t blocks = n_blocks(call, 0, dim);
    bool alike = blocks > 0;
    for (int i = 1; i < call->n_inputs; i++)
        alike = alike && n_blocks(call, i, dim) == blocks &&
                shape_equal(strategy_shape_of(call, 0), strategy_shape_of(call, i));
    if (!alike)
        return true;
    StrategyCell *row = strategy_row(rows);
    row[0] = cell_blocks(dim, blocks * call->n_inputs);
    for (int i = 0; i < call->n_inputs; i++)
        *row_input(rows, row, i) = cell_blocks(dim, blocks);
    return true;
}

/* Parts that consist of whole blocks keep those blocks. */
static bool split(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    (void)op;
    int64_t dim;
    if (!as_torch(call, "split", rows, err) ||
        !strategy_dim(call, "dim", strategy_shape_of(call, 0)->n_dims, 0, &dim, err))
        return false;
    int64_t blocks = n_blocks(call, 0, dim), size = strategy_shape_of(call, 0)->dim[dim];
    if (blocks < 2 || size == 0 || size % blocks != 0 || rows->n_outputs == 0)
        return true;
    int64_t part = size / rows->n_outputs, block = size / blocks;
    int n;
    const int64_t *sizes = strategy_ints(call, "split_sizes", &n);
    for (int i = 0; i < n; i++)
        if (sizes[i] != part)
            return true;
    if (size % rows->n_outputs != 0 || part % block != 0)
        return true;
    StrategyCell *row = strategy_row(rows);
    for (int i = 0; i < rows->n_outputs; i++)
        row[i] = cell_blocks(dim, part / block);
    *row_input(rows, row, 0) = cell_blocks(dim, blocks);
    return true;
}

/* ---- attention ---- */

static bool attention(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err)
{
    if (!strategy_need(call, 3, err))
        return false;
    for (int axis = 0; axis < call->mesh->n_axes; axis++) {
        int n_cut = 0;
        for (int i = 0; i < 3; i++) {
            const Placement *placement = &call->input[i].placements[axis];
            n_cut += placement_is_shard(placement);
            if (!placement_is_partial(placement))
                continue;
            error_kind(err, ERROR_PARTIAL, "query, key and value may not be partial: input %d is",
                       i);
            error_hint(err, "redistribute input %d to replicated over '%s' first", i,
                       call->mesh->axes[axis].name);
            return false;
        }
        if (n_cut == 0 || n_cut == 3)
            continue;
        error_kind(err, ERROR_CONFLICT, "axis '%s' shards some of query, key and value but not all",
                   call->mesh->axes[axis].name);
        error_hint(err, "shard all three by batch, S(0), or by heads, S(1)");
        return false;
    }
    return as_torch(call, op->data, rows, err);
}

#define PASS "P(sum)->P(sum); P(avg)->P(avg); P(min)->P(min); P(max)->P(max)"
/* Of the two inputs only the shape of the second one matters. */
#define PASS_FIRST "P(sum),R->P(sum); P(avg),R->P(avg); P(min),R->P(min); P(max),R->P(max)"

const StrategyOp ops_vescale[] = {
    {"empty_like", like_torch, "zeros_like", NULL, 0, NULL},
    {"topk", strategy_every_dim, "2", NULL, 0, NULL},
    {"one_hot", strategy_every_dim, "1", NULL, 0, NULL},
    {"normal_ uniform_ bernoulli_ rand_like randn_like", strategy_every_dim, "1", PASS, 0, NULL},
    {"all any", like_torch, "nansum", NULL, 0, NULL},
    {"expand_as", like_torch, "where", PASS_FIRST, 0, NULL},
    {"nonzero item masked_select bincount _local_scalar_dense", whole, "1", NULL, 0, NULL},
    {"_unique2 unique", whole, "3", NULL, 0, NULL},
    {"cat", cat, NULL, NULL, 0, NULL},
    {"split split_with_sizes", split, NULL, NULL, 0, NULL},
    {"_scaled_dot_product_flash_attention _scaled_dot_product_efficient_attention", attention,
     "_scaled_dot_product_flash_attention", NULL, 0, NULL},
    {"scaled_dot_product_attention", attention, "scaled_dot_product_attention", NULL, 0, NULL},
    {0},
};
