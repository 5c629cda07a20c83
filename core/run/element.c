#include "core/run/element.h"

#include "core/model/small_float.h"

#include <math.h>
#include <string.h>

static int64_t int_of_double(double x)
{
    if (isnan(x))
        return 0;
    if (x >= 9223372036854775808.0)
        return INT64_MAX;
    return x < -9223372036854775808.0 ? INT64_MIN : (int64_t)x;
}

static uint64_t unsigned_of_double(double x)
{
    if (x >= 18446744073709551616.0)
        return UINT64_MAX;
    return x >= 9223372036854775808.0 ? (uint64_t)x : (uint64_t)int_of_double(x);
}

/* IEEE 754 binary16. */
static float float_of_f16(uint16_t half)
{
    int exponent = half >> 10 & 31, mantissa = half & 1023;
    float x = exponent == 31  ? (mantissa ? NAN : INFINITY)
              : exponent == 0 ? ldexpf((float)mantissa, -24)
                              : ldexpf((float)(mantissa + 1024), exponent - 25);
    return half >> 15 ? -x : x;
}

static uint16_t f16_of_float(float x)
{
    unsigned sign = signbit(x) ? 0x8000u : 0;
    float size = fabsf(x);
    if (isnan(x))
        return (uint16_t)(sign | 0x7e00u);
    if (size >= 65520.0f)
        return (uint16_t)(sign | 0x7c00u);
    if (size < 0x1p-14f) /* the largest ones round up into the first exponent */
        return (uint16_t)(sign | (unsigned)rintf(ldexpf(size, 24)));
    int exponent = ilogbf(size);
    unsigned mantissa = (unsigned)rintf(ldexpf(size, 10 - exponent)) - 1024u;
    return (uint16_t)(sign | (((unsigned)(exponent + 15) << 10) + mantissa));
}

