/* image.c - normalization of images: by given statistics (BatchNormalization), by their own
 * (InstanceNormalization, GroupNormalization), by neighbouring channels (LRN). Computed in double
 * and rounded once. */
#include "core/rules/args.h"
#include "core/run/kernel.h"

#include <inttypes.h>
#include <math.h>

/* An image as rows: a row is a channel of a sample. */
typedef struct {
    const Local *in;
    Local *out;
    int64_t channels, n_rows, pixels;
} ImageRows;

static bool open_rows(const KernelCall *call, ImageRows *rows, Error *err)
{
    if (!kernel_numeric(call, 1, err))
        return false;
    *rows = (ImageRows){.in = call->input[0], .out = call->output[0], .pixels = 1};
    const Shape *shape = &rows->in->shape;
    if (!shape_equal(shape, &rows->out->shape))
        return error_kind(err, ERROR_RUN, "input and output differ in shape");
    rows->channels = shape->n_dims > 1 ? shape->dim[1] : 1;
    rows->n_rows = shape->dim[0] * rows->channels;
    for (int64_t d = 2; d < shape->n_dims; d++)
        rows->pixels *= shape->dim[d];
    return true;
}

/* n numbers of an input. */
static bool load_list(const KernelCall *call, int input, int64_t n, double **out, Error *err)
{
    const Local *local = kernel_input(call, input);
    if (!local || !kernel_computes(local, err))
        return error_kind(err, ERROR_RUN, "input %d is absent", input);
    if (shape_elements(&local->shape) != n)
        return error_kind(err, ERROR_RUN, "input %d has another size", input);
    *out = arena_array(call->scratch, double, n);
    local_load(local, 0, 1, n, NUMBER_F64, *out);
    return true;
}

/* A row of pixels becomes (x - mean) * factor + addend. */
static void scale_row(const ImageRows *rows, int64_t row, double *x, double mean, double factor,
                      double addend)
{
    local_load(rows->in, row * rows->pixels, 1, rows->pixels, NUMBER_F64, x);
    for (int64_t i = 0; i < rows->pixels; i++)
        x[i] = (x[i] - mean) * factor + addend;
    local_store(rows->out, row * rows->pixels, rows->pixels, NUMBER_F64, x);
}

/* Mean and variance of n rows, `step` rows apart. */
static void moments(const ImageRows *rows, int64_t first, int64_t n, int64_t step, double *x,
                    double *mean, double *variance)
{
    double sum = 0, squares = 0, count = (double)(n * rows->pixels);
    *mean = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int64_t row = first; row < first + n * step; row += step) {
            local_load(rows->in, row * rows->pixels, 1, rows->pixels, NUMBER_F64, x);
            for (int64_t i = 0; i < rows->pixels; i++)
                if (pass == 0)
                    sum += x[i];
                else
                    squares += (x[i] - *mean) * (x[i] - *mean);
        }
        *mean = sum / count;
    }
    *variance = squares / count;
}

/* Whether statistics come from the input; opsets say so differently. */
static bool is_training(const KernelCall *call, const RuleCall *rule)
{
    if (rule->opset >= 14)
        return args_int(rule, "training_mode", 0) != 0;
    if (rule->opset < 7)
        return args_int(rule, "is_test", 0) == 0;
    bool tells = false;
    for (int o = 1; o < call->n_outputs; o++)
        tells |= call->output[o] != NULL;
    return tells;
}

/* Outputs of a training step: running mean and variance and, before opset 14, those of the input.
 */
static bool store_statistics(const KernelCall *call, const RuleCall *rule, int64_t n,
                             const double *const given[2], const double *const found[2], Error *err)
{
    double keep = args_float(rule, "momentum", 0.9);
    for (int o = 1; o < call->n_outputs; o++) {
        Local *out = call->output[o];
        const double *of = found[(o - 1) % 2], *was = given[(o - 1) % 2];
        if (!out)
            continue;
        if (!kernel_computes(out, err))
            return false;
        if (shape_elements(&out->shape) != n)
            return error_kind(err, ERROR_RUN, "output %d has another size", o);
        for (int64_t c = 0; c < n; c++) {
            double number = o < 3 ? was[c] * keep + of[c] * (1 - keep) : of[c];
            local_store(out, c, 1, NUMBER_F64, &number);
        }
    }
    return true;
}

