/* special.h - functions of mathematics that C lacks, in double.
 *
 * Elementwise expressions and their slopes call them (elementwise.h, derivative.h), so one text is
 * compiled for the host and for devices. Series and asymptotic forms: Abramowitz and Stegun,
 * Handbook of Mathematical Functions, 6.3.18 (digamma), 6.5.29 and 6.5.31 (incomplete
 * gamma), 7.1.23 (erfc), 9.6.10 and 9.7.1 (Bessel functions I), 23.2.9 with 23.1.30 (zeta).
 */
#ifndef CORE_RUN_KERNELS_SPECIAL_H
#define CORE_RUN_KERNELS_SPECIAL_H

#include <math.h>

double special_digamma(double x);              /* the slope of log gamma */
double special_zeta(double s, double x);       /* the sum of (x + k)^-s over k = 0, 1 .. */
double special_bessel_ie(int order, double x); /* exp(-|x|) I(x), of order 0 or 1 */
double special_bessel_i(int order, double x);  /* I(x) */
double special_erfcx(double x);                /* exp(x^2) erfc(x) */
double special_gamma_part(double a, double x, int rest); /* the share of gamma(a) up to x; from x on
                                                          */

#define SPECIAL_FUNCTIONS(INLINE)                                                                  \
    INLINE double special_digamma(double x)                                                        \
    {                                                                                              \
        double sum = 0, y = x < 0.5 ? 1 - x : x;                                                   \
        if (x <= 0 && floor(x) == x)                                                               \
            return x == 0 ? -1 / x : (x - x) / (x - x);                                            \
        while (y < 8) {                                                                            \
            sum -= 1 / y;                                                                          \
            y += 1;                                                                                \
        }                                                                                          \
        double z = 1 / (y * y);                                                                    \
        sum += log(y) - 0.5 / y -                                                                  \
               z * (1. / 12 -                                                                      \
                    z * (1. / 120 -                                                                \
                         z * (1. / 252 -                                                           \
                              z * (1. / 240 - z * (1. / 132 - z * (691. / 32760 - z / 12))))));    \
        return x < 0.5 ? sum - 3.141592653589793 / tan(3.141592653589793 * x) : sum;               \
    }                                                                                              \
    INLINE double special_zeta(double s, double x)                                                 \
    {                                                                                              \
        const double bernoulli[] = {1. / 12,          -1. / 720,                                   \
                                    1. / 30240,       -1. / 1209600,                               \
                                    1. / 47900160,    -691. / 1307674368000.,                      \
                                    1. / 74724249600, -3617. / 10670622842880000.};                \
        if (s == 1 || (x <= 0 && floor(x) == x))                                                   \
            return 1 / fabs(s - s);                                                                \
        if (!(s > 1) || (x < 0 && floor(s) != s))                                                  \
            return (s - s) / (s - s);                                                              \
        double sum = 0;                                                                            \
        for (int k = 0; k < 10 || x < 10; k++) {                                                   \
            sum += pow(x, -s);                                                                     \
            x += 1;                                                                                \
        }                                                                                          \
        double power = pow(x, -s), factor = s * power / x;                                         \
        sum += power * x / (s - 1) + power / 2;                                                    \
        for (int j = 0; j < 8; j++) {                                                              \
            sum += bernoulli[j] * factor;                                                          \
            factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (x * x);                                 \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    INLINE double special_bessel_ie(int order, double x)                                           \
    {                                                                                              \
        double a = fabs(x), sum = order == 0 ? 1 : a / 2, term = sum;                              \
        if (a <= 30) {                                                                             \
            for (int k = 1; k < 200 && term > sum * 1e-18; k++)                                    \
                sum += term *= a * a / 4 / (k * (double)(k + order));                              \
            sum *= exp(-a);                                                                        \
        } else {                                                                                   \
            sum = term = 1;                                                                        \
            for (int k = 1; k < 30 && fabs(term) > 1e-18; k++)                                     \
                sum += term *= ((2 * k - 1) * (2 * k - 1) - 4 * order) / (k * 8 * a);              \
            sum /= sqrt(6.283185307179586 * a);                                                    \
        }                                                                                          \
        return order == 1 && x < 0 ? -sum : sum;                                                   \
    }                                                                                              \
    INLINE double special_bessel_i(int order, double x)                                            \
    {                                                                                              \
        double half = exp(fabs(x) / 2);                                                            \
        return half * special_bessel_ie(order, x) * half;                                          \
    }                                                                                              \
    INLINE double special_erfcx(double x)                                                          \
    {                                                                                              \
        if (x < 10)                                                                                \
            return exp(x * x) * erfc(x);                                                           \
        double sum = 1, term = 1;                                                                  \
        for (int k = 1; k < 30 && fabs(term) > 1e-18; k++)                                         \
            sum += term *= -(2 * k - 1) / (2 * x * x);                                             \
        return sum / (x * 1.772453850905516);                                                      \
    }                                                                                              \
    INLINE double special_gamma_part(double a, double x, int rest)                                 \
    {                                                                                              \
        if (!(a >= 0) || !(x >= 0) || (a == 0 && x == 0))                                          \
            return (x - x) / (a - a);                                                              \
        if (x == 0 || a == 0 || x - x != 0)                                                        \
            return (x == 0) == (rest != 0);                                                        \
        double front = exp(a * log(x) - x - lgamma(a)), term = 1 / a, sum = term;                  \
        if (x < a + 1) {                                                                           \
            for (double n = a + 1; term > sum * 1e-17 && n < a + 10000; n++)                       \
                sum += term *= x / n;                                                              \
            return rest ? 1 - front * sum : front * sum;                                           \
        }                                                                                          \
        double b = x + 1 - a, c = 1e300, d = 1 / b, part = d;                                      \
        for (int i = 1; i < 10000; i++) {                                                          \
            double by = -i * (i - a);                                                              \
            b += 2;                                                                                \
            d = 1 / (by * d + b);                                                                  \
            c = b + by / c;                                                                        \
            part *= d * c;                                                                         \
            if (fabs(d * c - 1) < 1e-16)                                                           \
                break;                                                                             \
        }                                                                                          \
        return rest ? front * part : 1 - front * part;                                             \
    }

#endif
