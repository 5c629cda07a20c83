/* regions.c - pools regions of an image: RoiAlign, MaxRoiPool.
 *
 * A region is a box in the image of a batch element, divided into bins with one number each: a mean
 * or maximum of interpolated samples (RoiAlign), or the maximum of its places (MaxRoiPool). A rank
 * has all images of some channels, some regions and some bins. Source: the ONNX operator schemas of
 * RoiAlign (opset 10 to 22) and MaxRoiPool (1 to 22).
 */
#include "core/rules/args.h"
#include "core/run/kernels/taps.h"

#include <math.h>

typedef struct {
    const KernelCall *call;
    const Local *image;
    Local *out;
    const double *x, *boxes, *batch; /* x NULL: not read; batch NULL: the first number of a box */
    const int64_t *bin[2];           /* global, along height and width */
    int64_t bins[2], size[2];        /* of the whole: bins of a region, places of the image */
    float scale;
    bool half_pixel, largest;
    int64_t ratio; /* samples of a bin along a dim; 0: as many as it has places */
} Regions;

/* each: numbers of a box. */
static bool open_regions(const KernelCall *call, int64_t each, Regions *r, Error *err)
{
    if (!kernel_needs(call, each == 4 ? 3 : 2, err))
        return false;
    for (int i = 0; i < (each == 4 ? 3 : 2); i++)
        if (!kernel_computes(call->input[i], err))
            return false;
    const Local *image = call->input[0], *boxes = call->input[1], *out = call->output[0];
    *r = (Regions){.call = call, .image = image, .out = call->output[0]};
    bool fits = image->shape.n_dims == 4 && out->shape.n_dims == 4 && boxes->shape.n_dims == 2 &&
                boxes->shape.dim[1] == each && boxes->shape.dim[0] == out->shape.dim[0] &&
                image->shape.dim[1] == out->shape.dim[1] &&
                image->shape.dim[0] == image->whole.dim[0] &&
                (each != 4 || shape_elements(&call->input[2]->shape) == boxes->shape.dim[0]);
    for (int d = 0; fits && d < 2; d++) {
        fits = image->shape.dim[2 + d] == image->whole.dim[2 + d];
        r->size[d] = image->shape.dim[2 + d];
        r->bins[d] = out->whole.dim[2 + d];
        r->bin[d] = kernel_globals(call->scratch, &out->runs[2 + d]);
    }
    if (!fits)
        return error_kind(err, ERROR_RUN, "operand shapes do not match");
    r->x = image->data ? kernel_doubles(call, 0) : NULL;
    r->boxes = kernel_doubles(call, 1);
    r->batch = each == 4 ? kernel_doubles(call, 2) : NULL;
    return kernel_takes_terms(call, err);
}

/* The place of the region's image in the first local channel; -1 when it names none: an error with
 * batch indices; a box number is truncated, and a box without an image is empty. */
static int64_t image_of(const Regions *r, int64_t region)
{
    double batch = r->batch ? r->batch[region] : r->boxes[region * 5];
    const Shape *shape = &r->image->shape;
    if (!(batch > -1 && batch < (double)shape->dim[0]))
        return -1;
    return (int64_t)batch * shape->dim[1] * shape->dim[2] * shape->dim[3];
}

/* Computes the number of a bin (its global place) for a channel's image, which begins at a place;
 * with a sink, its terms. at: the element of the output. */
typedef double BinFn(const Regions *r, int64_t region, const int64_t bin[2], int64_t image,
                     int64_t at);

static bool fill_bins(const Regions *r, BinFn *of, Error *err)
{
    const Shape *shape = &r->out->shape;
    int64_t plane = r->size[0] * r->size[1];
    for (int64_t i = 0; i < shape_elements(shape); i++) {
        int64_t column = i % shape->dim[3], row = i / shape->dim[3] % shape->dim[2];
        int64_t channel = i / shape->dim[3] / shape->dim[2] % shape->dim[1];
        int64_t region = i / shape->dim[3] / shape->dim[2] / shape->dim[1];
        int64_t image = image_of(r, region);
        if (image < 0 && r->batch)
            return error_kind(err, ERROR_RUN, "a region names a missing image");
        const int64_t bin[2] = {r->bin[0][row], r->bin[1][column]};
        double y = image >= 0 ? of(r, region, bin, image + channel * plane, i) : 0;
        if (!r->call->sink)
            local_store(r->out, i, 1, NUMBER_F64, &y);
    }
    return true;
}

/* ---- RoiAlign ---- */

/* Samples of a bin along one dim, in single precision like the boxes, since their number is
 * rounded. */
typedef struct {
    float start, step; /* of the samples */
    int64_t n;
} Samples;

static Samples samples_of(const Regions *r, int64_t region, int d, int64_t bin)
{
    const double *box = r->boxes + region * 4;
    float offset = r->half_pixel ? 0.5F : 0;
    float start = (float)box[1 - d] * r->scale - offset;
    float size = (float)box[3 - d] * r->scale - offset - start;
    if (!r->half_pixel)
        size = fmaxf(size, 1);
    float each = size / (float)r->bins[d];
    Samples out = {.n = r->ratio > 0 ? r->ratio : (int64_t)fmaxf(fminf(ceilf(each), 1e6F), 0)};
    out.step = each / (float)out.n;
    out.start = start + (float)bin * each + out.step / 2;
    return out;
}

/* As taps_linear(), but up to one place outside reads the border. */
static Taps taps_clamped(double x, int64_t size)
{
    if (!(x >= -1 && x <= (double)size))
        return (Taps){.n = 0};
    return taps_linear(fmin(fmax(x, 0), (double)(size - 1)), size);
}

