/* search.h - the cheapest way between two layouts of a space: A*.
 *
 * Layouts are expanded in the order of (time so far + bound of what is to come); the bound never
 * says too much (space.h), so that the first way that ends is the cheapest. A step costs a
 * billionth beyond its price, more for later kinds: equal ways are settled by fewer steps, then by
 * the order of STEP_KIND. New places of atoms are many: an all-to-all or reduce-scatter first leads
 * to a layout that holds its atoms, permutes of a layout wait, then those of the same atoms; what
 * they could be is looked at only once the best of it is due. Ways longer than the straight one
 * (reduce, gather, slice) are not kept.
 *
 * A search that was offered space->most_offers layouts starts again with the bound counted several
 * times over, which finds a good way soon but does not prove it.
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
    const Hop *hop; /* in the arena given; slices next to each other are one */
    double us, bound_us;
    bool proven; /* no way in the space is cheaper */
} Route;

/* Keeps its tables from search to search. */
typedef struct Searcher Searcher;
Searcher *searcher_new(Arena *arena);

/* False when no way takes less than `most` us and stays within space->limit. avoid: not a way whose
 * steps, slices left aside, have these kinds and groups (n_avoid 0: any way). */
bool search_route(Searcher *searcher, Arena *arena, const Space *space, double most,
                  const Hop *avoid, int n_avoid, Route *out);

#endif
