/* Operators that move elements: each result element is one of the operands'. */
#include "core/rules/host_ops.h"

#include "core/rules/resample.h"

#include <inttypes.h>

/* Adds factor * times to *to; returns false when the result overflows int64_t. */
static bool add_times(int64_t *to, int64_t factor, int64_t times)
{
    int64_t product;
    return !__builtin_mul_overflow(factor, times, &product) &&
           !__builtin_add_overflow(*to, product, to);
}

/* ---- strided views: transpose, slice, split, expand ---- */

/* A view: output dim d steps along input dim along[d] by step[d]; if it repeats, along no dim. In
 * input dim i the view starts at start[i]. */
typedef struct {
    Shape out;
    int along[DIMS_MAX];
    int64_t step[DIMS_MAX], start[DIMS_MAX];
} StridedView;

static void view_cells(const StridedView *view, const Value *in, int64_t n, char *cells)
{
    int64_t stride[DIMS_MAX], x[DIMS_MAX] = {0};
    const char *from = host_cells(in);
    row_major_strides(&in->shape, stride);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0;
        for (int64_t d = 0; d < in->shape.n_dims; d++)
            at += view->start[d] * stride[d];
        for (int64_t d = 0; d < view->out.n_dims; d++)
            if (view->along[d] >= 0)
                at += x[d] * view->step[d] * stride[view->along[d]];
        memcpy(cells + 8 * i, from + 8 * at, 8);
        shape_next(&view->out, x);
    }
}

static bool view_row(const StridedView *view, const Value *in, Affine *row)
{
    *row = (Affine){.offset = in->offset};
    for (int64_t d = 0; d < in->shape.n_dims; d++)
        if (!add_times(&row->offset, in->coef[d], view->start[d]))
            return false;
    for (int64_t d = 0; d < view->out.n_dims; d++)
        if (view->along[d] >= 0 && view->out.dim[d] > 1 &&
            !add_times(&row->coef[d], in->coef[view->along[d]], view->step[d]))
            return false;
    return true;
}

static bool put_view(HostCall *host, int output, const StridedView *view, Error *err)
{
    const Value *in = host->call->value[0];
    Value made = {.dtype = in->dtype, .shape = view->out};
    if (host_is_held(in) && host_fits(host, &view->out)) {
        int64_t n = shape_elements(&view->out);
        char *cells = arena_alloc(host->arena, (size_t)n * 8);
        view_cells(view, in, n, cells);
        host_set_cells(&made, in->dtype, cells);
    } else if (in->affine) {
        made.affine = view_row(view, in, &made.row);
    }
    return host_put(host, output, &made, err);
}

/* The view that equals the input. */
static StridedView view_all(const Shape *shape)
{
    StridedView view = {.out = *shape};
    for (int d = 0; d < shape->n_dims; d++) {
        view.along[d] = d;
        view.step[d] = 1;
    }
    return view;
}

static bool transpose(HostCall *host, Error *err)
{
    const Shape *from = host->call->shape[0];
    StridedView view = view_all(from);
    if (!args_permutation(host->call, view.along, err))
        return false;
    for (int64_t d = 0; d < from->n_dims; d++)
        view.out.dim[d] = from->dim[view.along[d]];
    return put_view(host, 0, &view, err);
}

static bool slice(HostCall *host, Error *err)
{
    const Shape *from = host->call->shape[0];
    StridedView view = view_all(from);
    Span spans[DIMS_MAX];
    if (!args_slice(host->call, spans, err))
        return false;
    for (int64_t d = 0; d < from->n_dims; d++) {
        view.out.dim[d] = spans[d].n;
        view.start[d] = spans[d].n > 0 ? spans[d].start : 0;
        view.step[d] = spans[d].n > 1 ? spans[d].step : 1;
    }
    return put_view(host, 0, &view, err);
}