static float float_of_bf16(uint16_t brain)
{
    uint32_t bits = (uint32_t)brain << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint16_t bf16_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if (isnan(x))
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

typedef uint8_t Bool;

/* Wraps an integer to a type of fewer bits. */
static int8_t low_bits(int64_t x, int bits, bool is_signed)
{
    int64_t low = x & ((1 << bits) - 1);
    return (int8_t)(is_signed && low >> (bits - 1) ? low - (1 << bits) : low);
}

/* Conversions between a stored element and a number; the letter names the stored form: F float, I
 * integer, U u64, N integer of few bits, B bool, H f16, R bf16, E float of few bits. */
#define FROM_F(id, number, x) FROM_F_##number(x)
#define FROM_F_f32(x) ((float)(x))
#define FROM_F_f64(x) ((double)(x))
#define FROM_F_i64(x) int_of_double((double)(x))
#define FROM_I(id, number, x) FROM_I_##number(x)
#define FROM_I_f32(x) ((float)(x))
#define FROM_I_f64(x) ((double)(x))
#define FROM_I_i64(x) ((int64_t)(x))
#define FROM_U(id, number, x) FROM_I_##number(x)
#define FROM_N(id, number, x) FROM_I_##number(x)
#define FROM_B(id, number, x) FROM_I_##number((x) != 0)
#define FROM_H(id, number, x) FROM_F_##number(float_of_f16(x))
#define FROM_R(id, number, x) FROM_F_##number(float_of_bf16(x))
#define FROM_E(id, number, x) FROM_F_##number(small_float_number(DT_##id, x))

#define TO_F(id, number, type, x) ((type)(x))
#define TO_I(id, number, type, x) ((type)TO_INT_##number(x))
#define TO_INT_f32(x) int_of_double((double)(x))
#define TO_INT_f64(x) int_of_double(x)
#define TO_INT_i64(x) (x)
#define TO_U(id, number, type, x) TO_UNSIGNED_##number(x)
#define TO_UNSIGNED_f32(x) unsigned_of_double((double)(x))
#define TO_UNSIGNED_f64(x) unsigned_of_double(x)
#define TO_UNSIGNED_i64(x) ((uint64_t)(x))
#define TO_N(id, number, type, x)                                                                  \
    ((type)low_bits(TO_INT_##number(x), dtype_bits(DT_##id), DT_##id == DT_I4 || DT_##id == DT_I2))
#define TO_B(id, number, type, x) ((x) != 0)
#define TO_H(id, number, type, x) f16_of_float((float)(x))
#define TO_R(id, number, type, x) bf16_of_float((float)(x))
#define TO_E(id, number, type, x) small_float_bits(DT_##id, (float)(x), true, POWER_UP)

/*   id    held as   how */
#define COMPUTED(C)                                                                                \
    C(F32, float, F)                                                                               \
    C(F64, double, F)                                                                              \
    C(F16, uint16_t, H)                                                                            \
    C(BF16, uint16_t, R)                                                                           \
    C(I8, int8_t, I)                                                                               \
    C(I16, int16_t, I)                                                                             \
    C(I32, int32_t, I)                                                                             \
    C(I64, int64_t, I)                                                                             \
    C(U8, uint8_t, I)                                                                              \
    C(U16, uint16_t, I)                                                                            \
    C(U32, uint32_t, I)                                                                            \
    C(U64, uint64_t, U)                                                                            \
    C(I4, int8_t, N)                                                                               \
    C(U4, uint8_t, N)                                                                              \
    C(I2, int8_t, N)                                                                               \
    C(U2, uint8_t, N)                                                                              \
    C(F8E4M3FN, uint8_t, E)                                                                        \
    C(F8E4M3FNUZ, uint8_t, E)                                                                      \
    C(F8E5M2, uint8_t, E)                                                                          \
    C(F8E5M2FNUZ, uint8_t, E)                                                                      \
    C(F8E8M0, uint8_t, E)                                                                          \
    C(F6E2M3, uint8_t, E)                                                                          \
    C(F6E3M2, uint8_t, E)                                                                          \
    C(F4E2M1, uint8_t, E)                                                                          \
    C(BOOL, Bool, B)

#define LOAD_STORE(id, type, how, number, Real)                                                    \
    static void load_##id##_##number(const void *from, int64_t step, int64_t n, void *out)         \
    {                                                                                              \
        const type *at = from;                                                                     \
        Real *to = out;                                                                            \
        for (int64_t i = 0; i < n; i++)                                                            \
            to[i] = FROM_##how(id, number, at[i * step]);                                          \
    }                                                                                              \
    static void store_##id##_##number(void *to, int64_t n, const void *from)                       \
    {                                                                                              \
        const Real *at = from;                                                                     \
        type *out = to;                                                                            \
        for (int64_t i = 0; i < n; i++)                                                            \
            out[i] = TO_##how(id, number, type, at[i]);                                            \
    }

#define C(id, type, how)                                                                           \
    LOAD_STORE(id, type, how, f32, float)                                                          \
    LOAD_STORE(id, type, how, f64, double)                                                         \
    LOAD_STORE(id, type, how, i64, int64_t)
COMPUTED(C)
#undef C

typedef void LoadFn(const void *from, int64_t step, int64_t n, void *out);
typedef void StoreFn(void *to, int64_t n, const void *from);

static const struct {
    LoadFn *load[NUMBER_KINDS];
    StoreFn *store[NUMBER_KINDS];
} conversions[DT_COUNT] = {
#define C(id, type, how)                                                                           \
    [DT_##id] = {{load_##id##_f32, load_##id##_f64, load_##id##_i64},                              \
                 {store_##id##_f32, store_##id##_f64, store_##id##_i64}},
    COMPUTED(C)
#undef C
};

bool dtype_is_computed(Dtype dtype)
{
    return conversions[dtype].load[0] != NULL;
}

Number dtype_number(Dtype dtype)
{
    if (dtype == DT_F64)
        return NUMBER_F64;
    return dtype_is_float(dtype) ? NUMBER_F32 : NUMBER_I64;
}

int64_t number_bytes(Number number)
{
    return number == NUMBER_F32 ? (int64_t)sizeof(float) : (int64_t)sizeof(int64_t);
}

int64_t element_bytes(Dtype dtype)
{
    return (dtype_bits(dtype) + 7) / 8;
}

void dtype_int_range(Dtype dtype, double *least, double *most)
{
    bool is_signed = dtype == DT_I8 || dtype == DT_I16 || dtype == DT_I32 || dtype == DT_I64 ||
                     dtype == DT_I4 || dtype == DT_I2;
    int bits = dtype_bits(dtype);
    *least = is_signed ? -ldexp(1, bits - 1) : 0;
    *most = ldexp(1, bits - is_signed) - 1;
}

bool dtype_is_number(Dtype dtype)
{
    return dtype == DT_F32 || dtype == DT_F64 || dtype == DT_I64;
}

void elements_load(Dtype dtype, const void *from, int64_t step, int64_t n, Number number, void *out)
{
    conversions[dtype].load[number](from, step, n, out);
}

void elements_store(Dtype dtype, void *to, int64_t n, Number number, const void *from)
{
    conversions[dtype].store[number](to, n, from);
}

void integers_order(Dtype dtype, int64_t *numbers, int64_t n)
{
    for (int64_t i = 0; dtype == DT_U64 && i < n; i++)
        numbers[i] = (int64_t)((uint64_t)numbers[i] ^ UINT64_C(1) << 63);
}

#define COPY_STEPS(n_bytes)                                                                        \
    for (int64_t i = 0; i < n; i++)                                                                \
    memcpy((char *)to + i * (n_bytes), (const char *)from + i * step * (n_bytes), (n_bytes))

void elements_copy(Dtype dtype, void *to, const void *from, int64_t step, int64_t n)
{
    int64_t n_bytes = element_bytes(dtype);
    if (step == 1 && n > 0)
        memcpy(to, from, (size_t)(n * n_bytes));
    else if (n_bytes == 1)
        COPY_STEPS(1);
    else if (n_bytes == 2)
        COPY_STEPS(2);
    else if (n_bytes == 4)
        COPY_STEPS(4);
    else if (n_bytes == 8)
        COPY_STEPS(8);
    else
        COPY_STEPS(16);
}

/* Maps a float to an integer in the same order: neighbours differ by one. */
static int64_t float_order(Dtype dtype, const void *at)
{
    int bits = dtype_bits(dtype);
    uint64_t raw = 0;
    memcpy(&raw, at, (size_t)element_bytes(dtype)); /* little-endian, like all data here */
    if (dtype == DT_F8E8M0)                         /* the type has no sign */
        return (int64_t)raw;
    uint64_t sign = UINT64_C(1) << (bits - 1);
    return raw & sign ? -(int64_t)(raw & ~sign) : (int64_t)raw;
}

int64_t element_ulps(Dtype dtype, const void *a, const void *b)
{
    double x, y;
    elements_load(dtype, a, 1, 1, NUMBER_F64, &x);
    elements_load(dtype, b, 1, 1, NUMBER_F64, &y);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y) ? 0 : INT64_MAX;
    uint64_t apart = (uint64_t)float_order(dtype, a) - (uint64_t)float_order(dtype, b);
    int64_t ulps = (int64_t)apart;
    if (float_order(dtype, a) < float_order(dtype, b))
        ulps = (int64_t)(0 - apart);
    return ulps < 0 ? INT64_MAX : ulps;
}
