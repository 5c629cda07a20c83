#include "core/propagate/visit_memo.h"

static uint32_t free_slot(const uint32_t *slot, uint32_t n_slots, uint32_t hash)
{
    uint32_t place = hash & (n_slots - 1);
    while (slot[place])
        place = (place + 1) & (n_slots - 1);
    return place;
}

static void grow(VisitMemo *memo, Arena *arena)
{
    uint32_t n = memo->n_slots ? memo->n_slots * 2 : 4096;
    uint32_t *slot = arena_array(arena, uint32_t, n);
    for (uint32_t i = 0; i < memo->n_slots; i++)
        if (memo->slot[i])
            slot[free_slot(slot, n, (uint32_t)memo->words.at[memo->slot[i]])] = memo->slot[i];
    memo->slot = slot;
    memo->n_slots = n;
}

int32_t visit_memo_find(const VisitMemo *memo, uint64_t hash, const int32_t *key, int n)
{
    if (memo->n_slots == 0)
        return -1;
    uint32_t place = (uint32_t)(hash >> 32) & (memo->n_slots - 1);
    for (; memo->slot[place]; place = (place + 1) & (memo->n_slots - 1))
        if (visit_memo_is(memo, (int32_t)memo->slot[place] - 1, hash, key, n))
            return (int32_t)memo->slot[place] - 1;
    return -1;
}

int32_t visit_memo_put(VisitMemo *memo, Arena *arena, uint64_t hash, const int32_t *key, int n,
                       const int32_t *value)
{
    if (memo->n_used * 2 >= memo->n_slots)
        grow(memo, arena);
    int32_t at = memo->words.n;
    uint32_t top = (uint32_t)(hash >> 32);
    bool same = memcmp(value, key + 1, (size_t)(n - 1) * sizeof *value) == 0;
    memo->slot[free_slot(memo->slot, memo->n_slots, top)] = (uint32_t)at + 1;
    memo->n_used++;
    vec_push(arena, &memo->words, n * 2 + same);
    vec_push(arena, &memo->words, (int32_t)top);
    for (int i = 0; i < n; i++)
        vec_push(arena, &memo->words, key[i]);
    for (int i = 0; i < n - 1; i++)
        vec_push(arena, &memo->words, value[i]);
    return at;
}
