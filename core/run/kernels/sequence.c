/* sequence.c - sequences and optionals; elements are copied. */
#include "core/run/kernel.h"

#include <inttypes.h>

static bool out_of_memory(Error *err)
{
    return error_kind(err, ERROR_RUN, "out of memory");
}

static bool append_copy(Local *sequence, const Local *item, Error *err)
{
    Local *copy = item->nothing || item->sequence ? NULL : local_copy(item);
    if (item->nothing || item->sequence)
        return error_kind(err, ERROR_RUN, "an element of a sequence must be a tensor");
    if (!copy)
        return out_of_memory(err);
    local_append(sequence, copy);
    return true;
}

static bool is_there(const KernelCall *call, int input)
{
    return input < call->n_inputs && call->input[input];
}

/* NULL with *err: the input is not a sequence. */
static const Local *sequence_input(const KernelCall *call, Error *err)
{
    if (is_there(call, 0) && call->input[0]->sequence)
        return call->input[0];
    error_kind(err, ERROR_RUN, "input 0 is not a sequence");
    return NULL;
}

/* A position in 0 .. n_places - 1; negative ones count from n. */
static bool position(const KernelCall *call, int input, int64_t n, int64_t n_places, int64_t *at,
                     Error *err)
{
    int64_t given;
    *at = n_places - 1;
    if (is_there(call, input)) {
        if (!kernel_number(call, input, &given, err))
            return false;
        *at = given < 0 ? given + n : given;
    }
    return (*at >= 0 && *at < n_places) ||
           error_kind(err, ERROR_RUN, "its position is out of range for %" PRId64 " elements", n);
}

/* ---- sequences ---- */

static bool make_sequence(const KernelCall *call, Dtype dtype, Local **out)
{
    *out = call->made[0] = local_new_sequence(dtype);
    return true;
}

static Dtype output_dtype(const KernelCall *call)
{
    return (Dtype)call->inferred->dtype[op_outputs(kernel_graph(call), call->op)[0]];
}

static bool construct(const KernelCall *call, Error *err)
{
    Local *out;
    make_sequence(call, output_dtype(call), &out);
    for (int i = 0; i < call->n_inputs; i++)
        if (!is_there(call, i))
            return error_kind(err, ERROR_RUN, "input %d is absent", i);
        else if (!append_copy(out, call->input[i], err))
            return false;
    return true;
}

static bool insert(const KernelCall *call, Error *err)
{
    const Local *from = sequence_input(call, err);
    int64_t at, n = from ? from->items.n : 0;
    Local *out;
    if (!from || !position(call, 2, n, n + 1, &at, err))
        return false;
    if (!is_there(call, 1))
        return error_kind(err, ERROR_RUN, "input 1 is absent");
    if (n > 0 && call->input[1]->dtype != from->dtype)
        return error_kind(err, ERROR_RUN, "its element is another type than the sequence's");
    make_sequence(call, call->input[1]->dtype, &out);
    for (int64_t i = 0; i <= n; i++)
        if ((i == at && !append_copy(out, call->input[1], err)) ||
            (i < n && !append_copy(out, from->items.at[i], err)))
            return false;
    return true;
}

static bool erase(const KernelCall *call, Error *err)
{
    const Local *from = sequence_input(call, err);
    int64_t at, n = from ? from->items.n : 0;
    Local *out;
    if (!from || !position(call, 1, n, n, &at, err))
        return false;
    make_sequence(call, from->dtype, &out);
    for (int64_t i = 0; i < n; i++)
        if (i != at && !append_copy(out, from->items.at[i], err))
            return false;
    return true;
}

static bool element_at(const KernelCall *call, Error *err)
{
    const Local *from = sequence_input(call, err);
    int64_t at;
    return from && position(call, 1, from->items.n, from->items.n, &at, err) &&
           kernel_copy_output(call, from->items.at[at], err);
}

static bool store_int(const KernelCall *call, int64_t number)
{
    local_store(call->output[0], 0, 1, NUMBER_I64, &number);
    return true;
}

static bool length(const KernelCall *call, Error *err)
{
    const Local *from = sequence_input(call, err);
    return from && kernel_needs(call, 1, err) && store_int(call, from->items.n);
}

/* ---- a body run once per element ---- */

static bool element(const KernelCall *call, Error *err)
{
    const Local *from = is_there(call, 0) ? call->input[0] : NULL;
    if (from && from->sequence && call->iteration >= from->items.n)
        return error_kind(err, ERROR_RUN, "it has %d elements, another mapped sequence has more",
                          from->items.n);
    return kernel_copy_output(call, from && from->sequence ? from->items.at[call->iteration] : from,
                              err);
}

