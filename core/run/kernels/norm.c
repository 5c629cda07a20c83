/* norm.c - operators on rows: softmaxes, LayerNormalization and other norms.
 *
 * The dims of a row are unsharded. A row is computed in double and rounded once.
 */
#include "core/run/kernel.h"

#include <math.h>

static bool check(const KernelCall *call, Error *err)
{
    return kernel_numeric(call, 1, err) && kernel_same_shape(call, err);
}

/* Computes a row in place; `order` is that of LpNormalization. */
typedef void RowFn(double *x, int64_t n, int64_t order);

static void exponents(double *x, int64_t n, bool logarithm)
{
    double most = -INFINITY, sum = 0;
    if (n < 1)
        return;
    for (int64_t i = 0; i < n; i++)
        most = x[i] > most || isnan(x[i]) ? x[i] : most;
    for (int64_t i = 0; i < n; i++) {
        double power = exp(x[i] - most);
        sum += power;
        x[i] = logarithm ? x[i] - most : power;
    }
    double log_sum = log(sum);
    for (int64_t i = 0; i < n; i++)
        x[i] = logarithm ? x[i] - log_sum : x[i] / sum;
}

static void softmax(double *x, int64_t n, int64_t order)
{
    (void)order;
    exponents(x, n, false);
}

static void log_softmax(double *x, int64_t n, int64_t order)
{
    (void)order;
    exponents(x, n, true);
}

/* 1 at the first maximum. */
static void hardmax(double *x, int64_t n, int64_t order)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (x[i] > x[best] || (isnan(x[i]) && !isnan(x[best])))
            best = i;
    for (int64_t i = 0; i < n; i++)
        x[i] = i == best;
    (void)order;
}

/* Divides by the norm of order 1 or 2; a zero row stays. */
static void unit_length(double *x, int64_t n, int64_t order)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += order == 1 ? fabs(x[i]) : x[i] * x[i];
    double norm = order == 1 ? sum : sqrt(sum);
    for (int64_t i = 0; i < n && !(norm <= 0); i++)
        x[i] /= norm;
}

typedef struct {
    RowFn *of_row;
    bool flattens; /* before opset 13 a row is all dims from axis 1 on; since, one dim */
} RowRow;

