/* rows_layer.c - strategies of layers: norms, losses, pools, convolutions, resizing, batched
 * algebra.
 *
 * Most compute each sample or channel independently, so that dim may be sharded.
 */
#include "core/peers/torch/family.h"

/* The rows are written in the table. data: the number of outputs. */
static bool as_written(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                       Error *err)
{
    if (!strategy_need(call, 1, err))
        return false;
    strategy_rows_begin(call, op->data[0] - '0', rows);
    strategy_rows_text(rows, op->partial);
    return true;
}

/* ---- norms ---- */

/* The number of dims before the normalized ones. */
static int64_t n_outer_dims(const StrategyCall *call, int input)
{
    int n;
    if (!strategy_ints(call, "normalized_shape", &n))
        n = 1;
    return strategy_shape_of(call, input)->n_dims - n;
}

/* Outputs and input are sharded in outer dims, weights replicated. data: the number of outputs. */
static bool layer_norm(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                       Error *err)
{
    if (!strategy_need(call, 1, err))
        return false;
    strategy_rows_begin(call, op->data[0] - '0', rows);
    for (int64_t d = 0; d < n_outer_dims(call, 0); d++) {
        StrategyCell *row = strategy_row(rows);
        for (int i = 0; i <= rows->n_outputs; i++)
            row[i] = cell_shard(d);
    }
    return true;
}

static bool wants_output(const StrategyCall *call, int i)
{
    int n;
    const int64_t *mask = strategy_ints(call, "output_mask", &n);
    return i >= n || mask[i];
}

/* Gradients of a norm: the input's is sharded like the input, those of weights are sums. data:
 * numbers of outputs and of sharded inputs. */
static bool norm_backward(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                          Error *err)
{
    int n_outputs = op->data[0] - '0', n_cut = op->data[1] - '0';
    if (!strategy_need(call, n_cut, err))
        return false;
    strategy_rows_begin(call, n_outputs, rows);
    for (int64_t d = 0; d < n_outer_dims(call, 1); d++) {
        StrategyCell *row = strategy_row(rows);
        row[0] = cell_shard(d);
        for (int i = 1; i < n_outputs; i++)
            row[i] =
                strategy_has_input(call, n_cut + i - 1) ? cell_partial(REDUCE_SUM) : cell_none();
        for (int i = 0; i < n_outputs; i++)
            row[i] = wants_output(call, i) ? row[i] : cell_none();
        for (int i = 0; i < n_cut; i++)
            *row_input(rows, row, i) = cell_shard(d);
    }
    return true;
}

/* By channel: dim 1 of the data, dim 0 of all statistics. data: outputs. */
static bool batch_norm(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                       Error *err)
{
    if (!strategy_need(call, 1, err))
        return false;
    strategy_rows_begin(call, op->data[0] - '0', rows);
    StrategyCell *row = strategy_row(rows);
    for (int i = 0; i < rows->n_outputs + rows->n_inputs; i++)
        row[i] = cell_shard(0);
    row[0] = *row_input(rows, row, 0) = cell_shard(1);
    if (rows->n_outputs == 4)
        row[3] = (StrategyCell){0};
    return true;
}

static bool batch_norm_backward(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                                Error *err)
{
    (void)op;
    if (!strategy_need(call, 2, err))
        return false;
    strategy_rows_begin(call, 3, rows);
    StrategyCell *row = strategy_row(rows);
    for (int i = 0; i < 3 + rows->n_inputs; i++)
        row[i] = cell_shard(i == 0 || i == 3 || i == 4);
    for (int i = 0; i < 3; i++)
        row[i] = wants_output(call, i) ? row[i] : cell_none();
    return true;
}

/* ---- losses over classes: input (N, C, ..), target (N, ..) ---- */

typedef enum { LOSS_NONE, LOSS_MEAN, LOSS_SUM } LossKind;

