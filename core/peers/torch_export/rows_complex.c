/* rows_complex.c - torch's operators that make complex numbers or take them apart (complex.c), and
 * Fourier transforms. */
#include "core/peers/torch_export/shapes.h"

#include <math.h>

/* ---- parts ---- */

static void make_view_as_complex(Call *c)
{
    ExportTerm out = complex_of_parts(call_tensor(c, "self"));
    call_results(c, &out, 1);
}

static void make_view_as_real(Call *c)
{
    ExportTerm out = complex_parts(call_tensor(c, "self"));
    call_results(c, &out, 1);
}

static void make_real(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out = term_is_complex(x) ? complex_part(c, x, 0) : x;
    call_results(c, &out, 1);
}

static void make_imag(Call *c)
{
    ExportTerm out = complex_part(c, call_tensor(c, "self"), 1);
    call_results(c, &out, 1);
}

/* Of real numbers: 0, or pi of those below 0. */
static void make_angle(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out;
    if (term_is_complex(x))
        out = emit2(c, "Atan2", complex_part(c, x, 1), complex_part(c, x, 0));
    else
        recipe_run(c, "Where(Less(self, 0), 3.141592653589793, Mul(float(self), 0.0))", &out, 1);
    call_results(c, &out, 1);
}

static void make_conj(Call *c)
{
    ExportTerm out = complex_conj(c, call_tensor(c, "self"));
    call_results(c, &out, 1);
}

/* Two tensors of one shape. */
static void broadcast(Call *c, ExportTerm *a, ExportTerm *b)
{
    ExportTerm line =
        emit2(c, "Add", emit2(c, "Mul", *a, term_int(0)), emit2(c, "Mul", *b, term_int(0)));
    int rank = line.rank;
    if (a->rank != rank)
        *a = expand(c, *a, emit1(c, "Shape", line), rank);
    if (b->rank != rank)
        *b = expand(c, *b, emit1(c, "Shape", line), rank);
}

static void make_complex(Call *c)
{
    ExportTerm real = call_tensor(c, "real"), imag = call_tensor(c, "imag");
    if (real.rank != imag.rank)
        broadcast(c, &real, &imag);
    ExportTerm out = complex_of(c, real, imag);
    call_results(c, &out, 1);
}

static void make_polar(Call *c)
{
    ExportTerm length = call_tensor(c, "abs"), angle = call_tensor(c, "angle");
    ExportTerm out = complex_of(c, emit2(c, "Mul", length, emit1(c, "Cos", angle)),
                                emit2(c, "Mul", length, emit1(c, "Sin", angle)));
    call_results(c, &out, 1);
}

/* ---- Fourier transforms ---- */

typedef enum { NORM_NONE, NORM_ROOT, NORM_ALL } FourierNorm; /* divided by nothing, sqrt(n), n */

/* A transform as torch.fft names them: `back` is an inverse, which divides by n as DFT does; `half`
 * leaves out of a real signal's bins, or of those that a real signal comes from, the mirrored
 * ones; `swapped` transforms the conjugate, with the factors of the other direction. */
typedef struct {
    bool back, half, swapped;
} Fourier;

static ExportTerm dft(Call *c, ExportTerm x, int64_t dim, int64_t length, bool back, bool half)
{
    Export *e = c->e;
    Attr attrs[] = {attr_int(e, "inverse", back), attr_int(e, "onesided", half)};
    ExportTerm in[] = {term_is_complex(x) ? complex_parts(x) : unsqueeze(c, x, x.rank),
                       length >= 0 ? emit_scalar_int(e, length) : no_term(),
                       emit_scalar_int(e, dim)};
    ExportTerm out = emit(c, "DFT", in, 3, attrs, 2);
    out.rank = (uint8_t)(x.rank + 1);
    if (!back || !half)
        return complex_of_parts(out);
    return squeeze(c, out, x.rank); /* the parts of real numbers: one */
}

/* The factor of n numbers in all. */
static ExportTerm scaled(Call *c, ExportTerm x, FourierNorm norm, bool back, double n)
{
    double factor = (back ? n : 1) / (norm == NORM_NONE ? 1 : norm == NORM_ROOT ? sqrt(n) : n);
    bool one = !(factor < 1) && !(factor > 1);
    return one ? x : emit2(c, "Mul", x, term_number(factor));
}

/* What the call's `norm` divides by, in that direction. */
static FourierNorm norm_of(Call *c, bool back)
{
    Str text = call_text(c, "norm");
    if (str_eq(text, STR("ortho")))
        return NORM_ROOT;
    return str_eq(text, STR("forward")) == back ? NORM_NONE : NORM_ALL;
}

/* The dims that are transformed, from 0 on, and their given lengths, -1 where none is. */
typedef struct {
    int64_t dim[DIMS_MAX], length[DIMS_MAX];
    int n;
} FourierDims;

