/* pool.c - pooling over windows of an image, in double.
 *
 * With some elements of a window a rank computes its addend, or its own maximum; a mean divides by
 * the whole count.
 */
#include "core/run/kernels/window.h"

#include <math.h>

typedef enum { POOL_MAX, POOL_MEAN, POOL_NORM } PoolKind;

static const PoolKind of_max = POOL_MAX, of_mean = POOL_MEAN, of_norm = POOL_NORM;

typedef struct {
    const KernelCall *call;
    PoolKind kind;
    double p;       /* of a norm */
    bool with_pad;  /* padding counts as elements of a mean */
    bool by_column; /* positions count along columns first */
    Window whole;
    LocalWindow window;
    const int64_t *out[SPATIAL_MAX];   /* global places of the output */
    const int64_t *image[SPATIAL_MAX]; /* and of the image */
} Pool;

/* A window's value, and the local place of its maximum (-1: none). */
typedef struct {
    double value;
    int64_t place;
} Pooled;

/* Number of elements averaged: those in the image, or with its padding. */
static double count_of(const Pool *pool, const int64_t *o)
{
    double count = 1;
    for (int d = 0; d < pool->whole.n; d++) {
        const WindowDim *dim = &pool->whole.dim[d];
        int64_t n = 0, lo = pool->with_pad ? -dim->before : 0;
        int64_t hi = dim->size + (pool->with_pad ? dim->after : 0);
        for (int64_t k = 0; k < dim->kernel; k++) {
            int64_t at = pool->out[d][o[d]] * dim->stride + k * dim->dilation - dim->before;
            n += lo <= at && at < hi;
        }
        count *= (double)n;
    }
    return count;
}

static Pooled pool_window(const Pool *pool, const double *image, const int64_t *o)
{
    Pooled out = {pool->kind == POOL_MAX ? -INFINITY : 0, -1};
    int64_t n = local_window_elements(&pool->window), k[SPATIAL_MAX] = {0};
    for (int64_t e = 0; e < n; e++) {
        window_split(e, pool->window.n_kernel, pool->window.n, k);
        int64_t at = window_place(&pool->window, pool->window.n, o, k);
        if (at < 0)
            continue;
        double x = image[at];
        if (pool->kind == POOL_MAX && (out.place < 0 || x > out.value || isnan(x)))
            out = (Pooled){x, at};
        else if (pool->kind != POOL_MAX)
            out.value += pool->kind == POOL_MEAN ? x : pow(fabs(x), pool->p);
    }
    if (pool->kind == POOL_MEAN)
        out.value /= count_of(pool, o);
    if (pool->kind == POOL_NORM)
        out.value = pow(out.value, 1 / pool->p);
    return out;
}

/* The index in the whole tensor of a place of channel `row` (over all batches). */
static int64_t position_of(const Pool *pool, const Local *image, int64_t row, int64_t place)
{
    int64_t at[SPATIAL_MAX], out = 0, step = 1;
    int n = pool->window.n;
    for (int d = 0; d < n; place %= pool->window.stride[d++])
        at[d] = pool->image[d][place / pool->window.stride[d]];
    for (int d = 0; d < n; d++) {
        int e = pool->by_column ? d : n - 1 - d;
        out += at[e] * step;
        step *= image->whole.dim[2 + e];
    }
    return row * step + out;
}

/* The derivative of a window's value by each of its elements, as terms of element `at` of the
 * output. `first`: of the row in the image. */
static void add_terms(const Pool *pool, const double *image, const int64_t *o, int64_t first,
                      int64_t at)
{
    const KernelCall *call = pool->call;
    int64_t n = local_window_elements(&pool->window), k[SPATIAL_MAX] = {0};
    Pooled found = pool->kind == POOL_MEAN ? (Pooled){0, -1} : pool_window(pool, image, o);
    double each = pool->kind == POOL_MEAN ? 1 / count_of(pool, o) : 0;
    if (pool->kind == POOL_MAX) {
        if (found.place >= 0)
            kernel_term(call, call->output[0], at, call->input[0], first + found.place, 1);
        return;
    }
    for (int64_t e = 0; e < n; e++) {
        window_split(e, pool->window.n_kernel, pool->window.n, k);
        int64_t place = window_place(&pool->window, pool->window.n, o, k);
        if (place < 0)
            continue;
        double x = pool->kind == POOL_NORM ? image[place] : 0, by = each;
        if (pool->kind == POOL_NORM) /* (sum of |x|^p)^(1/p), 0 where all are 0 */
            by = found.value > 0 && x != 0 ? copysign(pow(fabs(x) / found.value, pool->p - 1), x)
                                           : 0;
        kernel_term(call, call->output[0], at, call->input[0], first + place, by);
    }
}

