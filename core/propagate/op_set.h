/* op_set.h - a set of ops, one bit each, iterated in program order or backwards. */
#ifndef CORE_PROPAGATE_OP_SET_H
#define CORE_PROPAGATE_OP_SET_H

#include "core/base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint64_t Word;
typedef struct {
    Word *word; /* bit per op */
} OpSet;

static inline OpSet set_new(Arena *arena, int n_words)
{
    return (OpSet){arena_array(arena, Word, n_words)};
}

static inline void set_clear(OpSet *set, int n_words)
{
    memset(set->word, 0, (size_t)n_words * sizeof *set->word);
}

static inline void set_add(OpSet *set, int32_t op)
{
    set->word[op >> 6] |= (Word)1 << (op & 63);
}

static inline void set_drop(OpSet *set, int32_t op)
{
    set->word[op >> 6] &= ~((Word)1 << (op & 63));
}

static inline bool set_has(const OpSet *set, int32_t op)
{
    return set->word[op >> 6] >> (op & 63) & 1;
}

/* The first member in [from, to); `to` if there is none. */
static inline int32_t set_next(const OpSet *set, int32_t from, int32_t to)
{
    if (from >= to)
        return to;
    int w = from >> 6, last = (to - 1) >> 6;
    Word word = set->word[w] >> (from & 63) << (from & 63);
    while (!word && ++w <= last)
        word = set->word[w];
    int32_t found = word ? w * 64 + __builtin_ctzll(word) : to;
    return found < to ? found : to;
}

/* The last member in (to, from], going down; `to` if there is none. */
static inline int32_t set_before(const OpSet *set, int32_t from, int32_t to)
{
    if (from <= to)
        return to;
    int w = from >> 6, last = (to + 1) >> 6;
    Word word = set->word[w] << (63 - (from & 63)) >> (63 - (from & 63));
    while (!word && --w >= last)
        word = set->word[w];
    int32_t found = word ? w * 64 + 63 - __builtin_clzll(word) : to;
    return found > to ? found : to;
}

#endif