static bool read_dims(Call *c, ExportTerm x, FourierDims *out)
{
    int64_t given[DIMS_MAX];
    bool one = call_given(c, "n");
    int n_sizes = call_ints(c, one ? "n" : "s", given, DIMS_MAX);
    out->n = call_ints(c, "dim", out->dim, DIMS_MAX);
    if (n_sizes < 0 || out->n < 0)
        return false;
    if (out->n == 0) { /* the schema says from which dim on; without that, all */
        ExportTerm from = call_term(c, "dim");
        out->n = n_sizes > 0 && !one ? n_sizes : term_is(from) ? (int)-from.i : x.rank;
        for (int i = 0; i < out->n && out->n <= DIMS_MAX; i++)
            out->dim[i] = x.rank - out->n + i;
    }
    if (out->n < 1 || out->n > x.rank)
        return call_fail(c, "%d dims of %d are transformed", out->n, x.rank);
    for (int i = 0; i < out->n; i++) {
        out->dim[i] += out->dim[i] < 0 ? x.rank : 0;
        out->length[i] = i < n_sizes ? given[i] : -1;
        if (out->dim[i] < 0 || out->dim[i] >= x.rank)
            return call_fail(c, "a dim is none of %d", x.rank);
    }
    return true;
}

/* The number of places along the i-th dim: of the longer side, where half is left out. */
static double places(Call *c, const FourierDims *dims, int i, const Fourier *f)
{
    ExportTerm size = size_of(c, call_tensor(c, "self"), dims->dim[i]);
    bool last = i == dims->n - 1;
    if (dims->length[i] >= 0)
        return (double)dims->length[i];
    if (size.kind != TERM_NUMBER) {
        call_fail(c, "dim %d, which is transformed, has no known size", (int)dims->dim[i]);
        return 1;
    }
    return last && f->half && f->back ? 2 * (double)(size.i - 1) : (double)size.i;
}

/* Of the dims, the last one from a real signal first, or to it at the end. */
static ExportTerm transform(Call *c, ExportTerm x, FourierDims *dims, Fourier f, FourierNorm norm)
{
    double n = 1;
    int last = dims->n - 1;
    for (int i = 0; i < dims->n; i++)
        n *= places(c, dims, i, &f);
    if (f.half && f.back && dims->length[last] < 0)
        dims->length[last] = (int64_t)places(c, dims, last, &f);
    if (!f.half && !term_is_complex(x))
        x = emit_cast(c, x, x.dtype == DT_F64 ? DT_C128 : DT_C64);
    if (f.half && !f.back)
        x = dft(c, x, dims->dim[last], dims->length[last], false, true);
    for (int i = 0; i < (f.half ? last : dims->n); i++)
        x = dft(c, x, dims->dim[i], dims->length[i], f.back, false);
    if (f.half && f.back)
        x = dft(c, emit_cast(c, x, x.dtype == DT_F64 ? DT_C128 : DT_C64), dims->dim[last],
                dims->length[last], true, true);
    return scaled(c, x, norm, f.back, n);
}

static void make_fourier(Call *c, Fourier f)
{
    FourierDims dims;
    ExportTerm x = emit_float(c, call_tensor(c, "self"));
    if (!read_dims(c, x, &dims))
        return;
    if (f.swapped && f.back)
        x = complex_conj(c, x);
    ExportTerm out = transform(c, x, &dims, f, norm_of(c, f.back != f.swapped));
    if (f.swapped && !f.back)
        out = complex_conj(c, out);
    call_results(c, &out, 1);
}

#define FOURIER(name, ...)                                                                         \
    static void name(Call *c)                                                                      \
    {                                                                                              \
        make_fourier(c, (Fourier){__VA_ARGS__});                                                   \
    }
FOURIER(make_fft, false, false, false)
FOURIER(make_ifft, true, false, false)
FOURIER(make_rfft, false, true, false)
FOURIER(make_irfft, true, true, false)
FOURIER(make_hfft, true, true, true)
FOURIER(make_ihfft, false, true, true)

/* The operators that torch's decompositions leave: dims, and by what is divided, as a number. */
static void make_core(Call *c, Fourier f, int64_t last_size)
{
    FourierDims dims;
    ExportTerm x = emit_float(c, call_tensor(c, "self"));
    int64_t norm = call_int(c, "normalization");
    if (!read_dims(c, x, &dims))
        return;
    dims.length[dims.n - 1] = last_size;
    ExportTerm out = transform(c, x, &dims, f,
                               norm == 1   ? NORM_ROOT
                               : norm == 2 ? NORM_ALL
                                           : NORM_NONE);
    call_results(c, &out, 1);
}

static void make_c2c(Call *c)
{
    make_core(c, (Fourier){.back = !call_bool(c, "forward")}, -1);
}

static void make_r2c(Call *c)
{
    make_core(c, (Fourier){.half = call_bool(c, "onesided")}, -1);
}

static void make_c2r(Call *c)
{
    make_core(c, (Fourier){.back = true, .half = true}, call_int(c, "last_dim_size"));
}

