/* Floats of 16 bits, rounded to the nearest, ties to even. */
#include "tests/fakecuda/fake.h"

#include <math.h>
#include <string.h>

static float f32_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

float bf16_value(uint16_t bits)
{
    return f32_of((uint32_t)bits << 16);
}

float half_value(uint16_t h)
{
    int exponent = h >> 10 & 31;
    float sign = h >> 15 ? -1.0f : 1.0f;
    if (exponent == 31)
        return h & 1023 ? NAN : sign * INFINITY;
    return exponent ? sign * ldexpf((float)(1024 + (h & 1023)), exponent - 25)
                    : sign * ldexpf((float)(h & 1023), -24);
}

uint16_t half_of(float x)
{
    uint16_t sign = (uint16_t)(bits_of(x) >> 16 & 0x8000);
    float size = fabsf(x);
    if (isnan(x))
        return 0x7fff;
    if (size >= 65520.0f)
        return (uint16_t)(sign | 0x7c00);
    int exponent;
    frexpf(size, &exponent);
    if (exponent < -13)
        exponent = -13; /* numbers below 2^-14 keep its spacing */
    long steps = lrintf(ldexpf(size, 11 - exponent));
    return (uint16_t)(sign + ((exponent + 13) << 10) + steps);
}

uint16_t bf16_of(float x)
{
    uint32_t bits = bits_of(x);
    if (isnan(x))
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
