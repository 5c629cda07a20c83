/* resample.c - Resize and Upsample, Pad, DepthToSpace and SpaceToDepth.
 *
 * Resizing is separable: a place of an output dim is a weighted sum of a few input places (taps),
 * and an element sums over the taps of all dims. The others move elements. Source: the formulas in
 * the ONNX operator schemas of Resize.
 */
#include "core/rules/resample.h"
#include "core/run/kernels/resize.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

/* ---- taps ---- */

typedef struct {
    const Resizing *resizing;
    double roi_start[DIMS_MAX], roi_end[DIMS_MAX];
    double cubic;
    bool antialias, exclude_outside;
} Sampling;

/* The input coordinate of output place `at`. */
static double source_of(const Sampling *s, int d, int64_t size, int64_t out, int64_t at)
{
    Str where = s->resizing->where;
    double scale = s->resizing->scale[d], x = (double)at;
    double resized = scale * (double)size;
    if (str_eq(where, STR("asymmetric")))
        return x / scale;
    if (str_eq(where, STR("align_corners")))
        return resized == 1 ? 0 : x * (double)(size - 1) / (resized - 1);
    if (str_eq(where, STR("pytorch_half_pixel")) && resized <= 1)
        return 0;
    if (str_eq(where, STR("tf_half_pixel_for_nn")))
        return (x + 0.5) / scale;
    if (str_eq(where, STR("tf_crop_and_resize"))) {
        double start = s->roi_start[d], end = s->roi_end[d], most = (double)(size - 1);
        return out > 1 ? start * most + x * (end - start) * most / (resized - 1)
                       : 0.5 * (start + end) * most;
    }
    double shift = 0;
    if (str_eq(where, STR("half_pixel_symmetric")))
        shift = (double)size / 2 * (1 - (double)out / resized);
    return shift + (x + 0.5) / scale - 0.5;
}

