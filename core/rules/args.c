#include "core/rules/args.h"

#include "core/rules/alias.h"

#include <inttypes.h>
#include <math.h>

/* ---- attributes ---- */

static void note_read(AttrReads *reads, const char *attr)
{
    for (int i = 0; i < reads->n; i++)
        if (strcmp(reads->name[i], attr) == 0)
            return;
    if (reads->n < ATTR_READS_MAX)
        reads->name[reads->n++] = attr;
}

const Attr *args_attr(const RuleCall *call, const char *attr)
{
    if (call->reads)
        note_read(call->reads, attr);
    return call->alias ? alias_attr(call->alias, call->graph, call->op, attr)
                       : op_attr(call->graph, call->op, attr);
}

static void note_mistyped(const RuleCall *call, const char *attr, const char *wanted)
{
    if (!call->reads || call->reads->mistyped)
        return;
    call->reads->mistyped = attr;
    call->reads->wanted = wanted;
}

int64_t args_int(const RuleCall *call, const char *attr, int64_t fallback)
{
    const Attr *found = args_attr(call, attr);
    if (found && found->type == ATTR_INT)
        return found->i;
    if (found && found->type == ATTR_INTS && found->n == 1)
        return found->ints[0];
    if (found)
        note_mistyped(call, attr, "a whole number");
    return fallback;
}

double args_float(const RuleCall *call, const char *attr, double fallback)
{
    const Attr *found = args_attr(call, attr);
    if (found && found->type == ATTR_INT)
        return (double)found->i;
    if (found && found->type == ATTR_FLOAT)
        return found->f;
    if (found)
        note_mistyped(call, attr, "a number");
    return fallback;
}

Str args_text(const RuleCall *call, const char *attr, const char *fallback)
{
    const Attr *found = args_attr(call, attr);
    if (found && found->type == ATTR_STRING)
        return found->s;
    if (found)
        note_mistyped(call, attr, "a text");
    return str_from(fallback);
}

/* ---- integers ---- */

bool args_has(const RuleCall *call, int input)
{
    return input >= 0 && input < call->n_inputs && call->shape[input];
}

bool args_ints(const RuleCall *call, int input, const char *attr, Ints *out, Error *err)
{
    *out = (Ints){0};
    if (args_has(call, input)) {
        const Value *value = call->value[input];
        if (!value || (!value->ints && !value->floats))
            return error_kind(err, ERROR_NOT_INFERABLE,
                              "its input %d (%s) is not known before the run", input, attr);
        if (!value->ints)
            return error_set(err, "its input %d (%s) does not hold integers", input, attr);
        *out = (Ints){true, (int)shape_elements(&value->shape), value->ints};
        return true;
    }
    const Attr *found = args_attr(call, attr);
    if (found && found->type == ATTR_INTS)
        *out = (Ints){true, found->n, found->ints};
    else if (found && found->type == ATTR_INT)
        *out = (Ints){true, 1, &found->i};
    else if (found)
        return error_set(err, "its attribute '%s' does not hold integers", attr);
    return true;
}

bool args_axis(int64_t axis, int64_t n_dims, int *out, Error *err)
{
    *out = 0;
    if (axis < -n_dims || axis >= n_dims)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "axis %" PRId64 " is out of range for %" PRId64 " dims", axis, n_dims);
    *out = (int)(axis < 0 ? axis + n_dims : axis);
    return true;
}

/* Marks the axes of a list; each at most once. */
static bool mark_axes(const Ints *axes, int64_t n_dims, bool *marked, Error *err)
{
    for (int i = 0; i < axes->n; i++) {
        int axis;
        if (!args_axis(axes->at[i], n_dims, &axis, err))
            return false;
        if (marked[axis])
            return error_kind(err, ERROR_DUPLICATE, "axis %d is given twice", axis);
        marked[axis] = true;
    }
    return true;
}

bool args_dtype(const RuleCall *call, const char *attr, Dtype fallback, Dtype *out, Error *err)
{
    int64_t number = args_int(call, attr, 0);
    *out = number == 0 ? fallback : dtype_from_onnx(number);
    return *out != DT_NONE ||
           error_kind(err, ERROR_DTYPE, "its attribute '%s' is not an element type: %" PRId64, attr,
                      number);
}

/* ---- shapes ---- */

static bool shapes_differ(const RuleCall *call, const Shape *from, const Shape *to,
                          const char *what, Error *err)
{
    Buf a = buf_new(call->arena), b = buf_new(call->arena);
    shape_format(from, &a);
    shape_format(to, &b);
    return error_kind(err, ERROR_RANK, "%s: [%s] and [%s]", what, a.s, b.s);
}

