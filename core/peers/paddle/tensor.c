/* Mappings, answers and attributes for rules. */
#include "core/peers/paddle/spmd.h"

#include <assert.h>

/* ---- axes of one dim ---- */

bool spmd_axes_have(const SpmdAxes *axes, int axis)
{
    for (int i = 0; i < axes->n; i++)
        if (axes->axis[i] == axis)
            return true;
    return false;
}

bool spmd_axes_equal(const SpmdAxes *a, const SpmdAxes *b)
{
    return a->n == b->n && memcmp(a->axis, b->axis, a->n) == 0;
}

bool spmd_mappings_equal(const SpmdTensor *a, const SpmdTensor *b)
{
    for (int d = 0; d < a->n_dims; d++)
        if (!spmd_axes_equal(&a->dim[d], &b->dim[d]))
            return false;
    return true;
}

void spmd_axes_push(SpmdAxes *axes, int axis)
{
    if (axes->n < MESH_AXES_MAX && !spmd_axes_have(axes, axis))
        axes->axis[axes->n++] = (uint8_t)axis;
}

void spmd_axes_remove(SpmdAxes *axes, int axis)
{
    int kept = 0;
    for (int i = 0; i < axes->n; i++)
        if (axes->axis[i] != axis)
            axes->axis[kept++] = axes->axis[i];
    axes->n = (uint8_t)kept;
}

int64_t spmd_axes_size(const SpmdCall *call, const SpmdAxes *axes)
{
    int64_t size = 1;
    for (int i = 0; i < axes->n; i++)
        size *= call->mesh->axes[axes->axis[i]].size;
    return size;
}

void spmd_axes_trim(const SpmdCall *call, SpmdAxes *axes, int64_t size)
{
    while (axes->n > 0 && size % spmd_axes_size(call, axes) != 0)
        axes->n--;
}

/* ---- mappings ---- */

SpmdTensor spmd_without_partial(const SpmdTensor *tensor)
{
    SpmdTensor out = *tensor;
    spmd_clear_partial(&out);
    return out;
}

void spmd_clear_partial(SpmdTensor *tensor)
{
    memset(tensor->partial, REDUCE_NONE, sizeof tensor->partial);
}

void spmd_replicate(SpmdTensor *tensor)
{
    memset(tensor->dim, 0, sizeof tensor->dim);
    spmd_clear_partial(tensor);
}

void spmd_unsplit(SpmdTensor *tensor, int64_t dim)
{
    dim += dim < 0 ? tensor->n_dims : 0;
    if (dim >= 0 && dim < tensor->n_dims)
        tensor->dim[dim].n = 0;
}

void spmd_insert_dim(SpmdTensor *tensor, int dim)
{
    if (tensor->n_dims == SPMD_DIMS_MAX || dim < 0 || dim > tensor->n_dims)
        return;
    for (int d = tensor->n_dims; d > dim; d--)
        tensor->dim[d] = tensor->dim[d - 1];
    tensor->dim[dim] = (SpmdAxes){0};
    tensor->n_dims++;
}

void spmd_remove_dim(SpmdTensor *tensor, int dim)
{
    if (dim < 0 || dim >= tensor->n_dims)
        return;
    tensor->n_dims--;
    for (int d = dim; d < tensor->n_dims; d++)
        tensor->dim[d] = tensor->dim[d + 1];
    tensor->dim[tensor->n_dims] = (SpmdAxes){0};
}

void spmd_drop_indivisible(SpmdCall *call, SpmdTensor *tensor)
{
    for (int d = 0; d < tensor->n_dims && d < tensor->shape.n_dims; d++) {
        int before = tensor->dim[d].n;
        spmd_axes_trim(call, &tensor->dim[d], tensor->shape.dim[d]);
        if (tensor->dim[d].n < before)
            spmd_trace(call, "dim %d of size %lld loses axes that do not divide it", d,
                       (long long)tensor->shape.dim[d]);
    }
}

void spmd_keep_largest_axes(const SpmdCall *call, SpmdTensor *tensor)
{
    for (int d = 0; d < tensor->n_dims; d++) {
        SpmdAxes *axes = &tensor->dim[d];
        for (int i = 1; i < axes->n; i++)
            if (call->mesh->axes[axes->axis[i]].size > call->mesh->axes[axes->axis[0]].size)
                axes->axis[0] = axes->axis[i];
        axes->n = axes->n > 0;
    }
}

bool spmd_uses_axis(const SpmdTensor *tensor, int axis)
{
    for (int d = 0; d < tensor->n_dims; d++)
        if (spmd_axes_have(&tensor->dim[d], axis))
            return true;
    return false;
}

bool spmd_is_partial(const SpmdTensor *tensor)
{
    for (int axis = 0; axis < MESH_AXES_MAX; axis++)
        if (tensor->partial[axis] != REDUCE_NONE)
            return true;
    return false;
}

void spmd_add_partial(SpmdTensor *tensor, const SpmdAxes *axes, ReduceOp reduce)
{
    for (int i = 0; i < axes->n; i++)
        if (tensor->partial[axes->axis[i]] == REDUCE_NONE)
            tensor->partial[axes->axis[i]] = (uint8_t)reduce;
}

bool spmd_set_partial(SpmdTensor *tensor, const SpmdAxes *axes, ReduceOp reduce, Error *err)
{
    for (int i = 0; i < axes->n; i++) {
        int axis = axes->axis[i];
        if (tensor->partial[axis] != REDUCE_NONE)
            return error_set(err, "a tensor becomes partial over axis %d twice", axis);
        if (spmd_uses_axis(tensor, axis))
            return error_set(err, "a tensor becomes partial over axis %d, which splits it", axis);
        tensor->partial[axis] = (uint8_t)reduce;
    }
    return true;
}

