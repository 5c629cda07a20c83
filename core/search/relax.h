/* relax.h - limits of memory as prices of bytes, for a bound of layers that are searched each by
 * itself.
 *
 * With a price p >= 0 of a byte at each point,
 *
 *     least over choices of cost + sum over points of p (amount - limit)
 *
 * bounds the cost of every choice within the limits, whatever the prices are [Geoffrion, Lagrangean
 * relaxation, 1974]. Without limits unfolded layers are solved in a time that grows with their
 * number; and prices that are good for equal layers are good for all, since at a price each layer
 * decides alike.
 */
#ifndef CORE_SEARCH_RELAX_H
#define CORE_SEARCH_RELAX_H

#include "core/search/memory.h"
#include "core/solve/solve.h"

/* The cheapest choice within the limits of those that prices led to. */
typedef struct {
    Arena *arena;          /* of the choice */
    const int32_t *choice; /* [nodes]; NULL: none was */
    double us;
} RelaxedChoice;

typedef struct {
    const Instance *instance;
    const MemoryPoint *point; /* [n] */
    int n;
    const double *limit;     /* [n]: bytes, of what choices tell */
    const SolveOptions *how; /* of each problem with prices */
    double deadline_s;       /* of all of them, of the monotonic clock; 0: none */
    RelaxedChoice *found;    /* may be NULL */
} RelaxedInstance;

/* The bound with prices [n], in microseconds a byte; 0 if it was stopped before there was one. */
double relaxed_bound(const RelaxedInstance *relaxed, const double *price);

/* The choice that prices [n] lead to, in the arena; NULL if it was stopped before there was one. */
const int32_t *relaxed_choice(Arena *arena, const RelaxedInstance *relaxed, const double *price);

/* Changes prices [n], which may be those of a problem like it, to where the bound is greatest, one
 * after another; returns that bound. */
double relaxed_prices(const RelaxedInstance *relaxed, double *price);

#endif
