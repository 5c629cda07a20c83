/* rows_special.c - torch's special functions of one or two elements, and polynomials by their
 * recurrences. */
#include "core/peers/torch_export/shapes.h"

#include <math.h>

/* ---- polynomials ---- */

/* p0 = 1, p1 = first * x + less, then p(k+1) = ((a + b k) x + c + d k) p(k) - (e + f k) p(k-1),
 * over g + h k. Sources: Abramowitz and Stegun, 22.7; of the physicists' Hermite polynomials H and
 * of He. `shifted`: of 2 x - 1 in place of x. */
typedef struct {
    const char *name;
    double first, less;
    double a, b, c, d, e, f, g, h;
    bool shifted;
} Polynomial;

static const Polynomial polynomials[] = {
    {"special_chebyshev_polynomial_t", 1, 0, 2, 0, 0, 0, 1, 0, 1, 0, false},
    {"special_chebyshev_polynomial_u", 2, 0, 2, 0, 0, 0, 1, 0, 1, 0, false},
    {"special_chebyshev_polynomial_v", 2, -1, 2, 0, 0, 0, 1, 0, 1, 0, false},
    {"special_chebyshev_polynomial_w", 2, 1, 2, 0, 0, 0, 1, 0, 1, 0, false},
    {"special_shifted_chebyshev_polynomial_t", 1, 0, 2, 0, 0, 0, 1, 0, 1, 0, true},
    {"special_shifted_chebyshev_polynomial_u", 2, 0, 2, 0, 0, 0, 1, 0, 1, 0, true},
    {"special_shifted_chebyshev_polynomial_v", 2, -1, 2, 0, 0, 0, 1, 0, 1, 0, true},
    {"special_shifted_chebyshev_polynomial_w", 2, 1, 2, 0, 0, 0, 1, 0, 1, 0, true},
    {"special_hermite_polynomial_h", 2, 0, 2, 0, 0, 0, 0, 2, 1, 0, false},
    {"special_hermite_polynomial_he", 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, false},
    {"special_laguerre_polynomial_l", -1, 1, -1, 0, 1, 2, 0, 1, 1, 1, false},
    {"special_legendre_polynomial_p", 1, 0, 1, 2, 0, 0, 0, 1, 1, 1, false},
};

static ExportTerm linear_of(Call *c, ExportTerm x, double by, double more)
{
    ExportTerm out = by < 1 || by > 1 ? emit2(c, "Mul", x, term_number(by)) : x;
    return more < 0 || more > 0 ? emit2(c, "Add", out, term_number(more)) : out;
}

static ExportTerm polynomial_of(Call *c, const Polynomial *p, ExportTerm x, int64_t n)
{
    x = p->shifted ? linear_of(c, x, 2, -1) : x;
    ExportTerm shape = emit1(c, "Shape", x);
    ExportTerm before = emit_filled(c, shape, term_int(n >= 0), (Dtype)x.dtype, x.rank);
    ExportTerm now = linear_of(c, x, p->first, p->less);
    for (int64_t k = 1; k < n && !export_failed(c->e); k++) {
        double i = (double)k, over = p->g + p->h * i;
        ExportTerm by = linear_of(c, x, (p->a + p->b * i) / over, (p->c + p->d * i) / over);
        ExportTerm next = emit2(c, "Sub", emit2(c, "Mul", by, now),
                                linear_of(c, before, (p->e + p->f * i) / over, 0));
        before = now;
        now = next;
    }
    return n < 1 ? before : now;
}

static void make_polynomial(Call *c)
{
    enum { DEGREE_MAX = 64 };
    ExportTerm x = call_term(c, "x"), n = call_term(c, "n");
    const Polynomial *p = NULL;
    for (size_t i = 0; i < sizeof polynomials / sizeof *polynomials; i++)
        if (str_eq(c->op, str_from(polynomials[i].name)))
            p = &polynomials[i];
    if (!p || x.kind != TERM_TENSOR || n.kind != TERM_NUMBER || n.i > DEGREE_MAX) {
        call_fail(c, "its degree is no number up to %d", DEGREE_MAX);
        return;
    }
    ExportTerm out = polynomial_of(c, p, emit_float(c, x), n.i);
    call_results(c, &out, 1);
}

/* ---- gamma and numbers ---- */

