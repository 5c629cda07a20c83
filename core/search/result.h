/* result.h - private to the search: what it hands out. */
#ifndef CORE_SEARCH_RESULT_H
#define CORE_SEARCH_RESULT_H

#include "core/search/memory.h"
#include "core/search/search.h"

/* Adds a decision with copies of what it points to, which may be the memo's. */
void result_keep_decision(Arena *arena, Journal *kept, const Decision *decision);

/* Copies what is returned into the caller's arena, out of the search's own. */
void result_hand_out(Arena *arena, SearchResult *result);

/* How large the problem was. */
void result_count(SearchResult *result, const Instance *instance);

/* It becomes SEARCH_INFEASIBLE: `why` of the solver or, if the limit was felt at points, what it
 * would take at least. */
void result_say_conflict(SearchResult *result, Arena *arena, const Instance *instance,
                         const MemoryPoint *point, int n_points, int64_t most_bytes,
                         const char *why);

#endif
