/* owned.h - what a rank owns of a dim, straight from what cut.h says of digits and of blocks. */
#ifndef TESTS_UNIT_OWNED_H
#define TESTS_UNIT_OWNED_H

#include "core/layout/cut.h"

static inline bool in_digit(const Digit *digit, const Mesh *mesh, int64_t position, int64_t value)
{
    int64_t lo, hi;
    digit_interval(digit, mesh, position, &lo, &hi);
    return lo <= value && value < hi;
}

static inline bool rank_owns(const Cut *cut, const Mesh *mesh, int64_t position, int64_t index)
{
    for (int i = 0; cut_is_blocks(cut) && i < cut->n; index -= cut->digit[i++].size)
        if (index < cut->digit[i].size)
            return in_digit(&cut->digit[i], mesh, position, index);
    for (int i = (int)cut->n - 1; i >= 0; i--) {
        if (!in_digit(&cut->digit[i], mesh, position, index % cut->digit[i].size))
            return false;
        index /= cut->digit[i].size;
    }
    return true;
}

#endif