static bool open_pool(const KernelCall *call, bool everything, Pool *pool, Error *err)
{
    if (!kernel_numeric(call, 1, err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    const Local *image = call->input[0], *out = call->output[0];
    *pool = (Pool){.call = call, .kind = *(const PoolKind *)call->kernel->row};
    pool->p = args_float(&rule, "p", 2);
    pool->with_pad = args_int(&rule, "count_include_pad", 0) != 0;
    pool->by_column = args_int(&rule, "storage_order", 0) != 0;
    if (everything && image->shape.n_dims - 2 > SPATIAL_MAX)
        return error_kind(err, ERROR_RUN, "an image of more than %d dims", 2 + SPATIAL_MAX);
    if (!everything && !window_read(&rule, 0, -1, &pool->whole, err))
        return false;
    if (everything) {
        pool->whole.n = (int)image->shape.n_dims - 2;
        for (int d = 0; d < pool->whole.n; d++) {
            int64_t size = image->whole.dim[2 + d];
            pool->whole.dim[d] =
                (WindowDim){.size = size, .kernel = size, .stride = 1, .dilation = 1, .out = 1};
        }
    }
    if (image->shape.dim[0] != out->shape.dim[0] || image->shape.dim[1] != out->shape.dim[1])
        return error_kind(err, ERROR_RUN, "batch sizes or channel counts differ");
    pool->window = local_window(call->scratch, &pool->whole, image, &out->runs[2], NULL);
    for (int d = 0; d < pool->whole.n; d++) {
        pool->out[d] = kernel_globals(call->scratch, &out->runs[2 + d]);
        pool->image[d] = kernel_globals(call->scratch, &image->runs[2 + d]);
    }
    return true;
}

static bool run_pool(const KernelCall *call, bool everything, Error *err)
{
    Pool pool;
    if (!open_pool(call, everything, &pool, err) || !kernel_takes_terms(call, err))
        return false;
    const Local *image = call->input[0];
    Local *out = call->output[0], *where = kernel_output(call, 1);
    if (where && !shape_equal(&where->shape, &out->shape))
        return error_kind(err, ERROR_RUN, "the outputs differ in shape");
    const int64_t *batch = kernel_globals(call->scratch, &image->runs[0]);
    const int64_t *channel = kernel_globals(call->scratch, &image->runs[1]);
    int64_t channels = image->shape.dim[1], n_rows = image->shape.dim[0] * channels;
    int64_t n_places = local_window_places(&pool.window), o[SPATIAL_MAX] = {0};
    int64_t pixels = n_rows > 0 ? shape_elements(&image->shape) / n_rows : 0;
    double *x = arena_array(call->scratch, double, pixels);
    for (int64_t row = 0; row < n_rows; row++) {
        if (image->data)
            local_load(image, row * pixels, 1, pixels, NUMBER_F64, x);
        int64_t whole_row = batch[row / channels] * image->whole.dim[1] + channel[row % channels];
        for (int64_t i = 0; i < n_places; i++) {
            window_split(i, pool.window.n_out, pool.window.n, o);
            if (call->sink) {
                add_terms(&pool, x, o, row * pixels, row * n_places + i);
                continue;
            }
            Pooled found = pool_window(&pool, x, o);
            local_store(out, row * n_places + i, 1, NUMBER_F64, &found.value);
            if (where && found.place >= 0)
                ((int64_t *)where->data)[row * n_places + i] =
                    position_of(&pool, image, whole_row, found.place);
        }
    }
    return true;
}

static bool pool(const KernelCall *call, Error *err)
{
    return run_pool(call, false, err);
}

static bool global_pool(const KernelCall *call, Error *err)
{
    return run_pool(call, true, err);
}

const Kernel kernels_pool[] = {
    {"MaxPool", pool, &of_max, 0, ROUNDING_EXACT},
    {"AveragePool", pool, &of_mean, 0, ROUNDING_SUM},
    {"LpPool", pool, &of_norm, 0, ROUNDING_SENSITIVE},
    {"GlobalMaxPool", global_pool, &of_max, 0, ROUNDING_EXACT},
    {"GlobalAveragePool", global_pool, &of_mean, 0, ROUNDING_SUM},
    {"GlobalLpPool", global_pool, &of_norm, 0, ROUNDING_SENSITIVE},
    {0},
};
