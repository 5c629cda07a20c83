/* elementwise.h - expressions of elementwise operators.
 *
 * One table for host kernels (compiled) and device kernels (as text), so each expression is valid C
 * and CUDA. x, y, z are the inputs, p, q the attributes of ELEMENT_ATTRIBUTES, T the type of the
 * number class.
 */
#ifndef CORE_RUN_KERNELS_ELEMENTWISE_H
#define CORE_RUN_KERNELS_ELEMENTWISE_H

#include "core/run/kernel.h"
#include "core/run/kernels/special.h"

#include <math.h>

/* Integers wrap; what is undefined in C (division by zero) gives 0. */
#define WRAP(x, op, y) ((int64_t)((uint64_t)(x)op(uint64_t)(y)))

#define ELEMENT_FUNCTIONS(INLINE)                                                                  \
    INLINE int64_t int_divide(int64_t x, int64_t y)                                                \
    {                                                                                              \
        if (y == 0)                                                                                \
            return 0;                                                                              \
        return y == -1 ? WRAP(0, -, x) : x / y;                                                    \
    }                                                                                              \
    INLINE int64_t int_modulo(int64_t x, int64_t y, int like_c)                                    \
    {                                                                                              \
        if (y == 0 || y == -1)                                                                     \
            return 0;                                                                              \
        int64_t rest = x % y;                                                                      \
        return !like_c && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;                    \
    }                                                                                              \
    INLINE int64_t int_power(int64_t x, int64_t y)                                                 \
    {                                                                                              \
        if (y < 0)                                                                                 \
            return x == 1 || (x == -1 && y % 2 == 0) ? 1 : -(x == -1);                             \
        int64_t power = 1;                                                                         \
        for (; y > 0; y >>= 1, x = WRAP(x, *, x))                                                  \
            if (y & 1)                                                                             \
                power = WRAP(power, *, x);                                                         \
        return power;                                                                              \
    }                                                                                              \
    INLINE int64_t int_shift(int64_t x, int64_t y, int right)                                      \
    {                                                                                              \
        if (y < 0 || y > 63)                                                                       \
            return right && x < 0 ? -1 : 0;                                                        \
        if (!right)                                                                                \
            return WRAP(x, <<, y);                                                                 \
        return x < 0 ? ~(~x >> y) : x >> y;                                                        \
    }                                                                                              \
    INLINE int64_t int_gcd(int64_t x, int64_t y)                                                   \
    {                                                                                              \
        while (y != 0) {                                                                           \
            int64_t rest = y == -1 ? 0 : x % y;                                                    \
            x = y;                                                                                 \
            y = rest;                                                                              \
        }                                                                                          \
        return x < 0 ? WRAP(0, -, x) : x;                                                          \
    }                                                                                              \
    INLINE int64_t int_lcm(int64_t x, int64_t y)                                                   \
    {                                                                                              \
        int64_t by = int_gcd(x, y), z = by == 0 ? 0 : WRAP(x / by, *, y);                          \
        return z < 0 ? WRAP(0, -, z) : z;                                                          \
    }

#define CLIPPED (x < y ? (y > z ? z : y) : x > z ? z : x)

/* FF rows: floats only. II rows: integers and bool only. BB rows: an expression for each.
 *
 *     id, rounding of floats (kernel.h), name, inputs (0: one or more, folded), expression of
 * floats, expression of integers */