/* The number that the op has for this input of ours, since another system may order operands
 * differently. */
static int given_number(const RuleCall *call, int input)
{
    const Alias *alias = call->alias;
    return alias && input < alias->n_operands ? alias->operand[input] : input;
}

bool args_rank(const RuleCall *call, int input, int64_t least, int64_t most, Error *err)
{
    int64_t n = call->shape[input]->n_dims;
    Buf need = buf_new(call->arena);
    if (least <= n && n <= most)
        return true;
    buf_printf(&need, "%" PRId64, least);
    if (most >= DIMS_MAX)
        buf_puts(&need, " or more");
    else if (most > least)
        buf_printf(&need, " to %" PRId64, most);
    return error_kind(err, ERROR_RANK, "its input %d has %" PRId64 " dim%s, and needs %s",
                      given_number(call, input), n, n == 1 ? "" : "s", need.s);
}

bool args_shape(const RuleCall *call, int input, const Shape *want, Error *err)
{
    Buf is = buf_new(call->arena), needs = buf_new(call->arena);
    if (shape_equal(call->shape[input], want))
        return true;
    shape_format(call->shape[input], &is);
    shape_format(want, &needs);
    return error_kind(err, ERROR_RANK, "its input %d is [%s], and needs to be [%s]",
                      given_number(call, input), is.s, needs.s);
}

bool args_same_size(const RuleCall *call, int a, int64_t dim_a, int b, int64_t dim_b, Error *err)
{
    int64_t size_a = call->shape[a]->dim[dim_a], size_b = call->shape[b]->dim[dim_b];
    return size_a == size_b ||
           error_set(err,
                     "dim %" PRId64 " of its input %d is %" PRId64 ", and dim %" PRId64
                     " of its input %d is %" PRId64,
                     dim_a, given_number(call, a), size_a, dim_b, given_number(call, b), size_b);
}

bool args_same_shape(const RuleCall *call, int a, int b, Error *err)
{
    Buf one = buf_new(call->arena), other = buf_new(call->arena);
    if (shape_equal(call->shape[a], call->shape[b]))
        return true;
    shape_format(call->shape[a], &one);
    shape_format(call->shape[b], &other);
    return error_kind(err, ERROR_RANK, "its input %d is [%s], and its input %d [%s]",
                      given_number(call, a), one.s, given_number(call, b), other.s);
}

static bool add_dim(Shape *shape, int64_t size, Error *err)
{
    if (shape->n_dims == DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    shape->dim[shape->n_dims++] = size;
    return true;
}

bool args_broadcast(const Shape *const *shapes, int n, Shape *out, Error *err)
{
    int from[DIMS_MAX] = {0}; /* the operand from which a dim has its size */
    *out = (Shape){0};
    for (int i = 0; i < n; i++)
        if (shapes[i] && shapes[i]->n_dims > out->n_dims)
            out->n_dims = shapes[i]->n_dims;
    for (int64_t d = 0; d < out->n_dims; d++)
        out->dim[d] = 1;

    for (int i = 0; i < n; i++) {
        if (!shapes[i])
            continue;
        int64_t skip = out->n_dims - shapes[i]->n_dims;
        for (int64_t d = skip; d < out->n_dims; d++) {
            int64_t size = shapes[i]->dim[d - skip];
            if (size == 1 || size == out->dim[d])
                continue;
            if (out->dim[d] != 1)
                return error_set(err,
                                 "dim %" PRId64 " of operand %d is %" PRId64 ", and dim %" PRId64
                                 " of operand %d is %" PRId64,
                                 d - skip, i, size, d - out->n_dims + shapes[from[d]]->n_dims,
                                 from[d], out->dim[d]);
            out->dim[d] = size;
            from[d] = i;
        }
    }
    return true;
}

/* Computes the size of a dim given as -1: n elements divided by the other sizes. */
static bool infer_size(Shape *out, int at, int64_t n, Error *err)
{
    int64_t known = 1;
    for (int64_t d = 0; d < out->n_dims; d++)
        if (d != at && __builtin_mul_overflow(known, out->dim[d], &known))
            return error_set(err, "its target has too many elements");
    if (known == 0 || n % known != 0)
        return error_kind(err, ERROR_NOT_INFERABLE,
                          "%" PRId64 " elements are no multiple of the %" PRId64
                          " that its target names beside -1",
                          n, known);
    out->dim[at] = n / known;
    return true;
}

bool args_reshape(const RuleCall *call, Shape *out, Error *err)
{
    const Shape *from = call->shape[0];
    bool zero_copies = args_int(call, "allowzero", 0) == 0;
    int unknown = -1;
    Ints target;
    *out = (Shape){0};
    if (!args_ints(call, 1, "shape", &target, err))
        return false;
    if (!target.given)
        return error_set(err, "it has no target shape");

    for (int i = 0; i < target.n; i++) {
        int64_t size = target.at[i];
        if (size < -1 || (size == -1 && unknown >= 0))
            return error_set(err, "its target has %s", size < -1 ? "a negative size" : "two -1");
        if (size == 0 && zero_copies && i >= from->n_dims)
            return error_kind(err, ERROR_RANK, "its target copies dim %d of %" PRId64 " dims", i,
                              from->n_dims);
        if (size == -1)
            unknown = i;
        if (!add_dim(out, size == 0 && zero_copies ? from->dim[i] : size, err))
            return false;
    }
    int64_t n = shape_elements(from);
    if (unknown >= 0 && !infer_size(out, unknown, n, err))
        return false;
    if (!shape_check(out, err))
        return false;
    return shape_elements(out) == n || shapes_differ(call, from, out, "element counts differ", err);
}

bool args_flatten(const RuleCall *call, Shape *out, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t axis = args_int(call, "axis", 1);
    if (axis < -from->n_dims || axis > from->n_dims)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "axis %" PRId64 " is out of range for %" PRId64 " dims", axis,
                          from->n_dims);
    if (axis < 0)
        axis += from->n_dims;
    *out = (Shape){.n_dims = 2, .dim = {1, 1}};
    for (int64_t d = 0; d < from->n_dims; d++)
        out->dim[d >= axis] *= from->dim[d];
    return true;
}

