/* control.c - results of branches; carried, sliced and stacked values of loops.
 *
 *     If(condition, then, else), LoopResult(initial, next), LoopCarry(initial)   one of them
 *     LoopIndex, LoopSlice(scanned)      the value of iteration `call->iteration`
 *     LoopStack(collected)               the values of all iterations, from a sequence (program.h)
 */
#include "core/run/kernel.h"

#include <inttypes.h>

static bool branch(const KernelCall *call, Error *err)
{
    int64_t taken;
    if (!kernel_number(call, 0, &taken, err))
        return false;
    int operand = taken ? 1 : 2;
    if (operand < call->n_inputs && op_inputs(kernel_graph(call), call->op)[operand] < 0)
        return true; /* zeros: the gradient of what the other branch reads */
    return kernel_copy_output(call, kernel_input(call, operand), err);
}

static bool result(const KernelCall *call, Error *err)
{
    int operand = call->iteration > 0 ? 1 : 0;
    return kernel_copy_output(call, kernel_input(call, operand), err);
}

static bool carry(const KernelCall *call, Error *err)
{
    return kernel_copy_output(call, call->input[0], err);
}

static bool loop_index(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 0, err))
        return false;
    local_store(call->output[0], 0, 1, NUMBER_I64, &call->iteration);
    return true;
}

static bool slice(const KernelCall *call, Error *err)
{
    int64_t axis, stride[DIMS_MAX];
    if (!kernel_needs(call, 1, err) ||
        !kernel_axis(call, 0, call->input[0]->shape.n_dims, &axis, err))
        return false;
    const Local *from = call->input[0];
    Local *to = call->output[0];
    int64_t n = from->shape.dim[axis], i = call->iteration;
    if (i >= n)
        return error_kind(err, ERROR_RUN,
                          "it has %" PRId64 " steps, another scanned tensor has more", n);
    if (op_attr_int(kernel_graph(call), call->op, "reverse", 0))
        i = n - 1 - i;
    row_major_strides(&from->shape, stride);
    Picks picks = picks_new(call->scratch, &to->shape);
    for (int d = 0; d < picks.n_dims; d++) {
        int e = d + (d >= axis);
        picks_match(&picks, d, &to->runs[d], 0, 1, &from->runs[e], stride[e]);
    }
    Local step = *from;
    step.data = local_at(from, i * stride[axis]);
    local_pick(to, &step, &picks);
    return true;
}

/* ---- stacking ---- */

/* Without iterations unknown sizes are 0. */
static Shape empty_shape(Shape shape, int64_t axis)
{
    for (int64_t d = 0; d < shape.n_dims; d++)
        shape.dim[d] = d == axis || shape.dim[d] < 0 ? 0 : shape.dim[d];
    return shape;
}

/* Needs at least one item. */
static bool stacked_shape(const Local *list, int64_t axis, Shape *out, Error *err)
{
    int64_t n = list->items.n;
    const Local *first = list->items.at[0];
    for (int i = 1; i < n; i++)
        if (!local_same_type(first, list->items.at[i]))
            return error_kind(err, ERROR_RUN, "iteration %d yields another shape than the first",
                              i);
    if (first->sequence || first->nothing)
        return error_kind(err, ERROR_RUN, "iterations do not yield tensors");
    *out = (Shape){.n_dims = first->whole.n_dims + 1};
    for (int64_t d = 0; d < out->n_dims; d++)
        out->dim[d] = d == axis ? n : first->whole.dim[d - (d > axis)];
    return true;
}

static bool stack(const KernelCall *call, Error *err)
{
    const Local *list = call->input[0];
    int32_t tensor = op_outputs(kernel_graph(call), call->op)[0];
    const Shape *sizes = inferred_sizes(call->inferred, tensor);
    int64_t axis, n = list ? list->items.n : 0, n_outer = 1, n_inner = 1;
    int64_t rank = n > 0 ? list->items.at[0]->whole.n_dims + 1 : sizes ? sizes->n_dims : -1;
    Shape shape = {.n_dims = 0};
    Local *out;
    if (rank < 0)
        return error_kind(err, ERROR_RUN,
                          "it has no iterations, and its number of dims depends on them");
    if (rank > DIMS_MAX)
        return error_kind(err, ERROR_RUN, "its output has more than %d dims", DIMS_MAX);
    if (!kernel_axis(call, 0, rank, &axis, err))
        return false;
    if (n == 0 && sizes)
        shape = empty_shape(*sizes, axis);
    if ((n > 0 && !stacked_shape(list, axis, &shape, err)) ||
        !kernel_decide(call, 0, &shape, &out, err))
        return false;
    for (int64_t d = 0; out && d < rank; d++)
        *(d < axis ? &n_outer : &n_inner) *= d == axis ? 1 : out->shape.dim[d];
    bool reverse = op_attr_int(kernel_graph(call), call->op, "reverse", 0) != 0;
    size_t n_bytes = (size_t)(n_inner * (out ? element_bytes(out->dtype) : 0));
    for (int64_t i = 0; out && i < n; i++) {
        const Local *item = list->items.at[i];
        int64_t at = reverse ? n - 1 - i : i;
        if (local_bytes(item) != n_outer * (int64_t)n_bytes || item->dtype != out->dtype)
            return error_kind(err, ERROR_RUN, "iteration %" PRId64 " does not fit its output", i);
        for (int64_t o = 0; o < n_outer && n_bytes > 0; o++)
            memcpy(local_at(out, (o * n + at) * n_inner), local_at(item, o * n_inner), n_bytes);
    }
    return true;
}

const Kernel kernels_control[] = {
    {"If", branch, NULL, KERNEL_LISTS, ROUNDING_EXACT},
    {"LoopResult", result, NULL, KERNEL_LISTS, ROUNDING_EXACT},
    {"LoopCarry", carry, NULL, KERNEL_LISTS, ROUNDING_EXACT},
    {"LoopIndex", loop_index, NULL, 0, ROUNDING_EXACT},
    {"LoopSlice", slice, NULL, 0, ROUNDING_EXACT},
    {"LoopStack", stack, NULL, KERNEL_LISTS, ROUNDING_EXACT},
    {0},
};
