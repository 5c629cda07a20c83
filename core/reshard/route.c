#include "core/reshard/route.h"

#include "core/reshard/relaxed.h"

#include <math.h>

/* OFFERS: some ten milliseconds, which few pairs need; PART_OFFERS: the same for the search that
 * splits axes as far as both ends do; SOME_OFFERS: for those that split them less far, which prove
 * nothing. */
enum { OFFERS = 100000, PART_OFFERS = 60000, SOME_OFFERS = 4000 };

/* The space with so many atoms, or a few more if both ends tell more apart; NULL if that is too
 * many to look at. It is `space` itself if that has no more. */
static Space *parted_space(Arena *arena, Space *space, int n_atoms, bool greedy)
{
    if (n_atoms > RELAXED_ATOMS_MAX)
        return NULL;
    Space *parted = arena_make(arena, Space);
    if (!space_join(space, n_atoms, parted))
        return space;
    space_price(parted, &space->pricing);
    parted->most_offers = SOME_OFFERS;
    parted->greedy = greedy;
    return parted;
}

/* What a better route takes less than. */
static double limit_of(const BestRoute *best)
{
    return best->of ? best->route.us * (1 - 1e-6) : INFINITY;
}

static bool bound_says_least(const RouteSearch *search, const Space *space, const BestRoute *best)
{
    double most = limit_of(best);
    return search->n_avoid == 0 && search_least_us(search->searcher, space, most) >= most;
}

void route_search(const RouteSearch *search, Arena *arena, BestRoute *best)
{
    Space *space = best->asked, *at = parted_space(arena, space, 0, false);
    at->most_offers = OFFERS;
    for (bool proven = true, gave_up = false; at;) {
        Route route;
        bool better = search_route(search->searcher, arena, at, limit_of(best), search->avoid,
                                   search->n_avoid, &route);
        bool last = at == space || search->whole_axes;
        proven = better || last ? route.proven : proven;
        gave_up |= route.gave_up;
        if (better) {
            best->route = route;
            best->of = at;
        }
        best->least = best->of && best->route.bound_us >= limit_of(best);
        best->route.proven = proven && (last || best->least);
        if (better && !last && !best->least)
            best->least = best->route.proven = bound_says_least(search, space, best);
        if (at == space || (best->of && (last || best->least)))
            return;
        space->most_offers = best->of ? PART_OFFERS : OFFERS;
        at = best->of ? parted_space(arena, space, at->n_atoms + 1, gave_up) : space;
    }
}

bool route_may_improve(const RouteSearch *search, const BestRoute *best)
{
    return best->asked->narrow &&
           !(best->of && (best->least || bound_says_least(search, best->asked, best)));
}
