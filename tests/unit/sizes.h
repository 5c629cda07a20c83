/* sizes.h - digits in parts of random sizes. */
#ifndef TESTS_UNIT_SIZES_H
#define TESTS_UNIT_SIZES_H

#include "tests/unit/random.h"

#include "core/layout/weights.h"

/* Where a digit has an element for each part, and the mesh room for the list. */
static inline void give_sizes(Digit *digit, const Mesh *mesh)
{
    int64_t size[32], n = 1;
    Cut cut;
    for (int i = 0; i < digit->n; i++)
        n *= mesh->atoms[digit->atom[i]].size;
    if (n < 2 || n > 32 || digit->size < n)
        return;
    for (int i = 0; i < n; i++)
        size[i] = 1;
    for (int64_t left = digit->size - n; left > 0; left--)
        size[pick((int)n)]++;
    if (cut_sized(digit->size, size, (int)n, digit->atom, digit->n, mesh, &cut, NULL))
        *digit = cut.digit[0];
}

/* One of `of` digits that are sharded. */
static inline void some_sizes(Cut *cut, const Mesh *mesh, int of)
{
    for (int i = 0; !cut_is_blocks(cut) && i < cut->n; i++)
        if (pick(of) == 0)
            give_sizes(&cut->digit[i], mesh);
    cut_canonical(cut, mesh);
}

#endif
