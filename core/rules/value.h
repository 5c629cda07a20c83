/* value.h - values of tensors that are known at load: shape arithmetic and constants.
 *
 * A value is held as elements if it has at most VALUE_ELEMENTS_MAX, as an affine row (offset + sum
 * of coef[d] * coordinate d) if it is affine, as both if both hold, and as neither (`deferred`) if
 * it is known but large and not affine, such as a causal mask of 32k x 32k. Integers and bools are
 * int64, floats double. Values are immutable and interned: equal ids mean equal values (not the
 * converse).
 *
 * Coordinates stacked on a new last dim, as GatherND reads them, are affine by component: one row
 * for each place c of the last dim. Coefs of dims of size 1 (or 0) are 0.
 */
#ifndef CORE_RULES_VALUE_H
#define CORE_RULES_VALUE_H

#include "core/base/vec.h"
#include "core/model/dtype.h"
#include "core/model/shape.h"

enum { VALUE_ELEMENTS_MAX = 1 << 16, VALUE_COMPONENTS_MAX = DIMS_MAX };

/* The element at x is offset + sum of coef[d] * x[d]. */
typedef struct {
    int64_t offset, coef[DIMS_MAX];
} Affine;

typedef struct Sequence Sequence; /* core/rules/infer_sequence.c */

typedef struct {
    int32_t id;
    Dtype dtype;
    bool partly; /* some of `ints` are not known: sizes.h; inside inference alone */
    Shape shape;
    const Sequence *sequence; /* not a value, but what is known of a sequence; likewise */
    const int64_t *ints;  /* elements of an integer or bool value, row-major; NULL when not held */
    const double *floats; /* elements of a float value */
    bool affine;          /* integers only: element at x = offset + sum coef[d] * x[d] */
    union {
        struct {
            int64_t offset, coef[DIMS_MAX];
        };
        Affine row; /* the same two */
    };
    int n_components; /* 0, or the size of the last dim: element (x, c) is component[c] at x */
    const Affine *component;
} Value;

/* Elements given by the user for a tensor that is computed at run time; a rule that reads its
 * values uses them. Without elements: the shape of an input, which overrides the model's. */
typedef struct {
    Str tensor;  /* its name */
    Value value; /* held as elements, or deferred */
} GivenValue;
typedef Vec(GivenValue) GivenValues;

static inline bool value_is_deferred(const Value *value)
{
    return !value->ints && !value->floats && !value->affine && value->n_components == 0;
}

/* Element i in row-major order. Returns false when the value is deferred or a float. */
bool value_int_at(const Value *value, int64_t i, int64_t *out);

/* The single element of a value. Returns false when there are none or several, or it is unknown
 * (NULL, partly known, of a sequence) or no integer. */
bool value_one_int(const Value *value, int64_t *out);

/* Returns true when the value's elements are 0, 1, 2 .. n-1 in row-major order. */
bool value_is_iota(const Value *value);

/* The row of component c of the last dim; out's coef of the last dim is 0. Returns false when the
 * value is neither affine nor affine by component. */
bool value_component(const Value *value, int c, Affine *out);

/* The number of iterations of a Loop: at most `most`, as long as the condition is true (`begins`
 * before the first iteration, `goes_on` after each). A value is NULL if it is absent or known only
 * at run time; -1 if the answer is known only at run time. */
int64_t loop_trips(const Value *most, const Value *begins, const Value *goes_on);

#endif
