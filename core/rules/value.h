/* value.h - what is known of a tensor before anything runs: shape arithmetic and constants.
 *
 * A value is held as elements where it has at most VALUE_ELEMENTS_MAX, as an affine row
 * (offset + sum of coef[d] * coordinate d) where it is one, both where both hold, and as neither
 * (`deferred`) where it is known but large and not affine: a causal mask of 32k x 32k. Integers and
 * bools are int64, floats double. Values are immutable and interned: equal ids mean equal values
 * (not the converse).
 */
#ifndef CORE_RULES_VALUE_H
#define CORE_RULES_VALUE_H

#include "core/model/dtype.h"
#include "core/model/shape.h"

enum { VALUE_ELEMENTS_MAX = 1 << 16 };

typedef struct {
    int32_t id;
    Dtype dtype;
    Shape shape;
    const int64_t *ints;  /* elements of an integer or bool value, row-major; NULL when not held */
    const double *floats; /* elements of a float value */
    bool affine;          /* integers only: element at x = offset + sum coef[d] * x[d] */
    int64_t offset, coef[DIMS_MAX];
} Value;

static inline bool value_is_deferred(const Value *value)
{
    return !value->ints && !value->floats && !value->affine;
}

/* Element i in row-major order. False when the value is deferred or a float. */
bool value_int_at(const Value *value, int64_t i, int64_t *out);

/* True when the value's elements are 0, 1, 2 .. n-1 in row-major order. */
bool value_is_iota(const Value *value);

#endif
