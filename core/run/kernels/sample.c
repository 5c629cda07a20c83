/* sample.c - samples images at grid coordinates: GridSample, AffineGrid.
 *
 * A grid gives coordinates in -1..1, last dim first, for each output place; -1 and 1 are the
 * centres of the border places (align_corners) or their outer edges. A rank has whole images of
 * some batches and channels, and some output places. Source: the ONNX operator schemas of
 * GridSample (opset 16 to 22), AffineGrid (20).
 */
#include "core/rules/window.h"
#include "core/run/kernels/derivative.h"
#include "core/run/kernels/taps.h"

#include <math.h>

/* ---- taps ---- */

double taps_sum(const double *image, const Taps *taps, const int64_t *stride, int n_dims)
{
    if (n_dims == 0)
        return *image;
    double sum = 0;
    for (int i = 0; i < taps->n; i++)
        if (taps->place[i] >= 0)
            sum += taps->weight[i] *
                   taps_sum(image + taps->place[i] * *stride, taps + 1, stride + 1, n_dims - 1);
    return sum;
}

void taps_terms(const KernelCall *call, const Local *to, int64_t at, const Local *from,
                int64_t place, const Taps *taps, const int64_t *stride, int n_dims, double weight)
{
    if (n_dims == 0)
        kernel_term(call, to, at, from, place, weight);
    for (int i = 0; n_dims > 0 && i < taps->n; i++)
        if (taps->place[i] >= 0)
            taps_terms(call, to, at, from, place + taps->place[i] * *stride, taps + 1, stride + 1,
                       n_dims - 1, weight * taps->weight[i]);
}

static int64_t inside(int64_t place, int64_t size)
{
    return place >= 0 && place < size ? place : -1;
}

Taps taps_linear(double x, int64_t size)
{
    if (!(x > -1 && x < (double)size)) /* also NaN */
        return (Taps){.n = 0};
    int64_t low = (int64_t)floor(x);
    double high = x - floor(x);
    return (Taps){2, {inside(low, size), inside(low + 1, size)}, {1 - high, high}};
}

/* ---- GridSample ---- */

typedef enum { SAMPLE_NEAREST, SAMPLE_LINEAR, SAMPLE_CUBIC } SampleMode;
typedef enum { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION } SamplePadding;

typedef struct {
    SampleMode mode;
    SamplePadding padding;
    bool align_corners, single; /* places are rounded to single precision */
} Sampling;

static bool read_sampling(const KernelCall *call, Sampling *out, Error *err)
{
    RuleCall rule = kernel_rule_call(call);
    Str mode = args_text(&rule, "mode", "linear");
    Str padding = args_text(&rule, "padding_mode", "zeros");
    bool linear = str_eq(mode, STR("linear")) || str_eq(mode, STR("bilinear"));
    bool cubic = str_eq(mode, STR("cubic")) || str_eq(mode, STR("bicubic"));
    *out = (Sampling){linear  ? SAMPLE_LINEAR
                      : cubic ? SAMPLE_CUBIC
                              : SAMPLE_NEAREST,
                      PAD_ZEROS, args_int(&rule, "align_corners", 0) != 0,
                      call->input[1]->dtype != DT_F64};
    if (str_eq(padding, STR("border")))
        out->padding = PAD_BORDER;
    else if (str_eq(padding, STR("reflection")))
        out->padding = PAD_REFLECTION;
    else if (!str_eq(padding, STR("zeros")))
        return error_kind(err, ERROR_RUN, "unknown padding_mode '%.*s'", STR_ARG(padding));
    return linear || cubic || str_eq(mode, STR("nearest")) ||
           error_kind(err, ERROR_RUN, "unknown mode '%.*s'", STR_ARG(mode));
}

/* Reflects x at the borders until it is inside. *slope: 1, or -1 where it runs back. */
static double reflected(double x, double least, double most, double *slope)
{
    double range = most - least, beyond = x < least ? least - x : x > most ? x - most : -1;
    *slope = range > 0;
    if (beyond < 0 || range <= 0)
        return range <= 0 ? least : x;
    double times = floor(beyond / range), rest = beyond - times * range;
    bool from_least = (x < least) == (fmod(times, 2) == 0);
    *slope = from_least == (x < least) ? -1 : 1;
    return from_least ? least + rest : most - rest;
}

/* A grid coordinate as a place, moved inside by the padding mode; *slope: its derivative. */
static double place_of(const Sampling *s, double grid, int64_t size, double *slope)
{
    double reflection = 1;
    double least = s->align_corners ? 0 : -0.5, most = (double)size - (s->align_corners ? 1 : 0.5);
    double x = s->align_corners ? (grid + 1) / 2 * (double)(size - 1)
                                : ((grid + 1) * (double)size - 1) / 2;
    if (s->single)
        x = (double)(float)x;
    *slope = (double)(s->align_corners ? size - 1 : size) / 2;
    if (s->mode == SAMPLE_NEAREST)
        x = rint(x);
    if (s->padding == PAD_REFLECTION)
        x = reflected(x, least, most, &reflection);
    *slope *= reflection;
    if (s->padding != PAD_BORDER || s->mode == SAMPLE_CUBIC || !(x < least || x > most))
        return x;
    *slope = 0;
    return fmin(fmax(x, 0), (double)(size - 1));
}

