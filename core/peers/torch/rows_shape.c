/* rows_shape.c - strategies of operators that copy, create, split or join tensors.
 *
 * They are linear and monotone, so partial tensors pass most of them.
 */
#include "core/peers/torch/family.h"

bool strategy_every_dim(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                        Error *err)
{
    if (!strategy_need(call, 1, err))
        return false;
    strategy_rows_begin(call, op->data[0] - '0', rows);
    strategy_rows_dims(call, 0, REDUCE_NONE, false, rows);
    strategy_rows_text(rows, op->partial);
    return true;
}

static bool is_dtype(const Attr *attr, Dtype *out)
{
    *out = attr && attr->type == ATTR_STRING ? dtype_from_name(attr->s) : DT_NONE;
    return *out != DT_NONE;
}

/* A cast; because of rounding it does not commute with every reduction. */
static bool cast(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    Dtype to, from = call->n_inputs > 0 ? call->input[0].dtype : DT_NONE;
    if (!strategy_every_dim(call, op, rows, err))
        return false;
    unsigned reduces = PASSING_REDUCES;
    if (is_dtype(op_attr(call->graph, call->graph_op, "dtype"), &to) && to != from) {
        if (dtype_is_float(from) && !dtype_is_float(to))
            reduces &= ~(unsigned)LINEAR_REDUCES;
        if (to == DT_BOOL)
            reduces = 0;
    }
    strategy_rows_pass(rows, reduces);
    return true;
}

static bool equality(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    (void)op;
    if (!strategy_need(call, 2, err))
        return false;
    strategy_rows_begin(call, 0, rows);
    const Shape *a = strategy_shape_of(call, 0), *b = strategy_shape_of(call, 1);
    for (int64_t d = 0; d < a->n_dims && d < b->n_dims; d++) {
        StrategyCell *row = strategy_row(rows);
        row[0] = row[1] = cell_shard(d);
    }
    return true;
}

/* A tensor of a given size, sharded like the input in dims of equal size. data: "keep" partial
 * axes.
 */
