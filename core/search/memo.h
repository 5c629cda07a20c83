/* memo.h - what one search keeps for the next: prices of moves, and what choices cost.
 *
 * Everything is known by what it is about, never by where it stands: nodes with the same choices
 * share a set, an op's time is known by the set and the op's space, the moves of a value by the
 * sets of its maker and of its readers. So the layers of a model share what they cost, also where
 * each is searched by itself, and behind a pin only what the pin changed is priced.
 *
 * A memo is about one mesh, machine and model; a search about others empties it as far as it has
 * to. It is used by one search at a time.
 */
#ifndef CORE_SEARCH_MEMO_H
#define CORE_SEARCH_MEMO_H

#include "core/base/intern.h"
#include "core/search/prices.h"
#include "core/session/session.h"

struct ValueTables;

/* What a node chose; cut: its cut among `pins`, -1 if it has none. Set -1: nothing. */
typedef struct {
    int32_t set, choice, cut;
} MemoChoice;

typedef struct {
    Arena *root, *prices_arena, *arena; /* of itself; of the prices; of the rest */
    Prices *prices;
    const Inferred *inferred;
    uint64_t program;            /* of that model: another may come to lie at the same address */
    Intern *sets, *pins;         /* choices of a node; how a tensor is pinned */
    Intern *layouts;             /* (set, space, operand): */
    Vec(const int32_t *) layout; /* a Shardings id a choice */
    Intern *costs;               /* an op beside a set (instance_ops.c): */
    Vec(const double *) cost;    /* microseconds a choice */
    Intern *lefts;               /* which choices of a node may matter */
    Intern *values;              /* a value beside the sets around it (instance_values.c): */
    Vec(const struct ValueTables *) tables;
    MemoChoice *of_op, *of_tensor, *of_shared; /* of the last answer (start.h); NULL: none */
    Vec(Decision) decided;                     /* those that led to its plan */
} SearchMemo;

SearchMemo *search_memo_new(void);
void search_memo_free(SearchMemo *memo); /* may be NULL */

/* Empties what is not about this session's model, mesh and machine. */
void search_memo_begin(SearchMemo *memo, const Session *session);

#endif
