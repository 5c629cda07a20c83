#include "core/model/small_float.h"

#include <math.h>

/* What the highest bit patterns of a type stand for. */
typedef enum {
    ALL_FINITE, /* ordinary numbers */
    IEEE,       /* highest exponent: infinity and NaN */
    ONE_NAN,    /* all bits set: NaN */
    NEGATIVE_0  /* -0 is the only NaN */
} Specials;

typedef struct {
    int exponent, mantissa, bias; /* bits, bits */
    Specials specials;
    float most;
} Format;

static Format format_of(Dtype dtype)
{
    switch ((int)dtype) {
    case DT_F8E4M3FN:
        return (Format){4, 3, 7, ONE_NAN, 448};
    case DT_F8E4M3FNUZ:
        return (Format){4, 3, 8, NEGATIVE_0, 240};
    case DT_F8E5M2:
        return (Format){5, 2, 15, IEEE, 57344};
    case DT_F8E5M2FNUZ:
        return (Format){5, 2, 16, NEGATIVE_0, 57344};
    case DT_F6E2M3:
        return (Format){2, 3, 1, ALL_FINITE, 7.5F};
    case DT_F6E3M2:
        return (Format){3, 2, 3, ALL_FINITE, 28};
    default:
        return (Format){2, 1, 1, ALL_FINITE, 6}; /* f4e2m1 */
    }
}

enum { POWER_BIAS = 127, POWER_NAN = 255 };

float small_float_number(Dtype dtype, uint8_t bits)
{
    if (dtype == DT_F8E8M0)
        return bits == POWER_NAN ? NAN : ldexpf(1, bits - POWER_BIAS);
    Format f = format_of(dtype);
    int mantissa = bits & ((1 << f.mantissa) - 1);
    int exponent = bits >> f.mantissa & ((1 << f.exponent) - 1);
    int sign = bits >> (f.mantissa + f.exponent) & 1;
    bool highest = exponent == (1 << f.exponent) - 1;
    if ((f.specials == NEGATIVE_0 && sign && exponent == 0 && mantissa == 0) ||
        (f.specials == ONE_NAN && highest && mantissa == (1 << f.mantissa) - 1) ||
        (f.specials == IEEE && highest && mantissa != 0))
        return NAN;
    float x = f.specials == IEEE && highest ? INFINITY
              : exponent == 0
                  ? ldexpf((float)mantissa, 1 - f.bias - f.mantissa)
                  : ldexpf((float)(mantissa + (1 << f.mantissa)), exponent - f.bias - f.mantissa);
    return sign ? -x : x;
}

static uint8_t power_bits(float x, bool saturate, PowerRounding rounding)
{
    enum { MOST = POWER_NAN - 1 };
    int exponent;
    if (isnan(x))
        return POWER_NAN;
    if (isinf(x))
        return saturate ? MOST : POWER_NAN;
    if (!(x > 0))
        return saturate ? 0 : POWER_NAN;
    float mantissa = frexpf(x, &exponent) * 2; /* 1 <= mantissa < 2 */
    exponent -= 1;
    exponent +=
        (rounding == POWER_UP && mantissa > 1) || (rounding == POWER_NEAREST && mantissa >= 1.5F);
    int bits = exponent + POWER_BIAS;
    if (bits < 0 || bits > MOST)
        return !saturate ? POWER_NAN : bits < 0 ? 0 : MOST;
    return (uint8_t)bits;
}

/* Exponent and mantissa of a magnitude within range. */
static int size_bits(const Format *f, float size)
{
    int least = 1 - f->bias; /* exponent of the smallest numbers with a leading 1 */
    int exponent = size > 0 ? ilogbf(size) : least;
    if (exponent < least)
        exponent = least;
    int steps = (int)rintf(ldexpf(size, f->mantissa - exponent));
    return ((exponent - least) << f->mantissa) + steps; /* the leading 1 increments the exponent */
}

uint8_t small_float_bits(Dtype dtype, float x, bool saturate, PowerRounding rounding)
{
    if (dtype == DT_F8E8M0)
        return power_bits(x, saturate, rounding);
    Format f = format_of(dtype);
    int sign = (signbit(x) ? 1 : 0) << (f.mantissa + f.exponent);
    int highest = ((1 << f.exponent) - 1) << f.mantissa, full = highest | ((1 << f.mantissa) - 1);
    int most = size_bits(&f, f.most);
    int bits = isnan(x) || fabsf(x) > 2 * f.most ? most + 1 : size_bits(&f, fabsf(x));
    if (!isnan(x) && bits > most && (saturate || f.specials == ALL_FINITE))
        bits = most;
    if (bits <= most)
        return (uint8_t)(f.specials == NEGATIVE_0 && bits == 0 ? 0 : sign | bits);
    switch (f.specials) {
    case ALL_FINITE: /* no NaN in this type */
        return (uint8_t)(1 << (f.mantissa + f.exponent));
    case IEEE:
        return (uint8_t)(sign | (isnan(x) ? highest | 1 << (f.mantissa - 1) : highest));
    case ONE_NAN:
        return (uint8_t)(sign | full);
    case NEGATIVE_0:
        return (uint8_t)(1 << (f.mantissa + f.exponent));
    }
    return 0;
}