/* The collected sequence; empty without iterations. */
static bool map(const KernelCall *call, Error *err)
{
    if (is_there(call, 0))
        return kernel_copy_output(call, call->input[0], err);
    Local *out;
    return make_sequence(call, output_dtype(call), &out);
}

/* ---- splitting and joining ---- */

/* The split of a dim. */
typedef struct {
    int64_t n, each;      /* each: of all but the last; 0: as listed */
    const int64_t *sizes; /* n of them */
    bool keeps;           /* the dim stays */
} DimSplit;

static bool listed_parts(const KernelCall *call, int64_t size, DimSplit *parts, Error *err)
{
    int64_t sum = 0;
    if (!kernel_ints(call, 1, &parts->sizes, &parts->n, err))
        return false;
    for (int64_t i = 0; i < parts->n; i++)
        if (parts->sizes[i] < 0 || __builtin_add_overflow(sum, parts->sizes[i], &sum))
            return error_kind(err, ERROR_RUN, "its part %" PRId64 " has a size below 0", i);
    return sum == size ||
           error_kind(err, ERROR_RUN, "its parts add up to %" PRId64 ", not %" PRId64, sum, size);
}

static bool find_parts(const KernelCall *call, int64_t size, DimSplit *parts, Error *err)
{
    bool given = is_there(call, 1);
    *parts = (DimSplit){.each = 1};
    parts->keeps = given || op_attr_int(kernel_graph(call), call->op, "keepdims", 1) != 0;
    if (given && call->input[1]->shape.n_dims > 0) {
        parts->each = 0;
        return listed_parts(call, size, parts, err);
    }
    if (given && !kernel_number(call, 1, &parts->each, err))
        return false;
    if (parts->each <= 0)
        return error_kind(err, ERROR_RUN, "its parts have the size %" PRId64, parts->each);
    parts->n = size / parts->each + (size % parts->each != 0);
    return true;
}

/* The rank's part of an element of that whole shape: sharded as the tensor is, whose dim `axis` is
 * whole. keeps: elements have a dim for it. NULL: out of memory. */
static Local *part_like(const Local *from, const Shape *shape, int64_t axis, bool keeps)
{
    Local *item = local_new_whole(from->dtype, &(Shape){0});
    item->whole = item->shape = *shape;
    for (int d = 0; d < shape->n_dims; d++) {
        int e = d + (!keeps && d >= axis);
        bool along = keeps && d == axis;
        item->runs[d] =
            along ? runs_whole(item->arena, shape->dim[d]) : runs_copy(item->arena, &from->runs[e]);
        item->shape.dim[d] = along ? shape->dim[d] : from->shape.dim[e];
    }
    if (local_alloc(item))
        return item;
    local_free(item);
    return NULL;
}

static bool split(const KernelCall *call, Error *err)
{
    int64_t axis, stride[DIMS_MAX], start = 0;
    DimSplit parts;
    Local *out;
    const Local *from = call->input[0];
    if (!from || from->sequence || from->nothing)
        return error_kind(err, ERROR_RUN, "input 0 is not a tensor");
    if (!kernel_axis(call, 0, from->shape.n_dims, &axis, err) ||
        !kernel_whole(from, axis, axis + 1, err) ||
        !find_parts(call, from->shape.dim[axis], &parts, err))
        return false;
    make_sequence(call, from->dtype, &out);
    row_major_strides(&from->shape, stride);
    for (int64_t i = 0; i < parts.n; i++) {
        int64_t rest = from->shape.dim[axis] - start;
        int64_t size = parts.each == 0 ? parts.sizes[i] : rest < parts.each ? rest : parts.each;
        Shape shape = {.n_dims = from->shape.n_dims - !parts.keeps};
        for (int64_t d = 0; d < shape.n_dims; d++)
            shape.dim[d] = from->whole.dim[d + (!parts.keeps && d >= axis)];
        if (parts.keeps)
            shape.dim[axis] = size;
        Local *item = part_like(from, &shape, axis, parts.keeps);
        if (!item)
            return out_of_memory(err);
        Picks picks = picks_new(call->scratch, &item->shape);
        for (int d = 0; d < picks.n_dims; d++) {
            int e = d + (!parts.keeps && d >= axis);
            picks_match(&picks, d, &item->runs[d], e == axis ? start : 0, 1, &from->runs[e],
                        stride[e]);
        }
        Local part = *from;
        part.data = local_at(from, parts.keeps ? 0 : start * stride[axis]);
        local_pick(item, &part, &picks);
        local_append(out, item);
        start += size;
    }
    return true;
}