static bool split(HostCall *host, Error *err)
{
    const RuleCall *call = host->call;
    int64_t *sizes = arena_array(host->arena, int64_t, call->n_outputs);
    StridedView view = view_all(call->shape[0]);
    int axis;
    if (!args_split(call, &axis, sizes, err))
        return false;
    for (int o = 0; o < call->n_outputs; o++) {
        view.out.dim[axis] = sizes[o];
        if (!put_view(host, o, &view, err))
            return false;
        view.start[axis] += sizes[o];
    }
    return true;
}

static bool expand(HostCall *host, Error *err)
{
    const Shape *from = host->call->shape[0];
    StridedView view = {0};
    if (!args_expand(host->call, &view.out, err))
        return false;
    int64_t skip = view.out.n_dims - from->n_dims;
    for (int64_t d = 0; d < view.out.n_dims; d++) {
        bool repeats = d < skip || from->dim[d - skip] != view.out.dim[d];
        view.along[d] = repeats ? -1 : (int)(d - skip);
        view.step[d] = 1;
    }
    return put_view(host, 0, &view, err);
}

static bool broadcast_in_dim(HostCall *host, Error *err)
{
    const Shape *from = host->call->shape[0];
    StridedView view = {0};
    int dims[DIMS_MAX];
    Ints sizes;
    if (!args_ints(host->call, -1, "shape", &sizes, err) || !sizes.given || sizes.n > DIMS_MAX)
        return false;
    view.out.n_dims = sizes.n;
    for (int d = 0; d < sizes.n; d++) {
        view.out.dim[d] = sizes.at[d];
        view.along[d] = -1;
        view.step[d] = 1;
    }
    if (!shape_check(&view.out, err) || !args_broadcast_in_dim(host->call, &view.out, dims, err))
        return false;
    for (int i = 0; i < from->n_dims; i++)
        if (from->dim[i] != 1)
            view.along[dims[i]] = i;
    return put_view(host, 0, &view, err);
}

/* ---- reshapes ---- */

/* Reshapes one group of dims whose sizes have equal products on both sides: a row that is affine in
 * the position within the group on one side is so on the other. */
static bool reshape_group(const Affine *in, const int64_t *from, int n_from, Affine *out,
                          const int64_t *to, int n_to, const int place[2])
{
    int64_t step = 0, stride = 1;
    for (int d = n_from - 1; d >= 0; stride *= from[d--]) {
        if (from[d] == 1)
            continue;
        int64_t coef = in->coef[place[0] + d], expected;
        if (stride == 1)
            step = coef;
        if (__builtin_mul_overflow(step, stride, &expected) || expected != coef)
            return false;
    }
    stride = 1;
    for (int d = n_to - 1; d >= 0; stride *= to[d--])
        if (to[d] > 1 && !add_times(&out->coef[place[1] + d], step, stride))
            return false;
    return true;
}

static bool reshape_row(const Affine *in, const Shape *from, const Shape *to, Affine *out)
{
    int i = 0, j = 0;
    *out = (Affine){.offset = in->offset};
    while (i < from->n_dims || j < to->n_dims) {
        int place[2] = {i, j};
        int64_t a = i < from->n_dims ? from->dim[i++] : 1, b = j < to->n_dims ? to->dim[j++] : 1;
        while (a != b) {
            if (a < b)
                a *= from->dim[i++];
            else
                b *= to->dim[j++];
        }
        if (!reshape_group(in, from->dim + place[0], i - place[0], out, to->dim + place[1],
                           j - place[1], place))
            return false;
    }
    return true;
}

static bool reshaped(HostCall *host, const Shape *to, Error *err)
{
    const Value *in = host->call->value[0];
    Value made = {.dtype = in->dtype, .shape = *to, .ints = in->ints, .floats = in->floats};
    if (in->affine && shape_elements(to) > 0)
        made.affine = reshape_row(&in->row, &in->shape, to, &made.row);
    return host_put(host, 0, &made, err);
}

static bool reshape(HostCall *host, Error *err)
{
    Shape to;
    return args_reshape(host->call, &to, err) && reshaped(host, &to, err);
}