bool args_squeeze(const RuleCall *call, Shape *out, Error *err)
{
    const Shape *from = call->shape[0];
    bool marked[DIMS_MAX] = {false}, keep_larger = args_int(call, "keep_larger", 0) != 0;
    Ints axes;
    *out = (Shape){0};
    if (!args_ints(call, 1, "axes", &axes, err) || !mark_axes(&axes, from->n_dims, marked, err))
        return false;
    bool all = !axes.given || (keep_larger && axes.n == 0);
    for (int64_t d = 0; d < from->n_dims; d++) {
        bool gone = (all || marked[d]) && (from->dim[d] == 1 || (!all && !keep_larger));
        if (gone && from->dim[d] != 1)
            return error_set(err, "dim %" PRId64 " has size %" PRId64 " and cannot be squeezed", d,
                             from->dim[d]);
        if (!gone)
            out->dim[out->n_dims++] = from->dim[d];
    }
    return true;
}

bool args_unsqueeze(const RuleCall *call, Shape *out, Error *err)
{
    const Shape *from = call->shape[0];
    bool marked[DIMS_MAX] = {false};
    Ints axes;
    *out = (Shape){0};
    if (!args_ints(call, 1, "axes", &axes, err))
        return false;
    if (!axes.given)
        return error_set(err, "it has no axes");
    int64_t n_dims = from->n_dims + axes.n;
    if (n_dims > DIMS_MAX)
        return error_kind(err, ERROR_RANK, "its output has more than %d dims", DIMS_MAX);
    if (!mark_axes(&axes, n_dims, marked, err))
        return false;
    out->n_dims = n_dims;
    for (int64_t d = 0, next = 0; d < n_dims; d++)
        out->dim[d] = marked[d] ? 1 : from->dim[next++];
    return true;
}

bool args_expand(const RuleCall *call, Shape *out, Error *err)
{
    Ints sizes;
    Shape target = {0};
    if (!args_ints(call, 1, "shape", &sizes, err))
        return false;
    for (int i = 0; i < sizes.n; i++)
        if (!add_dim(&target, sizes.at[i], err))
            return false;
    if (!shape_check(&target, err))
        return false;
    const Shape *both[2] = {call->shape[0], &target};
    return args_broadcast(both, 2, out, err) && shape_check(out, err);
}

static bool range_of_ints(const Value *const *in, int64_t *n, Error *err)
{
    int64_t start = in[0]->ints[0], limit = in[1]->ints[0], delta = in[2]->ints[0];
    __extension__ typedef __int128 Wide;
    Wide reach = (Wide)limit - start, steps = 0;
    if (delta == 0)
        return error_set(err, "its step is 0");
    if ((reach > 0) == (delta > 0) && reach != 0)
        steps = (reach + delta + (delta > 0 ? -1 : 1)) / delta;
    if (steps > INT64_MAX)
        return error_set(err, "it has too many elements");
    *n = (int64_t)steps;
    return true;
}

