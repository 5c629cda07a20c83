/* derivative.h - derivatives of elementwise operators and reductions, as expressions.
 *
 * A row has an operator, one of its inputs, and the gradient of that input at one index point, as
 * an expression of the gradient `d` of the output. a, b and c are the values that the operator's
 * column `gradient` reads, in its order; p and q are attributes, as in elementwise.h. An absent b
 * is p, an absent c is q. At a kink the value is torch's: 0 for Abs, Relu and HardSigmoid, the
 * negative side for LeakyRelu, 1 for Elu, 0 at the bounds of Clip.
 */
#ifndef CORE_RUN_KERNELS_DERIVATIVE_H
#define CORE_RUN_KERNELS_DERIVATIVE_H

#include "core/run/kernel.h"

/* The call of the forward op, for kernels of its gradient that run or read it. Its operands are
 * those that the gradient op reads, with gradients in place of outputs. An operand whose gradient
 * is made has the layout of that gradient, and elements only if the gradient op reads them; an
 * operand that it does not read is whole and has no elements. An absent gradient of an output has
 * no elements. */
bool forward_call(const KernelCall *call, KernelCall *forward, Error *err);

/* The elements of `from` laid out as another part of the same tensor, which may hold fewer; NULL
 * if it holds others. */
const Local *part_like(const KernelCall *call, const Local *from, const Local *like);

/* Slopes that are longer than an expression. */
#define DERIVATIVE_FUNCTIONS(INLINE)                                                               \
    INLINE double slope_of_swish(double x, double alpha)                                           \
    {                                                                                              \
        double s = 1 / (1 + exp(-alpha * x));                                                      \
        return s + alpha * x * s * (1 - s);                                                        \
    }                                                                                              \
    INLINE double slope_of_mish(double x)                                                          \
    {                                                                                              \
        double t = tanh(fmax(x, 0) + log1p(exp(-fabs(x))));                                        \
        return t + x * (1 - t * t) / (1 + exp(-x));                                                \
    }                                                                                              \
    INLINE double slope_of_gelu(double x)                                                          \
    {                                                                                              \
        return (1 + erf(x * 0.7071067811865476)) / 2 + x * exp(-x * x / 2) * 0.3989422804014327;   \
    }                                                                                              \
    INLINE double slope_of_fast_gelu(double x)                                                     \
    {                                                                                              \
        double t = tanh(0.7978845608028654 * (x + 0.044715 * x * x * x));                          \
        return (1 + t) / 2 +                                                                       \
               x / 2 * (1 - t * t) * 0.7978845608028654 * (1 + 3 * 0.044715 * x * x);              \
    }

