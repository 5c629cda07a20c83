/* signal.c - Fourier transforms, windows and mel filter banks, in double.
 *
 *     DFT    y[f] = sum over n of x[n] exp(-2 pi i f n / N), of rows along an axis that is whole
 *     STFT   the same of frames of a signal, each times a window
 *
 * Lengths 2^k use the radix-2 algorithm, others the definition, with a table of angles. One-sided:
 * the bins up to N / 2 of a real signal, whose inverse is real.
 */
#include "core/rules/args.h"
#include "core/run/kernels/derivative.h"

#include "core/space/gradient.h"

#include <complex.h>
#include <inttypes.h>
#include <math.h>

static const double PI = 3.14159265358979323846;

/* ---- the transform of a row ---- */

typedef struct {
    int64_t n;
    double complex *turn; /* exp(-2 pi i k / n), or its conjugate for the inverse */
    double complex *row, *bins;
} Transform;

static Transform transform_open(Arena *arena, int64_t n, bool inverse)
{
    Transform t = {.n = n};
    t.turn = arena_array(arena, double complex, n);
    t.row = arena_array(arena, double complex, n);
    t.bins = arena_array(arena, double complex, n);
    static const double exact[4] = {1, 0, -1, 0}; /* cosines of the quarters of a turn */
    for (int64_t k = 0; k < n; k++) {
        double angle = 2 * PI * (double)k / (double)n;
        bool quarter = 4 * k % n == 0;
        double cosine = quarter ? exact[4 * k / n] : cos(angle);
        double sine = quarter ? -exact[(4 * k / n + 1) % 4] : sin(angle);
        t.turn[k] = cosine + (inverse ? 1 : -1) * sine * I;
    }
    return t;
}

/* bins = transform of n elements of the row, `step` apart; work: as many more elements. */
static void by_halves(const Transform *t, const double complex *row, int64_t step, int64_t n,
                      double complex *bins)
{
    if (n == 1) {
        bins[0] = row[0];
        return;
    }
    by_halves(t, row, 2 * step, n / 2, bins);
    by_halves(t, row + step, 2 * step, n / 2, bins + n / 2);
    for (int64_t k = 0; k < n / 2; k++) {
        double complex even = bins[k], odd = bins[n / 2 + k] * t->turn[k * (t->n / n)];
        bins[k] = even + odd;
        bins[n / 2 + k] = even - odd;
    }
}

/* Of t->row, to t->bins. */
static void transform(const Transform *t)
{
    if (t->n > 0 && (t->n & (t->n - 1)) == 0) {
        by_halves(t, t->row, 1, t->n, t->bins);
        return;
    }
    for (int64_t f = 0; f < t->n; f++) {
        double complex sum = 0;
        for (int64_t i = 0, at = 0; i < t->n; i++, at = (at + f) % t->n)
            sum += t->row[i] * t->turn[at];
        t->bins[f] = sum;
    }
}

/* ---- DFT ---- */

typedef struct {
    const Local *in;
    Local *out;
    int64_t axis, n_in, n_out; /* along the axis */
    int64_t step;              /* numbers between neighbours along it */
    int parts, parts_out;      /* of a number: 1 real, 2 complex */
    bool inverse, half;        /* half: one-sided */
} Dft;

static bool open_dft(const KernelCall *call, Dft *d, int64_t *length, Error *err)
{
    if (!kernel_numeric(call, 1, err))
        return false;
    RuleCall rule = kernel_rule_call(call);
    const Shape *in = &call->input[0]->shape, *out = &call->output[0]->shape;
    int64_t n = in->n_dims, given = -2;
    *d = (Dft){.in = call->input[0], .out = call->output[0]};
    d->inverse = args_int(&rule, "inverse", 0) != 0;
    d->half = args_int(&rule, "onesided", 0) != 0;
    given = rule.opset < 20 ? args_int(&rule, "axis", 1) : given;
    if (kernel_input(call, 2) && !kernel_scalar(call->input[2], &given, err))
        return false;
    d->axis = given < 0 ? given + n : given;
    if (n < 2 || n != out->n_dims || d->axis < 0 || d->axis >= n - 1)
        return error_kind(err, ERROR_RUN, "it has no axis %" PRId64, given);
    d->n_in = in->dim[d->axis];
    d->n_out = out->dim[d->axis];
    d->parts = (int)in->dim[n - 1];
    d->parts_out = (int)out->dim[n - 1];
    d->step = 1;
    for (int64_t k = d->axis + 1; k < n - 1; k++)
        d->step *= in->dim[k];
    bool fits = d->parts >= 1 && d->parts <= 2 && d->parts_out >= 1 && d->parts_out <= 2;
    for (int64_t k = 0; k < n - 1; k++) {
        fits &= k == d->axis ? in->dim[k] == d->in->whole.dim[k] : in->dim[k] == out->dim[k];
        fits &= k != d->axis || out->dim[k] == d->out->whole.dim[k];
    }
    *length = d->inverse && d->half ? 2 * (d->n_in - 1) : d->n_in;
    if (kernel_input(call, 1) && !kernel_scalar(call->input[1], length, err))
        return false;
    int64_t bins = d->half && !d->inverse ? *length / 2 + 1 : *length;
    return (fits && *length >= 1 && bins == d->n_out) ||
           error_kind(err, ERROR_RUN, "operand shapes do not match");
}