static bool range_of_floats(const Value *const *in, int64_t *n, Error *err)
{
    double start = in[0]->floats[0], limit = in[1]->floats[0], delta = in[2]->floats[0];
    double steps = ceil((limit - start) / delta);
    if (delta == 0 || !(steps < 0x1p60))
        return error_set(err, "its step leads away from its limit");
    *n = steps > 0 ? (int64_t)steps : 0;
    return true;
}

bool args_range(const RuleCall *call, int64_t *n, Error *err)
{
    return call->value[0]->ints ? range_of_ints(call->value, n, err)
                                : range_of_floats(call->value, n, err);
}

bool args_broadcast_in_dim(const RuleCall *call, const Shape *to, int dims[DIMS_MAX], Error *err)
{
    const Shape *from = call->shape[0];
    bool used[DIMS_MAX] = {false};
    Ints list;
    if (!args_ints(call, -1, "dims", &list, err))
        return false;
    if (list.n != from->n_dims)
        return error_kind(err, ERROR_RANK, "it names %d dims for the %" PRId64 " of its operand",
                          list.n, from->n_dims);
    for (int i = 0; i < list.n; i++) {
        if (!args_axis(list.at[i], to->n_dims, &dims[i], err))
            return false;
        if (used[dims[i]])
            return error_kind(err, ERROR_DUPLICATE, "it names dim %d twice", dims[i]);
        used[dims[i]] = true;
        if (from->dim[i] != 1 && from->dim[i] != to->dim[dims[i]])
            return error_kind(err, ERROR_RANK,
                              "dim %d of its operand has %" PRId64
                              " places, dim %d of its result %" PRId64,
                              i, from->dim[i], dims[i], to->dim[dims[i]]);
    }
    return true;
}

bool args_permutation(const RuleCall *call, int *perm, Error *err)
{
    int64_t n_dims = call->shape[0]->n_dims;
    bool marked[DIMS_MAX] = {false};
    Ints axes;
    if (!args_ints(call, -1, "perm", &axes, err))
        return false;
    if (axes.given && axes.n != n_dims)
        return error_kind(err, ERROR_RANK, "perm has %d axes for %" PRId64 " dims", axes.n, n_dims);
    if (!mark_axes(&axes, n_dims, marked, err))
        return false;
    for (int d = 0; d < n_dims; d++)
        if (!axes.given)
            perm[d] = (int)n_dims - 1 - d;
        else if (!args_axis(axes.at[d], n_dims, &perm[d], err))
            return false;
    return true;
}

/* ---- parts ---- */

/* A slice of a dim of this size, by numpy's rules. */
static Span span_of(int64_t start, int64_t end, int64_t step, int64_t size)
{
    int64_t far = (int64_t)1 << 62;
    bool back = step < 0;
    step = clamp(step, -far, far);
    start = clamp(start < 0 ? start + size : start, back ? -1 : 0, back ? size - 1 : size);
    end = clamp(end < 0 ? end + size : end, back ? -1 : 0, back ? size - 1 : size);
    int64_t reach = back ? start - end : end - start, stride = back ? -step : step;
    return (Span){start, step, reach <= 0 ? 0 : (reach - 1) / stride + 1};
}

bool args_slice(const RuleCall *call, Span *spans, Error *err)
{
    const Shape *from = call->shape[0];
    bool marked[DIMS_MAX] = {false};
    Ints starts, ends, axes, steps;
    if (!args_ints(call, 1, "starts", &starts, err) || !args_ints(call, 2, "ends", &ends, err) ||
        !args_ints(call, 3, "axes", &axes, err) || !args_ints(call, 4, "steps", &steps, err))
        return false;
    if (starts.n != ends.n || (axes.given && axes.n != starts.n) ||
        (steps.given && steps.n != starts.n) || starts.n > from->n_dims)
        return error_set(err, "its starts, ends, axes and steps differ in length");

    for (int64_t d = 0; d < from->n_dims; d++)
        spans[d] = (Span){0, 1, from->dim[d]};
    for (int i = 0; i < starts.n; i++) {
        int axis;
        if (!args_axis(axes.given ? axes.at[i] : i, from->n_dims, &axis, err))
            return false;
        if (marked[axis])
            return error_kind(err, ERROR_DUPLICATE, "axis %d is given twice", axis);
        marked[axis] = true;
        int64_t step = steps.given ? steps.at[i] : 1;
        if (step == 0)
            return error_set(err, "a step is 0");
        spans[axis] = span_of(starts.at[i], ends.at[i], step, from->dim[axis]);
    }
    return true;
}

