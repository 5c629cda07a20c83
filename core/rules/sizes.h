/* sizes.h - sizes that are not known: unbound free dims, and counts known only at run time.
 *
 * A dim of a shape whose size is not known is a negative number that names its Size. Rules do not
 * handle this: inference runs a rule with each of several numbers in place of the unknown sizes. A
 * dim whose result is always the same is known; a dim whose results are the numbers of a Size is
 * that size; any other is a new Size, so that `seq + 1` computed in two places is the same size.
 * The numbers are primes, first large, then smaller, then small, then 2, so that clipping at 1024,
 * at 64 or at 8 is noticed. A rule may refuse small numbers, if for example a window does not fit;
 * then smaller ones are not tried. Elements of values (shape arithmetic) are handled the same way:
 * INT64_MIN + 1 + the Size's number.
 */
#ifndef CORE_RULES_SIZES_H
#define CORE_RULES_SIZES_H

#include "core/model/shape.h"

enum { SIZE_UNNAMED = -1 }; /* a rule's answer: known only at run time */
enum { SAMPLES = 4, SAMPLES_NEEDED = 2 };

/* The numbers tried for a size, or computed from those: the first n, at least SAMPLES_NEEDED; the
 * rest are 0. */
typedef struct {
    int64_t n, at[SAMPLES];
} SizeSamples;

static inline SizeSamples samples_of_number(int64_t number)
{
    return (SizeSamples){SAMPLES, {number, number, number, number}};
}

bool samples_equal(const SizeSamples *a, const SizeSamples *b); /* as far as both go */

typedef struct {
    const char *name; /* "batch", "2*seq", "NonZero_12.1" */
    SizeSamples samples;
    bool computed; /* the name is a formula */
    bool late;     /* it, or one it is computed from, is known only at run time */
} Size;

typedef struct Sizes Sizes;

Sizes *sizes_new(Arena *arena);

/* The size of that name; a new one if there is none. */
int64_t sizes_named(Sizes *sizes, Str name, bool late);
/* The size with these numbers: an existing one, or a new one named by the formula it is computed
 * with if that is simple; SIZE_UNNAMED otherwise. */
int64_t sizes_computed(Sizes *sizes, const SizeSamples *samples, bool late);
/* The same, but a new one gets the name. */
int64_t sizes_add(Sizes *sizes, Str name, const SizeSamples *samples, bool late);

int sizes_count(const Sizes *sizes);
const Size *sizes_at(const Sizes *sizes, int64_t dim); /* of a dim below -1 */

bool shape_is_known(const Shape *shape); /* no dim is unknown */
/* Applies shape_check() to the known part: an unknown dim may have size 1. */
bool shape_check_known(const Shape *shape, Error *err);

/* Elements of values. */
int64_t size_element(int64_t dim);                /* a dim below -1 as an element */
bool element_size(int64_t element, int64_t *dim); /* true: it is one */

#endif