static bool each_row(const KernelCall *call, Error *err)
{
    const RowRow *kind = call->kernel->row;
    bool old = kind->flattens && kernel_graph(call)->opset > 0 && kernel_graph(call)->opset < 13;
    int64_t axis, step = 1, n = 1;
    if (!check(call, err) ||
        !kernel_axis(call, old ? 1 : -1, call->input[0]->shape.n_dims, &axis, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    int64_t end = old ? in->shape.n_dims : axis + 1;
    if (!kernel_whole(in, axis, end, err))
        return false;
    for (int64_t d = axis; d < in->shape.n_dims; d++)
        *(d < end ? &n : &step) *= in->shape.dim[d];

    int64_t order = op_attr_int(kernel_graph(call), call->op, "p", 2);
    double *row = arena_array(call->scratch, double, n);
    int64_t n_elements = shape_elements(&in->shape);
    for (int64_t block = 0; block < n_elements; block += n * step)
        for (int64_t at = block; at < block + step; at++) {
            local_load(in, at, step, n, NUMBER_F64, row);
            kind->of_row(row, n, order);
            if (step == 1)
                local_store(out, at, n, NUMBER_F64, row);
            for (int64_t i = 0; step > 1 && i < n; i++)
                local_store(out, at + i * step, 1, NUMBER_F64, &row[i]);
        }
    return true;
}

/* Normalizes a row in place; returns mean and 1/sqrt(variance + epsilon). Without centring the mean
 * is 0. */
static void normalize(double *x, int64_t n, bool centre, double epsilon, double *mean,
                      double *inverse)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; centre && i < n; i++)
        sum += x[i];
    *mean = sum / (double)n;
    for (int64_t i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *inverse = 1 / sqrt(squares / (double)n + epsilon);
    for (int64_t i = 0; i < n; i++)
        x[i] = (x[i] - *mean) * *inverse;
}

/* Scale or bias: elements of the last loaded row, and their places in a row. */
typedef struct {
    const Local *local;
    int64_t stride[DIMS_MAX], row; /* row: its first place; -1: none loaded */
    int64_t *place;
    double *elements;
} NormSide;

static bool side_open(const KernelCall *call, int input, int64_t axis, int64_t n, double fallback,
                      NormSide *side, Error *err)
{
    const Local *out = call->output[0];
    *side = (NormSide){.local = kernel_input(call, input), .row = -1};
    side->elements = arena_array(call->scratch, double, n);
    for (int64_t i = 0; i < n; i++)
        side->elements[i] = fallback;
    if (!side->local)
        return true;
    side->place = arena_array(call->scratch, int64_t, n);
    if (!kernel_computes(side->local, err) ||
        !kernel_broadcast(side->local, out, side->stride, err))
        return false;
    for (int64_t i = 0; i < n; i++)
        side->place[i] = strided_place(&out->shape, side->stride, axis, out->shape.n_dims, i);
    return true;
}

/* Elements for the row that begins at place `at` of the output. */
static const double *side_row(NormSide *side, const Local *out, int64_t axis, int64_t n, int64_t at)
{
    if (!side->local)
        return side->elements;
    int64_t row = strided_place(&out->shape, side->stride, 0, axis, at / n);
    for (int64_t i = 0; row != side->row && i < n; i++)
        local_load(side->local, row + side->place[i], 1, 1, NUMBER_F64, &side->elements[i]);
    side->row = row;
    return side->elements;
}

/* Checks the sizes of the optional outputs, one number per row. */
static bool statistics_fit(const KernelCall *call, int64_t n_rows, Error *err)
{
    for (int q = 1; q < 3 && q < call->n_outputs; q++)
        if (call->output[q] && shape_elements(&call->output[q]->shape) != n_rows)
            return error_kind(err, ERROR_RUN, "output %d has another size", q);
    return true;
}

/* LayerNormalization, and without centring RMSNormalization. */
static bool layer_norm(const KernelCall *call, Error *err)
{
    int64_t axis, n = 1;
    NormSide scale, bias;
    if (!check(call, err) || !kernel_axis(call, -1, call->input[0]->shape.n_dims, &axis, err))
        return false;
    const Local *in = call->input[0], *out = call->output[0];
    for (int64_t d = axis; d < in->shape.n_dims; d++)
        n *= in->shape.dim[d];
    if (!kernel_whole(in, axis, in->shape.n_dims, err) ||
        !side_open(call, 1, axis, n, 1, &scale, err) || !side_open(call, 2, axis, n, 0, &bias, err))
        return false;

    double *row = arena_array(call->scratch, double, n);
    double epsilon = op_attr_float(kernel_graph(call), call->op, "epsilon", 1e-5);
    int64_t n_elements = shape_elements(&in->shape);
    if (!statistics_fit(call, n > 0 ? n_elements / n : 0, err))
        return false;
    for (int64_t at = 0; at < n_elements; at += n) {
        double statistics[3] = {0}; /* output 1: mean, output 2: inverse of the deviation */
        local_load(in, at, 1, n, NUMBER_F64, row);
        normalize(row, n, call->kernel->row == NULL, epsilon, &statistics[1], &statistics[2]);
        if (call->kernel->row)
            statistics[1] = statistics[2]; /* RMS has no mean */
        const double *factor = side_row(&scale, out, axis, n, at);
        const double *addend = side_row(&bias, out, axis, n, at);
        for (int64_t i = 0; i < n; i++)
            row[i] = row[i] * factor[i] + addend[i];
        elements_store(in->dtype, local_at(out, at), n, NUMBER_F64, row);
        for (int q = 1; q < 3 && q < call->n_outputs; q++)
            if (call->output[q])
                local_store(call->output[q], at / n, 1, NUMBER_F64, &statistics[q]);
    }
    return true;
}

/* ---- MeanVarianceNormalization ---- */

/* The dims of the mean: axes, by default those of an image except channels. */
static bool mean_dims(const KernelCall *call, bool averaged[DIMS_MAX], Error *err)
{
    static const int64_t usual[] = {0, 2, 3};
    const Shape *shape = &call->input[0]->shape;
    const Attr *given = op_attr(kernel_graph(call), call->op, "axes");
    bool is_list = given && given->type == ATTR_INTS;
    for (int i = 0; i < (is_list ? given->n : 3); i++) {
        int64_t axis = is_list ? given->ints[i] : usual[i];
        axis += axis < 0 ? shape->n_dims : 0;
        if (axis < 0 || axis >= shape->n_dims)
            return error_kind(err, ERROR_RUN, "an axis is outside the dims");
        if (!kernel_whole(call->input[0], axis, axis + 1, err))
            return false;
        averaged[axis] = true;
    }
    return true;
}

/* (x - mean) / (deviation + 1e-9) */
static bool mean_variance(const KernelCall *call, Error *err)
{
    bool averaged[DIMS_MAX] = {false};
    if (!check(call, err) || !mean_dims(call, averaged, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    int64_t n = shape_elements(&in->shape), n_groups = 1, each = 1, stride[DIMS_MAX] = {0};
    for (int64_t d = in->shape.n_dims - 1; d >= 0; d--) {
        stride[d] = averaged[d] ? 0 : n_groups;
        *(averaged[d] ? &each : &n_groups) *= in->shape.dim[d];
    }
    int64_t *group = arena_array(call->scratch, int64_t, n);
    double *x = arena_array(call->scratch, double, n);
    double *mean = arena_array(call->scratch, double, n_groups);
    double *deviation = arena_array(call->scratch, double, n_groups);
    local_load(in, 0, 1, n, NUMBER_F64, x);
    for (int64_t i = 0; i < n; i++) {
        group[i] = strided_place(&in->shape, stride, 0, in->shape.n_dims, i);
        mean[group[i]] += x[i] / (double)each;
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] -= mean[group[i]];
        deviation[group[i]] += x[i] * x[i] / (double)each;
    }
    for (int64_t i = 0; i < n; i++)
        x[i] /= sqrt(deviation[group[i]]) + 1e-9;
    local_store(out, 0, n, NUMBER_F64, x);
    return true;
}

/* ---- Scaler ---- */

/* Number i of a list that has one, or one for all. */
static double list_at(const Attr *list, int64_t i, double fallback)
{
    bool floats = list && list->type == ATTR_FLOATS;
    if (!list || (!floats && list->type != ATTR_INTS) || list->n < 1)
        return fallback;
    i = list->n == 1 || i >= list->n ? 0 : i;
    return floats ? (double)list->floats[i] : (double)list->ints[i];
}

/* (x - offset) * scale, by columns; its gradient has no offset. */
static bool scaler(const KernelCall *call, Error *err)
{
    const Graph *graph = kernel_graph(call);
    const Attr *scale = op_attr(graph, call->op, "scale");
    const Attr *offset = call->kernel->row ? NULL : op_attr(graph, call->op, "offset");
    if (!check(call, err))
        return false;
    Local *out = call->output[0];
    int64_t last = out->shape.n_dims - 1, n = last < 0 ? 1 : out->shape.dim[last];
    const int64_t *column = last < 0 ? NULL : kernel_globals(call->scratch, &out->runs[last]);
    const double *x = kernel_doubles(call, 0);
    for (int64_t i = 0; i < shape_elements(&out->shape); i++) {
        int64_t c = column ? column[i % n] : 0;
        double y = (x[i] - list_at(offset, c, 0)) * list_at(scale, c, 1);
        local_store(out, i, 1, NUMBER_F64, &y);
    }
    return true;
}

static const RowRow row_softmax = {softmax, true}, row_log_softmax = {log_softmax, true},
                    row_hardmax = {hardmax, true}, row_unit_length = {unit_length, false};

const Kernel kernels_norm[] = {
    {"Softmax", each_row, &row_softmax, 0, ROUNDING_SENSITIVE},
    {"LogSoftmax", each_row, &row_log_softmax, 0, ROUNDING_SENSITIVE},
    {"Hardmax", each_row, &row_hardmax, 0, ROUNDING_EXACT},
    {"LpNormalization", each_row, &row_unit_length, 0, ROUNDING_SENSITIVE},
    {"MeanVarianceNormalization", mean_variance, NULL, 0, ROUNDING_SENSITIVE},
    {"LayerNormalization", layer_norm, NULL, 0, ROUNDING_SENSITIVE},
    {"RMSNormalization", layer_norm, "rms", 0, ROUNDING_SENSITIVE},
    {"ai.onnx.ml::Scaler", scaler, NULL, 0, ROUNDING_OPERANDS},
    {"ScalerBackward", scaler, "gradient", 0, ROUNDING_ULPS},
    {0},
};
