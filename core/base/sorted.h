/* sorted.h - binary search in ascending numbers. */
#ifndef CORE_BASE_SORTED_H
#define CORE_BASE_SORTED_H

#include <stdint.h>

/* The index of the first number that is at least `value`; n if there is none. */
static inline int32_t sorted_place(const int64_t *sorted, int32_t n, int64_t value)
{
    int32_t low = 0, high = n;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (sorted[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