/* The row at `at`, cut or zero-padded to the length. */
static void load_row(const Dft *d, int64_t at, const Transform *t)
{
    int64_t known = d->inverse && d->half ? t->n / 2 + 1 : t->n;
    for (int64_t i = 0; i < t->n; i++) {
        double part[2] = {0, 0};
        if (i < d->n_in && i < known)
            local_load(d->in, (at + i * d->step) * d->parts, 1, d->parts, NUMBER_F64, part);
        t->row[i] = part[0] + part[1] * I;
    }
    if (!d->inverse || !d->half)
        return;
    t->row[0] = creal(t->row[0]);
    if (t->n % 2 == 0)
        t->row[t->n / 2] = creal(t->row[t->n / 2]);
    for (int64_t i = known; i < t->n; i++) /* the bins of a real signal mirror each other */
        t->row[i] = conj(t->row[t->n - i]);
}

static bool dft(const KernelCall *call, Error *err)
{
    Dft d;
    int64_t length = 0;
    if (!open_dft(call, &d, &length, err))
        return false;
    Transform t = transform_open(call->scratch, length, d.inverse);
    int64_t n = shape_elements(&d.in->shape) / d.parts, n_rows = d.n_in > 0 ? n / d.n_in : 0;
    double scale = d.inverse ? 1 / (double)length : 1;
    for (int64_t row = 0; row < n_rows; row++) {
        int64_t block = row / d.step, within = row % d.step;
        load_row(&d, block * d.n_in * d.step + within, &t);
        transform(&t);
        for (int64_t f = 0; f < d.n_out; f++) {
            double part[2] = {creal(t.bins[f]) * scale, cimag(t.bins[f]) * scale};
            int64_t to = (block * d.n_out + f) * d.step + within;
            local_store(d.out, to * d.parts_out, d.parts_out, NUMBER_F64, part);
        }
    }
    return true;
}

/* The gradient of row `at` from that of its bins, which are in t->row. A bin's is the sum over the
 * numbers of the other side, turned the other way; of one-sided inverses inner bins count twice. */
static void store_gradient(const Dft *d, Local *made, int64_t at, const Transform *t)
{
    bool mirrors = d->inverse && d->half;
    int64_t known = mirrors ? t->n / 2 + 1 : t->n;
    double scale = d->inverse ? 1 / (double)t->n : 1;
    for (int64_t i = 0; i < d->n_in && i < known; i++) {
        bool alone = i == 0 || 2 * i == t->n;
        double by = mirrors && !alone ? 2 * scale : scale;
        double part[2] = {by * creal(t->bins[i]), mirrors && alone ? 0 : by * cimag(t->bins[i])};
        local_store(made, (at + i * d->step) * d->parts, d->parts, NUMBER_F64, part);
    }
}

static bool dft_grad(const KernelCall *call, Error *err)
{
    KernelCall forward;
    Dft d;
    int64_t length = 0;
    if (!forward_call(call, &forward, err) || !open_dft(&forward, &d, &length, err))
        return false;
    Transform t = transform_open(call->scratch, length, !d.inverse);
    int64_t n = shape_elements(&d.in->shape) / d.parts, n_rows = d.n_in > 0 ? n / d.n_in : 0;
    for (int64_t row = 0; row < n_rows; row++) {
        int64_t block = row / d.step, within = row % d.step;
        for (int64_t f = 0; f < t.n; f++) {
            double part[2] = {0, 0};
            int64_t from = (block * d.n_out + f) * d.step + within;
            if (f < d.n_out)
                local_load(d.out, from * d.parts_out, 1, d.parts_out, NUMBER_F64, part);
            t.row[f] = part[0] + part[1] * I;
        }
        transform(&t);
        store_gradient(&d, call->output[0], block * d.n_in * d.step + within, &t);
    }
    return true;
}

/* ---- STFT ---- */

typedef struct {
    const Local *signal;
    Local *out;
    const double *window; /* NULL: ones */
    int64_t step, length, parts, n_bins;
    const int64_t *frame; /* global indices */
} Stft;