/* Splits a size into n parts: equal ones or, since opset 18, parts of ceil(size / n) with a smaller
 * rest. */
static bool split_evenly(const RuleCall *call, int64_t size, int64_t *sizes, Error *err)
{
    int64_t n = call->n_outputs, part = (size + n - 1) / n;
    if (args_int(call, "num_outputs", n) != n)
        return error_set(err, "it has %d outputs, and num_outputs says %" PRId64, call->n_outputs,
                         args_int(call, "num_outputs", n));
    if (size % n != 0 && call->opset < 18)
        return error_kind(err, ERROR_NOT_DIVISIBLE,
                          "%" PRId64 " does not split into %" PRId64 " equal parts", size, n);
    for (int64_t i = 0; i < n; i++)
        sizes[i] = clamp(size - i * part, 0, part);
    return true;
}

bool args_split(const RuleCall *call, int *axis, int64_t *sizes, Error *err)
{
    const Shape *from = call->shape[0];
    int64_t left;
    Ints given;
    if (!args_axis(args_int(call, "axis", 0), from->n_dims, axis, err) ||
        !args_ints(call, 1, "split", &given, err))
        return false;
    left = from->dim[*axis];
    if (!given.given)
        return split_evenly(call, left, sizes, err);
    if (given.n != call->n_outputs)
        return error_set(err, "it has %d outputs and %d sizes", call->n_outputs, given.n);
    for (int i = 0; i < given.n; i++) {
        if (given.at[i] < 0 || given.at[i] > left)
            break;
        sizes[i] = given.at[i];
        left -= given.at[i];
        if (i == given.n - 1 && left == 0)
            return true;
    }
    return error_set(err, "its sizes do not add up to the %" PRId64 " of dim %d", from->dim[*axis],
                     *axis);
}

bool args_concat(const RuleCall *call, int *axis, Shape *out, Error *err)
{
    *out = *call->shape[0];
    if (!args_axis(args_int(call, "axis", 1), out->n_dims, axis, err))
        return false;
    for (int i = 1; i < call->n_inputs; i++) {
        const Shape *shape = call->shape[i];
        if (!shape)
            return error_set(err, "its input %d is absent", i);
        int64_t d = shape->n_dims == out->n_dims ? 0 : out->n_dims;
        while (d < out->n_dims && (d == *axis || shape->dim[d] == out->dim[d]))
            d++;
        if (d < out->n_dims || shape->n_dims != out->n_dims)
            return shapes_differ(call, out, shape, "operands do not fit beside each other", err);
        if (__builtin_add_overflow(out->dim[*axis], shape->dim[*axis], &out->dim[*axis]))
            return error_set(err, "its output has too many elements");
    }
    return true;
}

bool args_gather(const RuleCall *call, int *axis, Shape *out, Error *err)
{
    const Shape *data = call->shape[0], *indices = call->shape[1];
    *out = (Shape){0};
    if (!args_axis(args_int(call, "axis", 0), data->n_dims, axis, err))
        return false;
    for (int64_t d = 0; d < data->n_dims; d++) {
        if (d != *axis) {
            if (!add_dim(out, data->dim[d], err))
                return false;
            continue;
        }
        for (int64_t i = 0; i < indices->n_dims; i++)
            if (!add_dim(out, indices->dim[i], err))
                return false;
    }
    return true;
}

bool args_all_as_one_row(const RuleCall *call)
{
    const Attr *axis = args_attr(call, "axis");
    bool none = axis && axis->type != ATTR_INT && (axis->type != ATTR_INTS || axis->n != 1);
    return none || args_int(call, "flatten", 0) != 0;
}

bool args_reduce(const RuleCall *call, bool *reduced, Shape *out, Error *err)
{
    const Shape *from = call->shape[0];
    bool keep = args_int(call, "keepdims", 1) != 0;
    bool none = args_int(call, "noop_with_empty_axes", 0) != 0;
    Ints axes;
    *out = (Shape){0};
    memset(reduced, 0, DIMS_MAX * sizeof *reduced);
    if (!args_ints(call, 1, "axes", &axes, err) || !mark_axes(&axes, from->n_dims, reduced, err))
        return false;
    for (int64_t d = 0; d < from->n_dims; d++) {
        if (axes.n == 0)
            reduced[d] = !none;
        if (!reduced[d] || keep)
            out->dim[out->n_dims++] = reduced[d] ? 1 : from->dim[d];
    }
    return true;
}