/* The shape of all elements joined along the axis, or stacked before it. */
static bool joined_shape(const Local *from, int64_t axis, bool stack, Shape *out, Error *err)
{
    const Shape *first = &from->items.at[0]->whole;
    *out = (Shape){.n_dims = first->n_dims + stack};
    for (int64_t d = 0; d < out->n_dims; d++)
        out->dim[d] = d == axis ? 0 : first->dim[d - (stack && d > axis)];
    for (int i = 0; i < from->items.n; i++) {
        const Shape *shape = &from->items.at[i]->whole;
        if (shape->n_dims != first->n_dims)
            return error_kind(err, ERROR_RUN, "its elements have different numbers of dims");
        for (int64_t d = 0; d < out->n_dims; d++)
            if (d != axis && shape->dim[d - (stack && d > axis)] != out->dim[d])
                return error_kind(err, ERROR_RUN, "its elements differ in more than dim %" PRId64,
                                  axis);
        out->dim[axis] += stack ? 1 : shape->dim[axis];
    }
    return shape_check(out, err);
}

static bool concat(const KernelCall *call, Error *err)
{
    const Local *from = sequence_input(call, err);
    bool stack = op_attr_int(kernel_graph(call), call->op, "new_axis", 0) != 0;
    int64_t axis, start = 0, n_outer = 1, n_inner = 1;
    Shape shape;
    Local *out;
    if (!from)
        return false;
    if (from->items.n == 0)
        return error_kind(err, ERROR_RUN, "there are no elements to join");
    int64_t rank = from->items.at[0]->whole.n_dims + stack;
    if (rank > DIMS_MAX)
        return error_kind(err, ERROR_RUN, "its output has more than %d dims", DIMS_MAX);
    if (!kernel_axis(call, 0, rank, &axis, err) || !joined_shape(from, axis, stack, &shape, err) ||
        !kernel_decide(call, 0, &shape, &out, err))
        return false;
    if (out && out->dtype != from->dtype)
        return error_kind(err, ERROR_RUN, "its elements are of another type than its output");
    if (out && !kernel_whole(out, axis, axis + 1, err))
        return false;
    for (int64_t d = 0; out && d < rank; d++)
        *(d < axis ? &n_outer : &n_inner) *= d == axis ? 1 : out->shape.dim[d];
    for (int i = 0; out && i < from->items.n; i++) {
        const Local *item = from->items.at[i];
        int64_t size = stack ? 1 : item->whole.dim[axis], n = size * n_inner;
        if (shape_elements(&item->shape) != n_outer * n)
            return error_kind(err, ERROR_RUN, "its elements are sharded otherwise than its output");
        for (int64_t o = 0; o < n_outer && n > 0; o++)
            memcpy(local_at(out, (o * shape.dim[axis] + start) * n_inner), local_at(item, o * n),
                   (size_t)(n * element_bytes(out->dtype)));
        start += size;
    }
    return true;
}

/* ---- optionals ---- */

static bool optional(const KernelCall *call, Error *err)
{
    if (is_there(call, 0))
        return kernel_copy_output(call, call->input[0], err);
    call->made[0] = local_new_nothing(output_dtype(call));
    return true;
}

static bool has_element(const KernelCall *call, Error *err)
{
    return kernel_needs(call, 0, err) &&
           store_int(call, is_there(call, 0) && !call->input[0]->nothing);
}

static bool get_element(const KernelCall *call, Error *err)
{
    if (!is_there(call, 0) || call->input[0]->nothing)
        return error_kind(err, ERROR_RUN, "the optional is empty");
    return kernel_copy_output(call, call->input[0], err);
}

static bool empty(const KernelCall *call, Error *err)
{
    (void)err;
    Local *out;
    return make_sequence(call, output_dtype(call), &out);
}

#define ROW(name, function)                                                                        \
    {                                                                                              \
        (name), (function), NULL, KERNEL_LISTS, ROUNDING_EXACT                                     \
    }

const Kernel kernels_sequence[] = {
    ROW("SequenceConstruct", construct),
    ROW("SequenceEmpty", empty),
    ROW("SequenceInsert", insert),
    ROW("SequenceErase", erase),
    ROW("SequenceAt", element_at),
    ROW("SequenceLength", length),
    ROW("SequenceElement", element),
    ROW("SequenceMap", map),
    ROW("SplitToSequence", split),
    ROW("ConcatFromSequence", concat),
    ROW("Optional", optional),
    ROW("OptionalHasElement", has_element),
    ROW("OptionalGetElement", get_element),
    {0},
};
