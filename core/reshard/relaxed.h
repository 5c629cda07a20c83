/* relaxed.h - a lower bound of the time from a layout to the target, by solving a smaller problem
 * exactly.
 *
 * Of a layout only its *stand* is kept: which atoms shard; which of those are in the target's
 * place, together with all atoms below them; which of the others have not moved since the source;
 * which are to be reduced. Steps are those of space.h with their true prices, and an atom takes the
 * best position that its stand allows:
 *
 *     right at once    a moved or unused atom, if those below it in the target are right and no
 *                      unmoved atom is in the way; for unused atoms that is free, so that one may
 *                      be had either way until a step needs it (spare)
 *     taken away       with all above it that have not moved
 *     permute          everything that shards is as right as can be with as many parts of each
 *                      slot as before; atoms may be exchanged for unused ones of the same product
 *
 * Stands are few (tens), so the cheapest path from each is found by iterating over their steps to a
 * fixed point. A layout's steps are steps of its stand, to stands no better than those that the
 * tables include, so no path is cheaper than the bound. Payloads are without padding.
 */
#ifndef CORE_RESHARD_RELAXED_H
#define CORE_RESHARD_RELAXED_H

#include "core/reshard/set_prices.h"

/* Keeps its tables from space to space. */
typedef struct Relaxed Relaxed;
Relaxed *relaxed_new(Arena *arena);

/* Returns false if the space has too many atoms, or so few that a search is faster. The space must
 * not change while bounds are asked for. Only paths of at most `most` us count: a bound above that
 * may be INFINITY. */
bool relaxed_begin(Relaxed *relaxed, const Space *space, double most);

typedef struct {
    double us;          /* to the target, at least; INFINITY if not within the limit */
    double permuted_us; /* the same if the first step is a permute */
} RelaxedCost;

RelaxedCost relaxed_cost(Relaxed *relaxed, const Layout *layout);

/* `us` of it for one layout, found sooner; no more than `most`. Other bounds of the space are asked
 * for after relaxed_begin() again. */
double relaxed_least_us(Relaxed *relaxed, const Layout *layout);

/* A permute of exactly these atoms as the first step, and the time likewise. */
typedef struct {
    double us;
    AtomSet groups;
    int32_t next; /* the one that takes longer; -1 */
} RelaxedPermute;

/* The permutes of a layout with a finite time: the first takes least; -1 if there are none. */
int32_t relaxed_permutes(Relaxed *relaxed, const Layout *layout);
RelaxedPermute relaxed_permute(const Relaxed *relaxed, int32_t permute);

#endif
