/* scatter.c - ScatterElements: updates put into a copy of the data, at places that indices say.
 *
 * Indices are global numbers along the axis, which is held whole; along the other dims an update
 * lies where it stands, and goes to the rank that holds that place. Of updates for one place the
 * last in row-major order stays, or all meet there (reduction). Where ranks hold parts of the
 * updates (a reduce dim), each makes its addend, and the data is in the first one's alone.
 */
#include "core/run/kernel.h"

#include <inttypes.h>

static const struct {
    const char *name;
    ReduceOp reduce;
} reductions[] = {{"none", REDUCE_NONE},
                  {"add", REDUCE_SUM},
                  {"mul", REDUCE_PROD},
                  {"max", REDUCE_MAX},
                  {"min", REDUCE_MIN}};

static bool read_reduction(const KernelCall *call, ReduceOp *out, Error *err)
{
    const Attr *attr = op_attr(kernel_graph(call), call->op, "reduction");
    Str word = attr ? attr->s : STR("none");
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (str_eq(word, str_from(reductions[i].name))) {
            *out = reductions[i].reduce;
            return true;
        }
    return error_kind(err, ERROR_RUN, "it knows no reduction '%.*s'", STR_ARG(word));
}

/* The operands, and for each dim of the indices where its places stand in the whole. */
typedef struct {
    const Local *data, *indices, *updates;
    Local *out;
    int64_t axis, stride[DIMS_MAX];
    int64_t *global[DIMS_MAX];
    ReduceOp reduce;
} Scatter;

static bool check(const KernelCall *call, Scatter *s, Error *err)
{
    if (!kernel_needs(call, 3, err))
        return false;
    *s = (Scatter){.data = call->input[0], .indices = call->input[1], .updates = call->input[2]};
    s->out = call->output[0];
    if (!dtype_is_int(s->indices->dtype))
        return error_kind(err, ERROR_RUN, "indices are of type %s", dtype_name(s->indices->dtype));
    if (s->data->dtype != s->out->dtype || s->updates->dtype != s->out->dtype)
        return error_kind(err, ERROR_RUN, "data, updates and output differ in type");
    if (s->indices->shape.n_dims != s->out->shape.n_dims ||
        !shape_equal(&s->indices->shape, &s->updates->shape) ||
        !shape_equal(&s->data->shape, &s->out->shape))
        return error_kind(err, ERROR_RUN, "the operands do not fit each other");
    if (!kernel_axis(call, 0, s->out->shape.n_dims, &s->axis, err) ||
        !read_reduction(call, &s->reduce, err))
        return false;
    return s->reduce == REDUCE_NONE || kernel_computes(s->out, err);
}

/* Where the update at place i of its part goes; -1: to another rank. */
static bool find_target(const Scatter *s, int64_t i, int64_t *target, Error *err)
{
    const Shape *shape = &s->indices->shape;
    int64_t index, size = s->out->whole.dim[s->axis];
    elements_load(s->indices->dtype, local_at(s->indices, i), 1, 1, NUMBER_I64, &index);
    if (index < -size || index >= size)
        return error_kind(err, ERROR_RUN, "index %" PRId64 " is outside a dim of size %" PRId64,
                          index, size);
    *target = 0;
    for (int64_t d = shape->n_dims - 1; d >= 0; i /= shape->dim[d--]) {
        int64_t at =
            d == s->axis ? index + (index < 0 ? size : 0) : s->global[d][i % shape->dim[d]];
        int64_t found = runs_find(&s->out->runs[d], at);
        if (found < 0) {
            *target = -1;
            return true;
        }
        *target += found * s->stride[d];
    }
    return true;
}

static void put(const Scatter *s, int64_t target, int64_t i)
{
    void *to = local_at(s->out, target);
    const void *from = local_at(s->updates, i);
    if (s->reduce == REDUCE_NONE)
        elements_copy(s->out->dtype, to, from, 1, 1);
    else
        kernel_combine(s->reduce, s->out->dtype, to, from, 1, 1);
}

static bool scatter_elements(const KernelCall *call, Error *err)
{
    Scatter s;
    if (!check(call, &s, err))
        return false;
    row_major_strides(&s.out->shape, s.stride);
    for (int64_t d = 0; d < s.indices->shape.n_dims; d++)
        s.global[d] = kernel_globals(call->scratch, &s.indices->runs[d]);
    if (s.reduce != REDUCE_SUM || !call->reduce_cut || call->first)
        elements_copy(s.out->dtype, s.out->data, s.data->data, 1, shape_elements(&s.data->shape));
    int64_t n = shape_elements(&s.indices->shape), target = -1;
    for (int64_t i = 0; i < n; i++) {
        if (!find_target(&s, i, &target, err))
            return false;
        if (target >= 0)
            put(&s, target, i);
    }
    return true;
}

const Kernel kernels_scatter[] = {
    {"ScatterElements", scatter_elements, NULL, 0},
    {"Scatter", scatter_elements, NULL, 0},
    {0},
};
