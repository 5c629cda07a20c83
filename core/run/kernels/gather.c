/* gather.c - Gather, GatherND, GatherElements: rows and elements of a tensor by index.
 *
 * Indices are global and looked up in the runs of the data's part. Where the gathered dim is
 * sharded (a reduce dim: each rank has some rows) rows of other ranks give zeros, and the reduction
 * adds each once; elsewhere a missing row is an error. The points of the indices form one dim of
 * the output, between the data's dims before and after.
 */
#include "core/run/kernels/derivative.h"

#include "core/space/gradient.h"

#include <inttypes.h>

/* The indices for the local output: shape, and places in the indices. */
typedef struct {
    Shape points;
    Picks held;
    int64_t n;
} GatherPoints;

/* The output's dims from `first` on follow the first n dims of the indices. */
static GatherPoints points_of(const KernelCall *call, int64_t first, int64_t n)
{
    const Local *indices = call->input[1], *out = call->output[0];
    GatherPoints points = {.points.n_dims = n};
    int64_t stride[DIMS_MAX];
    row_major_strides(&indices->shape, stride);
    for (int64_t d = 0; d < n; d++)
        points.points.dim[d] = out->shape.dim[first + d];
    points.held = picks_new(call->scratch, &points.points);
    for (int d = 0; d < n; d++)
        picks_match(&points.held, d, &out->runs[first + d], 0, 1, &indices->runs[d], stride[d]);
    points.n = shape_elements(&points.points);
    return points;
}

/* Adds to *place the place of global index `at` along a data dim; PICK_NONE when another rank has
 * it. */
static bool find_row(const KernelCall *call, int64_t dim, int64_t at, int64_t stride,
                     int64_t *place, Error *err)
{
    const Local *data = call->input[0];
    int64_t size = data->whole.dim[dim], global = at < 0 ? at + size : at;
    if (global < 0 || global >= size)
        return error_kind(err, ERROR_RUN, "index %" PRId64 " is outside a dim of size %" PRId64, at,
                          size);
    int64_t found = runs_find(&data->runs[dim], global);
    if (found < 0 && !call->reduce_cut)
        return error_kind(err, ERROR_RUN, "row %" PRId64 " is on another rank", global);
    if (found < 0 || *place == PICK_NONE)
        *place = PICK_NONE;
    else
        *place += found * stride;
    return true;
}

/* rows[point]: place in the data of the point's n components from dim `first` on. */
static bool find_rows(const KernelCall *call, const GatherPoints *points, int64_t first, int64_t n,
                      int64_t *rows, Error *err)
{
    const Local *indices = call->input[1];
    int64_t stride[DIMS_MAX], n_found = 0;
    row_major_strides(&call->input[0]->shape, stride);
    Stretch s;
    for (PickScan scan = picks_scan(&points->held); picks_next(&scan, &s); n_found += s.n)
        for (int64_t i = 0; i < s.n; i++)
            for (int64_t c = 0; c < n; c++) {
                int64_t at;
                local_load(indices, s.from + i * s.step + c, 1, 1, NUMBER_I64, &at);
                if (!find_row(call, first + c, at, stride[first + c], &rows[s.to + i], err))
                    return false;
            }
    return n_found == points->n || error_kind(err, ERROR_RUN, "indices are on other ranks");
}

/* out[before.., point, after..] from data[before.., row of the point, after..]: `before` dims, then
 * the dims from `after` on. */
static bool copy_rows(const KernelCall *call, int64_t before, int64_t after, int64_t n_points,
                      int64_t *rows, Error *err)
{
    const Local *data = call->input[0];
    Local *out = call->output[0];
    int64_t stride[DIMS_MAX], n_rows = 0, n_each = 1;
    int64_t n_after = data->shape.n_dims - after, skip = out->shape.n_dims - n_after;
    Shape target = {.n_dims = before + 1 + n_after};
    for (int64_t d = 0; d < before; d++)
        n_each *= target.dim[d] = out->shape.dim[d];
    target.dim[before] = n_points;
    for (int64_t d = 0; d < n_after; d++)
        n_each *= target.dim[before + 1 + d] = out->shape.dim[skip + d];

    Picks picks = picks_new(call->scratch, &target);
    row_major_strides(&data->shape, stride);
    for (int d = 0; d < before; d++)
        picks_match(&picks, d, &out->runs[d], 0, 1, &data->runs[d], stride[d]);
    for (int64_t d = 0; d < n_after; d++)
        picks_match(&picks, (int)(before + 1 + d), &out->runs[skip + d], 0, 1,
                    &data->runs[after + d], stride[after + d]);
    picks.from[before] = rows;
    for (int64_t i = 0; i < n_points; i++)
        n_rows += rows[i] != PICK_NONE;
    int64_t n_missing = n_rows * n_each - kernel_pick(call, out, data, &picks);
    return n_missing == 0 ||
           error_kind(err, ERROR_RUN, "%" PRId64 " elements are on other ranks", n_missing);
}