/* The largest weighted place of all samples of a bin. */
typedef struct {
    double most, weight;
    int64_t place; /* -1: outside */
} Largest;

static void add_largest(Largest *largest, const Regions *r, const Taps taps[2], int64_t image)
{
    if ((taps[0].n == 0 || taps[1].n == 0) && !(largest->most >= 0))
        *largest = (Largest){0, 0, -1};
    for (int a = 0; a < taps[0].n * taps[1].n; a++) {
        int64_t y = taps[0].place[a / 2], x = taps[1].place[a % 2];
        double weight = taps[0].weight[a / 2] * taps[1].weight[a % 2];
        bool reads = y >= 0 && x >= 0 && weight != 0;
        int64_t place = reads ? image + y * r->size[1] + x : -1;
        double at = reads ? weight * r->x[place] : 0;
        if (at > largest->most)
            *largest = (Largest){at, weight, place};
    }
}

static double align_bin(const Regions *r, int64_t region, const int64_t bin[2], int64_t image,
                        int64_t at)
{
    const Samples rows = samples_of(r, region, 0, bin[0]),
                  columns = samples_of(r, region, 1, bin[1]);
    const int64_t stride[2] = {r->size[1], 1};
    double sum = 0, count = (double)(rows.n * columns.n > 1 ? rows.n * columns.n : 1);
    Largest largest = {-INFINITY, 0, -1};
    for (int64_t i = 0; i < rows.n; i++)
        for (int64_t j = 0; j < columns.n; j++) {
            Taps taps[2] = {
                taps_clamped((double)(rows.start + (float)i * rows.step), r->size[0]),
                taps_clamped((double)(columns.start + (float)j * columns.step), r->size[1])};
            if (r->largest)
                add_largest(&largest, r, taps, image);
            else if (r->call->sink)
                taps_terms(r->call, r->out, at, r->image, image, taps, stride, 2, 1 / count);
            else
                sum += taps_sum(r->x + image, taps, stride, 2);
        }
    if (r->largest && r->call->sink && largest.place >= 0)
        kernel_term(r->call, r->out, at, r->image, largest.place, largest.weight);
    if (r->largest)
        return isinf(largest.most) ? 0 : largest.most;
    return sum / count;
}

enum { SAMPLES_MAX = 4096 }; /* per bin and dim: for a box far larger than any image */

static bool samples_bounded(const Regions *r, Error *err)
{
    for (int64_t region = 0; region < r->out->shape.dim[0]; region++)
        for (int d = 0; d < 2; d++)
            if (samples_of(r, region, d, 0).n > SAMPLES_MAX)
                return error_kind(err, ERROR_RUN, "a bin of a region has more than %d samples",
                                  SAMPLES_MAX);
    return true;
}

static bool roi_align(const KernelCall *call, Error *err)
{
    Regions r;
    if (!open_regions(call, 4, &r, err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    Str mode = args_text(&rule, "mode", "avg");
    Str where = args_text(&rule, "coordinate_transformation_mode", "half_pixel");
    r.half_pixel = rule.opset >= 16 && str_eq(where, STR("half_pixel"));
    r.largest = str_eq(mode, STR("max"));
    r.ratio = args_int(&rule, "sampling_ratio", 0);
    r.scale = (float)args_float(&rule, "spatial_scale", 1);
    if (!r.largest && !str_eq(mode, STR("avg")))
        return error_kind(err, ERROR_RUN, "unknown mode '%.*s'", STR_ARG(mode));
    return samples_bounded(&r, err) && fill_bins(&r, align_bin, err);
}

/* ---- MaxRoiPool ---- */

/* The places lo .. hi-1 of a bin along one dim; boxes are rounded, bins are not. */
static void pool_range(const Regions *r, int64_t region, int d, int64_t bin, int64_t *lo,
                       int64_t *hi)
{
    const double *box = r->boxes + region * 5 + 1;
    double first = round(box[1 - d] * (double)r->scale),
           last = round(box[3 - d] * (double)r->scale);
    double each = fmax(last - first + 1, 1) / (double)r->bins[d], size = (double)r->size[d];
    *lo = (int64_t)fmin(fmax(floor((double)bin * each) + first, 0), size);
    *hi = (int64_t)fmin(fmax(ceil((double)(bin + 1) * each) + first, 0), size);
}

static double pool_bin(const Regions *r, int64_t region, const int64_t bin[2], int64_t image,
                       int64_t at)
{
    int64_t lo[2], hi[2], place = -1;
    double most = -INFINITY;
    for (int d = 0; d < 2; d++)
        pool_range(r, region, d, bin[d], &lo[d], &hi[d]);
    for (int64_t y = lo[0]; y < hi[0]; y++)
        for (int64_t x = lo[1]; x < hi[1]; x++) {
            int64_t i = image + y * r->size[1] + x;
            place = place < 0 || r->x[i] > most ? i : place;
            most = fmax(most, r->x[i]);
        }
    if (place >= 0 && r->call->sink)
        kernel_term(r->call, r->out, at, r->image, place, 1);
    return place >= 0 ? most : 0;
}

static bool max_roi_pool(const KernelCall *call, Error *err)
{
    Regions r;
    if (!open_regions(call, 5, &r, err))
        return false;
    r.scale = (float)op_attr_float(kernel_graph(call), call->op, "spatial_scale", 1);
    return fill_bins(&r, pool_bin, err);
}

const Kernel kernels_regions[] = {
    {"RoiAlign", roi_align, NULL, 0, ROUNDING_SENSITIVE},
    {"MaxRoiPool", max_roi_pool, NULL, 0, ROUNDING_EXACT},
    {0},
};