static double cubic_weight(double x, double a)
{
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

static double nearest_of(Str round, double x)
{
    if (str_eq(round, STR("floor")))
        return floor(x);
    if (str_eq(round, STR("ceil")))
        return ceil(x);
    bool middle = x - floor(x) == 0.5;
    if (middle)
        return str_eq(round, STR("round_prefer_ceil")) ? ceil(x) : floor(x);
    return floor(x + 0.5);
}

/* Taps extend `radius` to each side, more when an antialiased dim shrinks. */
static int64_t n_taps(const Sampling *s, int d)
{
    if (str_eq(s->resizing->mode, STR("nearest")))
        return 1;
    double radius = str_eq(s->resizing->mode, STR("cubic")) ? 2 : 1;
    double scale = s->antialias && s->resizing->scale[d] < 1 ? s->resizing->scale[d] : 1;
    return 2 * (int64_t)ceil(radius / scale);
}

/* Places (global, clamped to the dim) and weights of one output place. */
static void fill_taps(const Sampling *s, int d, int64_t size, double x, int64_t n, int64_t *place,
                      double *weight)
{
    if (n == 1) {
        place[0] = clamp((int64_t)nearest_of(s->resizing->round, x), 0, size - 1);
        weight[0] = 1;
        return;
    }
    double scale = s->antialias && s->resizing->scale[d] < 1 ? s->resizing->scale[d] : 1, sum = 0;
    bool cubic = str_eq(s->resizing->mode, STR("cubic"));
    int64_t first = (int64_t)floor(x) - n / 2 + 1;
    for (int64_t i = 0; i < n; i++) {
        double away = (x - (double)(first + i)) * scale;
        weight[i] = cubic ? cubic_weight(away, s->cubic) : fmax(0, 1 - fabs(away));
        if (s->exclude_outside && (first + i < 0 || first + i >= size))
            weight[i] = 0;
        place[i] = clamp(first + i, 0, size - 1);
        sum += weight[i];
    }
    for (int64_t i = 0; i < n; i++)
        weight[i] /= sum;
}

static bool make_taps(const Sampling *s, Arena *arena, const Local *in, const Local *out, int d,
                      int64_t stride, ResizeTaps *taps, Error *err)
{
    int64_t n_out = out->shape.dim[d], size = in->whole.dim[d], n = n_taps(s, d);
    bool same = s->resizing->scale[d] == 1 && out->whole.dim[d] == size;
    bool crops = str_eq(s->resizing->where, STR("tf_crop_and_resize"));
    n = same && !crops ? 1 : n;
    const int64_t *global = kernel_globals(arena, &out->runs[d]);
    int64_t *place = arena_array(arena, int64_t, n_out * n);
    double *weight = arena_array(arena, double, n_out *n);
    bool *outside = arena_array(arena, bool, n_out);
    for (int64_t i = 0; i < n_out; i++) {
        double x = same && !crops ? (double)global[i]
                                  : source_of(s, d, size, out->whole.dim[d], global[i]);
        outside[i] = crops && (x < 0 || x > (double)(size - 1));
        fill_taps(s, d, size, x, n, place + i * n, weight + i * n);
        for (int64_t k = i * n; k < (i + 1) * n; k++) {
            int64_t held = runs_find(&in->runs[d], place[k]);
            if (held < 0)
                return error_kind(err, ERROR_RUN, "a part of the image is on another rank");
            place[k] = held * stride;
        }
    }
    *taps = (ResizeTaps){n, place, weight, outside};
    return true;
}

/* ---- Resize ---- */

/* The sum over the taps of dims d.. around `place`. */
static double sample(const Local *in, const ResizeTaps *taps, const int64_t *at, int d,
                     int64_t place)
{
    if (d == in->shape.n_dims) {
        double x;
        local_load(in, place, 1, 1, NUMBER_F64, &x);
        return x;
    }
    const ResizeTaps *t = &taps[d];
    double sum = 0;
    for (int64_t k = at[d] * t->n; k < (at[d] + 1) * t->n; k++)
        if (t->n == 1)
            return sample(in, taps, at, d + 1, place + t->place[k]);
        else if (t->weight[k] != 0)
            sum += t->weight[k] * sample(in, taps, at, d + 1, place + t->place[k]);
    return sum;
}

/* The same sum as terms of element i of the output. */
static void add_taps(const KernelCall *call, const ResizeTaps *taps, const int64_t *at, int d,
                     int64_t place, double weight, int64_t i)
{
    const Local *in = call->input[0];
    if (d == in->shape.n_dims) {
        kernel_term(call, call->output[0], i, in, place, weight);
        return;
    }
    const ResizeTaps *t = &taps[d];
    for (int64_t k = at[d] * t->n; k < (at[d] + 1) * t->n; k++)
        if (t->n == 1 || t->weight[k] != 0)
            add_taps(call, taps, at, d + 1, place + t->place[k],
                     t->n == 1 ? weight : weight * t->weight[k], i);
}

/* The region of interest, for all dims or those of the axes. */
static bool read_roi(const KernelCall *call, const Resizing *resizing, Sampling *out, Error *err)
{
    const Local *roi = call->n_inputs > 2 ? call->input[1] : NULL;
    int64_t n = resizing->n_axes;
    double list[2 * DIMS_MAX];
    for (int d = 0; d < DIMS_MAX; d++)
        out->roi_end[d] = 1;
    if (!roi || shape_elements(&roi->shape) == 0 ||
        !str_eq(resizing->where, STR("tf_crop_and_resize")))
        return true;
    if (!roi->data || !kernel_computes(roi, err))
        return error_kind(err, ERROR_RUN, "its roi is not known at load");
    if (shape_elements(&roi->shape) != 2 * n)
        return error_kind(err, ERROR_RUN, "its roi needs two numbers per dim");
    local_load(roi, 0, 1, 2 * n, NUMBER_F64, list);
    for (int i = 0; i < n; i++) {
        out->roi_start[resizing->axes[i]] = list[i];
        out->roi_end[resizing->axes[i]] = list[n + i];
    }
    return true;
}

/* Every element is one of the input's. */
static bool is_move(const ResizeTaps *taps, const Local *out)
{
    for (int64_t d = 0; d < out->shape.n_dims; d++)
        for (int64_t i = 0; i < out->shape.dim[d]; i++)
            if (taps[d].n != 1 || taps[d].outside[i])
                return false;
    return true;
}

static bool move_taps(const KernelCall *call, const Local *in, Local *out, const ResizeTaps *taps)
{
    Picks picks = picks_new(call->scratch, &out->shape);
    for (int64_t d = 0; d < out->shape.n_dims; d++)
        for (int64_t i = 0; i < out->shape.dim[d]; i++)
            picks.from[d][i] = taps[d].place[i];
    kernel_pick(call, out, in, &picks);
    return true;
}

bool resize_taps(const KernelCall *call, bool upsample, ResizeTaps taps[DIMS_MAX],
                 double *extrapolation, Error *err)
{
    if (!kernel_numeric(call, 1, err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    Resizing resizing;
    Sampling s = {.resizing = &resizing};
    if (!resize_read(&rule, upsample, &resizing, err) || !read_roi(call, &resizing, &s, err))
        return false;
    s.cubic = args_float(&rule, "cubic_coeff_a", -0.75);
    s.antialias = args_int(&rule, "antialias", 0) != 0;
    s.exclude_outside = args_int(&rule, "exclude_outside", 0) != 0;
    *extrapolation = args_float(&rule, "extrapolation_value", 0);

    const Local *in = call->input[0], *out = call->output[0];
    int64_t stride[DIMS_MAX];
    assert(in->shape.n_dims == out->shape.n_dims);
    row_major_strides(&in->shape, stride);
    for (int d = 0; d < out->shape.n_dims; d++)
        if (!make_taps(&s, call->scratch, in, out, d, stride[d], &taps[d], err))
            return false;
    return true;
}

static bool run_resize(const KernelCall *call, bool upsample, Error *err)
{
    ResizeTaps *taps = arena_array(call->scratch, ResizeTaps, DIMS_MAX);
    double extrapolation;
    if (!resize_taps(call, upsample, taps, &extrapolation, err))
        return false;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    int64_t at[DIMS_MAX] = {0}, n = shape_elements(&out->shape);
    int64_t n_dims = out->shape.n_dims;
    assert(in->shape.n_dims == n_dims);
    if (is_move(taps, out) && in->dtype == out->dtype)
        return move_taps(call, in, out, taps);
    if (!kernel_takes_terms(call, err))
        return false;
    for (int64_t i = 0; i < n; i++) {
        bool outside = false;
        int64_t rest = i;
        for (int64_t d = n_dims - 1; d >= 0; rest /= out->shape.dim[d--]) {
            at[d] = rest % out->shape.dim[d];
            outside |= taps[d].outside[at[d]];
        }
        if (call->sink) {
            if (!outside)
                add_taps(call, taps, at, 0, 0, 1, i);
            continue;
        }
        double x = outside ? extrapolation : sample(in, taps, at, 0, 0);
        local_store(out, i, 1, NUMBER_F64, &x);
    }
    return true;
}

static bool resize(const KernelCall *call, Error *err)
{
    return run_resize(call, false, err);
}

static bool upsample(const KernelCall *call, Error *err)
{
    return run_resize(call, true, err);
}

/* ---- Pad ---- */

/* The place that padded position `at` reads by the mode, in lo .. hi; -1: none. */
static int64_t padded_from(Str mode, int64_t at, int64_t lo, int64_t hi)
{
    int64_t n = hi - lo;
    if (lo <= at && at < hi)
        return at;
    if (n <= 0 || str_eq(mode, STR("constant")))
        return -1;
    if (str_eq(mode, STR("edge")))
        return clamp(at, lo, hi - 1);
    bool wraps = str_eq(mode, STR("wrap"));
    int64_t period = wraps ? n : 2 * (n - 1);
    if (period == 0)
        return lo;
    int64_t k = (at - lo) % period;
    k += k < 0 ? period : 0;
    return lo + (wraps || k < n ? k : period - k);
}

/* Elements without a place in the input are the fill's. */
static void add_fill(const KernelCall *call, const Picks *picks, const Local *fill)
{
    const Local *out = call->output[0];
    for (int64_t i = 0; i < shape_elements(&out->shape); i++) {
        bool outside = false;
        int64_t rest = i;
        for (int d = picks->n_dims - 1; d >= 0; rest /= picks->size[d--])
            outside |= picks->from[d][rest % picks->size[d]] == PICK_NONE;
        if (outside)
            kernel_term(call, out, i, fill, 0, 1);
    }
}

/* Pads each dim before and after, crops where negative; places outside stay, or read another
 * element by the mode. fill: the element that was put there before; NULL: a constant. */
static bool pick_padded(const KernelCall *call, const int64_t *before, const int64_t *after,
                        Str mode, const Local *fill, Error *err)
{
    const Local *in = call->input[0];
    Local *out = call->output[0];
    int64_t stride[DIMS_MAX];
    row_major_strides(&in->shape, stride);
    Picks picks = picks_new(call->scratch, &out->shape);
    for (int d = 0; d < picks.n_dims; d++) {
        int64_t lo = before[d] < 0 ? -before[d] : 0;
        int64_t hi = in->whole.dim[d] + (after[d] < 0 ? after[d] : 0);
        picks_global(&picks, d, &out->runs[d], 1);
        for (int64_t i = 0; i < picks.size[d]; i++) {
            int64_t at = padded_from(mode, picks.from[d][i] - before[d], lo, hi);
            int64_t held = at < 0 ? -1 : runs_find(&in->runs[d], at);
            if (at >= 0 && held < 0)
                return error_kind(err, ERROR_RUN, "a part of its input is on another rank");
            picks.from[d][i] = held < 0 ? PICK_NONE : held * stride[d];
        }
    }
    kernel_pick(call, out, in, &picks);
    if (fill && call->sink && call->sink->term)
        add_fill(call, &picks, fill);
    return true;
}

static bool pad(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    Padding padding;
    if (!pad_read(&rule, &padding, err))
        return false;
    const Local *value = kernel_input(call, 2);
    Local *out = call->output[0];
    double fill = args_float(&rule, "value", 0);
    int64_t n = shape_elements(&out->shape);
    if (value && value->dtype != out->dtype)
        return error_kind(err, ERROR_RUN, "its value is of another type");
    if (value && !call->sink)
        elements_copy(out->dtype, out->data, value->data, 0, n);
    for (int64_t i = 0; i < n && !value && !call->sink && fill != 0; i++)
        local_store(out, i, 1, NUMBER_F64, &fill);
    return pick_padded(call, padding.before, padding.after, args_text(&rule, "mode", "constant"),
                       value, err);
}

/* Keeps the centre; the odd element is sharded or added at the end. */
static bool center_crop_pad(const KernelCall *call, Error *err)
{
    int64_t before[DIMS_MAX] = {0}, after[DIMS_MAX] = {0};
    if (!kernel_needs(call, 1, err))
        return false;
    const Local *in = call->input[0], *out = call->output[0];
    if (in->dtype != out->dtype || in->shape.n_dims != out->shape.n_dims)
        return error_kind(err, ERROR_RUN, "input and output shapes do not match");
    for (int64_t d = 0; d < out->shape.n_dims; d++) {
        int64_t more = out->whole.dim[d] - in->whole.dim[d];
        before[d] = more / 2;
        after[d] = more - more / 2;
    }
    return pick_padded(call, before, after, STR("constant"), NULL, err);
}

/* ---- DepthToSpace, SpaceToDepth ---- */

/* deep[b, (p q c), h, w] and wide[b, c, (h p), (w q)]; channels first: (c p q). */
typedef struct {
    const Local *deep, *wide;
    int64_t block, channels;
    bool channels_first;
} SampledBlocks;

/* The place in `deep` of the place i of `wide`; -1: on another rank. */
static int64_t deep_place(const SampledBlocks *b, int64_t *const global[4], int64_t i)
{
    const Shape *wide = &b->wide->shape, *deep = &b->deep->shape;
    int64_t x = global[3][i % wide->dim[3]], y = global[2][i / wide->dim[3] % wide->dim[2]];
    int64_t c = global[1][i / wide->dim[3] / wide->dim[2] % wide->dim[1]];
    int64_t n = global[0][i / wide->dim[3] / wide->dim[2] / wide->dim[1]];
    int64_t inner = y % b->block * b->block + x % b->block;
    int64_t channel = b->channels_first ? c * b->block * b->block + inner : inner * b->channels + c;
    const int64_t at[4] = {n, channel, y / b->block, x / b->block};
    int64_t place = 0;
    for (int d = 0; d < 4; d++) {
        int64_t held = runs_find(&b->deep->runs[d], at[d]);
        if (held < 0)
            return -1;
        place = place * deep->dim[d] + held;
    }
    return place;
}

static bool blocks(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 1, err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    bool to_space = call->kernel->row == NULL;
    const Local *in = call->input[0];
    Local *out = call->output[0];
    SampledBlocks b = {.deep = to_space ? in : out, .wide = to_space ? out : in};
    int64_t *global[4], n = shape_elements(&out->shape);
    b.block = args_int(&rule, "blocksize", 1);
    b.channels = b.wide->whole.dim[1];
    b.channels_first = str_eq(args_text(&rule, "mode", "DCR"), STR("CRD"));
    if (n != shape_elements(&in->shape) || in->dtype != out->dtype)
        return error_kind(err, ERROR_RUN, "input and output differ in shape");
    for (int d = 0; d < 4; d++)
        global[d] = kernel_globals(call->scratch, &b.wide->runs[d]);
    Picks picks = picks_new(call->scratch, &(Shape){.n_dims = 1, .dim = {n}});
    for (int64_t i = 0; i < n; i++) {
        int64_t place = deep_place(&b, global, i);
        if (place < 0)
            return error_kind(err, ERROR_RUN, "an element is on another rank");
        picks.from[0][to_space ? i : place] = to_space ? place : i;
    }
    kernel_pick(call, out, in, &picks);
    return true;
}

const Kernel kernels_resample[] = {
    {"Resize", resize, NULL, 0, ROUNDING_SENSITIVE},
    {"Upsample", upsample, NULL, 0, ROUNDING_SENSITIVE},
    {"Pad", pad, NULL, 0, ROUNDING_EXACT},
    {"DepthToSpace", blocks, NULL, 0, ROUNDING_EXACT},
    {"SpaceToDepth", blocks, "deep", 0, ROUNDING_EXACT},
    {"CenterCropPad", center_crop_pad, NULL, 0, ROUNDING_EXACT},
    {0},
};