static bool check(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 2, err))
        return false;
    if (call->input[0]->dtype != call->output[0]->dtype)
        return error_kind(err, ERROR_RUN, "data and output differ in type");
    return dtype_is_int(call->input[1]->dtype) ||
           error_kind(err, ERROR_RUN, "indices are of type %s", dtype_name(call->input[1]->dtype));
}

static bool gather(const KernelCall *call, Error *err)
{
    int64_t axis;
    if (!check(call, err) || !kernel_axis(call, 0, call->input[0]->shape.n_dims, &axis, err))
        return false;
    int64_t n_dims = call->input[1]->shape.n_dims;
    if (call->output[0]->shape.n_dims != call->input[0]->shape.n_dims - 1 + n_dims)
        return error_kind(err, ERROR_RUN, "the output has another number of dims");
    GatherPoints points = points_of(call, axis, n_dims);
    int64_t *rows = arena_array(call->scratch, int64_t, points.n);
    return find_rows(call, &points, axis, 1, rows, err) &&
           copy_rows(call, axis, axis + 1, points.n, rows, err);
}

/* ---- the gradient of the data of Gather ---- */

/* Points by the row that they select: those of row r are order[start[r]] .. order[start[r + 1]]. */
static int64_t *points_by_row(Arena *scratch, const int64_t *rows, int64_t n_points, int64_t stride,
                              int64_t n_rows, int64_t *start)
{
    int64_t *order = arena_array(scratch, int64_t, n_points), *next;
    for (int64_t p = 0; p < n_points; p++)
        if (rows[p] != PICK_NONE)
            start[rows[p] / stride + 1]++;
    for (int64_t r = 0; r < n_rows; r++)
        start[r + 1] += start[r];
    next = arena_array(scratch, int64_t, n_rows + 1);
    memcpy(next, start, (size_t)(n_rows + 1) * sizeof *next);
    for (int64_t p = 0; p < n_points; p++)
        if (rows[p] != PICK_NONE)
            order[next[rows[p] / stride]++] = p;
    return order;
}

/* out[b][r][..] = the sum of grad[b][p][..] over the points p of each row r; rows without points
 * stay 0 and are not touched. */
static void add_rows(const KernelCall *call, const Local *grad, Local *out, int64_t axis,
                     int64_t n_points, const int64_t *order, const int64_t *start)
{
    int64_t n_rows = out->shape.dim[axis], n_each = 1, n_outer = 1;
    double scale = program_space(call->inferred, call->op)->gradient->scale;
    for (int64_t d = 0; d < out->shape.n_dims; d++)
        *(d < axis ? &n_outer : &n_each) *= d == axis ? 1 : out->shape.dim[d];
    double *sums = arena_array(call->scratch, double, n_each);
    double *addend = arena_array(call->scratch, double, n_each);
    for (int64_t b = 0; b < n_outer; b++)
        for (int64_t r = 0; r < n_rows; r++) {
            if (start[r] == start[r + 1])
                continue;
            memset(sums, 0, (size_t)n_each * sizeof *sums);
            for (int64_t i = start[r]; i < start[r + 1]; i++) {
                int64_t from = (b * n_points + order[i]) * n_each;
                local_load(grad, from, 1, n_each, NUMBER_F64, addend);
                for (int64_t k = 0; k < n_each; k++)
                    sums[k] += scale * addend[k];
            }
            local_store(out, (b * n_rows + r) * n_each, n_each, NUMBER_F64, sums);
        }
}

/* What is read from the row of padding_idx, if there is such an attribute, gives it no gradient, as
 * in torch's Embedding. */
static void leave_padding(const KernelCall *call, int64_t axis, int64_t stride, int64_t n_points,
                          int64_t *rows)
{
    int64_t padding = op_attr_int(kernel_graph(call), call->op, "padding_idx", -1);
    int64_t held = padding < 0 ? -1 : runs_find(&call->output[0]->runs[axis], padding);
    for (int64_t p = 0; held >= 0 && p < n_points; p++)
        rows[p] = rows[p] == held * stride ? PICK_NONE : rows[p];
}

/* Each rank adds the rows that it holds. */
static bool gather_grad(const KernelCall *call, Error *err)
{
    KernelCall forward;
    int64_t axis, stride[DIMS_MAX];
    if (!forward_call(call, &forward, err) || !check(&forward, err) ||
        !kernel_axis(&forward, 0, forward.input[0]->shape.n_dims, &axis, err))
        return false;
    const Local *grad = forward.output[0];
    Local *out = call->output[0];
    GatherPoints points = points_of(&forward, axis, forward.input[1]->shape.n_dims);
    int64_t n_rows = out->shape.dim[axis], *rows = arena_array(call->scratch, int64_t, points.n);
    forward.reduce_cut = true;
    if (!find_rows(&forward, &points, axis, 1, rows, err))
        return false;
    if (!grad->data || shape_elements(&out->shape) == 0)
        return true;
    if (shape_elements(&grad->shape) / (points.n > 0 ? points.n : 1) * n_rows !=
            shape_elements(&out->shape) &&
        points.n > 0)
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    row_major_strides(&out->shape, stride);
    leave_padding(call, axis, stride[axis], points.n, rows);
    int64_t *start = arena_array(call->scratch, int64_t, n_rows + 1);
    int64_t *order = points_by_row(call->scratch, rows, points.n, stride[axis], n_rows, start);
    add_rows(call, grad, out, axis, points.n, order, start);
    return true;
}