static bool flatten(HostCall *host, Error *err)
{
    Shape to;
    return args_flatten(host->call, &to, err) && reshaped(host, &to, err);
}

static bool squeeze(HostCall *host, Error *err)
{
    Shape to;
    return args_squeeze(host->call, &to, err) && reshaped(host, &to, err);
}

static bool unsqueeze(HostCall *host, Error *err)
{
    Shape to;
    return args_unsqueeze(host->call, &to, err) && reshaped(host, &to, err);
}

static bool identity(HostCall *host, Error *err)
{
    (void)err;
    host->out[0] = host->call->value[0];
    return true;
}

/* ---- gather ---- */

static bool gather_cells(HostCall *host, int axis, Value *made, Error *err)
{
    const Value *data = host->call->value[0], *indices = host->call->value[1];
    int64_t size = data->shape.dim[axis], n = shape_elements(&indices->shape), inner = 1, outer = 1;
    for (int64_t d = 0; d < data->shape.n_dims; d++)
        *(d < axis ? &outer : &inner) *= d == axis ? 1 : data->shape.dim[d];
    char *cells = arena_alloc(host->arena, (size_t)(outer * n * inner) * 8), *to = cells;
    const char *from = host_cells(data);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n; i++, to += 8 * inner) {
            int64_t at = indices->ints[i];
            if (at < -size || at >= size)
                return error_kind(err, ERROR_OUT_OF_RANGE,
                                  "index %" PRId64 " is out of range for %" PRId64 " elements", at,
                                  size);
            at += at < 0 ? size : 0;
            memcpy(to, from + 8 * inner * (o * size + at), (size_t)(8 * inner));
        }
    host_set_cells(made, data->dtype, cells);
    return true;
}

/* The data's row for an index that is itself an affine row, which rises from 0 or more to its last
 * element. */
static bool gather_row(const Value *data, const Value *indices, int axis, Affine *row)
{
    int n = (int)indices->shape.n_dims;
    int64_t last;
    if (shape_elements(&indices->shape) == 0 || indices->offset < 0 ||
        !value_int_at(indices, shape_elements(&indices->shape) - 1, &last) ||
        last >= data->shape.dim[axis])
        return false;
    *row = (Affine){.offset = data->offset};
    if (!add_times(&row->offset, data->coef[axis], indices->offset))
        return false;
    for (int d = 0; d < n; d++)
        if (indices->coef[d] < 0 ||
            !add_times(&row->coef[axis + d], data->coef[axis], indices->coef[d]))
            return false;
    for (int d = 0; d < data->shape.n_dims; d++)
        if (d != axis)
            row->coef[d < axis ? d : d + n - 1] = data->coef[d];
    return true;
}

static bool gather(HostCall *host, Error *err)
{
    const Value *data = host->call->value[0], *indices = host->call->value[1];
    Value made = {.dtype = data->dtype};
    int axis;
    if (!args_gather(host->call, &axis, &made.shape, err))
        return false;
    if (host_is_held(data) && indices->ints && host_fits(host, &made.shape)) {
        if (!gather_cells(host, axis, &made, err))
            return false;
    } else if (data->affine && indices->affine) {
        made.affine = gather_row(data, indices, axis, &made.row);
    }
    return host_put(host, 0, &made, err);
}

/* ---- concat ---- */

static void concat_cells(HostCall *host, int axis, Value *made)
{
    const RuleCall *call = host->call;
    char *cells = arena_alloc(host->arena, (size_t)shape_elements(&made->shape) * 8), *to = cells;
    int64_t outer = 1;
    for (int d = 0; d < axis; d++)
        outer *= made->shape.dim[d];
    for (int64_t o = 0; o < outer; o++)
        for (int i = 0; i < call->n_inputs; i++) {
            int64_t n = shape_elements(call->shape[i]) / outer;
            if (n > 0)
                memcpy(to, (const char *)host_cells(call->value[i]) + 8 * o * n, (size_t)n * 8);
            to += 8 * n;
        }
    host_set_cells(made, made->dtype, cells);
}