static bool open_stft(const KernelCall *call, Stft *s, Error *err)
{
    if (!kernel_numeric(call, 2, err) || !kernel_scalar(call->input[1], &s->step, err))
        return false;
    *s = (Stft){.signal = call->input[0], .out = call->output[0], .step = s->step};
    const Local *window = kernel_input(call, 2);
    const Shape *in = &s->signal->shape, *out = &s->out->shape;
    s->length = window ? shape_elements(&window->whole) : 0;
    if (kernel_input(call, 3) && !kernel_scalar(call->input[3], &s->length, err))
        return false;
    s->window = window && window->data ? kernel_doubles(call, 2) : NULL;
    s->parts = in->n_dims == 3 ? in->dim[2] : 1;
    s->n_bins = out->dim[2];
    s->frame = kernel_globals(call->scratch, &s->out->runs[1]);
    bool fits = s->length >= 1 && s->length <= s->signal->whole.dim[1] && s->step >= 1 &&
                out->n_dims == 4 && out->dim[0] == in->dim[0] && out->dim[3] == 2 &&
                s->n_bins <= s->length && s->parts >= 1 && s->parts <= 2 &&
                (!window || shape_elements(&window->shape) == s->length);
    return fits || error_kind(err, ERROR_RUN, "operand shapes do not match");
}

static bool stft(const KernelCall *call, Error *err)
{
    Stft s = {.step = 0};
    if (!open_stft(call, &s, err))
        return false;
    Transform t = transform_open(call->scratch, s.length, false);
    int64_t n_frames = s.out->shape.dim[1];
    for (int64_t row = 0; row < s.out->shape.dim[0] * n_frames; row++) {
        int64_t first = s.frame[row % n_frames] * s.step;
        for (int64_t i = 0; i < s.length; i++) {
            double part[2] = {0, 0}, by = s.window ? s.window[i] : 1;
            int64_t at = runs_find(&s.signal->runs[1], first + i);
            if (at < 0)
                return error_kind(err, ERROR_RUN, "a part of a frame is on another rank");
            at += row / n_frames * s.signal->shape.dim[1];
            local_load(s.signal, at * s.parts, 1, s.parts, NUMBER_F64, part);
            t.row[i] = by * (part[0] + part[1] * I);
        }
        transform(&t);
        for (int64_t f = 0; f < s.n_bins; f++) {
            const double part[2] = {creal(t.bins[f]), cimag(t.bins[f])};
            local_store(s.out, (row * s.n_bins + f) * 2, 2, NUMBER_F64, part);
        }
    }
    return true;
}

/* Number `at` of the signal; 0 imaginary part for a real one. */
static double complex signal_at(const Stft *s, int64_t at)
{
    double part[2] = {0, 0};
    local_load(s->signal, at * s->parts, 1, s->parts, NUMBER_F64, part);
    return part[0] + part[1] * I;
}

/* Of the signal, or of the window. */
static bool stft_grad(const KernelCall *call, Error *err)
{
    KernelCall forward;
    Stft s = {.step = 0};
    if (!forward_call(call, &forward, err) || !open_stft(&forward, &s, err))
        return false;
    bool of_window = program_space(call->inferred, call->op)->gradient->written[0] == 2;
    Local *made = call->output[0];
    int64_t n = shape_elements(&made->shape), n_frames = s.out->shape.dim[1];
    double *sums = arena_array(call->scratch, double, n);
    Transform t = transform_open(call->scratch, s.length, true);
    for (int64_t row = 0; row < s.out->shape.dim[0] * n_frames; row++) {
        int64_t first = s.frame[row % n_frames] * s.step;
        for (int64_t f = 0; f < s.length; f++) {
            double part[2] = {0, 0};
            if (f < s.n_bins)
                local_load(s.out, (row * s.n_bins + f) * 2, 1, 2, NUMBER_F64, part);
            t.row[f] = part[0] + part[1] * I;
        }
        transform(&t);
        for (int64_t i = 0; i < s.length; i++) {
            int64_t at = runs_find(&s.signal->runs[1], first + i);
            if (at < 0)
                return error_kind(err, ERROR_RUN, "a part of a frame is on another rank");
            at += row / n_frames * s.signal->shape.dim[1];
            if (of_window)
                sums[i] += creal(conj(signal_at(&s, at)) * t.bins[i]);
            for (int p = 0; !of_window && p < s.parts; p++)
                sums[at * s.parts + p] +=
                    (s.window ? s.window[i] : 1) * (p == 0 ? creal(t.bins[i]) : cimag(t.bins[i]));
        }
    }
    local_store(made, 0, n, NUMBER_F64, sums);
    return true;
}

