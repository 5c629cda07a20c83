/* rows_index.c - strategies of operators that read or write by index: gather, scatter, index,
 * embedding.
 *
 * An indexed dim is not sharded, or each rank looks up its own part and the results are summed:
 * MaskP. All other dims may be sharded, those of the indices too.
 */
#include "core/peers/torch/family.h"

static const Placement mask = {.kind = PLACE_NORM_PARTIAL, .factor = MASK_FACTOR};

static StrategyCell cell_mask(void)
{
    return (StrategyCell){CELL_FIXED, mask};
}

static bool gather(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    (void)op;
    int64_t dim;
    if (!strategy_need(call, 2, err))
        return false;
    const Shape *shape = strategy_shape_of(call, 0), *index = strategy_shape_of(call, 1);
    if (!strategy_dim(call, "dim", shape->n_dims, 0, &dim, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    StrategyCell *row;
    if (shape->n_dims > 0 && dim < index->n_dims && index->dim[dim] == 1) {
        row = strategy_row(rows);
        row[0] = row[2] = cell_mask();
        row[1] = cell_plain_shard(dim);
    }
    if (shape->n_dims > 0 && dim < index->n_dims) {
        row = strategy_row(rows);
        row[0] = row[2] = cell_plain_shard(dim);
    }
    for (int64_t d = 0; shape->n_dims == index->n_dims && d < shape->n_dims; d++) {
        if (d == dim)
            continue;
        row = strategy_row(rows);
        row[0] = row[1] = row[2] = cell_shard(d);
    }
    return true;
}

/* Tensors are sharded alike in the dims where all have the same size. data: "src" is not
 * compared. */
static bool scatter(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    int64_t dim;
    if (!strategy_need(call, 2, err))
        return false;
    const Shape *shape = strategy_shape_of(call, 0);
    if (!strategy_dim(call, "dim", shape->n_dims, 0, &dim, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    int n_equal = op->data ? 2 : call->n_inputs;
    for (int64_t d = 0; d < shape->n_dims; d++) {
        bool fits = d != dim;
        for (int i = 1; i < n_equal; i++) {
            const Shape *other = strategy_shape_of(call, i);
            fits = fits && other->n_dims == shape->n_dims && other->dim[d] == shape->dim[d];
        }
        if (!fits)
            continue;
        StrategyCell *row = strategy_row(rows);
        for (int i = 0; i <= call->n_inputs; i++)
            row[i] = cell_shard(d);
    }
    return true;
}

static bool index_select(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                         Error *err)
{
    (void)op;
    int64_t dim;
    if (!strategy_need(call, 2, err) ||
        !strategy_dim(call, "dim", strategy_shape_of(call, 0)->n_dims, 0, &dim, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    for (int64_t d = 0; d < strategy_shape_of(call, 0)->n_dims; d++) {
        StrategyCell *row = strategy_row(rows);
        row[0] = cell_shard(d);
        row[d == dim ? 2 : 1] = cell_shard(d == dim ? 0 : d);
    }
    strategy_rows_text(rows, "P(sum),R->P(sum); P(avg),R->P(avg); P(min),R->P(min); "
                             "P(max),R->P(max)");
    return true;
}

/* Writes rows of a source, or a value, at indices of one dim; data: "source" if there is one. */
static bool index_write(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                        Error *err)
{
    int64_t dim;
    if (!strategy_need(call, 2, err) ||
        !strategy_dim(call, "dim", strategy_shape_of(call, 0)->n_dims, 0, &dim, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    for (int64_t d = 0; d < strategy_shape_of(call, 0)->n_dims; d++) {
        if (d == dim)
            continue;
        StrategyCell *row = strategy_row(rows);
        row[0] = row[1] = cell_shard(d);
        if (op->data && call->n_inputs > 2)
            row[3] = cell_shard(d);
    }
    strategy_rows_text(rows, op->partial);
    return true;
}

/* ---- x[i, :, j] ---- */

/* The index tensors of a call that are present, and the dims they index. */
typedef struct {
    int n, first; /* first: input number of the first entry of `indices` */
    int dim[DIMS_MAX], input[DIMS_MAX];
    int64_t n_dims; /* of the broadcast indices */
    bool adjacent;
    unsigned dims; /* bit d: dim d is indexed */
} Indices;

static bool read_indices(const StrategyCall *call, Indices *out, Error *err)
{
    *out = (Indices){.first = call->n_inputs - call->n_indices, .adjacent = true};
    if (call->n_indices > strategy_shape_of(call, 0)->n_dims)
        return error_kind(err, ERROR_RANK, "%s: more indices than dims", call->op);
    for (int i = 0; i < call->n_indices; i++) {
        if (!strategy_has_input(call, out->first + i))
            continue;
        const Shape *shape = strategy_shape_of(call, out->first + i);
        out->adjacent &= out->n == 0 || out->dim[out->n - 1] == i - 1;
        out->dim[out->n] = i;
        out->input[out->n++] = out->first + i;
        out->dims |= 1u << i;
        out->n_dims = shape->n_dims > out->n_dims ? shape->n_dims : out->n_dims;
    }
    return out->n > 0 || error_set(err, "%s needs an index", call->op);
}

/* The dim of the result for dim d, which is not indexed. */
static int64_t result_dim(const Indices *indices, int64_t d)
{
    int n_before = 0;
    for (int i = 0; i < indices->n; i++)
        n_before += indices->dim[i] < d;
    bool moves = !indices->adjacent || d > indices->dim[0];
    return moves ? d - n_before + indices->n_dims : d;
}

/* Adds a row that shards dim b of the broadcast indices; false if all have size 1 there. */
static bool cut_indices(const StrategyCall *call, const Indices *indices, int64_t b,
                        StrategyRows *rows)
{
    bool any = false;
    for (int i = 0; i < indices->n; i++) {
        const Shape *shape = strategy_shape_of(call, indices->input[i]);
        int64_t d = b - (indices->n_dims - shape->n_dims);
        any |= d >= 0 && shape->dim[d] != 1;
    }
    if (!any)
        return false;
    StrategyCell *row = strategy_row(rows);
    row[0] = cell_shard(b + (indices->adjacent ? indices->dim[0] : 0));
    for (int i = 0; i < indices->n; i++) {
        const Shape *shape = strategy_shape_of(call, indices->input[i]);
        int64_t d = b - (indices->n_dims - shape->n_dims);
        if (d >= 0 && shape->dim[d] > 1)
            *row_input(rows, row, indices->input[i]) = cell_shard(d);
    }
    return true;
}

static bool index_read(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                       Error *err)
{
    (void)op;
    Indices indices;
    if (!strategy_need(call, 1, err) || !read_indices(call, &indices, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    for (int64_t d = 0; d < strategy_shape_of(call, 0)->n_dims; d++) {
        if (indices.dims & 1u << d)
            continue;
        StrategyCell *row = strategy_row(rows);
        row[0] = cell_shard(result_dim(&indices, d));
        *row_input(rows, row, 0) = cell_shard(d);
    }
    for (int64_t b = 0; b < indices.n_dims; b++)
        cut_indices(call, &indices, b, rows);
    for (ReduceOp reduce = REDUCE_SUM; reduce <= REDUCE_AVG; reduce++) {
        StrategyCell *row = strategy_row(rows);
        row[0] = row[1] = cell_partial(reduce);
    }
    return true;
}

/* Inputs: the tensor, the values, then the indices. */
static bool index_put(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err)
{
    (void)op;
    Indices indices;
    if (!strategy_need(call, 2, err) || !read_indices(call, &indices, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    const Shape *shape = strategy_shape_of(call, 0), *values = strategy_shape_of(call, 1);
    int64_t n_result = indices.n_dims + shape->n_dims - indices.n;
    for (int64_t d = 0; d < shape->n_dims; d++) {
        if (indices.dims & 1u << d)
            continue;
        int64_t at = result_dim(&indices, d) - (n_result - values->n_dims);
        StrategyCell *row = strategy_row(rows);
        row[0] = row[1] = cell_shard(d);
        if (at >= 0 && at < values->n_dims && values->dim[at] != 1)
            row[2] = cell_shard(at);
    }
    StrategyCell *row = strategy_row(rows);
    row[0] = row[1] = row[2] = cell_partial(REDUCE_SUM);
    return true;
}

/* ---- embeddings: weight (rows, width), indices -> indices, width ---- */

static bool embedding(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err)
{
    (void)op;
    if (!strategy_need(call, 2, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    int64_t n_dims = strategy_shape_of(call, 1)->n_dims;
    StrategyCell *row;
    if (!op_attr(call->graph, call->graph_op,
                 "max_norm")) { /* else a rank needs whole rows for their norms */
        row = strategy_row(rows);
        row[0] = cell_plain_shard(n_dims);
        row[1] = cell_plain_shard(1);
    }
    row = strategy_row(rows);
    row[0] = row[2] = cell_mask();
    row[1] = cell_plain_shard(0);
    for (int64_t d = 0; d < n_dims; d++) {
        row = strategy_row(rows);
        row[0] = row[2] = cell_plain_shard(d);
    }
    return true;
}

static bool embedding_backward(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                               Error *err)
{
    (void)op;
    if (!strategy_need(call, 2, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    StrategyCell *row = strategy_row(rows);
    row[0] = cell_plain_shard(1);
    row[1] = cell_plain_shard(strategy_shape_of(call, 0)->n_dims - 1);
    for (int64_t d = 0; d < strategy_shape_of(call, 1)->n_dims; d++) {
        row = strategy_row(rows);
        row[0] = cell_partial(REDUCE_SUM);
        row[1] = row[2] = cell_plain_shard(d);
    }
    row = strategy_row(rows);
    row[0] = row[1] = cell_partial(REDUCE_SUM);
    return true;
}

/* With sharded boundaries each rank counts its own, and the counts add up. */
static bool bucketize(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                      Error *err)
{
    if (!strategy_need(call, 2, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    for (int64_t d = 0; d < strategy_shape_of(call, 0)->n_dims; d++) {
        StrategyCell *row = strategy_row(rows);
        row[0] = row[1] = cell_shard(d);
    }
    strategy_rows_text(rows, op->partial);
    return true;
}

const StrategyOp ops_index[] = {
    {"gather", gather, NULL, NULL, 0, NULL},
    {"scatter", scatter, NULL, NULL, 0, NULL},
    {"scatter_add", scatter, "src", NULL, 0, NULL},
    {"index_select", index_select, NULL, NULL, 0, NULL},
    {"index_fill.int_Scalar", index_write, NULL,
     "P(avg),R->P(avg); P(max),R->P(max); "
     "P(min),R->P(min)",
     0, NULL},
    {"index_fill index_fill.int_Tensor", index_write, NULL,
     "P(sum),R,P(sum)->P(sum); P(avg),R,P(avg)->P(avg); P(min),R,P(min)->P(min); "
     "P(max),R,P(max)->P(max); P(avg),R->P(avg); P(max),R->P(max); P(min),R->P(min)",
     0, NULL},
    {"index_reduce", index_write, "source", NULL, 0, NULL},
    {"index", index_read, NULL, NULL, 0, NULL},
    {"index_put _index_put_impl", index_put, NULL, NULL, 0, NULL},
    {"embedding", embedding, NULL, NULL, 0, NULL},
    {"embedding_dense_backward", embedding_backward, NULL, NULL, 0, NULL},
    {"bucketize", bucketize, NULL, "R,s(0)->P(sum); P(max),R->P(max); P(min),R->P(min)", 0, NULL},
    {0},
};