/* ---- GatherND, GatherElements ---- */

/* Adds the places of the batch dims that data and indices share. */
static bool add_batch(const KernelCall *call, const GatherPoints *points, int64_t n_batch,
                      int64_t *rows, Error *err)
{
    const Local *out = call->output[0];
    int64_t data_stride[DIMS_MAX], stride[DIMS_MAX];
    row_major_strides(&call->input[0]->shape, data_stride);
    row_major_strides(&points->points, stride);
    for (int64_t d = 0; d < n_batch; d++)
        for (int64_t i = 0; i < points->n; i++) {
            int64_t place = i / stride[d] % points->points.dim[d], r = 0;
            while (place >= out->runs[d].at[r].length)
                place -= out->runs[d].at[r++].length;
            if (!find_row(call, d, out->runs[d].at[r].start + place, data_stride[d], &rows[i], err))
                return false;
        }
    return true;
}

static bool gather_nd(const KernelCall *call, Error *err)
{
    if (!check(call, err))
        return false;
    const Local *data = call->input[0], *indices = call->input[1], *out = call->output[0];
    int64_t n_batch = op_attr_int(kernel_graph(call), call->op, "batch_dims", 0);
    int64_t n_dims = indices->shape.n_dims - 1;
    int64_t n = n_dims < 0 ? 0 : indices->whole.dim[n_dims];
    if (n_dims < 0 || n_batch < 0 || n_batch > n_dims || n_batch + n > data->shape.n_dims ||
        indices->shape.dim[n_dims] != n ||
        out->shape.n_dims != n_dims + data->shape.n_dims - n_batch - n)
        return error_kind(err, ERROR_RUN, "indices do not fit the data");
    GatherPoints points = points_of(call, 0, n_dims);
    int64_t *rows = arena_array(call->scratch, int64_t, points.n);
    return add_batch(call, &points, n_batch, rows, err) &&
           find_rows(call, &points, n_batch, n, rows, err) &&
           copy_rows(call, 0, n_batch + n, points.n, rows, err);
}

/* Tables of places per output dim in an operand, without the axis. */
static Picks same_places(const KernelCall *call, const Local *from, int64_t axis_left_out)
{
    const Local *out = call->output[0];
    Picks picks = picks_new(call->scratch, &out->shape);
    int64_t stride[DIMS_MAX];
    row_major_strides(&from->shape, stride);
    for (int d = 0; d < picks.n_dims; d++)
        if (d != axis_left_out)
            picks_match(&picks, d, &out->runs[d], 0, 1, &from->runs[d], stride[d]);
    return picks;
}

static bool gather_elements(const KernelCall *call, Error *err)
{
    int64_t axis, stride[DIMS_MAX];
    if (!check(call, err) || !kernel_axis(call, 0, call->input[0]->shape.n_dims, &axis, err))
        return false;
    const Local *data = call->input[0], *indices = call->input[1];
    Local *out = call->output[0];
    if (data->shape.n_dims != out->shape.n_dims || indices->shape.n_dims != out->shape.n_dims)
        return error_kind(err, ERROR_RUN, "the operands have different numbers of dims");
    Picks in_data = same_places(call, data, axis), in_indices = same_places(call, indices, -1);
    row_major_strides(&data->shape, stride);
    int64_t n = shape_elements(&out->shape);
    Picks picks = picks_new(call->scratch, &(Shape){.n_dims = 1, .dim = {n}});
    for (int64_t i = 0; i < n; i++) {
        int64_t from = 0, at = 0, index, rest = i;
        for (int64_t d = out->shape.n_dims - 1; d >= 0; rest /= out->shape.dim[d--]) {
            int64_t x = in_data.from[d][rest % out->shape.dim[d]];
            int64_t y = in_indices.from[d][rest % out->shape.dim[d]];
            if (x == PICK_NONE || y == PICK_NONE)
                return error_kind(err, ERROR_RUN, "elements are on other ranks");
            from += x;
            at += y;
        }
        local_load(indices, at, 1, 1, NUMBER_I64, &index);
        if (!find_row(call, axis, index, stride[axis], &from, err))
            return false;
        picks.from[0][i] = from;
    }
    kernel_pick(call, out, data, &picks);
    return true;
}

const Kernel kernels_gather[] = {
    {"Gather", gather, NULL, 0, ROUNDING_EXACT},
    {"GatherND", gather_nd, NULL, 0, ROUNDING_EXACT},
    {"GatherGrad", gather_grad, NULL, 0, ROUNDING_SUM},
    {"GatherElements", gather_elements, NULL, 0, ROUNDING_EXACT},
    {0},
};