/* ---- windows ---- */

/* a - b cos(2 pi i / N) + c cos(4 pi i / N); N: the size, or one less where it is symmetric. */
typedef struct {
    double a, b, c;
} Cosines;

static const Cosines hann = {0.5, 0.5, 0}, blackman = {0.42, 0.5, 0.08},
                     hamming = {25.0 / 46, 1 - 25.0 / 46, 0};

static bool window(const KernelCall *call, Error *err)
{
    const Cosines *w = call->kernel->row;
    if (!kernel_needs(call, 1, err) || !kernel_computes(call->output[0], err))
        return false;
    Local *out = call->output[0];
    bool periodic = op_attr_int(kernel_graph(call), call->op, "periodic", 1) != 0;
    int64_t n = shape_elements(&out->shape), size = out->whole.dim[0] - !periodic;
    const int64_t *global = kernel_globals(call->scratch, &out->runs[0]);
    for (int64_t i = 0; i < n; i++) {
        double angle = size > 0 ? 2 * PI * (double)global[i] / (double)size : 0;
        double y = w->c * cos(2 * angle) - w->b * cos(angle) + w->a;
        local_store(out, i, 1, NUMBER_F64, &y);
    }
    return true;
}

/* ---- MelWeightMatrix ---- */

static double number_of(const KernelCall *call, int input)
{
    double x;
    local_load(call->input[input], 0, 1, 1, NUMBER_F64, &x);
    return x;
}

/* The bins of the band edges, equally spaced in mel. */
static int64_t *band_edges(const KernelCall *call, int64_t n_bands, double length)
{
    double rate = number_of(call, 2), low = 2595 * log10(1 + number_of(call, 3) / 700);
    double high = 2595 * log10(1 + number_of(call, 4) / 700);
    int64_t *edge = arena_array(call->scratch, int64_t, n_bands + 2);
    for (int64_t i = 0; i < n_bands + 2; i++) {
        double mel = low + (double)i * (high - low) / (double)(n_bands + 2);
        double hertz = 700 * (pow(10, mel / 2595) - 1);
        edge[i] = (int64_t)fmin(fmax(floor((length + 1) * hertz / rate), -1e9), 1e9);
    }
    return edge;
}

/* Triangular bands: rising to its own edge, falling to the next. */
static double band_weight(const int64_t *edge, int64_t bin)
{
    int64_t rise = edge[1] - edge[0], fall = edge[2] - edge[1];
    if (bin >= edge[1] && bin < edge[2])
        return (double)(edge[2] - bin) / (double)fall;
    if (rise == 0)
        return bin == edge[1] ? 1 : 0;
    return bin >= edge[0] && bin <= edge[1] ? (double)(bin - edge[0]) / (double)rise : 0;
}

static bool mel_weights(const KernelCall *call, Error *err)
{
    if (!kernel_needs(call, 5, err) || !kernel_computes(call->output[0], err))
        return false;
    for (int i = 0; i < 5; i++)
        if (!kernel_computes(call->input[i], err) || shape_elements(&call->input[i]->shape) != 1)
            return error_kind(err, ERROR_RUN, "input %d is not a scalar", i);
    Local *out = call->output[0];
    int64_t n_bands = out->whole.dim[1], n = shape_elements(&out->shape);
    const int64_t *edge = band_edges(call, n_bands, number_of(call, 1));
    const int64_t *bin = kernel_globals(call->scratch, &out->runs[0]);
    const int64_t *band = kernel_globals(call->scratch, &out->runs[1]);
    for (int64_t i = 0; i < n; i++) {
        int64_t columns = out->shape.dim[1];
        double weight = band_weight(&edge[band[i % columns]], bin[i / columns]);
        local_store(out, i, 1, NUMBER_F64, &weight);
    }
    return true;
}

const Kernel kernels_signal[] = {
    {"DFT", dft, NULL, 0, ROUNDING_SENSITIVE},
    {"STFT", stft, NULL, 0, ROUNDING_SENSITIVE},
    {"DFTGrad", dft_grad, NULL, 0, ROUNDING_SENSITIVE},
    {"STFTGrad", stft_grad, NULL, 0, ROUNDING_SENSITIVE},
    {"HannWindow", window, &hann, 0, ROUNDING_SENSITIVE},
    {"HammingWindow", window, &hamming, 0, ROUNDING_SENSITIVE},
    {"BlackmanWindow", window, &blackman, 0, ROUNDING_SENSITIVE},
    {"MelWeightMatrix", mel_weights, NULL, 0, ROUNDING_SENSITIVE},
    {0},
};
