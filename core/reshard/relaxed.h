/* relaxed.h - what the way from a layout to the target takes at least, by solving a smaller
 * question exactly.
 *
 * Of a layout only this is kept, its *stand*: which atoms cut; which of them stand where the target
 * has them, with all below; which of the others have not moved since the source; which are due to
 * be reduced. Steps are those of space.h with their true prices, and an atom finds the best
 * place that its stand allows:
 *
 *     right at once    a moved or unused atom, if those below it in the target are right and none
 *                      that has not moved is in the way; for unused atoms that is free
 *     taken away       with all above it that have not moved
 *     permute          everything that cuts is as right as can be; atoms may be exchanged for
 *                      unused ones of the same product
 *
 * Stands are few (tens), so that the cheapest way from each is found by going over their steps
 * until nothing changes. A layout's steps are steps of its stand, to stands no better than those
 * looked at, so that no way is cheaper than what is said. Payloads are without padding.
 */
#ifndef CORE_RESHARD_RELAXED_H
#define CORE_RESHARD_RELAXED_H

#include "core/reshard/space.h"

enum { RELAXED_ATOMS_MIN = 4, RELAXED_ATOMS_MAX = 6 };

/* Keeps its tables from space to space. */
typedef struct Relaxed Relaxed;
Relaxed *relaxed_new(Arena *arena);

/* False: the space has too many atoms, or so few that searching is quicker. The space stays as it
 * is while asked about. */
bool relaxed_begin(Relaxed *relaxed, const Space *space);

typedef struct {
    double us;          /* to the target, at least; INFINITY: not within the limit */
    double permuted_us; /* the same where the first step is a permute */
} RelaxedCost;

RelaxedCost relaxed_cost(Relaxed *relaxed, const Layout *layout);

/* The same where the first step is a permute of these atoms, none else. */
double relaxed_permuted_us(Relaxed *relaxed, const Layout *layout, AtomSet groups);

#endif
