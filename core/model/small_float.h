/* small_float.h - floats of 4, 6 and 8 bits as numbers, and numbers rounded to them.
 *
 *     sign, exponent, mantissa: mantissa / 2^m * 2^(1 - bias) where the exponent is 0, else
 *     (1 + mantissa / 2^m) * 2^(exponent - bias)
 *
 * A number beyond the largest one becomes the largest one if saturating; otherwise infinity or NaN,
 * whichever the type has. Types without both always saturate. f8e8m0 is only an exponent: 2^(bits
 * - 127). Sources: OCP 8-bit Floating Point 1.0 and Microscaling Formats 1.0 (e4m3fn, e5m2, e8m0,
 * e2m1, e2m3, e3m2); ONNX's operator Cast (fnuz types, saturation, round_mode).
 */
#ifndef CORE_MODEL_SMALL_FLOAT_H
#define CORE_MODEL_SMALL_FLOAT_H

#include "core/model/dtype.h"

/* Rounding to a power of two (f8e8m0); other types round to nearest even. */
typedef enum { POWER_UP, POWER_DOWN, POWER_NEAREST } PowerRounding;

float small_float_number(Dtype dtype, uint8_t bits);
uint8_t small_float_bits(Dtype dtype, float x, bool saturate, PowerRounding rounding);

#endif
