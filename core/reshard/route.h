/* route.h - the best route between two layouts, by searches that split axes ever further.
 *
 * The first has whole axes, the next ones split them into ever more parts, as far as both ends do:
 * the time of one is the limit of the next, which then has little to look at, or nothing if a bound
 * says that no path takes less. Where one is too much to look at, those with more parts only try to
 * find a better path.
 */
#ifndef CORE_RESHARD_ROUTE_H
#define CORE_RESHARD_ROUTE_H

#include "core/reshard/search.h"

typedef struct {
    Searcher *searcher;
    bool whole_axes; /* no axis is split */
    const Hop *avoid;
    int n_avoid; /* as of search_route() */
} RouteSearch;

/* The best route so far. Before the first search all is 0 but what was asked. */
typedef struct {
    Space *asked;
    Route route;
    const Space *of; /* the space that it is a route of; NULL: there is none */
    bool least;      /* a bound says that no path takes less, of any space */
} BestRoute;

/* Looks for a better route in best->asked. Spaces with fewer atoms are made in the arena. */
void route_search(const RouteSearch *search, Arena *arena, BestRoute *best);

/* Whether a wider space than the one that was asked may have a better route. */
bool route_may_improve(const RouteSearch *search, const BestRoute *best);

#endif