/* The zero frequency in the middle, or back at the start. */
static void make_shift(Call *c, bool back)
{
    FourierDims dims;
    ExportTerm x = call_tensor(c, "self");
    if (!read_dims(c, x, &dims))
        return;
    for (int i = 0; i < dims.n; i++) {
        ExportTerm size = size_of(c, x, dims.dim[i]);
        if (size.kind != TERM_NUMBER) {
            call_fail(c, "dim %d has no known size", (int)dims.dim[i]);
            return;
        }
        ExportTerm at = term_int(back ? size.i / 2 : (size.i + 1) / 2);
        int32_t meta = x.meta;
        ExportTerm parts[] = {slice(c, x, dims.dim[i], at, no_term(), 1),
                              slice(c, x, dims.dim[i], no_term(), at, 1)};
        x = concat(c, parts, 2, dims.dim[i]);
        x.meta = meta; /* sizes stay */
    }
    call_results(c, &x, 1);
}

static void make_fftshift(Call *c)
{
    make_shift(c, false);
}

static void make_ifftshift(Call *c)
{
    make_shift(c, true);
}

/* ---- windows ---- */

/* a - b cos(2 pi i / n) + (1 - a - b) cos(4 pi i / n), and 1 if there is one place only. */
static void cosine_window(Call *c, double a, double b)
{
    int64_t length = call_int(c, "window_length");
    double n = (double)(call_bool(c, "periodic") ? length : length - 1), rest = 1 - a - b;
    Dtype dtype = call_result_dtype(c);
    ExportTerm line = range(c, term_int(0), term_int(length), term_int(1), dtype), out = line;
    if (length > 1) {
        double turn = 2 * acos(-1) / n;
        ExportTerm once = emit1(c, "Cos", emit2(c, "Mul", line, term_number(turn)));
        out = emit2(c, "Sub", term_number(a), emit2(c, "Mul", once, term_number(b)));
        if (rest > 1e-9) {
            ExportTerm twice = emit1(c, "Cos", emit2(c, "Mul", line, term_number(2 * turn)));
            out = emit2(c, "Add", out, emit2(c, "Mul", twice, term_number(rest)));
        }
    } else {
        out = emit2(c, "Add", line, term_int(1));
    }
    call_results(c, &out, 1);
}

static void make_hann(Call *c)
{
    cosine_window(c, 0.5, 0.5);
}

static void make_hamming(Call *c)
{
    double a = call_given(c, "alpha") ? call_float(c, "alpha") : 0.54;
    double b = call_given(c, "beta") ? call_float(c, "beta") : 0.46;
    if (fabs(a + b - 1) > 1e-9) {
        call_fail(c, "its alpha and beta are not 1 together");
        return;
    }
    cosine_window(c, a, b);
}

static void make_blackman(Call *c)
{
    cosine_window(c, 0.42, 0.5);
}

#define ONE "self n= dim=-1 norm="
#define TWO "self s= dim=-2 norm="
#define ALL "self s= dim= norm="

const TorchRow rows_complex[] = {
    {"view_as_complex", "self", NULL, make_view_as_complex},
    {"view_as_real", "self", NULL, make_view_as_real},
    {"real", "self", NULL, make_real},
    {"imag", "self", NULL, make_imag},
    {"angle", "self", NULL, make_angle},
    {"conj conj_physical _conj _conj_physical", "self", NULL, make_conj},
    {"complex", "real imag", NULL, make_complex},
    {"polar", "abs angle", NULL, make_polar},
    {"fft_fft", ONE, NULL, make_fft},
    {"fft_ifft", ONE, NULL, make_ifft},
    {"fft_rfft", ONE, NULL, make_rfft},
    {"fft_irfft", ONE, NULL, make_irfft},
    {"fft_hfft", ONE, NULL, make_hfft},
    {"fft_ihfft", ONE, NULL, make_ihfft},
    {"fft_fft2", TWO, NULL, make_fft},
    {"fft_fftn", ALL, NULL, make_fft},
    {"fft_ifft2", TWO, NULL, make_ifft},
    {"fft_ifftn", ALL, NULL, make_ifft},
    {"fft_rfft2", TWO, NULL, make_rfft},
    {"fft_rfftn", ALL, NULL, make_rfft},
    {"fft_irfft2", TWO, NULL, make_irfft},
    {"fft_irfftn", ALL, NULL, make_irfft},
    {"fft_hfft2", TWO, NULL, make_hfft},
    {"fft_hfftn", ALL, NULL, make_hfft},
    {"fft_ihfft2", TWO, NULL, make_ihfft},
    {"fft_ihfftn", ALL, NULL, make_ihfft},
    {"_fft_c2c", "self dim normalization forward", NULL, make_c2c},
    {"_fft_r2c", "self dim normalization onesided", NULL, make_r2c},
    {"_fft_c2r", "self dim normalization last_dim_size", NULL, make_c2r},
    {"fft_fftshift", "self dim=", NULL, make_fftshift},
    {"fft_ifftshift", "self dim=", NULL, make_ifftshift},
    {"hann_window", "window_length periodic=True dtype=", NULL, make_hann},
    {"hamming_window", "window_length periodic=True alpha= beta= dtype=", NULL, make_hamming},
    {"blackman_window", "window_length periodic=True dtype=", NULL, make_blackman},
    {0},
};
