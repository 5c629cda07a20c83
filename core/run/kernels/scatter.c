/* scatter.c - writes updates into a copy of the data by index: ScatterElements, ScatterND,
 * TensorScatter.
 *
 * Indices are global along the axis, or along the first dims, which are unsharded; along other dims
 * an update keeps its index and goes to the rank with that place. Of several updates for a place
 * the last in row-major order wins, or they are reduced. Where updates are sharded (a reduce dim)
 * each rank computes an addend, and the first one includes the data.
 */
#include "core/rules/args.h"
#include "core/run/kernels/derivative.h"

#include "core/space/gradient.h"

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
    return error_kind(err, ERROR_RUN, "unknown reduction '%.*s'", STR_ARG(word));
}

/* The operands, and global indices along each dim of the indices. */
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
    if (!shape_equal(&s->data->shape, &s->out->shape))
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    if (!read_reduction(call, &s->reduce, err))
        return false;
    return s->reduce == REDUCE_NONE || kernel_computes(s->out, err);
}

/* Target of update i of the part; -1: on another rank. */
static bool find_target(const Scatter *s, int64_t i, int64_t *target, Error *err)
{
    const Shape *shape = &s->indices->shape;
    int64_t index, size = s->out->whole.dim[s->axis];
    local_load(s->indices, i, 1, 1, NUMBER_I64, &index);
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

/* n neighbouring updates. */
static void put(const Scatter *s, int64_t target, int64_t i, int64_t n)
{
    void *to = local_at(s->out, target);
    const void *from = local_at(s->updates, i);
    if (s->reduce == REDUCE_NONE)
        elements_copy(s->out->dtype, to, from, 1, n);
    else
        kernel_combine(s->reduce, s->out->dtype, to, from, 1, n);
}

/* The data is added once where updates are summed over ranks. */
static void copy_data(const KernelCall *call, const Scatter *s)
{
    if (s->reduce != REDUCE_SUM || !call->reduce_cut || call->first)
        elements_copy(s->out->dtype, s->out->data, s->data->data, 1,
                      shape_elements(&s->data->shape));
}

/* Rows of updates: n_each neighbours that go to target[row] on; -1: on another rank. */
typedef struct {
    int64_t n_rows, n_each;
    int64_t *target;
} Targets;

typedef bool TargetsFn(const KernelCall *call, Scatter *s, Targets *targets, Error *err);

static bool element_targets(const KernelCall *call, Scatter *s, Targets *targets, Error *err)
{
    if (s->indices->shape.n_dims != s->out->shape.n_dims ||
        !shape_equal(&s->indices->shape, &s->updates->shape))
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    if (!kernel_axis(call, 0, s->out->shape.n_dims, &s->axis, err))
        return false;
    row_major_strides(&s->out->shape, s->stride);
    for (int64_t d = 0; d < s->indices->shape.n_dims; d++)
        s->global[d] = kernel_globals(call->scratch, &s->indices->runs[d]);
    *targets = (Targets){shape_elements(&s->indices->shape), 1, NULL};
    targets->target = arena_array(call->scratch, int64_t, targets->n_rows);
    for (int64_t i = 0; i < targets->n_rows; i++)
        if (!find_target(s, i, &targets->target[i], err))
            return false;
    return true;
}

/* ---- ScatterND ---- */

/* Target of the index row at place `at`: its first element. */
static bool find_row(const Scatter *s, int64_t at, int64_t n_picked, int64_t *target, Error *err)
{
    *target = 0;
    for (int64_t d = 0; d < n_picked; d++) {
        int64_t index, size = s->out->whole.dim[d];
        local_load(s->indices, at + d, 1, 1, NUMBER_I64, &index);
        if (index < -size || index >= size)
            return error_kind(err, ERROR_RUN, "index %" PRId64 " is outside a dim of size %" PRId64,
                              index, size);
        *target += (index < 0 ? index + size : index) * s->stride[d];
    }
    return true;
}

/* A row of indices selects a slice over the first n_picked dims; an update fills it. */
static bool row_targets(const KernelCall *call, Scatter *s, Targets *targets, Error *err)
{
    const Shape *rows = &s->indices->shape, *out = &s->out->shape;
    int64_t lead = rows->n_dims - 1, n_picked = lead < 0 ? 0 : rows->dim[lead], n_rows = 1;
    int64_t n_each = 1;
    if (lead < 0 || n_picked > out->n_dims || n_picked != s->indices->whole.dim[lead])
        return error_kind(err, ERROR_RUN, "the indices do not fit the data");
    for (int64_t d = 0; d < lead; d++)
        n_rows *= rows->dim[d];
    for (int64_t d = 0; d < out->n_dims; d++) {
        if (d < n_picked && out->dim[d] != s->out->whole.dim[d])
            return error_kind(err, ERROR_RUN, "dim %d, which indices point into, is sharded",
                              (int)d);
        n_each *= d < n_picked ? 1 : out->dim[d];
    }
    if (shape_elements(&s->updates->shape) != n_rows * n_each)
        return error_kind(err, ERROR_RUN, "the updates do not fit the indices");
    row_major_strides(out, s->stride);
    *targets = (Targets){n_rows, n_each, arena_array(call->scratch, int64_t, n_rows)};
    for (int64_t i = 0; i < n_rows; i++)
        if (!find_row(s, i * n_picked, n_picked, &targets->target[i], err))
            return false;
    return true;
}

/* ---- both ---- */

static bool open_scatter(const KernelCall *call, Scatter *s, Targets *targets, Error *err)
{
    bool rows = call->kernel->row != NULL;
    return check(call, s, err) &&
           (rows ? row_targets(call, s, targets, err) : element_targets(call, s, targets, err));
}

static bool scatter(const KernelCall *call, Error *err)
{
    Scatter s;
    Targets targets;
    if (!open_scatter(call, &s, &targets, err))
        return false;
    copy_data(call, &s);
    for (int64_t i = 0; i < targets.n_rows; i++)
        if (targets.target[i] >= 0)
            put(&s, targets.target[i], i * targets.n_each, targets.n_each);
    return true;
}

/* ---- the gradient ---- */

/* What has been combined at each place of the output. */
typedef struct {
    ReduceOp reduce;
    int64_t *last;  /* the last update, -1: none */
    double *result; /* the largest, the smallest, or the product of all that are not 0 */
    int64_t *count; /* of equal largest or smallest ones; of zeros */
} Combined;

static void combine(Combined *c, int64_t place, double x, int64_t update)
{
    c->last[place] = update;
    if (c->reduce == REDUCE_PROD) {
        c->count[place] += x == 0;
        c->result[place] *= x == 0 ? 1 : x;
    } else if (c->reduce == REDUCE_MAX || c->reduce == REDUCE_MIN) {
        bool better =
            update < 0 || (c->reduce == REDUCE_MAX ? x > c->result[place] : x < c->result[place]);
        c->count[place] = better ? 1 : c->count[place] + (x == c->result[place]);
        c->result[place] = better ? x : c->result[place];
    }
}

/* The derivative of the result at a place by the operand x that went into it: the data, or an
 * update. Equal extremes share it, as in torch. */
static double share(const Combined *c, int64_t place, double x, int64_t update)
{
    bool zero = x == 0;
    if (c->reduce == REDUCE_NONE)
        return c->last[place] == update;
    if (c->reduce == REDUCE_SUM)
        return 1;
    if (c->reduce != REDUCE_PROD)
        return x == c->result[place] ? 1 / (double)c->count[place] : 0;
    return c->count[place] != zero ? 0 : zero ? c->result[place] : c->result[place] / x;
}

static Combined combine_all(const KernelCall *call, const Scatter *s, const Targets *t,
                            const double *data, const double *updates)
{
    int64_t n = shape_elements(&s->out->shape);
    Combined c = {.reduce = s->reduce, .last = arena_array(call->scratch, int64_t, n)};
    c.result = arena_array(call->scratch, double, n);
    c.count = arena_array(call->scratch, int64_t, n);
    for (int64_t i = 0; i < n; i++) {
        c.result[i] = 1;
        combine(&c, i, data[i], -1);
    }
    for (int64_t row = 0; row < t->n_rows; row++)
        for (int64_t k = 0; t->target[row] >= 0 && k < t->n_each; k++)
            combine(&c, t->target[row] + k, updates[row * t->n_each + k], row);
    return c;
}

static bool scatter_grad(const KernelCall *call, Error *err)
{
    KernelCall forward;
    Scatter s;
    Targets t;
    if (!forward_call(call, &forward, err) || !open_scatter(&forward, &s, &t, err) ||
        !kernel_computes(s.out, err))
        return false;
    const Gradient *gradient = program_space(call->inferred, call->op)->gradient;
    const double *data = local_doubles(call->scratch, s.data);
    const double *updates = local_doubles(call->scratch, s.updates);
    const double *grad = local_doubles(call->scratch, s.out);
    Combined c = combine_all(call, &s, &t, data, updates);
    Local *made = call->output[0];
    bool of_data = gradient->written[0] == 0;
    if (of_data && s.reduce == REDUCE_SUM && call->reduce_cut && !call->first)
        return true;
    for (int64_t i = 0; of_data && i < shape_elements(&made->shape); i++) {
        double d = grad[i] * share(&c, i, data[i], -1);
        local_store(made, i, 1, NUMBER_F64, &d);
    }
    for (int64_t row = 0; !of_data && row < t.n_rows; row++)
        for (int64_t k = 0; t.target[row] >= 0 && k < t.n_each; k++) {
            int64_t i = row * t.n_each + k, place = t.target[row] + k;
            double d = grad[place] * share(&c, place, updates[i], row);
            local_store(made, i, 1, NUMBER_F64, &d);
        }
    return true;
}

/* ---- TensorScatter ---- */

/* Row `at` of a batch's cache, relative to its start; a circular cache wraps. */
static bool cache_row(const Local *starts, int64_t batch, int64_t at, int64_t size, bool ring,
                      int64_t *row, Error *err)
{
    int64_t start = 0;
    if (starts)
        local_load(starts, batch, 1, 1, NUMBER_I64, &start);
    if (ring && size > 0 && start >= 0) {
        *row = (start % size + at) % size;
        return true;
    }
    *row = start < 0 || start > size ? start : start + at;
    return (*row >= 0 && *row < size) ||
           error_kind(err, ERROR_RUN, "row %" PRId64 " is outside a cache of %" PRId64, *row, size);
}

/* Rows of the output that come from the updates, or those that do not. */
static void pick_rows(const KernelCall *call, const Local *source, const int64_t *from,
                      bool updated, int64_t n_each, int64_t n_rows)
{
    Picks picks = picks_new(call->scratch, &(Shape){.n_dims = 2, .dim = {n_rows, n_each}});
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t row = updated ? from[i] - 1 : i;
        picks.from[0][i] = (from[i] > 0) == updated ? row * n_each : PICK_NONE;
    }
    for (int64_t k = 0; k < n_each; k++)
        picks.from[1][k] = k;
    kernel_pick(call, call->output[0], source, &picks);
}

