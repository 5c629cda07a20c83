/* make.c - operators without data inputs: Constant, ConstantOfShape, Range; and of sizes: Shape,
 * Size. */
#include "core/run/kernel.h"

/* Copies the rank's part of a whole tensor. */
static bool copy_part(const KernelCall *call, const Local *whole, Error *err)
{
    Local *out = call->output[0];
    if (whole->dtype != out->dtype || !shape_equal(&whole->shape, &out->whole))
        return error_kind(err, ERROR_RUN, "the constant does not fit its output");
    Picks picks = picks_whole(call->scratch, out);
    local_pick(out, whole, &picks);
    return true;
}

/* Numbers of an attribute that holds one or a list. */
static bool fill_numbers(const Attr *attr, Local *out)
{
    const int64_t n = attr->type == ATTR_INTS || attr->type == ATTR_FLOATS ? attr->n : 1;
    if (n != shape_elements(&out->shape) || !dtype_is_computed(out->dtype))
        return false;
    for (int64_t i = 0; i < n; i++) {
        double real = attr->type == ATTR_FLOAT ? attr->f : 0;
        if (attr->type == ATTR_FLOATS)
            real = attr->floats[i];
        int64_t integer = attr->type == ATTR_INTS ? attr->ints[i] : attr->i;
        bool is_int = attr->type == ATTR_INT || attr->type == ATTR_INTS;
        local_store(out, i, 1, is_int ? NUMBER_I64 : NUMBER_F64,
                    is_int ? (const void *)&integer : (const void *)&real);
    }
    return true;
}

static bool constant(const KernelCall *call, Error *err)
{
    static const char *const names[] = {"value", "value_int", "value_ints", "value_float",
                                        "value_floats"};
    if (!kernel_needs(call, 0, err))
        return false;
    const Attr *attr = NULL;
    for (size_t i = 0; !attr && i < sizeof names / sizeof *names; i++)
        attr = op_attr(kernel_graph(call), call->op, names[i]);
    if (!attr)
        return error_kind(err, ERROR_RUN, "the constant has no value that can be read");

    Local *whole = local_new_whole(call->output[0]->dtype, &call->output[0]->whole);
    bool ok = attr->type == ATTR_TENSOR
                  ? attr->tensor && data_read(attr->tensor, whole->dtype,
                                              shape_elements(&whole->shape), whole->data, err)
                  : fill_numbers(attr, whole);
    ok = ok ? copy_part(call, whole, err)
            : error_kind(err, ERROR_RUN, "the constant's value cannot be read");
    local_free(whole);
    return ok;
}

static bool constant_of_shape(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 0, err))
        return false;
    Local *out = call->output[0];
    union {
        uint64_t bits[2];
        double number;
    } element = {{0, 0}};
    const Attr *value = op_attr(kernel_graph(call), call->op, "value");
    if (value && (value->type != ATTR_TENSOR || (Dtype)value->dtype != out->dtype ||
                  !data_read(value->tensor, out->dtype, 1, &element, err)))
        return error_kind(err, ERROR_RUN, "the value to fill with cannot be read");
    elements_copy(out->dtype, out->data, &element, 0, shape_elements(&out->shape));
    return true;
}

static bool range(const KernelCall *call, Error *err)
{
    double start, delta;
    int64_t int_start, int_delta;
    if (!kernel_needs(call, 3, err) || !kernel_computes(call->output[0], err) ||
        !kernel_scalar(call->input[0], &int_start, err) ||
        !kernel_scalar(call->input[2], &int_delta, err))
        return false;
    local_load(call->input[0], 0, 1, 1, NUMBER_F64, &start);
    local_load(call->input[2], 0, 1, 1, NUMBER_F64, &delta);
    Local *out = call->output[0];
    const int64_t *global = kernel_globals(call->scratch, &out->runs[0]);
    for (int64_t i = 0; i < shape_elements(&out->shape); i++) {
        double real = start + (double)global[i] * delta;
        int64_t integer =
            (int64_t)((uint64_t)int_start + (uint64_t)global[i] * (uint64_t)int_delta);
        if (dtype_is_float(out->dtype))
            local_store(out, i, 1, NUMBER_F64, &real);
        else
            local_store(out, i, 1, NUMBER_I64, &integer);
    }
    return true;
}

