/* search.h - branch and bound over networks: reduce, eliminate or bound, then split on one value.
 *
 * A network is reduced; if nothing is left, or what is left can be eliminated, it is solved.
 * Otherwise it is bounded, values that cannot improve on the best known choice are dropped, and it
 * is split: either one node takes its most promising value (a clone), or it never does (the network
 * itself).
 */
#ifndef CORE_SOLVE_SEARCH_H
#define CORE_SOLVE_SEARCH_H

#include "core/solve/clock.h"
#include "core/solve/network.h"

typedef struct SolveSearch SolveSearch;

/* Called with a choice that costs less than the best one. */
typedef void SolveFound(void *context, const SolveSearch *search);

/* Called with choices found by message passing, which small changes may improve; offers what it
 * finds. */
typedef void SolvePolish(void *context, const int32_t *choice);

struct SolveSearch {
    const SolveProblem *problem;
    const SolvePoints *points;
    SolveClock *clock;
    double best;                       /* cost of the best choice known; INFINITY */
    int32_t *choice;                   /* [n_nodes]: that choice */
    double unit;                       /* all costs are multiples of it; 0: costs may differ by
                                          anything */
    double bound;                      /* of the whole, while it runs */
    int64_t n_branches, branches_most; /* splits made; the most allowed, or 0 */
    bool gave_up;                      /* not everything was searched */
    double *scratch;                   /* [points + 1] */
    NetConflict conflict;              /* why the first network has no solution, if it has none */
    SolveFound *found;                 /* may be NULL */
    SolvePolish *polish;               /* may be NULL */
    void *context;
};

/* Searches the network for choices better than search->best, and keeps the best one there. Returns
 * a lower bound for all choices of the network; at least search->best if it was searched
 * completely. The network cannot be used afterwards. */
double solve_search(SolveSearch *search, Network *net);

/* Makes this choice the best one if it keeps the limits and costs less than the best so far. */
bool solve_offer(SolveSearch *search, const int32_t *choice);

/* A choice must cost less than this to be better than the best one: the best cost minus the
 * rounding of sums, or minus one unit. */
double solve_worth(const SolveSearch *search);

#endif