static bool sized_like(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                       Error *err)
{
    int n;
    const int64_t *size = strategy_ints(call, "size", &n);
    if (!strategy_need(call, 1, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    const Shape *shape = strategy_shape_of(call, 0);
    bool same = n == shape->n_dims;
    for (int d = 0; same && d < n; d++)
        same = size[d] == shape->dim[d];
    for (int64_t d = 0; d < shape->n_dims; d++) {
        StrategyCell *row = strategy_row(rows);
        row[0] = same ? cell_shard(d) : row[0];
        row[1] = cell_shard(d);
    }
    if (same && op->data)
        strategy_rows_pass(rows, PASSING_REDUCES);
    else
        strategy_rows_text(rows, "P(sum)->R; P(avg)->R; P(min)->R; P(max)->R");
    return true;
}

/* ---- along one dim ---- */

/* Shards every dim but `dim`. data: "-" if the output lacks the dim, "+" if only the output has
 * it. */
static bool around_dim(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                       Error *err)
{
    int64_t dim, n_dims;
    if (!strategy_need(call, 1, err))
        return false;
    bool inserts = op->data && op->data[0] == '+', removes = op->data && op->data[0] == '-';
    n_dims = strategy_shape_of(call, 0)->n_dims;
    if (!strategy_dim(call, "dim", n_dims + inserts, 0, &dim, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    for (int64_t d = 0; d < n_dims; d++) {
        if (d == dim && !inserts)
            continue;
        StrategyCell *row = strategy_row(rows);
        row[0] = cell_shard(d + (inserts && d >= dim) - (removes && d > dim));
        for (int i = 0; i < rows->n_inputs; i++)
            *row_input(rows, row, i) = cell_shard(d);
    }
    strategy_rows_pass(rows, PASSING_REDUCES);
    return true;
}

static bool is_full_slice(const StrategyCall *call, int64_t size)
{
    int64_t start = strategy_int(call, "start", 0), end = strategy_int(call, "end", size);
    start += start < 0 ? size : 0;
    end += end < 0 ? size : 0;
    return start == 0 && end >= size && strategy_int(call, "step", 1) == 1;
}

static bool slice(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    int64_t dim;
    if (!strategy_need(call, 1, err) ||
        !strategy_dim(call, "dim", strategy_shape_of(call, 0)->n_dims, 0, &dim, err) ||
        !around_dim(call, op, rows, err))
        return false;
    if (strategy_shape_of(call, 0)->n_dims > 0 &&
        is_full_slice(call, strategy_shape_of(call, 0)->dim[dim])) {
        StrategyCell *row = strategy_row(rows);
        row[0] = row[1] = cell_shard(dim);
    }
    return true;
}

/* Writes a slice into the first tensor; data: number of dims that the slice lacks. */
static bool scatter_slice(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                          Error *err)
{
    int64_t n_dims, dim, other;
    if (!strategy_need(call, 2, err))
        return false;
    n_dims = strategy_shape_of(call, 0)->n_dims;
    bool diagonal = op->data[0] == '2';
    if (!strategy_dim(call, diagonal ? "dim1" : "dim", n_dims, 0, &dim, err) ||
        !strategy_dim(call, diagonal ? "dim2" : "dim", n_dims, diagonal ? 1 : 0, &other, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    for (int64_t d = 0; d < n_dims; d++) {
        if (d == dim || d == other)
            continue;
        StrategyCell *row = strategy_row(rows);
        int n_before = (d > dim) + (diagonal && d > other);
        row[0] = row[1] = cell_shard(d);
        row[2] = cell_shard(op->data[0] == '0' ? d : d - n_before);
    }
    if (op->data[0] == '0')
        strategy_rows_pass(rows, PASSING_REDUCES);
    return true;
}

/* Moves elements along `dims`. data: "all" if an empty list means all dims. */
static bool within_dims(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                        Error *err)
{
    unsigned dims;
    const char *name = op_attr(call->graph, call->graph_op, "dims") ? "dims" : "dim";
    if (!strategy_need(call, 1, err) ||
        !strategy_dims(call, name, strategy_shape_of(call, 0)->n_dims, &dims, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    strategy_rows_dims(call, dims == 0 && op->data ? ~0u : dims, REDUCE_NONE, false, rows);
    strategy_rows_pass(rows, PASSING_REDUCES);
    return true;
}

/* The padded dims. */
static bool padded_dims(const StrategyCall *call, unsigned *out, Error *err)
{
    int n;
    int64_t n_dims = strategy_shape_of(call, 0)->n_dims, dim;
    const int64_t *pad = strategy_ints(call, "pad", &n);
    *out = 0;
    for (int i = 0; i < n / 2 && i < n_dims; i++)
        if (pad[(ptrdiff_t)2 * i] != 0 || pad[(ptrdiff_t)2 * i + 1] != 0)
            *out |= 1u << (n_dims - 1 - i);
    if (pad)
        return true;
    if (!strategy_dim(call, "dim", n_dims, 0, &dim, err))
        return false;
    if (strategy_int(call, "before", 0) != 0 || strategy_int(call, "after", 0) != 0)
        *out |= 1u << dim;
    return true;
}

static bool pad(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    (void)op;
    unsigned dims;
    if (!strategy_need(call, 1, err) || !padded_dims(call, &dims, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    strategy_rows_dims(call, dims, REDUCE_NONE, false, rows);
    bool adds = dims != 0 && strategy_number(call, "value", 0) != 0;
    strategy_rows_pass(rows, adds ? PASSING_REDUCES & ~(1u << REDUCE_SUM) : PASSING_REDUCES);
    return true;
}

/* ---- several tensors from one, or one from several ---- */

static bool begin_parts(const StrategyCall *call, int64_t n, StrategyRows *rows, Error *err)
{
    if (n < 0 || n > OPERANDS_MAX / 2)
        return error_kind(err, ERROR_OUT_OF_RANGE, "%s: too many parts", call->op);
    strategy_rows_begin(call, (int)n, rows);
    return true;
}

/* Rows of one input and parts with the same placements; removes: the parts lack the dim. */
static void rows_of_parts(const StrategyCall *call, int64_t dim, bool removes, StrategyRows *rows)
{
    for (int64_t d = 0; d < strategy_shape_of(call, 0)->n_dims; d++) {
        if (d == dim)
            continue;
        StrategyCell *row = strategy_row(rows);
        for (int i = 0; i < rows->n_outputs; i++)
            row[i] = cell_shard(removes && d > dim ? d - 1 : d);
        *row_input(rows, row, 0) = cell_shard(d);
    }
    strategy_rows_pass(rows, PASSING_REDUCES);
}

static int64_t divide_up(int64_t size, int64_t n)
{
    return size / n + (size % n != 0);
}

/* The number of parts of a split: listed sizes, or equal sizes except the last. */
static bool count_parts(const StrategyCall *call, int64_t size, int64_t *out, Error *err)
{
    const char *names[] = {"split_sizes", "split_size", "sections"};
    for (int i = 0; i < 3; i++) {
        int n;
        if (strategy_ints(call, names[i], &n)) {
            *out = n;
            return true;
        }
    }
    int64_t part = strategy_int(call, "split_size", 0), chunks = strategy_int(call, "chunks", 0);
    if (chunks > 0)
        part = size > chunks ? divide_up(size, chunks) : 1;
    if (part < 1)
        return error_set(err, "%s: parts must have a size of 1 or more", call->op);
    *out = size == 0 ? 1 : divide_up(size, part);
    return true;
}

static bool split(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    (void)op;
    int64_t dim, n = 0;
    if (!strategy_need(call, 1, err) ||
        !strategy_dim(call, "dim", strategy_shape_of(call, 0)->n_dims, 0, &dim, err) ||
        !count_parts(call, strategy_shape_of(call, 0)->dim[dim], &n, err) ||
        !begin_parts(call, n, rows, err))
        return false;
    rows_of_parts(call, dim, false, rows);
    return true;
}

static bool keeps_input(const StrategyCall *call, const StrategyRows *rows,
                        const Placement *const *inputs)
{
    (void)rows;
    for (int i = 0; i < call->mesh->n_axes; i++)
        if (!placement_equal(&inputs[0][i], &call->input[0].placements[i]))
            return false;
    return true;
}

static bool unbind(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    (void)op;
    int64_t dim;
    if (!strategy_need(call, 1, err) ||
        !strategy_dim(call, "dim", strategy_shape_of(call, 0)->n_dims, 0, &dim, err) ||
        !begin_parts(call, strategy_shape_of(call, 0)->dim[dim], rows, err))
        return false;
    for (int i = 0; i < call->mesh->n_axes; i++) {
        const Placement *placement = &call->input[0].placements[i];
        if (!placement_is_shard(placement) || placement->dim != dim)
            continue;
        error_kind(err, ERROR_NEEDS_RESHARD, "%s: dim %lld is sharded over axis '%s'", call->op,
                   (long long)dim, call->mesh->axes[i].name);
        error_hint(err, "redistribute input 0 first: the parts are views of it");
        return false;
    }
    rows->filter = keeps_input;
    rows_of_parts(call, dim, true, rows);
    return true;
}

/* An empty tensor of one dim can be joined with any tensor. */
static bool is_empty_list(const Shape *shape)
{
    return shape->n_dims == 1 && shape->dim[0] == 0;
}

static bool cat(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    (void)op;
    int64_t n_dims = 1, dim;
    if (!strategy_need(call, 1, err))
        return false;
    for (int i = 0; i < call->n_inputs; i++)
        if (!is_empty_list(&call->input[i].shape))
            n_dims = call->input[i].shape.n_dims;
    if (!strategy_dim(call, "dim", n_dims, 0, &dim, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    for (int64_t d = 0; d < n_dims; d++) {
        if (d == dim)
            continue;
        StrategyCell *row = strategy_row(rows);
        for (int i = 0; i <= call->n_inputs; i++)
            row[i] = cell_shard(d);
    }
    strategy_rows_pass(rows, PASSING_REDUCES);
    for (int r = 0; r < rows->row.n; r++)
        for (int i = 0; i < call->n_inputs; i++)
            if (is_empty_list(&call->input[i].shape))
                rows->row.at[r][1 + i] = (StrategyCell){0};
    return true;
}

/* The common placement of two stacked tensors on one axis: shard, else partial, else replicated;
 * replicated if they disagree. */
static Placement merge(const Placement *a, const Placement *b)
{
    const Placement whole = {.kind = PLACE_REPLICATE};
    if (placement_equal(a, b))
        return *a;
    if (placement_is_partial(a))
        return placement_is_shard(b) ? *b : placement_is_partial(b) ? whole : *a;
    if (placement_is_shard(a))
        return placement_is_shard(b) ? whole : *a;
    return *b;
}

static bool stack(const Strategies *strategies, const StrategyCall *call, const StrategyOp *op,
                  StrategyAnswer *out, Error *err)
{
    (void)strategies, (void)op;
    int64_t dim;
    if (!strategy_need(call, call->n_inputs > 0 ? call->n_inputs : 1, err) ||
        !strategy_dim(call, "dim", call->input[0].shape.n_dims + 1, 0, &dim, err))
        return false;
    int n_axes = call->mesh->n_axes;
    Placement *follow = arena_array(call->arena, Placement, n_axes);
    Placement *made = arena_array(call->arena, Placement, n_axes);
    const Placement **input = arena_array(call->arena, const Placement *, call->n_inputs);
    const Placement **output = arena_array(call->arena, const Placement *, 1);
    for (int axis = 0; axis < n_axes; axis++) {
        follow[axis] = call->input[0].placements[axis];
        for (int i = 1; i < call->n_inputs; i++)
            follow[axis] = merge(&follow[axis], &call->input[i].placements[axis]);
        made[axis] = follow[axis];
        if (placement_is_shard(&made[axis]) && made[axis].dim >= dim)
            made[axis].dim++;
    }
    for (int i = 0; i < call->n_inputs; i++)
        input[i] = follow;
    output[0] = made;
    return strategy_answer_as(call, 1, output, input, out, err) && strategy_permit(call, out, err);
}

/* No dim may be sharded; data: the number of outputs. */
static bool replicated(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                       Error *err)
{
    strategy_rows_begin(call, op->data[0] - '0', rows);
    return strategy_need(call, 1, err);
}

static bool transpose_matrix(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                             Error *err)
{
    (void)op;
    if (!strategy_need(call, 1, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    int64_t n_dims = strategy_shape_of(call, 0)->n_dims;
    strategy_rows_text(rows, n_dims == 0   ? NULL
                             : n_dims == 1 ? "s(0)->s(0)"
                                           : "s(0)->s(1); s(1)->s(0)");
    strategy_rows_pass(rows, PASSING_REDUCES);
    return true;
}

#define PASS "P(sum)->P(sum); P(avg)->P(avg); P(min)->P(min); P(max)->P(max)"

const StrategyOp ops_shape[] = {
    {"clone contiguous detach alias fill fill_ zero zero_ view.dtype empty_like _foreach_clone",
     strategy_every_dim, "1", PASS, OP_UNEVEN, NULL},
    {"ones_like zeros_like full_like rand_like randn_like randint_like", strategy_every_dim, "1",
     "P(sum)->R; P(avg)->R; P(min)->R; P(max)->R; P(prod)->R", OP_UNEVEN, NULL},
    {"normal_ uniform_ bernoulli_ bernoulli log_normal_ exponential_ geometric_",
     strategy_every_dim, "1", NULL, OP_UNEVEN, NULL},
    {"native_dropout dropout", strategy_every_dim, "2", NULL, OP_UNEVEN, NULL},
    {"_to_copy", cast, "1", NULL, OP_UNEVEN, NULL},
    {"equal is_same_size", equality, NULL, NULL, OP_UNEVEN, NULL},
    {"new_empty new_empty_strided", sized_like, "keep", NULL, OP_UNEVEN, NULL},
    {"new_full new_ones new_zeros", sized_like, NULL, NULL, OP_UNEVEN, NULL},
    {"select", around_dim, "-", NULL, OP_UNEVEN, NULL},
    {"select_backward", around_dim, "+", NULL, OP_UNEVEN, NULL},
    {"slice", slice, NULL, NULL, OP_UNEVEN, NULL},
    {"slice_backward", around_dim, NULL, NULL, OP_UNEVEN, NULL},
    {"slice_scatter", scatter_slice, "0", NULL, OP_UNEVEN, NULL},
    {"select_scatter", scatter_slice, "1", NULL, 0, NULL},
    {"diagonal_scatter", scatter_slice, "2", NULL, 0, NULL},
    {"roll", within_dims, "all", NULL, 0, NULL},
    {"flip _fft_c2c _fft_r2c _fft_c2r", within_dims, NULL, NULL, 0, NULL},
    {"constant_pad_nd", pad, NULL, NULL, 0, NULL},
    {"split split_with_sizes split_with_sizes_copy chunk", split, NULL, NULL, 0, NULL},
    {"unbind", unbind, NULL, NULL, OP_UNEVEN, NULL},
    {"cat", cat, NULL, NULL, 0, NULL},
    {"stack", NULL, NULL, NULL, 0, stack},
    {"t", transpose_matrix, NULL, NULL, 0, NULL},
    {"tril triu diagonal diagonal_copy diag diag_embed", replicated, "1", NULL, 0, NULL},
    {"linalg_qr _linalg_eigh linalg_eigh", replicated, "2", NULL, 0, NULL},
    {"linalg_svd _linalg_svd", replicated, "3", NULL, 0, NULL},
    {0},
};
