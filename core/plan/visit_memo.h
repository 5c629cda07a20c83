/* visit_memo.h - what a visit of an op gave the last time: words in, words out.
 *
 * A key is n words; its value n - 1 words, which stand for the key's words from 1 on: word 0 says
 * which function was asked, the others are the states that it may change. Entries are never
 * forgotten; they are found by place, which stays.
 */
#ifndef CORE_PLAN_VISIT_MEMO_H
#define CORE_PLAN_VISIT_MEMO_H

#include "core/base/vec.h"

#include <string.h>

typedef struct {
    uint32_t *slot; /* place in words + 1, 0 when empty */
    uint32_t n_slots, n_used;
    Vec(int32_t) words; /* per entry: n, whether value equals key, key, value */
} VisitMemo;

enum { MEMO_HEAD = 2 };

/* The place of an entry, or -1. */
int32_t visit_memo_find(const VisitMemo *memo, const int32_t *key, int n);
int32_t visit_memo_put(VisitMemo *memo, Arena *arena, const int32_t *key, int n,
                       const int32_t *value);

static inline bool visit_memo_is(const VisitMemo *memo, int32_t at, const int32_t *key, int n)
{
    const int32_t *entry = memo->words.at + at;
    if (entry[0] != n)
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
    return entry[1] ? NULL : entry + MEMO_HEAD + entry[0];
}

#endif