static int64_t clamp_dim(int64_t given, int64_t n_dims)
{
    int64_t at = given < 0 ? given + n_dims : given;
    return at < 0 ? 0 : at > n_dims ? n_dims : at;
}

/* Sizes are those of the whole tensor. */
static bool shape_of(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err))
        return false;
    Local *out = call->output[0];
    const Shape *whole = &call->input[0]->whole;
    int64_t start = op_attr_int(kernel_graph(call), call->op, "start", 0);
    int64_t end = op_attr_int(kernel_graph(call), call->op, "end", whole->n_dims);
    start = clamp_dim(start, whole->n_dims);
    end = clamp_dim(end, whole->n_dims);
    if (out->whole.n_dims != 1 || out->whole.dim[0] != (end > start ? end - start : 0))
        return error_kind(err, ERROR_RUN, "its output does not have one number per dim");
    const int64_t *d = kernel_globals(call->scratch, &out->runs[0]);
    for (int64_t i = 0; i < out->shape.dim[0]; i++)
        local_store(out, i, 1, NUMBER_I64, &whole->dim[start + d[i]]);
    return true;
}

static bool size_of(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err))
        return false;
    int64_t n = shape_elements(&call->input[0]->whole);
    local_store(call->output[0], 0, 1, NUMBER_I64, &n);
    return true;
}

/* A diagonal of ones, the k-th above the main one. */
static bool eye_like(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 0, err) || !kernel_computes(call->output[0], err))
        return false;
    Local *out = call->output[0];
    int64_t k = op_attr_int(kernel_graph(call), call->op, "k", 0), one = 1;
    if (out->shape.n_dims != 2)
        return error_kind(err, ERROR_RUN, "its output is not a matrix");
    const int64_t *column = kernel_globals(call->scratch, &out->runs[1]);
    const int64_t *row = kernel_globals(call->scratch, &out->runs[0]);
    for (int64_t i = 0; i < out->shape.dim[0]; i++)
        for (int64_t j = 0; j < out->shape.dim[1]; j++)
            if (column[j] - row[i] == k)
                local_store(out, i * out->shape.dim[1] + j, 1, NUMBER_I64, &one);
    return true;
}

/* values: off and on. A negative index counts from the depth, which is unsharded; an index outside
 * of it is off everywhere. */
static bool one_hot(const KernelCall *call, Error *err)
{
    int64_t axis, inner = 1;
    if (!kernel_needs(call, 3, err) || !kernel_computes(call->input[0], err) ||
        !kernel_axis(call, -1, call->output[0]->shape.n_dims, &axis, err))
        return false;
    const Local *indices = call->input[0], *values = call->input[2];
    Local *out = call->output[0];
    int64_t depth = out->shape.dim[axis], n = shape_elements(&indices->shape), at;
    for (int64_t d = axis; d < indices->shape.n_dims; d++)
        inner *= indices->shape.dim[d];
    if (depth != out->whole.dim[axis] || shape_elements(&out->shape) != n * depth ||
        values->dtype != out->dtype || shape_elements(&values->shape) != 2)
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    if (!kernel_takes_terms(call, err))
        return false;
    if (!call->sink)
        elements_copy(out->dtype, out->data, values->data, 0, n * depth);
    for (int64_t i = 0; i < n; i++) {
        local_load(indices, i, 1, 1, NUMBER_I64, &at);
        at += at < 0 ? depth : 0;
        int64_t first = i / inner * depth * inner + i % inner; /* of the row of i */
        for (int64_t k = 0; call->sink && k < depth; k++)
            kernel_term(call, out, first + k * inner, values, k == at, 1);
        if (!call->sink && at >= 0 && at < depth)
            elements_copy(out->dtype, local_at(out, first + at * inner), local_at(values, 1), 1, 1);
    }
    return true;
}

const Kernel kernels_make[] = {
    {"Constant", constant, NULL, 0, ROUNDING_EXACT},
    {"ConstantOfShape", constant_of_shape, NULL, 0, ROUNDING_EXACT},
    {"Range", range, NULL, 0, ROUNDING_ULPS},
    {"EyeLike", eye_like, NULL, 0, ROUNDING_EXACT},
    {"OneHot", one_hot, NULL, 0, ROUNDING_EXACT},
    {"Shape", shape_of, NULL, 0, ROUNDING_EXACT},
    {"Size", size_of, NULL, 0, ROUNDING_EXACT},
    {0},
};
