/* place.c - broadcast_in_dim and iota: what is where follows from the global index alone. */
#include "core/run/kernel.h"

#include <inttypes.h>

static bool broadcast_in_dim(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    const Attr *dims = op_attr(kernel_graph(call), call->op, "dims");
    int64_t stride[DIMS_MAX];
    int n = dims && dims->type == ATTR_INTS ? dims->n : 0;
    if (n != in->shape.n_dims || in->dtype != out->dtype)
        return error_kind(err, ERROR_RUN, "its dims do not fit its operand");
    Picks picks = picks_new(call->scratch, &out->shape);
    row_major_strides(&in->shape, stride);
    for (int i = 0; i < n; i++) {
        int64_t d = dims->ints[i];
        if (in->whole.dim[i] != 1 || out->whole.dim[d] == 1)
            picks_match(&picks, (int)d, &out->runs[d], 0, 1, &in->runs[i], stride[i]);
    }
    int64_t n_missing = shape_elements(&out->shape) - kernel_pick(call, out, in, &picks);
    return n_missing == 0 ||
           error_kind(err, ERROR_RUN, "%" PRId64 " elements are on other ranks", n_missing);
}

static bool iota(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 0, err) || !kernel_computes(call->output[0], err))
        return false;
    Local *out = call->output[0];
    int axis = (int)op_attr_int(kernel_graph(call), call->op, "dimension", 0);
    Picks global = picks_new(call->scratch, &out->shape);
    picks_global(&global, axis, &out->runs[axis], 1);
    int64_t step = 1;
    for (int64_t d = axis + 1; d < out->shape.n_dims; d++)
        step *= out->shape.dim[d];
    for (int64_t i = 0; i < shape_elements(&out->shape); i++) {
        int64_t place = global.from[axis][i / step % out->shape.dim[axis]];
        local_store(out, i, 1, NUMBER_I64, &place);
    }
    return true;
}

const Kernel kernels_hlo_place[] = {
    {"stablehlo.broadcast_in_dim", broadcast_in_dim, NULL, 0, ROUNDING_EXACT},
    {"stablehlo.iota", iota, NULL, 0, ROUNDING_EXACT},
    {0},
};