static int64_t tap_place(const Sampling *s, int64_t at, int64_t size)
{
    double least = s->align_corners ? 0 : -0.5, most = (double)size - (s->align_corners ? 1 : 0.5);
    if (s->padding == PAD_BORDER)
        return at < 0 ? 0 : at >= size ? size - 1 : at;
    double slope;
    if (s->padding == PAD_REFLECTION)
        return inside((int64_t)reflected((double)at, least, most, &slope), size);
    return inside(at, size);
}

/* Keys' cubic convolution with a = -0.75, at distance x. */
static double cubic_weight(double x)
{
    const double a = -0.75;
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Its derivative at a signed distance. */
static double cubic_slope(double x)
{
    const double a = -0.75, far = fabs(x);
    double slope = far <= 1  ? (3 * (a + 2) * far - 2 * (a + 3)) * far
                   : far < 2 ? (3 * a * far - 10 * a) * far + 8 * a
                             : 0;
    return x < 0 ? -slope : slope;
}

/* The taps of taps_at() with the derivatives of their weights by x. */
static Taps slopes_at(const Sampling *s, double x, Taps taps)
{
    for (int i = 0; i < taps.n; i++) {
        double first = floor(x) - (s->mode == SAMPLE_CUBIC);
        taps.weight[i] = s->mode == SAMPLE_NEAREST  ? 0
                         : s->mode == SAMPLE_LINEAR ? (i == 0 ? -1 : 1)
                                                    : cubic_slope(x - first - i);
    }
    return taps;
}

static Taps taps_at(const Sampling *s, double x, int64_t size)
{
    Taps taps = {.n = s->mode == SAMPLE_NEAREST ? 1 : s->mode == SAMPLE_LINEAR ? 2 : 4};
    if (!(fabs(x) < 1e15) || size < 1)
        return (Taps){.n = 0};
    double low = s->mode == SAMPLE_NEAREST ? trunc(x) : floor(x);
    int64_t first = (int64_t)low - (s->mode == SAMPLE_CUBIC);
    for (int i = 0; i < taps.n; i++) {
        double far = fabs(x - (double)(first + i));
        taps.place[i] = tap_place(s, first + i, size);
        taps.weight[i] = s->mode == SAMPLE_NEAREST  ? 1
                         : s->mode == SAMPLE_LINEAR ? 1 - far
                                                    : cubic_weight(far);
    }
    return taps;
}

/* n spatial dims; places: of the output, of one image. */
static bool sizes_fit(const Local *image, const Local *grid, const Local *out, int n)
{
    bool fits =
        grid->shape.n_dims == n + 2 && out->shape.n_dims == n + 2 && n >= 1 && n <= SPATIAL_MAX &&
        grid->shape.dim[n + 1] == n && image->shape.dim[0] == out->shape.dim[0] &&
        image->shape.dim[0] == grid->shape.dim[0] && image->shape.dim[1] == out->shape.dim[1];
    for (int d = 0; fits && d < n; d++)
        fits = image->shape.dim[2 + d] == image->whole.dim[2 + d] &&
               grid->shape.dim[1 + d] == out->shape.dim[2 + d];
    return fits;
}

typedef struct {
    Sampling how;
    const Local *image;
    int n; /* spatial dims */
    int64_t pixels, places, channels, stride[DIMS_MAX];
    const double *grid;
} GridSample;

static bool open_grid_sample(const KernelCall *call, GridSample *g, Error *err)
{
    if (!kernel_needs(call, 2, err) || !read_sampling(call, &g->how, err) ||
        !kernel_computes(call->input[0], err) || !kernel_computes(call->input[1], err))
        return false;
    const Local *out = call->output[0];
    g->image = call->input[0];
    g->n = (int)g->image->shape.n_dims - 2;
    if (!sizes_fit(g->image, call->input[1], out, g->n))
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    g->pixels = g->places = 1;
    g->channels = g->image->shape.dim[1];
    row_major_strides(&g->image->shape, g->stride);
    for (int d = 0; d < g->n; d++) {
        g->pixels *= g->image->shape.dim[2 + d];
        g->places *= out->shape.dim[2 + d];
    }
    return true;
}

/* Of output place i; slopes: as slopes_at() by the grid's coordinate, NULL: not wanted. */
static void grid_taps(const GridSample *g, int64_t i, Taps taps[SPATIAL_MAX],
                      Taps slopes[SPATIAL_MAX])
{
    for (int d = 0; d < g->n; d++) {
        int64_t size = g->image->shape.dim[2 + d];
        double slope, x = place_of(&g->how, g->grid[i * g->n + g->n - 1 - d], size, &slope);
        taps[d] = taps_at(&g->how, x, size);
        if (!slopes)
            continue;
        slopes[d] = slopes_at(&g->how, x, taps[d]);
        for (int k = 0; k < slopes[d].n; k++)
            slopes[d].weight[k] *= slope;
    }
}

static bool grid_sample(const KernelCall *call, Error *err)
{
    GridSample g;
    if (!open_grid_sample(call, &g, err) || !kernel_takes_terms(call, err))
        return false;
    Local *out = call->output[0];
    const double *x = call->sink ? NULL : kernel_doubles(call, 0);
    g.grid = kernel_doubles(call, 1);
    for (int64_t i = 0; i < out->shape.dim[0] * g.places; i++) {
        Taps taps[SPATIAL_MAX];
        grid_taps(&g, i, taps, NULL);
        for (int64_t c = 0; c < g.channels; c++) {
            int64_t plane = i / g.places * g.channels + c;
            int64_t at = plane * g.places + i % g.places;
            if (call->sink) {
                taps_terms(call, out, at, g.image, plane * g.pixels, taps, g.stride + 2, g.n, 1);
                continue;
            }
            double y = taps_sum(x + plane * g.pixels, taps, g.stride + 2, g.n);
            local_store(out, at, 1, NUMBER_F64, &y);
        }
    }
    return true;
}

/* Of the grid; summed over the channels that the rank has. */
static bool grid_sample_grad(const KernelCall *call, Error *err)
{
    KernelCall forward;
    GridSample g;
    if (!forward_call(call, &forward, err) || !open_grid_sample(&forward, &g, err))
        return false;
    const double *x = kernel_doubles(&forward, 0);
    const double *grad = local_doubles(call->scratch, forward.output[0]);
    g.grid = kernel_doubles(&forward, 1);
    for (int64_t i = 0; i < forward.output[0]->shape.dim[0] * g.places; i++) {
        Taps taps[SPATIAL_MAX], slopes[SPATIAL_MAX];
        grid_taps(&g, i, taps, slopes);
        for (int d = 0; d < g.n; d++) {
            Taps kept = taps[d];
            double sum = 0;
            taps[d] = slopes[d];
            for (int64_t c = 0; c < g.channels; c++) {
                int64_t plane = i / g.places * g.channels + c;
                sum += grad[plane * g.places + i % g.places] *
                       taps_sum(x + plane * g.pixels, taps, g.stride + 2, g.n);
            }
            taps[d] = kept;
            local_store(call->output[0], i * g.n + g.n - 1 - d, 1, NUMBER_F64, &sum);
        }
    }
    return true;
}

/* ---- AffineGrid ---- */

/* grid[b][place][r] = sum over j of theta[b][r][j] * coordinate j, and theta[b][r][n]; coordinate 0
 * is along the last spatial dim. */
static bool affine_grid(const KernelCall *call, Error *err)
{
    if (!kernel_numeric(call, 1, err))
        return false;
    const Local *theta = call->input[0];
    Local *out = call->output[0];
    int n = (int)out->shape.n_dims - 2;
    const int64_t *global[DIMS_MAX];
    bool align = op_attr_int(kernel_graph(call), call->op, "align_corners", 0) != 0;
    if (n < 1 || theta->shape.n_dims != 3 || theta->shape.dim[0] != out->shape.dim[0] ||
        theta->shape.dim[1] != out->shape.dim[n + 1] || theta->shape.dim[2] != n + 1)
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    for (int d = 0; d < n; d++)
        global[d] = kernel_globals(call->scratch, &out->runs[1 + d]);
    if (!kernel_takes_terms(call, err))
        return false;
    const double *t = call->sink ? NULL : kernel_doubles(call, 0);
    int64_t rows = theta->shape.dim[1];
    for (int64_t i = 0; i < shape_elements(&out->shape); i++) {
        int64_t rest = i / rows, row = i % rows;
        double coordinate[DIMS_MAX], y;
        for (int d = n - 1; d >= 0; rest /= out->shape.dim[1 + d--]) {
            double at = (double)global[d][rest % out->shape.dim[1 + d]];
            double size = (double)out->whole.dim[1 + d];
            coordinate[n - 1 - d] = !align     ? (2 * at + 1) / size - 1
                                    : size > 1 ? 2 * at / (size - 1) - 1
                                               : -1;
        }
        int64_t first = (rest * rows + row) * (n + 1);
        for (int j = 0; call->sink && j <= n; j++)
            kernel_term(call, out, i, theta, first + j, j < n ? coordinate[j] : 1);
        if (call->sink)
            continue;
        const double *weights = t + first;
        y = weights[n];
        for (int j = 0; j < n; j++)
            y += weights[j] * coordinate[j];
        local_store(out, i, 1, NUMBER_F64, &y);
    }
    return true;
}

const Kernel kernels_sample[] = {
    {"GridSample", grid_sample, NULL, 0, ROUNDING_SENSITIVE},
    {"GridSampleGrad", grid_sample_grad, NULL, 0, ROUNDING_SENSITIVE},
    {"AffineGrid", affine_grid, NULL, 1, ROUNDING_SENSITIVE},
    {0},
};
