/* gather.c - Gather, GatherND, GatherElements: rows and elements of a tensor by index.
 *
 * Indices are global and looked up in the runs of the data's part. Where the gathered dim is
 * sharded (a reduce dim: each rank has some rows) rows of other ranks give zeros, and the reduction
 * adds each once; elsewhere a missing row is an error. The points of the indices form one dim of
 * the output, between the data's dims before and after.
 */
#include "core/run/kernel.h"

#include <inttypes.h>

/* The indices for the local output: shape, and places in the indices. */
typedef struct {
    Shape points;
    Picks held;
    int64_t n;
} Points;

/* The output's dims from `first` on follow the first n dims of the indices. */
static Points points_of(const KernelCall *call, int64_t first, int64_t n)
{
    const Local *indices = call->input[1], *out = call->output[0];
    Points points = {.points.n_dims = n};
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
static bool find_rows(const KernelCall *call, const Points *points, int64_t first, int64_t n,
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
    int64_t n_missing = n_rows * n_each - local_pick(out, data, &picks);
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
    Points points = points_of(call, axis, n_dims);
    int64_t *rows = arena_array(call->scratch, int64_t, points.n);
    return find_rows(call, &points, axis, 1, rows, err) &&
           copy_rows(call, axis, axis + 1, points.n, rows, err);
}

/* Adds the places of the batch dims that data and indices share. */
static bool add_batch(const KernelCall *call, const Points *points, int64_t n_batch, int64_t *rows,
                      Error *err)
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
    Points points = points_of(call, 0, n_dims);
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
        if (from != PICK_NONE)
            elements_copy(out->dtype, local_at(out, i), local_at(data, from), 1, 1);
    }
    return true;
}

const Kernel kernels_gather[] = {
    {"Gather", gather, NULL, 0, ROUNDING_EXACT},
    {"GatherND", gather_nd, NULL, 0, ROUNDING_EXACT},
    {"GatherElements", gather_elements, NULL, 0, ROUNDING_EXACT},
    {0},
};
