#include "core/model/dense.h"

#include "core/model/small_float.h"

#include <math.h>
#include <stdlib.h>

/* ---- one number ---- */

/* Bits of a float of so many bits of exponent and mantissa, rounded to nearest even. */
static uint16_t short_float(double x, int exponent_bits, int mantissa_bits)
{
    int bias = (1 << (exponent_bits - 1)) - 1, exponent;
    uint16_t sign = (uint16_t)(signbit(x) ? 1u << 15 : 0);
    uint16_t infinity = (uint16_t)(((1u << exponent_bits) - 1) << mantissa_bits);
    if (isnan(x))
        return (uint16_t)(sign | infinity | 1u << (mantissa_bits - 1));
    x = fabs(x);
    if (x == 0)
        return sign;
    frexp(x, &exponent); /* x = m * 2^exponent, m in [0.5, 1) */
    exponent = exponent - 1 < 1 - bias ? 1 - bias : exponent - 1;
    if (exponent > bias)
        return (uint16_t)(sign | infinity);
    /* the subnormal ones have the exponent 1 - bias, and no leading bit */
    double steps = nearbyint(ldexp(x, mantissa_bits - exponent));
    uint32_t bits = (uint32_t)steps + ((uint32_t)(exponent + bias - 1) << mantissa_bits);
    return (uint16_t)(sign | (bits < infinity ? bits : infinity));
}

static void store_float(double x, Dtype dtype, void *out)
{
    float narrow = (float)x;
    uint16_t bits;
    switch (dtype_bits(dtype)) {
    case 64:
        memcpy(out, &x, sizeof x);
        return;
    case 32:
        memcpy(out, &narrow, sizeof narrow);
        return;
    case 16:
        bits = dtype == DT_F16 ? short_float(x, 5, 10) : short_float(x, 8, 7);
        memcpy(out, &bits, sizeof bits);
        return;
    default:
        *(uint8_t *)out = small_float_bits(dtype, narrow, true, POWER_NEAREST);
    }
}

enum { NUMBER_BYTES_MAX = 63 };

/* "-1", "18446744073709551615", "0x7FC00000" */
static bool read_whole(Str token, uint64_t *out)
{
    char text[NUMBER_BYTES_MAX + 1], *end;
    if (token.n > NUMBER_BYTES_MAX)
        return false;
    memcpy(text, token.s, token.n);
    text[token.n] = '\0';
    *out = token.s[0] == '-' ? (uint64_t)strtoll(text, &end, 0) : strtoull(text, &end, 0);
    return end == text + token.n;
}

/* Bytes of an element in memory. */
static size_t size_of(Dtype dtype)
{
    return dtype_bits(dtype) < 8 ? 1 : (size_t)dtype_bits(dtype) / 8;
}

static bool store_token(Str token, Dtype dtype, void *out)
{
    uint64_t whole;
    double real;
    bool bits = str_starts(token, STR("0x")) || str_starts(token, STR("0X"));
    if (str_eq(token, STR("true")) || str_eq(token, STR("false"))) {
        memset(out, 0, size_of(dtype));
        *(uint8_t *)out = token.n == 4;
        return true;
    }
    if (dtype_is_float(dtype) && !bits) {
        if (!str_to_real(token, &real))
            return false;
        store_float(real, dtype, out);
        return true;
    }
    if (!read_whole(token, &whole))
        return false;
    if (dtype == DT_BOOL)
        whole = whole != 0;
    memcpy(out, &whole, size_of(dtype));
    return true;
}

/* ---- hexadecimal bytes ---- */

static int digit_of(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static int byte_at(Str digits, size_t i)
{
    int high = digit_of(digits.s[2 * i]), low = digit_of(digits.s[2 * i + 1]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Elements of less than a byte take one each here; bools may be packed eight to a byte. */
static bool read_bytes(Str digits, Dtype dtype, int64_t n, uint8_t *out, Error *err)
{
    size_t size = size_of(dtype), n_bytes = digits.n / 2, wanted = (size_t)n * size;
    bool packed = dtype == DT_BOOL && n > 1 && n_bytes == ((size_t)n + 7) / 8;
    size_t period = n_bytes == size ? size : wanted;
    if (digits.n % 2 != 0 || (!packed && n_bytes != wanted && n_bytes != size))
        return error_kind(err, ERROR_UNREADABLE,
                          "%lld elements of %s take %zu bytes, there are %zu", (long long)n,
                          dtype_name(dtype), wanted, n_bytes);
    for (size_t i = 0; i < wanted; i++) {
        int byte = byte_at(digits, packed ? i / 8 : period ? i % period : 0);
        if (byte < 0)
            return error_kind(err, ERROR_UNREADABLE,
                              "a digit of the elements is no hexadecimal one");
        out[i] = (uint8_t)(packed ? byte >> (i % 8) & 1 : dtype == DT_BOOL ? byte != 0 : byte);
    }
    return true;
}

/* ---- lists ---- */

static bool is_between(char c)
{
    return c == ' ' || c == ',' || c == '[' || c == ']' || c == '(' || c == ')' || c == '\n' ||
           c == '\t' || c == '\r';
}

/* each: tokens of one element, which stands for all if it is alone. */
static bool read_tokens(Str list, Dtype dtype, int64_t n, int64_t each, char *out, Error *err)
{
    size_t size = size_of(dtype);
    int64_t found = 0;
    for (const char *at = list.s, *end = list.s + list.n;;) {
        while (at < end && is_between(*at))
            at++;
        if (at == end)
            break;
        const char *from = at;
        while (at < end && !is_between(*at))
            at++;
        Str token = {from, (size_t)(at - from)};
        if (found == n || !store_token(token, dtype, out + (size_t)found * size))
            return error_kind(err, ERROR_UNREADABLE, "'%.*s' is no element %lld of %lld of %s",
                              (int)(token.n < 40 ? token.n : 40), token.s, (long long)found + 1,
                              (long long)n, dtype_name(dtype));
        found++;
    }
    if (found == n)
        return true;
    if (found != each)
        return error_kind(err, ERROR_UNREADABLE, "there are %lld elements of %lld",
                          (long long)found, (long long)n);
    for (int64_t i = each; i < n; i += each)
        memcpy(out + (size_t)i * size, out, (size_t)each * size);
    return true;
}

bool dense_read(Str text, Dtype dtype, int64_t n, void *out, Error *err)
{
    const char *open = memchr(text.s, '<', text.n), *close = text.s + text.n;
    while (close > text.s && close[-1] != '>')
        close--;
    if (!open || close - open < 2)
        return error_kind(err, ERROR_UNREADABLE, "the elements are no `dense<..>`");
    Str inside = str_trim((Str){open + 1, (size_t)(close - open) - 2});
    bool pairs = dtype == DT_C64 || dtype == DT_C128;
    if (pairs) {
        dtype = dtype == DT_C64 ? DT_F32 : DT_F64;
        n *= 2;
    }
    if (n == 0)
        return true;
    bool bytes = str_starts(inside, STR("\"0x"));
    if (bytes)
        return read_bytes((Str){inside.s + 3, inside.n - 4}, dtype, n, out, err);
    return read_tokens(inside, dtype, n, pairs ? 2 : 1, out, err);
}