static LossKind loss_kind(const StrategyCall *call)
{
    const Attr *attr = op_attr(call->graph, call->graph_op, "reduction");
    if (!attr || attr->type != ATTR_STRING)
        return (LossKind)strategy_int(call, "reduction", LOSS_MEAN);
    if (str_eq(attr->s, STR("none")))
        return LOSS_NONE;
    return str_eq(attr->s, STR("sum")) ? LOSS_SUM : LOSS_MEAN;
}

/* The dim of the target that is dim d of the input; -1: d is the class. */
static int64_t target_dim(const Shape *input, int64_t d)
{
    int64_t classes = input->n_dims >= 2;
    return d == classes ? -1 : d < classes ? d : d - 1;
}

static bool nll_loss(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    (void)op;
    if (!strategy_need(call, 2, err))
        return false;
    strategy_rows_begin(call, 2, rows);
    const Shape *shape = strategy_shape_of(call, 0);
    for (int64_t d = 0; d < shape->n_dims && loss_kind(call) != LOSS_MEAN; d++) {
        int64_t target = target_dim(shape, d);
        if (target < 0)
            continue;
        StrategyCell *row = strategy_row(rows);
        row[0] = row[1] = cell_partial(REDUCE_SUM);
        if (loss_kind(call) == LOSS_NONE) {
            row[0] = cell_shard(target);
            row[1] = (StrategyCell){0};
        }
        *row_input(rows, row, 0) = cell_shard(d);
        *row_input(rows, row, 1) = cell_shard(target);
    }
    return true;
}

/* Inputs: gradient, input, target, weight, total weight. */
static bool nll_loss_backward(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                              Error *err)
{
    (void)op;
    LossKind kind = loss_kind(call);
    if (!strategy_need(call, 3, err))
        return false;
    strategy_rows_begin(call, 1, rows);
    int total = call->n_inputs - 1, n_ways = kind == LOSS_SUM ? 2 : 1;
    const Shape *shape = strategy_shape_of(call, 1);
    for (int64_t d = 0; d < shape->n_dims; d++) {
        int64_t target = target_dim(shape, d);
        for (int sums = 0; target >= 0 && sums < n_ways; sums++) {
            StrategyCell *row = strategy_row(rows);
            row[0] = *row_input(rows, row, 1) = cell_shard(d);
            *row_input(rows, row, 2) = cell_shard(target);
            if (kind == LOSS_NONE)
                *row_input(rows, row, 0) = cell_shard(target);
            if (sums)
                *row_input(rows, row, total) = cell_partial(REDUCE_SUM);
        }
    }
    if (kind != LOSS_MEAN)
        *row_input(rows, strategy_row(rows), total) = cell_partial(REDUCE_SUM);
    return true;
}

/* ---- windows ---- */

/* data: numbers of outputs and of window dims. */
static bool pool(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    if (!strategy_need(call, 1, err))
        return false;
    strategy_rows_begin(call, op->data[0] - '0', rows);
    bool batched = strategy_shape_of(call, 0)->n_dims >= op->data[1] - '0' + 2;
    for (int d = 0; d < (batched ? 2 : 1); d++) {
        StrategyCell *row = strategy_row(rows);
        for (int i = 0; i < rows->n_outputs + rows->n_inputs; i++)
            row[i] = cell_shard(d);
    }
    strategy_rows_text(rows, op->partial);
    return true;
}

/* The last element of a list attribute. */
static int64_t last_of(const StrategyCall *call, const char *name, int64_t fallback)
{
    int n;
    const int64_t *list = strategy_ints(call, name, &n);
    return n > 0 ? list[n - 1] : strategy_int(call, name, fallback);
}

/* data: the input that is convolved. */
static int convolved_input(const StrategyCall *call)
{
    return strategy_find(str_from(call->op), STRATEGY_TORCH)->data[0] - '0';
}