static bool batch_norm(const KernelCall *call, Error *err)
{
    ImageRows rows;
    double *scale, *bias, *given[2], *found[2];
    if (!open_rows(call, &rows, err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    bool each = rule.opset < 9 && args_int(&rule, "spatial", 1) == 0;
    if (each) { /* numbers for each element of a sample */
        rows.channels *= rows.pixels;
        rows.n_rows *= rows.pixels;
        rows.pixels = 1;
    }
    if (!load_list(call, 1, rows.channels, &scale, err) ||
        !load_list(call, 2, rows.channels, &bias, err) ||
        !load_list(call, 3, rows.channels, &given[0], err) ||
        !load_list(call, 4, rows.channels, &given[1], err))
        return false;
    double epsilon = args_float(&rule, "epsilon", 1e-5);
    double *x = arena_array(call->scratch, double, rows.pixels);
    bool training = is_training(call, &rule);
    for (int k = 0; k < 2; k++)
        found[k] = training ? arena_array(call->scratch, double, rows.channels) : given[k];
    if (training &&
        (call->input[0]->shape.dim[0] != call->input[0]->whole.dim[0] ||
         (!each && !kernel_whole(call->input[0], 2, call->input[0]->shape.n_dims, err))))
        return error_kind(err, ERROR_RUN, "a dim that statistics are taken over is sharded");
    for (int64_t c = 0; training && c < rows.channels; c++)
        moments(&rows, c, rows.n_rows / rows.channels, rows.channels, x, &found[0][c],
                &found[1][c]);
    for (int64_t row = 0; row < rows.n_rows; row++) {
        int64_t c = row % rows.channels;
        scale_row(&rows, row, x, found[0][c], scale[c] / sqrt(found[1][c] + epsilon), bias[c]);
    }
    return !training || store_statistics(call, &rule, rows.channels, (const double *const *)given,
                                         (const double *const *)found, err);
}

/* ---- by their own mean ---- */

/* Scale and bias: one per `each` channels. */
static bool own_norm(const KernelCall *call, int64_t n_group, int64_t each, Error *err)
{
    ImageRows rows;
    double *scale, *bias;
    if (!open_rows(call, &rows, err) ||
        !kernel_whole(call->input[0], 2, call->input[0]->shape.n_dims, err) ||
        !load_list(call, 1, rows.channels / each, &scale, err) ||
        !load_list(call, 2, rows.channels / each, &bias, err))
        return false;
    if (rows.channels % n_group != 0)
        return error_kind(err, ERROR_RUN, "a group of channels is sharded");
    double epsilon = op_attr_float(kernel_graph(call), call->op, "epsilon", 1e-5);
    double *x = arena_array(call->scratch, double, rows.pixels);
    for (int64_t first = 0; first < rows.n_rows; first += n_group) {
        double mean, variance;
        moments(&rows, first, n_group, 1, x, &mean, &variance);
        double inverse = 1 / sqrt(variance + epsilon);
        for (int64_t row = first; row < first + n_group; row++) {
            int64_t c = row % rows.channels / each;
            scale_row(&rows, row, x, mean, scale[c] * inverse, bias[c]);
        }
    }
    return true;
}

static bool instance_norm(const KernelCall *call, Error *err)
{
    return own_norm(call, 1, 1, err);
}

static bool group_norm(const KernelCall *call, Error *err)
{
    RuleCall rule = kernel_rule_call(call);
    int64_t groups = args_int(&rule, "num_groups", 1);
    if (!kernel_needs(call, 3, err))
        return false;
    int64_t n_group = call->input[0]->whole.dim[1] / groups;
    return own_norm(call, n_group, rule.opset < 21 ? n_group : 1, err);
}

/* ---- LRN ---- */

/* x / (bias + alpha / size * sum of squares of the channels around) ^ beta */
static bool lrn(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 1, err))
        return false;
    const Graph *graph = kernel_graph(call);
    const Local *in = call->input[0];
    Local *out = call->output[0];
    int64_t size = op_attr_int(graph, call->op, "size", 1), before = (size - 1) / 2;
    double alpha = op_attr_float(graph, call->op, "alpha", 1e-4);
    double beta = op_attr_float(graph, call->op, "beta", 0.75);
    double bias = op_attr_float(graph, call->op, "bias", 1);
    for (int64_t d = 0; d < in->shape.n_dims; d++)
        if (d != 1 && in->shape.dim[d] != out->shape.dim[d])
            return error_kind(err, ERROR_RUN, "input and output differ in shape");
    const int64_t *global = kernel_globals(call->scratch, &out->runs[1]);
    int64_t n_in = in->shape.dim[1], n_out = out->shape.dim[1], pixels = 1;
    for (int64_t d = 2; d < in->shape.n_dims; d++)
        pixels *= in->shape.dim[d];
    double *x = arena_array(call->scratch, double, n_in);
    for (int64_t i = 0; i < in->shape.dim[0] * pixels; i++) {
        int64_t b = i / pixels, pixel = i % pixels;
        local_load(in, b * n_in * pixels + pixel, pixels, n_in, NUMBER_F64, x);
        for (int64_t c = 0; c < n_out; c++) {
            double sum = 0;
            int64_t own = runs_find(&in->runs[1], global[c]);
            for (int64_t k = 0; k < size; k++) {
                int64_t at = global[c] - before + k, place = runs_find(&in->runs[1], at);
                bool inside = 0 <= at && at < in->whole.dim[1];
                if (inside && (place < 0 || own < 0))
                    return error_kind(err, ERROR_RUN, "a channel is on another rank");
                sum += inside ? x[place] * x[place] : 0;
            }
            double y = x[own] / pow(bias + alpha / (double)size * sum, beta);
            local_store(out, (b * n_out + c) * pixels + pixel, 1, NUMBER_F64, &y);
        }
    }
    return true;
}

const Kernel kernels_image[] = {
    {"BatchNormalization", batch_norm, NULL, 0, ROUNDING_SENSITIVE},
    {"InstanceNormalization", instance_norm, NULL, 0, ROUNDING_SENSITIVE},
    {"GroupNormalization", group_norm, NULL, 0, ROUNDING_SENSITIVE},
    {"LRN", lrn, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