/* New rows of each batch go into its cache, along the axis. */
static bool tensor_scatter(const KernelCall *call, Error *err)
{
    int64_t axis, row, n_each = 1, n_outer = 1;
    if (!kernel_needs(call, 2, err) ||
        !kernel_axis(call, -2, call->input[0]->shape.n_dims, &axis, err))
        return false;
    const Local *cache = call->input[0], *update = call->input[1];
    const Local *starts = kernel_input(call, 2);
    Local *out = call->output[0];
    RuleCall rule = kernel_rule_call(call);
    bool ring = str_eq(args_text(&rule, "mode", "linear"), STR("circular"));
    bool fits = axis > 0 && shape_equal(&cache->shape, &out->shape) &&
                update->shape.n_dims == out->shape.n_dims && cache->dtype == out->dtype &&
                update->dtype == out->dtype &&
                (!starts || (starts->shape.n_dims == 1 && dtype_is_computed(starts->dtype) &&
                             starts->shape.dim[0] == out->shape.dim[0]));
    for (int64_t d = 0; fits && d < out->shape.n_dims; d++) {
        fits = d == axis || update->shape.dim[d] == out->shape.dim[d];
        *(d < axis ? &n_outer : &n_each) *= d == axis ? 1 : out->shape.dim[d];
    }
    if (!fits || out->shape.dim[axis] != out->whole.dim[axis] ||
        update->shape.dim[axis] != update->whole.dim[axis])
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    int64_t n_rows = out->shape.dim[axis], n_new = update->shape.dim[axis];
    int64_t *from = arena_array(call->scratch, int64_t, n_outer * n_rows); /* 1 + row of updates */
    for (int64_t i = 0; i < n_outer * n_new; i++) {
        int64_t outer = i / n_new, batch = outer / (n_outer / out->shape.dim[0]);
        if (!cache_row(starts, batch, i % n_new, n_rows, ring, &row, err))
            return false;
        from[outer * n_rows + row] = 1 + i;
    }
    pick_rows(call, cache, from, false, n_each, n_outer * n_rows);
    pick_rows(call, update, from, true, n_each, n_outer * n_rows);
    return true;
}

const Kernel kernels_scatter[] = {
    {"ScatterElements", scatter, NULL, 0, ROUNDING_SUM},
    {"ScatterND", scatter, "rows", 0, ROUNDING_SUM},
    {"ScatterGrad", scatter_grad, NULL, 0, ROUNDING_SENSITIVE},
    {"TensorScatter", tensor_scatter, NULL, 0, ROUNDING_SUM},
    {0},
};