/* True if the last dim is sharded by one axis and no window crosses a border. */
static bool cuts_between_windows(const StrategyCall *call, const StrategyRows *rows,
                                 const Placement *const *inputs)
{
    (void)rows;
    int input = convolved_input(call), axis = -1;
    const Shape *shape = strategy_shape_of(call, input);
    for (int i = 0; i < call->mesh->n_axes; i++) {
        const Placement *placement = &inputs[input][i];
        if (placement->kind != PLACE_SHARD || placement->dim != shape->n_dims - 1)
            continue;
        if (axis >= 0)
            return false;
        axis = i;
    }
    int64_t stride = last_of(call, "stride", 1);
    if (axis < 0 || stride < 1)
        return true;
    int64_t size = shape->dim[shape->n_dims - 1];
    return size % stride == 0 && size / stride % call->mesh->axes[axis].size == 0;
}

static bool windows_touch(const StrategyCall *call, int input)
{
    const Shape *shape = strategy_shape_of(call, input),
                *weight = strategy_shape_of(call, input + 1);
    return shape->n_dims == weight->n_dims && shape->n_dims >= 3 && shape->n_dims <= 5 &&
           !strategy_int(call, "transposed", 0) && last_of(call, "padding", 0) == 0 &&
           last_of(call, "dilation", 1) == 1 &&
           last_of(call, "stride", 1) == weight->dim[weight->n_dims - 1];
}

static bool convolution(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows,
                        Error *err)
{
    int input = op->data[0] - '0';
    if (!strategy_need(call, input + 2, err))
        return false;
    bool backward = input == 1;
    strategy_rows_begin(call, backward ? 3 : 1, rows);
    rows->filter = cuts_between_windows;
    int64_t last = strategy_shape_of(call, input)->n_dims - 1;
    int n_cuts = windows_touch(call, input) ? 2 : 1;
    for (int cut = 0; cut < n_cuts; cut++) {
        StrategyCell *row = strategy_row(rows), cell = cut ? cell_plain_shard(last) : cell_shard(0);
        row[0] = cell;
        for (int i = 0; i <= input; i++)
            *row_input(rows, row, i) = cell;
        if (backward) {
            row[1] = cell_partial(REDUCE_SUM);
            row[2] = op_attr(call->graph, call->graph_op, "bias_sizes") ? cell_partial(REDUCE_SUM)
                                                                        : cell_none();
        }
    }
    return true;
}

/* ---- algebra of lists of matrices ---- */

/* All dims of input 0 but the last `kept` are batch dims. data: number of tensors, kept dims. */
static bool batched(const StrategyCall *call, const StrategyOp *op, StrategyRows *rows, Error *err)
{
    int n_tensors = op->data[0] - '0', kept = op->data[1] - '0';
    if (!strategy_need(call, 1, err))
        return false;
    if (call->n_inputs > n_tensors)
        return error_set(err, "%s has too many inputs", call->op);
    strategy_rows_begin(call, n_tensors - call->n_inputs, rows);
    for (int64_t d = 0; d < strategy_shape_of(call, 0)->n_dims - kept; d++) {
        StrategyCell *row = strategy_row(rows);
        for (int i = 0; i < n_tensors; i++)
            row[i] = cell_shard(d);
    }
    strategy_rows_text(rows, op->partial);
    return true;
}

#define LINEAR "P(sum)->P(sum); P(avg)->P(avg)"