/* Concatenates coordinates on the last dim, as components. */
static void concat_components(HostCall *host, Value *made)
{
    const RuleCall *call = host->call;
    int64_t last = made->shape.n_dims - 1, n = made->shape.dim[last];
    if (n > VALUE_COMPONENTS_MAX)
        return;
    Affine *component = arena_array(host->arena, Affine, n);
    for (int i = 0, at = 0; i < call->n_inputs; i++)
        for (int c = 0; c < call->shape[i]->dim[last]; c++)
            if (!value_component(call->value[i], c, &component[at++]))
                return;
    made->n_components = (int)n;
    made->component = component;
}

static bool concat(HostCall *host, Error *err)
{
    const RuleCall *call = host->call;
    Value made = {.dtype = call->value[0]->dtype};
    int axis;
    if (!args_concat(call, &axis, &made.shape, err))
        return false;
    bool held = host_fits(host, &made.shape);
    for (int i = 0; i < call->n_inputs; i++)
        held &= host_is_held(call->value[i]) && !call->value[i]->ints == !call->value[0]->ints;
    if (held)
        concat_cells(host, axis, &made);
    else if (axis == made.shape.n_dims - 1)
        concat_components(host, &made);
    return host_put(host, 0, &made, err);
}

/* ---- Pad, with a constant ---- */

/* The place in the operand of element x of the result; -1 if x is padding. */
static int64_t unpadded(const Padding *padding, const Shape *from, const int64_t *x)
{
    int64_t at = 0;
    for (int64_t d = 0; d < from->n_dims; d++) {
        int64_t place = x[d] - padding->before[d];
        if (place < 0 || place >= from->dim[d])
            return -1;
        at = at * from->dim[d] + place;
    }
    return at;
}

static bool pad(HostCall *host, Error *err)
{
    const RuleCall *call = host->call;
    const Value *in = call->value[0], *fill = call->n_inputs > 2 ? call->value[2] : NULL;
    Padding padding;
    if (call->n_inputs < 2 || !str_eq(args_text(call, "mode", "constant"), STR("constant")) ||
        args_attr(call, "value"))
        return false;
    if (!pad_read(call, &padding, err))
        return false;
    Value made = {.dtype = in->dtype, .shape = padding.out};
    bool filled = !fill || (host_is_held(fill) && !fill->ints == !in->ints &&
                            shape_elements(&fill->shape) == 1);
    if (!filled || !host_is_held(in) || !host_fits(host, &made.shape))
        return host_put(host, 0, &made, err);

    int64_t n = shape_elements(&made.shape), x[DIMS_MAX] = {0};
    char *cells = arena_alloc(host->arena, (size_t)n * 8);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = unpadded(&padding, &in->shape, x);
        if (at >= 0)
            memcpy(cells + 8 * i, (const char *)host_cells(in) + 8 * at, 8);
        else if (fill)
            memcpy(cells + 8 * i, host_cells(fill), 8);
        else
            memset(cells + 8 * i, 0, 8);
        shape_next(&made.shape, x);
    }
    host_set_cells(&made, in->dtype, cells);
    return host_put(host, 0, &made, err);
}

const HostOp host_op_identity = {.fn = identity};
const HostOp host_op_reshape = {.fn = reshape};
const HostOp host_op_flatten = {.fn = flatten};
const HostOp host_op_squeeze = {.fn = squeeze};
const HostOp host_op_unsqueeze = {.fn = unsqueeze};
const HostOp host_op_transpose = {.fn = transpose};
const HostOp host_op_expand = {.fn = expand};
const HostOp host_op_broadcast_in_dim = {.fn = broadcast_in_dim};
const HostOp host_op_slice = {.fn = slice};
const HostOp host_op_split = {.fn = split};
const HostOp host_op_gather = {.fn = gather};
const HostOp host_op_concat = {.fn = concat};
const HostOp host_op_pad = {.fn = pad};
