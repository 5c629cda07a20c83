/* Floats of 16 bits, rounded to the nearest, ties to even; sums of all types of NCCL. */
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
    if (size < 0x1p-14f)
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

size_t nccl_type_bytes(ncclDataType_t type)
{
    static const size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return type < sizeof bytes / sizeof *bytes ? bytes[type] : 0;
}

static float narrow_value(ncclDataType_t type, uint16_t bits)
{
    return type == ncclFloat16 ? half_value(bits) : bf16_value(bits);
}

static uint16_t narrow_of(ncclDataType_t type, float x)
{
    return type == ncclFloat16 ? half_of(x) : bf16_of(x);
}

#define PICK(op, a, b)                                                                             \
    ((op) == ncclProd  ? (a) * (b)                                                                 \
     : (op) == ncclMax ? ((a) > (b) ? (a) : (b))                                                   \
     : (op) == ncclMin ? ((a) < (b) ? (a) : (b))                                                   \
                       : (a) + (b))

#define CASE(name, T)                                                                              \
    case name: {                                                                                   \
        T *x = (T *)(void *)to;                                                                    \
        const T *y = (const T *)(const void *)with;                                                \
        for (size_t i = 0; i < n; i++)                                                             \
            x[i] = (T)PICK(op, x[i], y[i]);                                                        \
        break;                                                                                     \
    }

static void reduce_narrow(ncclDataType_t type, ncclRedOp_t op, char *to, const char *with, size_t n)
{
    uint16_t *x = (uint16_t *)(void *)to;
    const uint16_t *y = (const uint16_t *)(const void *)with;
    for (size_t i = 0; i < n; i++) {
        float a = narrow_value(type, x[i]), b = narrow_value(type, y[i]);
        x[i] = narrow_of(type, PICK(op, a, b));
    }
}

void numbers_reduce(ncclDataType_t type, ncclRedOp_t op, char *to, const char *with, size_t n)
{
    switch (type) {
        CASE(ncclInt8, int8_t)
        CASE(ncclUint8, uint8_t)
        CASE(ncclInt32, int32_t)
        CASE(ncclUint32, uint32_t)
        CASE(ncclInt64, int64_t)
        CASE(ncclUint64, uint64_t)
        CASE(ncclFloat32, float)
        CASE(ncclFloat64, double)
    case ncclFloat16:
    case ncclBfloat16:
        reduce_narrow(type, op, to, with, n);
    }
}

#undef CASE
#define CASE(name, T)                                                                              \
    case name:                                                                                     \
        for (size_t i = 0; i < n; i++)                                                             \
            ((T *)(void *)to)[i] = (T)(((T *)(void *)to)[i] / (T)by);                              \
        break;

void numbers_divide(ncclDataType_t type, char *to, size_t n, int by)
{
    uint16_t *x = (uint16_t *)(void *)to;
    switch (type) {
        CASE(ncclInt8, int8_t)
        CASE(ncclUint8, uint8_t)
        CASE(ncclInt32, int32_t)
        CASE(ncclUint32, uint32_t)
        CASE(ncclInt64, int64_t)
        CASE(ncclUint64, uint64_t)
        CASE(ncclFloat32, float)
        CASE(ncclFloat64, double)
    case ncclFloat16:
    case ncclBfloat16:
        for (size_t i = 0; i < n; i++)
            x[i] = narrow_of(type, narrow_value(type, x[i]) / (float)by);
    }
}
