/* breaks.h - ten ways in which a part of a value can be wrong. */
#ifndef TESTS_UNIT_BREAKS_H
#define TESTS_UNIT_BREAKS_H

#include "core/run/element.h"
#include "core/run/local.h"

#include <math.h>
#include <string.h>

typedef struct {
    const char *name;
    void (*break_at)(Local *out, int64_t n, int64_t at); /* at: its largest element */
} BreakWay;

static inline double get(const Local *out, int64_t i)
{
    return local_number(out, i);
}

static inline void set(Local *out, int64_t i, double x)
{
    local_store(out, i, 1, NUMBER_F64, &x);
}

static inline void one_element(Local *out, int64_t n, int64_t at)
{
    (void)n;
    set(out, at, get(out, at) * 1.25 + (dtype_is_float(out->dtype) ? 0.25 : 1));
}

static inline void not_a_number(Local *out, int64_t n, int64_t at)
{
    (void)n;
    if (dtype_is_float(out->dtype))
        set(out, at, NAN);
}

static inline void stale(Local *out, int64_t n, int64_t at)
{
    (void)at;
    memset(local_at(out, 0), 0, (size_t)n * (size_t)element_bytes(out->dtype));
}

static inline void doubled_addend(Local *out, int64_t n, int64_t at)
{
    (void)at;
    for (int64_t i = 0; i < n; i++)
        set(out, i, 2 * get(out, i));
}

static inline void lost_addend(Local *out, int64_t n, int64_t at)
{
    (void)n;
    set(out, at, 0);
}

static inline void off_by_one(Local *out, int64_t n, int64_t at)
{
    (void)at;
    for (int64_t i = n - 1; i > 0; i--)
        set(out, i, get(out, i - 1));
}

static inline void transposed(Local *out, int64_t n, int64_t at)
{
    int64_t other = at > 0 ? at - 1 : n - 1;
    double x = get(out, at), y = get(out, other);
    set(out, at, y);
    set(out, other, x);
}

static inline void negated(Local *out, int64_t n, int64_t at)
{
    (void)n;
    set(out, at, -get(out, at));
}

static inline void rounded(Local *out, int64_t n, int64_t at) /* to four bits */
{
    (void)at;
    for (int64_t i = 0; i < n && dtype_is_float(out->dtype); i++) {
        int exponent;
        double fraction = frexp(get(out, i), &exponent);
        set(out, i, ldexp(rint(fraction * 16) / 16, exponent));
    }
}

static inline void reversed(Local *out, int64_t n, int64_t at)
{
    (void)at;
    for (int64_t i = 0; i < n / 2; i++) {
        double x = get(out, i), y = get(out, n - 1 - i);
        set(out, i, y);
        set(out, n - 1 - i, x);
    }
}

static const BreakWay ways[] = {
    {"one element", one_element},       {"NaN", not_a_number},        {"stale", stale},
    {"doubled addend", doubled_addend}, {"lost addend", lost_addend}, {"off by one", off_by_one},
    {"transposed", transposed},         {"negated", negated},         {"rounded", rounded},
    {"another rank's part", reversed},
};
enum { N_WAYS = sizeof ways / sizeof *ways };

static inline int64_t largest_of(const Local *out, int64_t n)
{
    int64_t most = 0;
    for (int64_t i = 1; i < n; i++)
        most = fabs(get(out, i)) > fabs(get(out, most)) ? i : most;
    return most;
}

/* Whether a rank's part differs clearly from what it was: by a tenth of an element, and by more
 * than the step by which quantized numbers round. */
static inline bool part_differs(const Local *was, const Local *is, int64_t n)
{
    double least = dtype_is_float(was->dtype) || was->dtype == DT_BOOL ? 0 : 1;
    for (int64_t i = 0; i < n; i++) {
        double a = get(was, i), b = get(is, i);
        if (isnan(a) != isnan(b) || fabs(a - b) > fmax(least, 0.1 * fabs(a)))
            return true;
    }
    return false;
}

/* Breaks the part; whether it differs clearly. */
static inline bool break_part(Local *part, const BreakWay *way)
{
    int64_t n = shape_elements(&part->shape);
    if (n == 0)
        return false;
    Local *was = local_copy(part);
    way->break_at(part, n, largest_of(part, n));
    bool differs = part_differs(was, part, n);
    local_free(was);
    return differs;
}

#endif