#define DERIVATIVE_ROWS(D)                                                                         \
    D(DIV_0, "Div", 0, d / a)                                                                      \
    D(DIV_1, "Div", 1, -d *(a / b) / b)                                                            \
    D(POW_0, "Pow", 0, b == 0 ? 0 : d * b * pow(a, b - 1))                                         \
    D(POW_1, "Pow", 1, a == 0 && b >= 0 ? 0 : d * pow(a, b) * log(a))                              \
    D(MOD_1, "Mod", 1, -d *(p != 0 ? trunc(a / b) : floor(a / b)))                                 \
    D(PRELU_0, "PRelu", 0, a > 0 ? d : d * b)                                                      \
    D(PRELU_1, "PRelu", 1, a > 0 ? 0 : d * a)                                                      \
    D(CLIP_0, "Clip", 0, a > b && a < c ? d : 0)                                                   \
    D(CLIP_1, "Clip", 1, a < b && b < c ? d : 0)                                                   \
    D(CLIP_2, "Clip", 2, a > c || c <= b ? d : 0)                                                  \
    D(WHERE_1, "Where", 1, a != 0 ? d : 0)                                                         \
    D(WHERE_2, "Where", 2, a != 0 ? 0 : d)                                                         \
    D(ABS, "Abs", 0, d *((a > 0) - (a < 0)))                                                       \
    D(RELU, "Relu", 0, a > 0 ? d : 0)                                                              \
    D(LEAKY_RELU, "LeakyRelu", 0, a > 0 ? d : d * p)                                               \
    D(THRESHOLDED_RELU, "ThresholdedRelu", 0, a > p ? d : 0)                                       \
    D(ELU, "Elu", 0, a > 0 ? d : d * p * exp(a))                                                   \
    D(SELU, "Selu", 0, a > 0 ? d * q : d * q * p * exp(a))                                         \
    D(CELU, "Celu", 0, a > 0 ? d : d * exp(a / p))                                                 \
    D(SHRINK, "Shrink", 0, a<-q || a> q ? d : 0)                                                   \
    D(HARD_SIGMOID, "HardSigmoid", 0, a *p + q > 0 && a * p + q < 1 ? d * p : 0)                   \
    D(HARD_SWISH, "HardSwish", 0, a <= -3 ? 0 : a >= 3 ? d : d * (a / 3 + 0.5))                    \
    D(SWISH, "Swish", 0, d *slope_of_swish(a, p))                                                  \
    D(SWIGLU_0, "SwiGLU", 0, d *b *slope_of_swish(a, p))                                           \
    D(SWIGLU_1, "SwiGLU", 1, d *a / (1 + exp(-p * a)))                                             \
    D(QUICK_GELU, "com.microsoft::QuickGelu", 0, d *slope_of_swish(a, p))                          \
    D(GELU, "Gelu", 0, d *(p != 0 ? slope_of_fast_gelu(a) : slope_of_gelu(a)))                     \
    D(MS_GELU, "com.microsoft::Gelu", 0, d *slope_of_gelu(a))                                      \
    D(BIAS_GELU_0, "com.microsoft::BiasGelu", 0, d *slope_of_gelu(a + b))                          \
    D(BIAS_GELU_1, "com.microsoft::BiasGelu", 1, d *slope_of_gelu(a + b))                          \
    D(FAST_GELU_0, "com.microsoft::FastGelu", 0, d *slope_of_fast_gelu(a + b))                     \
    D(FAST_GELU_1, "com.microsoft::FastGelu", 1, d *slope_of_fast_gelu(a + b))                     \
    D(SIGMOID, "Sigmoid", 0, d *(a * (1 - a)))                                                     \
    D(SOFTPLUS, "Softplus", 0, d / (1 + exp(-a)))                                                  \
    D(SOFTSIGN, "Softsign", 0, d / ((1 + fabs(a)) * (1 + fabs(a))))                                \
    D(MISH, "Mish", 0, d *slope_of_mish(a))                                                        \
    D(ERF, "Erf", 0, d * 1.1283791670955126 * exp(-a * a))                                         \
    D(ERFC, "Erfc", 0, -d * 1.1283791670955126 * exp(-a * a))                                      \
    D(ERFINV, "Erfinv", 0, d * 0.8862269254527580 * exp(a * a))                                    \
    D(EXPM1, "Expm1", 0, d *(a + 1))                                                               \
    D(LOG1P, "Log1p", 0, d / (1 + a))                                                              \
    D(LGAMMA, "Lgamma", 0, d *special_digamma(a))                                                  \
    D(DIGAMMA, "Digamma", 0, d *special_zeta(2, a))                                                \
    D(ZETA, "Zeta", 1, -d *a *special_zeta(a + 1, b))                                              \
    D(BESSEL_I0, "BesselI0", 0, d *special_bessel_i(1, a))                                         \
    D(BESSEL_I0E, "BesselI0e", 0, d *(special_bessel_ie(1, a) - ((a > 0) - (a < 0)) * b))          \
    D(BESSEL_I1, "BesselI1", 0, d *(special_bessel_i(0, a) - (a == 0 ? 0.5 : b / a)))              \
    D(BESSEL_I1E, "BesselI1e", 0,                                                                  \
      d *(special_bessel_ie(0, a) - (a == 0 ? 0.5 : b * ((a > 0) - (a < 0) + 1 / a))))             \
    D(ERFCX, "Erfcx", 0, d *(2 * a * b - 1.1283791670955126))                                      \
    D(GAMMA_P, "GammaP", 1, d *exp((a - 1) * log(b) - b - lgamma(a)))                              \
    D(GAMMA_Q, "GammaQ", 1, -d *exp((a - 1) * log(b) - b - lgamma(a)))                             \
    D(CBRT, "Cbrt", 0, d / (3 * a * a))                                                            \
    D(RSQRT, "Rsqrt", 0, -d *a *a *a / 2)                                                          \
    D(ATAN2_0, "Atan2", 0, d *b / (a * a + b * b))                                                 \
    D(ATAN2_1, "Atan2", 1, -d *a / (a * a + b * b))                                                \
    D(TANH, "Tanh", 0, d *(1 - a * a))                                                             \
    D(EXP, "Exp", 0, (d * a))                                                                      \
    D(LOG, "Log", 0, d / a)                                                                        \
    D(SQRT, "Sqrt", 0, d / (2 * a))                                                                \
    D(RECIPROCAL, "Reciprocal", 0, -d *a *a)                                                       \
    D(SIN, "Sin", 0, d *cos(a))                                                                    \
    D(COS, "Cos", 0, -d *sin(a))                                                                   \
    D(TAN, "Tan", 0, d *(1 + a * a))                                                               \
    D(ASIN, "Asin", 0, d / sqrt(1 - a * a))                                                        \
    D(ACOS, "Acos", 0, -d / sqrt(1 - a * a))                                                       \
    D(ATAN, "Atan", 0, d / (1 + a * a))                                                            \
    D(SINH, "Sinh", 0, d *cosh(a))                                                                 \
    D(COSH, "Cosh", 0, d *sinh(a))                                                                 \
    D(ASINH, "Asinh", 0, d / sqrt(a * a + 1))                                                      \
    D(ACOSH, "Acosh", 0, d / sqrt(a * a - 1))                                                      \
    D(ATANH, "Atanh", 0, d / (1 - a * a))                                                          \
    D(REDUCE_L1, "ReduceL1", 0, d *((a > 0) - (a < 0)))                                            \
    D(REDUCE_L2, "ReduceL2", 0, b == 0 ? 0 : d * a / b)                                            \
    D(REDUCE_SUM_SQUARE, "ReduceSumSquare", 0, 2 * d * a)                                          \
    D(REDUCE_LOG_SUM, "ReduceLogSum", 0, d / exp(a))                                               \
    D(REDUCE_LOG_SUM_EXP, "ReduceLogSumExp", 0, a == b && isinf(b) ? 0 : d * exp(a - b))

#endif
