/* search.h - the cheapest path between two layouts of a space: A*.
 *
 * Layouts are expanded in the order of (time so far + lower bound of the rest); the bound never
 * exceeds the true cost (space.h), so the first path that reaches the target is the cheapest. A
 * step costs a billionth more than its price, and later kinds more: so among equal paths the one
 * with fewer steps wins, then the order of STEP_KIND. Atoms have many new positions: an all-to-all
 * or reduce-scatter first leads to a layout that holds its atoms; permutes of a layout wait, then
 * those of the same atoms; their results are looked at only once the best of them is the cheapest
 * entry. Paths longer than the straight one (reduce, gather, slice) are dropped. reshard.c searches
 * with whole axes first and then splits them, so that later searches have a limit near the best.
 *
 * A search that has looked at space->most_offers layouts, or at a third of them while its bound
 * hardly rose, starts again as weighted A*, with the bound multiplied, which finds a good path soon
 * but does not prove it.
 */
#ifndef CORE_RESHARD_SEARCH_H
#define CORE_RESHARD_SEARCH_H

#include "core/reshard/space.h"

typedef struct {
    StepKind kind;
    AtomSet atoms; /* of the mesh: the groups; 0 for a slice */
    Layout to;
} Hop;

typedef struct {
    int n;
    const Hop *hop; /* in the given arena; adjacent slices are one */
    double us, bound_us;
    bool gave_up; /* there was too much to look at */
    bool proven;  /* no path in the space is cheaper */
} Route;

/* Keeps its tables from search to search. */
typedef struct Searcher Searcher;
Searcher *searcher_new(Arena *arena);

/* Returns false if no path takes less than `most` us and stays within space->limit. avoid: steps
 * whose kinds and groups, ignoring slices, the path must differ from (n_avoid 0: any path). */
bool search_route(Searcher *searcher, Arena *arena, const Space *space, double most,
                  const Hop *avoid, int n_avoid, Route *out);

/* No path takes less: by relaxed.h where the space has that many atoms, else by bound.h. `most` if
 * none takes less than that. */
double search_least_us(Searcher *searcher, const Space *space, double most);

#endif
