/* visit_memo.h - remembers the result of each visit of an op: words in, words out.
 *
 * A key is n words; its value is n - 1 words that replace the key's words from 1 on: word 0 says
 * which function was called, the others are the states that it may change. Entries are never
 * removed; they are found by an index, which stays valid.
 */
#ifndef CORE_PROPAGATE_VISIT_MEMO_H
#define CORE_PROPAGATE_VISIT_MEMO_H

#include "core/base/vec.h"

#include <string.h>

typedef struct {
    uint32_t *slot; /* place in words + 1, 0 when empty */
    uint32_t n_slots, n_used;
    Vec(int32_t) words; /* per entry: 2n + whether it changes nothing, hash, key, value */
} VisitMemo;

enum { MEMO_HEAD = 2 };

/* The hash of a key, word by word. */
static inline uint64_t visit_memo_hash(uint64_t hash, int32_t word)
{
    return (hash ^ (uint32_t)word) * 0xD6E8FEB86659FD93u;
}

/* The index of an entry, or -1. hash: visit_memo_hash() over the key's words, from n on. */
int32_t visit_memo_find(const VisitMemo *memo, uint64_t hash, const int32_t *key, int n);
int32_t visit_memo_put(VisitMemo *memo, Arena *arena, uint64_t hash, const int32_t *key, int n,
                       const int32_t *value);

static inline bool visit_memo_is(const VisitMemo *memo, int32_t at, uint64_t hash,
                                 const int32_t *key, int n)
{
    const int32_t *entry = memo->words.at + at;
    if (entry[0] >> 1 != n || entry[1] != (int32_t)(hash >> 32))
        return false;
    for (int i = 0; i < n; i++)
        if (entry[MEMO_HEAD + i] != key[i])
            return false;
    return true;
}

/* The value of an entry; NULL: it changes nothing. */
static inline const int32_t *visit_memo_value(const VisitMemo *memo, int32_t at)
{
    const int32_t *entry = memo->words.at + at;
    return entry[0] & 1 ? NULL : entry + MEMO_HEAD + (entry[0] >> 1);
}

#endif