/* The sum of log gamma(x - k / 2) over k < p, and the logarithm of a power of pi. */
static void make_multigamma(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out;
    int64_t p = call_int(c, "p");
    if (p < 1 || p > 64) {
        call_fail(c, "it has %d terms", (int)p);
        return;
    }
    x = emit_float(c, x);
    double front = (double)(p * (p - 1)) / 4 * log(3.14159265358979323846);
    out = emit1(c, "Lgamma", x);
    for (int64_t k = 1; k < p; k++) {
        ExportTerm shifted = linear_of(c, x, 1, -(double)k / 2);
        out = emit2(c, "Add", out, emit1(c, "Lgamma", shifted));
    }
    out = linear_of(c, out, 1, front);
    call_results(c, &out, 1);
}

/* The n-th slope of digamma: n! times a zeta function, negative for even n. */
static void make_polygamma(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out;
    int64_t n = call_int(c, "n");
    x = emit_float(c, x);
    if (n < 0) {
        call_fail(c, "its order is negative");
        return;
    }
    double size = tgamma((double)n + 1);
    ExportTerm order = emit_cast(c, emit_scalar_int(c->e, n + 1), (Dtype)x.dtype);
    out = n == 0
              ? emit1(c, "Digamma", x)
              : emit2(c, "Mul", emit2(c, "Zeta", order, x), term_number(n % 2 == 0 ? -size : size));
    call_results(c, &out, 1);
}

static double largest(Dtype dtype)
{
    return dtype == DT_F16    ? 65504
           : dtype == DT_F64  ? 1.7976931348623157e308
           : dtype == DT_BF16 ? 3.3895313892515355e38
                              : 3.4028234663852886e38;
}

/* Numbers in place of nan and of infinite ones: else 0 and the largest of the type. */
static void make_nan_to_num(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), out = x;
    double most = largest((Dtype)x.dtype);
    static const char *const args[] = {"nan", "posinf", "neginf"};
    double value[] = {0, most, -most};
    for (int i = 0; i < 3; i++) {
        ExportTerm given = call_term(c, args[i]);
        value[i] = term_is(given) ? given.f : value[i];
    }
    for (int i = 0; i < 3 && dtype_is_float((Dtype)x.dtype); i++) {
        Attr attrs[] = {attr_int(c->e, "detect_positive", i == 1),
                        attr_int(c->e, "detect_negative", i == 2)};
        ExportTerm is = i == 0 ? emit1(c, "IsNaN", x) : emit(c, "IsInf", &x, 1, attrs, 2);
        ExportTerm in[] = {is, term_number(value[i]), out};
        out = emit(c, "Where", in, 3, NULL, 0);
    }
    call_results(c, &out, 1);
}

/* -x log x, 0 at 0, else -inf. The logarithm sees no number below the smallest, so that its slope
 * is one. */
static void make_entropy(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), product;
    x = emit_float(c, x);
    product = emit2(c, "Mul", x, emit1(c, "Log", emit2(c, "Max", x, term_number(1e-38))));
    ExportTerm in[] = {emit2(c, "Less", x, term_int(0)), term_number(-INFINITY),
                       emit1(c, "Neg", product)};
    ExportTerm out = emit(c, "Where", in, 3, NULL, 0);
    call_results(c, &out, 1);
}

/* -0 is negative too: one over it is. */
static void make_sign_bit(Call *c)
{
    ExportTerm x = call_tensor(c, "self"), zero = term_int(0);
    ExportTerm out = emit2(c, "Less", x, zero);
    if (dtype_is_float((Dtype)x.dtype)) {
        ExportTerm over = emit2(c, "Less", emit1(c, "Reciprocal", x), zero);
        out = emit2(c, "Or", out, emit2(c, "And", emit2(c, "Equal", x, zero), over));
    }
    call_results(c, &out, 1);
}

static void make_infinite(Call *c)
{
    ExportTerm x = call_tensor(c, "self");
    bool positive = str_eq(c->op, STR("isposinf"));
    Attr attrs[] = {attr_int(c->e, "detect_positive", positive),
                    attr_int(c->e, "detect_negative", !positive)};
    x = emit_float(c, x);
    ExportTerm out = emit(c, "IsInf", &x, 1, attrs, 2);
    call_results(c, &out, 1);
}

