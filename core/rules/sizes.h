/* sizes.h - sizes that are not known: free dims nobody bound, and counts that only the run tells.
 *
 * A dim of a shape whose size is not known is a negative number that names its Size. Rules know
 * nothing of this: inference runs a rule with each of the numbers that stand for the unknown sizes.
 * A dim that always comes out equal is known; one that comes out as the numbers of a Size is that
 * size; any others are a new Size, so that `seq + 1` made in two places is one. The numbers are
 * primes, first large, then smaller, then small, then 2, so that a clip at 1024, at 64 or at 8 is
 * seen as one. A rule may refuse the small ones, a window that does not fit: it is tried no
 * further. Elements of values (shape arithmetic) are treated alike: INT64_MIN + 1 + the Size's
 * number.
 */
#ifndef CORE_RULES_SIZES_H
#define CORE_RULES_SIZES_H

#include "core/model/shape.h"

enum { SIZE_UNNAMED = -1 }; /* a rule's answer: only the run tells */
enum { STANDS = 4, STANDS_NEEDED = 2 };

/* The numbers that stand for a size, or what comes out of them: the first n, STANDS_NEEDED at
 * least. Those after them are 0. */
typedef struct {
    int64_t n, at[STANDS];
} Stands;

static inline Stands stands_of_number(int64_t number)
{
    return (Stands){STANDS, {number, number, number, number}};
}

bool stands_equal(const Stands *a, const Stands *b); /* as far as both go */

typedef struct {
    const char *name; /* "batch", "2*seq", "NonZero_12.1" */
    Stands stands;
    bool computed; /* the name is a formula */
    bool late;     /* only the run tells it, or one it is computed from */
} Size;

typedef struct Sizes Sizes;

Sizes *sizes_new(Arena *arena);

/* The size of that name; made when there is none. */
int64_t sizes_named(Sizes *sizes, Str name, bool late);
/* The size that these numbers stand for, named by what it is computed from where that is simple;
 * SIZE_UNNAMED when it is neither there nor simple. */
int64_t sizes_computed(Sizes *sizes, const Stands *stands, bool late);
/* The same, but a new one gets the name. */
int64_t sizes_add(Sizes *sizes, Str name, const Stands *stands, bool late);

int sizes_count(const Sizes *sizes);
const Size *sizes_at(const Sizes *sizes, int64_t dim); /* of a dim below -1 */

bool shape_is_known(const Shape *shape); /* no dim is unknown */
/* shape_check() of what is known: an unknown dim may be of size 1. */
bool shape_check_known(const Shape *shape, Error *err);

/* Elements of values. */
int64_t size_element(int64_t dim);                /* a dim below -1 as an element */
bool element_size(int64_t element, int64_t *dim); /* true: it is one */

#endif
