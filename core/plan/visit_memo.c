#include "core/plan/visit_memo.h"

static uint32_t hash_words(const int32_t *word, int n)
{
    uint64_t h = 0x9E3779B97F4A7C15u;
    for (int i = 0; i < n; i++)
        h = (h ^ (uint32_t)word[i]) * 0xD6E8FEB86659FD93u;
    return (uint32_t)(h >> 32);
}

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
    for (uint32_t i = 0; i < memo->n_slots; i++) {
        if (!memo->slot[i])
            continue;
        const int32_t *entry = memo->words.at + memo->slot[i] - 1;
        slot[free_slot(slot, n, hash_words(entry + MEMO_HEAD, entry[0]))] = memo->slot[i];
    }
    memo->slot = slot;
    memo->n_slots = n;
}

int32_t visit_memo_find(const VisitMemo *memo, const int32_t *key, int n)
{
    if (memo->n_slots == 0)
        return -1;
    uint32_t place = hash_words(key, n) & (memo->n_slots - 1);
    for (; memo->slot[place]; place = (place + 1) & (memo->n_slots - 1))
        if (visit_memo_is(memo, (int32_t)memo->slot[place] - 1, key, n))
            return (int32_t)memo->slot[place] - 1;
    return -1;
}

int32_t visit_memo_put(VisitMemo *memo, Arena *arena, const int32_t *key, int n,
                       const int32_t *value)
{
    if (memo->n_used * 2 >= memo->n_slots)
        grow(memo, arena);
    int32_t at = memo->words.n;
    memo->slot[free_slot(memo->slot, memo->n_slots, hash_words(key, n))] = (uint32_t)at + 1;
    memo->n_used++;
    vec_push(arena, &memo->words, n);
    vec_push(arena, &memo->words, memcmp(value, key + 1, (size_t)(n - 1) * sizeof *value) == 0);
    for (int i = 0; i < n; i++)
        vec_push(arena, &memo->words, key[i]);
    for (int i = 0; i < n - 1; i++)
        vec_push(arena, &memo->words, value[i]);
    return at;
}