void spmd_reduce_broadcast(SpmdTensor *gradient, int n_dims, const Shape *input)
{
    while (gradient->n_dims > n_dims) {
        SpmdAxes axes = gradient->dim[0];
        spmd_remove_dim(gradient, 0);
        spmd_add_partial(gradient, &axes, REDUCE_SUM);
    }
    for (int d = 0; input && d < gradient->n_dims && d < input->n_dims; d++) {
        if (input->dim[d] != 1)
            continue;
        SpmdAxes axes = gradient->dim[d];
        spmd_unsplit(gradient, d);
        spmd_add_partial(gradient, &axes, REDUCE_SUM);
    }
}

/* ---- answers ---- */

SpmdTensor *spmd_need_as_given(SpmdCall *call, const SpmdTensor *tensor)
{
    SpmdTensor *answer = arena_make(call->arena, SpmdTensor);
    *answer = *tensor;
    vec_push(call->arena, &call->need, answer);
    return answer;
}

SpmdTensor *spmd_need(SpmdCall *call, const SpmdTensor *tensor)
{
    SpmdTensor *answer = spmd_need_as_given(call, tensor);
    spmd_clear_partial(answer);
    return answer;
}

SpmdTensor *spmd_out_as_given(SpmdCall *call, const SpmdTensor *tensor)
{
    SpmdTensor *answer = arena_make(call->arena, SpmdTensor);
    *answer = *tensor;
    vec_push(call->arena, &call->out, answer);
    return answer;
}

SpmdTensor *spmd_out(SpmdCall *call, const SpmdTensor *tensor)
{
    SpmdTensor *answer = spmd_out_as_given(call, tensor);
    spmd_clear_partial(answer);
    return answer;
}

const SpmdTensor *spmd_given(const SpmdCall *call, const SpmdTensor *operand)
{
    if (operand >= call->input && operand < call->input + call->n_inputs)
        return &call->given_input[operand - call->input];
    return &call->given_output[operand - call->output];
}

SpmdTensor *spmd_out_whole(SpmdCall *call, int n_dims)
{
    assert(n_dims >= 0 && n_dims <= SPMD_DIMS_MAX);
    return spmd_out(call, &(SpmdTensor){.n_dims = n_dims});
}

SpmdTensor *spmd_out_absent(SpmdCall *call)
{
    return spmd_out(call, &(SpmdTensor){.absent = true});
}

/* ---- attributes ---- */

static const Attr *find_attr(const SpmdCall *call, const char *names)
{
    const Attr *found = NULL;
    if (call->reads)
        buf_printf(call->reads, "%s%s", call->reads->n > 0 ? " " : "", names);
    for (Str rest = str_from(names); rest.n > 0 && !found;)
        found = op_attr(call->graph, call->op, arena_str(call->arena, str_take(&rest, ' ')));
    return found;
}

int64_t spmd_int(const SpmdCall *call, const char *names, int64_t fallback)
{
    const Attr *attr = find_attr(call, names);
    if (!attr)
        return fallback;
    if (attr->type == ATTR_INT)
        return attr->i;
    return attr->type == ATTR_INTS && attr->n == 1 ? attr->ints[0] : fallback;
}

SpmdInts spmd_ints(const SpmdCall *call, const char *names)
{
    const Attr *attr = find_attr(call, names);
    if (attr && attr->type == ATTR_INTS)
        return (SpmdInts){.given = true, .n = attr->n, .at = attr->ints};
    if (attr && attr->type == ATTR_INT)
        return (SpmdInts){.given = true, .n = 1, .at = &attr->i};
    return (SpmdInts){0};
}

Str spmd_text(const SpmdCall *call, const char *names, const char *fallback)
{
    const Attr *attr = find_attr(call, names);
    return attr && attr->type == ATTR_STRING ? attr->s : str_from(fallback);
}

bool spmd_axis(int64_t axis, int64_t n_dims, int *out, Error *err)
{
    if (axis < -n_dims || axis >= n_dims)
        return error_set(err, "axis %lld is not a dim of a tensor with %lld", (long long)axis,
                         (long long)n_dims);
    *out = (int)(axis < 0 ? axis + n_dims : axis);
    return true;
}

/* ---- the trace ---- */

void spmd_trace(const SpmdCall *call, const char *format, ...)
{
    if (!call->trace)
        return;
    va_list args;
    va_start(args, format);
    buf_vprintf(call->trace, format, args);
    va_end(args);
    buf_putc(call->trace, '\n');
}

static void format_axes(const SpmdCall *call, const SpmdAxes *axes, Buf *out)
{
    for (int i = 0; i < axes->n; i++)
        buf_printf(out, "%s%s", i ? "." : "", call->mesh->axes[axes->axis[i]].name);
    if (axes->n == 0)
        buf_putc(out, '-');
}

const char *spmd_show_axes(const SpmdCall *call, const SpmdAxes *axes)
{
    Buf out = buf_new(call->arena);
    format_axes(call, axes, &out);
    return out.s;
}

const char *spmd_show(const SpmdCall *call, const SpmdTensor *tensor)
{
    Buf out = buf_new(call->arena);
    if (tensor->absent)
        return "absent";
    buf_putc(&out, '[');
    for (int d = 0; d < tensor->n_dims; d++) {
        buf_puts(&out, d ? "," : "");
        format_axes(call, &tensor->dim[d], &out);
    }
    buf_putc(&out, ']');
    for (int axis = 0; axis < call->mesh->n_axes; axis++)
        if (tensor->partial[axis] != REDUCE_NONE)
            buf_printf(&out, " %s(%s)", reduce_name(tensor->partial[axis]),
                       call->mesh->axes[axis].name);
    return out.s;
}
