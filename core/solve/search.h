/* search.h - branch and bound over networks: reduce, eliminate or bound, then split on one value.
 *
 * A network is reduced; if nothing is left, or what is left can be eliminated, it is solved. Else
 * it is bounded, values that cannot be better than the best choice known go, and it is split: one
 * node takes its most promising value (a clone), or never does (the network itself).
 */
#ifndef CORE_SOLVE_SEARCH_H
#define CORE_SOLVE_SEARCH_H

#include "core/solve/clock.h"
#include "core/solve/network.h"

typedef struct SolveSearch SolveSearch;

/* Called with a choice that costs less than the best one. */
typedef void SolveFound(void *context, const SolveSearch *search);

/* Called with choices that messages lead to, which may become better by small changes; offers what
 * it finds. */
typedef void SolvePolish(void *context, const int32_t *choice);

struct SolveSearch {
    const SolveProblem *problem;
    const SolvePoints *points;
    SolveClock *clock;
    double best;                       /* cost of the best choice known; INFINITY */
    int32_t *choice;                   /* [n_nodes]: that choice */
    double unit;                       /* costs differ by multiples of it; 0: by anything */
    double bound;                      /* of the whole, while it runs */
    int64_t n_branches, branches_most; /* splits made; the most there may be, or 0 */
    bool gave_up;                      /* not everything was searched */
    double *scratch;                   /* [points + 1] */
    NetConflict conflict;              /* why the first network has no solution, if it has none */
    SolveFound *found;                 /* may be NULL */
    SolvePolish *polish;               /* may be NULL */
    void *context;
};

/* Searches the network for choices better than search->best, which are kept there. Returns a lower
 * bound of all its choices, at least search->best where it was searched whole. The network is used
 * up. */
double solve_search(SolveSearch *search, Network *net);

/* Takes a choice of the problem if it keeps the limits and costs less than the best. */
bool solve_offer(SolveSearch *search, const int32_t *choice);

/* The cost from which on a choice is no better than the best one: less than it by the rounding of
 * sums, or by a unit. */
double solve_worth(const SolveSearch *search);

#endif