#define ELEMENT_ROWS(FF, II, BB)                                                                   \
    BB(ADD, ULPS, "Add", 2, x + y, WRAP(x, +, y))                                                  \
    BB(SUB, ULPS, "Sub", 2, x - y, WRAP(x, -, y))                                                  \
    BB(MUL, ULPS, "Mul", 2, (x * y), WRAP(x, *, y))                                                \
    BB(DIV, ULPS, "Div", 2, x / y, int_divide(x, y))                                               \
    BB(POW, ULPS, "Pow", 2, pow(x, y), int_power(x, y))                                            \
    BB(MOD, EXACT, "Mod", 2,                                                                       \
       (p != 0 || fmod(x, y) == 0 || (fmod(x, y) < 0) == (y < 0) ? fmod(x, y) : fmod(x, y) + y),   \
       int_modulo(x, y, p != 0))                                                                   \
    BB(SUM, OPERANDS, "Sum", 0, x + y, WRAP(x, +, y))                                              \
    FF(MEAN, OPERANDS, "Mean", 0, x + y)                                                           \
    BB(MAX, EXACT, "Max", 0, (x > y || isnan(x)) ? x : y, x > y ? x : y)                           \
    BB(MIN, EXACT, "Min", 0, (x < y || isnan(x)) ? x : y, x < y ? x : y)                           \
    BB(EQUAL, EXACT, "Equal", 2, x == y, x == y)                                                   \
    BB(LESS, EXACT, "Less", 2, x < y, x < y)                                                       \
    BB(LESS_OR_EQUAL, EXACT, "LessOrEqual", 2, x <= y, x <= y)                                     \
    BB(GREATER, EXACT, "Greater", 2, x > y, x > y)                                                 \
    BB(GREATER_OR_EQUAL, EXACT, "GreaterOrEqual", 2, x >= y, x >= y)                               \
    II(AND, "And", 2, (x && y))                                                                    \
    II(OR, "Or", 2, x || y)                                                                        \
    II(XOR, "Xor", 2, !x != !y)                                                                    \
    II(NOT, "Not", 1, !x)                                                                          \
    II(BIT_AND, "BitwiseAnd", 2, (x & y))                                                          \
    II(BIT_OR, "BitwiseOr", 2, (x | y))                                                            \
    II(BIT_XOR, "BitwiseXor", 2, (x ^ y))                                                          \
    II(BIT_NOT, "BitwiseNot", 1, ~x)                                                               \
    II(BIT_SHIFT, "BitShift", 2, int_shift(x, y, p != 0))                                          \
    BB(WHERE, EXACT, "Where", 3, x != 0 ? y : z, x ? y : z)                                        \
    BB(CLIP, EXACT, "Clip", 3, CLIPPED, CLIPPED)                                                   \
    BB(NEG, EXACT, "Neg", 1, -x, WRAP(0, -, x))                                                    \
    BB(ABS, EXACT, "Abs", 1, fabs(x), x < 0 ? WRAP(0, -, x) : x)                                   \
    BB(SIGN, EXACT, "Sign", 1, isnan(x) ? x : (T)((x > 0) - (x < 0)), (x > 0) - (x < 0))           \
    BB(RELU, EXACT, "Relu", 1, x < 0 ? 0 : x, x < 0 ? 0 : x)                                       \
    FF(PRELU, ULPS, "PRelu", 2, x < 0 ? (x * y) : x)                                               \
    FF(LEAKY_RELU, ULPS, "LeakyRelu", 1, x < 0 ? (x * p) : x)                                      \
    FF(ELU, ULPS, "Elu", 1, x < 0 ? p * expm1(x) : x)                                              \
    FF(SELU, ULPS, "Selu", 1, q *(x < 0 ? p * expm1(x) : x))                                       \
    FF(CELU, ULPS, "Celu", 1, x < 0 ? p * expm1(x / p) : x)                                        \
    FF(THRESHOLDED_RELU, EXACT, "ThresholdedRelu", 1, x > p ? x : 0)                               \
    FF(BINARIZER, EXACT, "ai.onnx.ml::Binarizer", 1, x > p ? 1 : 0)                                \
    FF(SHRINK, OPERANDS, "Shrink", 1, x<-q ? x + p : x> q ? x - p : 0)                             \
    FF(SWISH, ULPS, "Swish", 1, x / (1 + exp(-x * p)))                                             \
    FF(SWIGLU, ULPS, "SwiGLU", 2, x / (1 + exp(-x * p)) * y)                                       \
    FF(HARD_SIGMOID, OPERANDS, "HardSigmoid", 1, x *p + q < 0 ? 0 : x * p + q > 1 ? 1 : x * p + q) \
    FF(HARD_SWISH, OPERANDS, "HardSwish", 1, x *fmax(0, fmin(1, x / 6 + (T)0.5)))                  \
    FF(SIGMOID, ULPS, "Sigmoid", 1, 1 / (1 + exp(-x)))                                             \
    FF(SOFTPLUS, ULPS, "Softplus", 1, fmax(x, 0) + log1p(exp(-fabs(x))))                           \
    FF(SOFTSIGN, ULPS, "Softsign", 1, x / (1 + fabs(x)))                                           \
    FF(MISH, ULPS, "Mish", 1, x *tanh(fmax(x, 0) + log1p(exp(-fabs(x)))))                          \
    FF(GELU, OPERANDS, "Gelu", 1,                                                                  \
       p != 0 ? x / 2 * (1 + tanh((T)0.7978845608028654 * (x + (T)0.044715 * x * x * x)))          \
              : x / 2 * (1 + erf(x * (T)0.7071067811865476)))                                      \
    FF(ERF, ULPS, "Erf", 1, erf(x))                                                                \
    FF(TANH, ULPS, "Tanh", 1, tanh(x))                                                             \
    FF(EXP, ULPS, "Exp", 1, exp(x))                                                                \
    FF(LOG, ULPS, "Log", 1, log(x))                                                                \
    FF(SQRT, ULPS, "Sqrt", 1, sqrt(x))                                                             \
    FF(RECIPROCAL, ULPS, "Reciprocal", 1, 1 / x)                                                   \
    FF(FLOOR, EXACT, "Floor", 1, floor(x))                                                         \
    FF(CEIL, EXACT, "Ceil", 1, ceil(x))                                                            \
    FF(ROUND, EXACT, "Round", 1, rint(x))                                                          \
    FF(SIN, ULPS, "Sin", 1, sin(x))                                                                \
    FF(COS, ULPS, "Cos", 1, cos(x))                                                                \
    FF(TAN, ULPS, "Tan", 1, tan(x))                                                                \
    FF(ASIN, ULPS, "Asin", 1, asin(x))                                                             \
    FF(ACOS, ULPS, "Acos", 1, acos(x))                                                             \
    FF(ATAN, ULPS, "Atan", 1, atan(x))                                                             \
    FF(RSQRT, ULPS, "Rsqrt", 1, 1 / sqrt(x))                                                       \
    FF(CBRT, ULPS, "Cbrt", 1, cbrt(x))                                                             \
    FF(EXPM1, ULPS, "Expm1", 1, expm1(x))                                                          \
    FF(LOG1P, ULPS, "Log1p", 1, log1p(x))                                                          \
    FF(ERFC, ULPS, "Erfc", 1, erfc(x))                                                             \
    FF(LGAMMA, ULPS, "Lgamma", 1, lgamma(x))                                                       \
    FF(ATAN2, ULPS, "Atan2", 2, atan2(x, y))                                                       \
    FF(ROUND_AWAY, EXACT, "RoundAway", 1, round(x))                                                \
    FF(IS_FINITE, EXACT, "IsFinite", 1, isfinite(x) != 0)                                          \
    BB(NOT_EQUAL, EXACT, "NotEqual", 2, x != y, x != y)                                            \
    II(SHIFT_RIGHT, "ShiftRight", 2, int_shift(x, y, 1))                                           \
    II(GCD, "Gcd", 2, int_gcd(x, y))                                                               \
    II(LCM, "Lcm", 2, int_lcm(x, y))                                                               \
    FF(NEXT_AFTER, EXACT, "NextAfter", 2, nextafter(x, y))                                         \
    FF(DIGAMMA, ULPS, "Digamma", 1, special_digamma(x))                                            \
    FF(ZETA, ULPS, "Zeta", 2, special_zeta(x, y))                                                  \
    FF(BESSEL_I0, ULPS, "BesselI0", 1, special_bessel_i(0, x))                                     \
    FF(BESSEL_I0E, ULPS, "BesselI0e", 1, special_bessel_ie(0, x))                                  \
    FF(BESSEL_I1, ULPS, "BesselI1", 1, special_bessel_i(1, x))                                     \
    FF(BESSEL_I1E, ULPS, "BesselI1e", 1, special_bessel_ie(1, x))                                  \
    FF(ERFCX, ULPS, "Erfcx", 1, special_erfcx(x))                                                  \
    FF(GAMMA_P, ULPS, "GammaP", 2, special_gamma_part(x, y, 0))                                    \
    FF(GAMMA_Q, ULPS, "GammaQ", 2, special_gamma_part(x, y, 1))                                    \
    FF(SINH, ULPS, "Sinh", 1, sinh(x))                                                             \
    FF(COSH, ULPS, "Cosh", 1, cosh(x))                                                             \
    FF(ASINH, ULPS, "Asinh", 1, asinh(x))                                                          \
    FF(ACOSH, ULPS, "Acosh", 1, acosh(x))                                                          \
    FF(ATANH, ULPS, "Atanh", 1, atanh(x))                                                          \
    FF(IS_NAN, EXACT, "IsNaN", 1, isnan(x) != 0)                                                   \
    FF(IS_INF, EXACT, "IsInf", 1, isinf(x) && (x < 0 ? p : q) != 0)

