/* sizes.h - sizes that are not known: free dims nobody bound, and counts that only the run tells.
 *
 * A dim of a shape whose size is not known is a negative number that names its Size. Rules know
 * nothing of this: inference runs a rule with each of the numbers that stand for the unknown sizes.
 * A dim that always comes out equal is known; one that comes out as the numbers of a Size is that
 * size; any others are a new Size, so that `seq + 1` made in two places is one. The numbers are
 * primes, first large, then smaller, then small ones, so that a clip at 1024 or at 64 is seen as
 * one. A rule may refuse the small ones, a window that does not fit: they are then left out.
 * Elements of values (shape arithmetic) are treated alike: INT64_MIN + 1 + the Size's number.
 */
#ifndef CORE_RULES_SIZES_H
#define CORE_RULES_SIZES_H

#include "core/model/shape.h"

enum { SIZE_UNNAMED = -1 }; /* a rule's answer: only the run tells */
enum { STANDS = 3, STANDS_NEEDED = 2 };

typedef struct {
    const char *name;      /* "batch", "2*seq", "NonZero_12.1" */
    int64_t stand[STANDS]; /* the numbers that stand for it; the last below 0: left out */
    bool computed;         /* the name is a formula */
    bool late;             /* only the run tells it, or one it is computed from */
} Size;

typedef struct Sizes Sizes;

Sizes *sizes_new(Arena *arena);

/* The size of that name; made when there is none. */
int64_t sizes_named(Sizes *sizes, Str name, bool late);
/* The size that these numbers stand for, named by what it is computed from where that is simple;
 * SIZE_UNNAMED when it is neither there nor simple. */
int64_t sizes_computed(Sizes *sizes, const int64_t *stand, bool late);
/* The same, but a new one gets the name. */
int64_t sizes_add(Sizes *sizes, Str name, const int64_t *stand, bool late);

int sizes_count(const Sizes *sizes);
const Size *sizes_at(const Sizes *sizes, int64_t dim); /* of a dim below -1 */

bool shape_is_known(const Shape *shape); /* no dim is unknown */
/* shape_check() of what is known: an unknown dim may be of size 1. */
bool shape_check_known(const Shape *shape, Error *err);

/* Elements of values. */
int64_t size_element(int64_t dim);                /* a dim below -1 as an element */
bool element_size(int64_t element, int64_t *dim); /* true: it is one */

#endif