const StrategyOp ops_layer[] = {
    {"layer_norm native_layer_norm", layer_norm, "3", NULL, OP_UNEVEN, NULL},
    {"rms_norm _fused_rms_norm", layer_norm, "2", NULL, OP_UNEVEN, NULL},
    {"native_layer_norm_backward", norm_backward, "34", NULL, 0, NULL},
    {"_fused_rms_norm_backward", norm_backward, "23", NULL, 0, NULL},
    {"native_batch_norm _native_batch_norm_legit _native_batch_norm_legit_no_training", batch_norm,
     "3", NULL, 0, NULL},
    {"_batch_norm_with_update", batch_norm, "4", NULL, 0, NULL},
    {"native_batch_norm_backward", batch_norm_backward, NULL, NULL, 0, NULL},
    {"native_group_norm", as_written, "3",
     "s(0)->s(0),s(0),s(0); s(0),R->s(0),s(0),s(0); s(0),R,R->s(0),s(0),s(0)", 0, NULL},
    {"nll_loss.rows nll_loss_forward nll_loss2d_forward", nll_loss, NULL, NULL, 0, NULL},
    {"nll_loss_backward nll_loss2d_backward", nll_loss_backward, NULL, NULL, 0, NULL},
    {"avg_pool1d adaptive_avg_pool1d", pool, "11", LINEAR, OP_UNEVEN, NULL},
    {"avg_pool2d _adaptive_avg_pool2d", pool, "12", LINEAR, OP_UNEVEN, NULL},
    {"avg_pool3d _adaptive_avg_pool3d", pool, "13", LINEAR, OP_UNEVEN, NULL},
    {"max_pool1d_with_indices adaptive_max_pool1d", pool, "21", NULL, OP_UNEVEN, NULL},
    {"max_pool2d_with_indices adaptive_max_pool2d fractional_max_pool2d", pool, "22", NULL,
     OP_UNEVEN, NULL},
    {"max_pool3d_with_indices adaptive_max_pool3d fractional_max_pool3d", pool, "23", NULL,
     OP_UNEVEN, NULL},
    {"max_pool2d_with_indices_backward", pool, "12", "P(sum),R,R->P(sum); P(avg),R,R->P(avg)", 0,
     NULL},
    {"max_unpool2d max_unpool3d _adaptive_avg_pool2d_backward", as_written, "1",
     "s(0),s(0)->s(0); s(1),s(1)->s(1)", 0, NULL},
    {"upsample_nearest1d upsample_nearest2d upsample_nearest3d _upsample_nearest_exact1d "
     "_upsample_nearest_exact2d _upsample_nearest_exact3d _upsample_bilinear2d_aa "
     "_upsample_bicubic2d_aa _upsample_lanczos2d_aa upsample_bicubic2d upsample_bilinear2d "
     "upsample_linear1d upsample_trilinear3d upsample_nearest1d_backward "
     "upsample_nearest2d_backward upsample_nearest3d_backward _upsample_nearest_exact1d_backward "
     "_upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward "
     "_upsample_bilinear2d_aa_backward _upsample_bicubic2d_aa_backward "
     "_upsample_lanczos2d_aa_backward upsample_bicubic2d_backward upsample_bilinear2d_backward "
     "upsample_linear1d_backward upsample_trilinear3d_backward",
     as_written, "1", "s(0)->s(0); s(1)->s(1); " LINEAR, 0, NULL},
    {"grid_sampler_2d grid_sampler_3d", as_written, "1",
     "s(0),s(0)->s(0); P(sum),R->P(sum); P(avg),R->P(avg)", 0, NULL},
    {"grid_sampler_2d_backward grid_sampler_3d_backward", as_written, "2",
     "s(0),s(0),s(0)->s(0),s(0)", 0, NULL},
    {"convolution", convolution, "0", NULL, 0, NULL},
    {"convolution_backward", convolution, "1", NULL, 0, NULL},
    {"multinomial", batched, "21", NULL, 0, NULL},
    {"view_as_complex", batched, "21", LINEAR, 0, NULL},
    {"cholesky_inverse linalg_matrix_exp", batched, "22", NULL, OP_UNEVEN, NULL},
    {"linalg_householder_product geqrf linalg_cholesky_ex linalg_eig linalg_inv_ex", batched, "32",
     NULL, OP_UNEVEN, NULL},
    {"cholesky_solve", batched, "32", "P(sum),R->P(sum)", OP_UNEVEN, NULL},
    {"linalg_ldl_solve linalg_lu_solve ormqr", batched, "42", "R,R,P(sum)->P(sum)", OP_UNEVEN,
     NULL},
    {"triangular_solve _linalg_det linalg_ldl_factor_ex linalg_lu linalg_lu_factor_ex", batched,
     "42", NULL, OP_UNEVEN, NULL},
    {"lu_unpack _linalg_slogdet", batched, "52", NULL, OP_UNEVEN, NULL},
    {"_linalg_solve_ex", batched, "62", "R,P(sum)->P(sum),R,R,R", OP_UNEVEN, NULL},
    {0},
};