/* The attributes that an expression reads as p and q, with their defaults; an absent input is p or
 * q. A string counts as 1 unless it is "none" or "LEFT".
 *
 *     name, p, its default, q, its default */
#define ELEMENT_ATTRIBUTES(ROW)                                                                    \
    ROW("Mod", "fmod", 0, NULL, 0)                                                                 \
    ROW("Clip", "min", -INFINITY, "max", INFINITY)                                                 \
    ROW("LeakyRelu", "alpha", 0.01, NULL, 0)                                                       \
    ROW("Elu", "alpha", 1, NULL, 0)                                                                \
    ROW("Selu", "alpha", 1.67326319217681884765625, "gamma", 1.05070102214813232421875)            \
    ROW("HardSigmoid", "alpha", 0.2, "beta", 0.5)                                                  \
    ROW("Gelu", "approximate", 0, NULL, 0)                                                         \
    ROW("Celu", "alpha", 1, NULL, 0)                                                               \
    ROW("ThresholdedRelu", "alpha", 1, NULL, 0)                                                    \
    ROW("ai.onnx.ml::Binarizer", "threshold", 0, NULL, 0)                                          \
    ROW("Shrink", "bias", 0, "lambd", 0.5)                                                         \
    ROW("Swish", "alpha", 1, NULL, 0)                                                              \
    ROW("SwiGLU", "alpha", 1, NULL, 0)                                                             \
    ROW("com.microsoft::QuickGelu", "alpha", 1.702, NULL, 0)                                       \
    ROW("IsInf", "detect_negative", 1, "detect_positive", 1)                                       \
    ROW("BitShift", "direction", 0, NULL, 0)

/* u64 is held as int64_t; ops that compare or divide have a row for it. */
#define UNSIGNED_ROWS(U)                                                                           \
    U(DIV, y == 0 ? 0 : x / y)                                                                     \
    U(MOD, y == 0 ? 0 : x % y)                                                                     \
    U(MAX, x > y ? x : y)                                                                          \
    U(MIN, x < y ? x : y)                                                                          \
    U(LESS, x < y)                                                                                 \
    U(LESS_OR_EQUAL, x <= y)                                                                       \
    U(GREATER, x > y)                                                                              \
    U(GREATER_OR_EQUAL, x >= y)                                                                    \
    U(CLIP, CLIPPED)                                                                               \
    U(ABS, x)                                                                                      \
    U(SIGN, x != 0)                                                                                \
    U(RELU, x)                                                                                     \
    U(BIT_SHIFT, y > 63 ? 0 : p != 0 ? x >> y : x << y)

/* p and q of a call, and its number class: double for integers beside a float (Pow). */
void element_params(const KernelCall *call, double params[2]);
void element_params_of(const KernelCall *call, const char *op_type, double params[2]);
Number element_class(const KernelCall *call);

#endif
