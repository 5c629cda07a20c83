/* sample.c - samples images at grid coordinates: GridSample, AffineGrid.
 *
 * A grid gives coordinates in -1..1, last dim first, for each output place; -1 and 1 are the
 * centres of the border places (align_corners) or their outer edges. A rank has whole images of
 * some batches and channels, and some output places. Source: the ONNX operator schemas of
 * GridSample (opset 16 to 22), AffineGrid (20).
 */
#include "core/rules/window.h"
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
    bool align_corners;
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
                      PAD_ZEROS, args_int(&rule, "align_corners", 0) != 0};
    if (str_eq(padding, STR("border")))
        out->padding = PAD_BORDER;
    else if (str_eq(padding, STR("reflection")))
        out->padding = PAD_REFLECTION;
    else if (!str_eq(padding, STR("zeros")))
        return error_kind(err, ERROR_RUN, "unknown padding_mode '%.*s'", STR_ARG(padding));
    return linear || cubic || str_eq(mode, STR("nearest")) ||
           error_kind(err, ERROR_RUN, "unknown mode '%.*s'", STR_ARG(mode));
}

/* Reflects x at the borders until it is inside. */
static double reflected(double x, double least, double most)
{
    double range = most - least, beyond = x < least ? least - x : x > most ? x - most : -1;
    if (beyond < 0 || range <= 0)
        return range <= 0 ? least : x;
    double times = floor(beyond / range), rest = beyond - times * range;
    bool from_least = (x < least) == (fmod(times, 2) == 0);
    return from_least ? least + rest : most - rest;
}

/* A grid coordinate as a place, moved inside by the padding mode. */
static double place_of(const Sampling *s, double grid, int64_t size)
{
    double least = s->align_corners ? 0 : -0.5, most = (double)size - (s->align_corners ? 1 : 0.5);
    double x = s->align_corners ? (grid + 1) / 2 * (double)(size - 1)
                                : ((grid + 1) * (double)size - 1) / 2;
    x = (double)(float)x;
    if (s->mode == SAMPLE_NEAREST)
        x = rint(x);
    if (s->padding == PAD_REFLECTION)
        return reflected(x, least, most);
    if (s->padding == PAD_BORDER && (x < least || x > most))
        return fmin(fmax(x, 0), (double)(size - 1));
    return x;
}

static int64_t tap_place(const Sampling *s, int64_t at, int64_t size)
{
    double least = s->align_corners ? 0 : -0.5, most = (double)size - (s->align_corners ? 1 : 0.5);
    if (s->padding == PAD_BORDER)
        return at < 0 ? 0 : at >= size ? size - 1 : at;
    if (s->padding == PAD_REFLECTION)
        return inside((int64_t)reflected((double)at, least, most), size);
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

static bool grid_sample(const KernelCall *call, Error *err)
{
    Sampling s;
    if (!kernel_needs(call, 2, err) || !read_sampling(call, &s, err) ||
        !kernel_computes(call->input[0], err) || !kernel_computes(call->input[1], err))
        return false;
    const Local *image = call->input[0];
    Local *out = call->output[0];
    int n = (int)image->shape.n_dims - 2;
    if (!sizes_fit(image, call->input[1], out, n))
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    if (!kernel_takes_terms(call, err))
        return false;
    const double *x = call->sink ? NULL : kernel_doubles(call, 0), *grid = kernel_doubles(call, 1);
    int64_t pixels = 1, places = 1, stride[DIMS_MAX], channels = image->shape.dim[1];
    row_major_strides(&image->shape, stride);
    for (int d = 0; d < n; d++) {
        pixels *= image->shape.dim[2 + d];
        places *= out->shape.dim[2 + d];
    }
    for (int64_t i = 0; i < out->shape.dim[0] * places; i++) {
        Taps taps[SPATIAL_MAX];
        for (int d = 0; d < n; d++) {
            int64_t size = image->shape.dim[2 + d];
            taps[d] = taps_at(&s, place_of(&s, grid[i * n + n - 1 - d], size), size);
        }
        for (int64_t c = 0; c < channels; c++) {
            int64_t plane = i / places * channels + c;
            int64_t at = plane * places + i % places;
            if (call->sink) {
                taps_terms(call, out, at, image, plane * pixels, taps, stride + 2, n, 1);
                continue;
            }
            double y = taps_sum(x + plane * pixels, taps, stride + 2, n);
            local_store(out, at, 1, NUMBER_F64, &y);
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
    {"AffineGrid", affine_grid, NULL, 1, ROUNDING_SENSITIVE},
    {0},
};