/* x = m 2^e with 0.5 <= |m| < 1: e by the logarithm, made right where that rounds. */
static void make_frexp(Call *c)
{
    ExportTerm out[2];
    ExportTerm x = call_tensor(c, "self"), size = emit1(c, "Abs", x), none, over, under;
    Dtype dtype = (Dtype)x.dtype;
    none = emit2(c, "Or", emit2(c, "Equal", size, term_int(0)),
                 emit1(c, "Not", emit2(c, "Less", size, term_number(INFINITY))));
    ExportTerm clean[] = {none, emit_constant(c, term_int(1), dtype), size};
    ExportTerm log2 = emit2(c, "Mul", emit1(c, "Log", emit(c, "Where", clean, 3, NULL, 0)),
                            term_number(1.4426950408889634));
    ExportTerm e = emit2(c, "Add", emit1(c, "Floor", log2), term_int(1));
    ExportTerm half =
        emit2(c, "Pow", emit_constant(c, term_int(2), dtype), emit2(c, "Sub", e, term_int(1)));
    over = emit_cast(c, emit1(c, "Not", emit2(c, "Less", emit2(c, "Div", size, half), term_int(2))),
                     dtype);
    under = emit_cast(c, emit2(c, "Less", size, half), dtype);
    e = emit2(c, "Sub", emit2(c, "Add", e, over), under);
    ExportTerm exponent[] = {none, emit_constant(c, term_int(0), dtype), e};
    e = emit(c, "Where", exponent, 3, NULL, 0);
    out[0] = emit2(c, "Div", x, emit2(c, "Pow", emit_constant(c, term_int(2), dtype), e));
    out[1] = emit_cast(c, e, DT_I32);
    call_results(c, out, 2);
}

#define ONE(name, ours)                                                                            \
    {                                                                                              \
        name, "self", ours, NULL                                                                   \
    }
#define TWO(name, ours)                                                                            \
    {                                                                                              \
        name, "self other", ours, NULL                                                             \
    }
#define ROOT_HALF "0.7071067811865476"

const TorchRow rows_special[] = {
    ONE("digamma special_digamma special_psi", "Digamma(float(self))"),
    ONE("i0 special_i0 special_modified_bessel_i0", "BesselI0(float(self))"),
    ONE("special_i0e", "BesselI0e(float(self))"),
    ONE("special_i1 special_modified_bessel_i1", "BesselI1(float(self))"),
    ONE("special_i1e", "BesselI1e(float(self))"),
    ONE("special_erfcx", "Erfcx(float(self))"),
    ONE("special_erfc", "Erfc(float(self))"),
    ONE("special_expm1", "Expm1(float(self))"),
    ONE("special_log1p", "Log1p(float(self))"),
    {"special_entr", "self", NULL, make_entropy},
    ONE("special_ndtr", "Mul(0.5, Erfc(Mul(float(self), -" ROOT_HALF ")))"),
    ONE("special_ndtri", "Mul(1.4142135623730951, Erfinv(Sub(Mul(2, float(self)), 1)))"),
    ONE("special_log_ndtr",
        "Where(Less(self, -1), Sub(Log(Mul(0.5, Erfcx(Mul(float(self), -" ROOT_HALF
        ")))), Mul(0.5, Mul(float(self), float(self)))), Log1p(Mul(-0.5, "
        "Erfc(Mul(float(self), " ROOT_HALF ")))))"),
    {"polygamma special_polygamma", "n self", NULL, make_polygamma},
    {"mvlgamma special_multigammaln", "self p", NULL, make_multigamma},
    TWO("igamma special_gammainc", "GammaP(self, other)"),
    TWO("igammac special_gammaincc", "GammaQ(self, other)"),
    TWO("special_zeta", "Zeta(float(self), float(other))"),
    TWO("special_xlog1py", "Where(And(Equal(self, 0), LessOrEqual(other, -1)), 0.0, "
                           "Mul(self, Log1p(float(other))))"),
    TWO("nextafter", "NextAfter(self, other)"),
    TWO("gcd", "Gcd(self, other)"),
    TWO("lcm", "Lcm(self, other)"),
    TWO("bitwise_right_shift __rshift__ __irshift__", "ShiftRight(self, other)"),
    TWO("logaddexp2", "Add(Max(self, other), Mul(1.4426950408889634, Log1p(Pow(2.0, "
                      "Neg(Abs(Sub(self, other)))))))"),
    {"nan_to_num", "self nan= posinf= neginf=", NULL, make_nan_to_num},
    {"signbit", "self", NULL, make_sign_bit},
    {"isposinf isneginf", "self", NULL, make_infinite},
    {"frexp", "self", NULL, make_frexp},
    {"special_chebyshev_polynomial_t special_chebyshev_polynomial_u special_chebyshev_polynomial_v "
     "special_chebyshev_polynomial_w special_shifted_chebyshev_polynomial_t "
     "special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v "
     "special_shifted_chebyshev_polynomial_w special_hermite_polynomial_h "
     "special_hermite_polynomial_he special_laguerre_polynomial_l special_legendre_polynomial_p",
     "x n", NULL, make_polynomial},
    {0},
};
