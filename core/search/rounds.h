/* rounds.h - private to the search: a problem is solved, more is learnt of the moves that its
 * answer makes, and it is solved again.
 *
 * Moves first cost no more than those of any plan. Those of each answer are settled (settle.h), and
 * those of cheaper answers near it, until the answer costs what a plan does. Once an answer is near
 * that, what its moves truly cost tells which choices may still cost less: only these are solved
 * from then on.
 */
#ifndef CORE_SEARCH_ROUNDS_H
#define CORE_SEARCH_ROUNDS_H

#include "core/search/lift.h"
#include "core/search/memory.h"
#include "core/search/search.h"
#include "core/search/stage_weights.h"
#include "core/solve/solve.h"

enum { POINTS_MAX = 48 };
#define SAME 1e-9 /* costs that differ by no more are one */

typedef struct {
    Arena *arena;
    const SearchRequest *request;
    Session session; /* without what is lifted */
    SearchMemo *memo;
    LiftedDecisions lifted;
    Instance *instance;
    bool unfolded;        /* every layer for itself */
    const bool **allowed; /* [nodes]: choices that are searched; NULL: all */
    int32_t **kept;       /* [nodes]: choices of the problem; all, if all are searched */
    SearchResult *result;
    double began_s, deadline_s;    /* deadline 0: none */
    MemoryPoint point[POINTS_MAX]; /* at which the limit is kept */
    double limit[POINTS_MAX];      /* for what the choices tell of it */
    double price[POINTS_MAX];      /* of a byte there: of hard problems */
    int n_points;
    Plan *felt[POINTS_MAX]; /* that passed the limit at these */
    double relaxed_us;      /* a bound of unfolded layers; 0: none */
    double below_us;        /* costs are those of plans below this; of others they say no more */
    double best_us;         /* of plans within the limit so far */
    const int32_t *choice;  /* [nodes] of that plan; NULL: it is the session's */
    bool mixes;             /* plans of both sides of a price: find_mixed() */
    bool knows_all;         /* bounds of all moves are tight: problems under limits are hard else */
    const int32_t *near;    /* [nodes]: an answer before its moves were settled; NULL */
    const bool **left;      /* [nodes]: choices that may cost less than one that is settled; NULL */
    double slack;           /* how much more that one costs than an answer, as a part */
    double solved_s;        /* the time of the last problem */
    int tightened;          /* tables whose moves are all tight, of what is searched; the first */
    double gap;             /* to which answers are found whose moves are to be settled */
    StageWeights *paths;    /* of the plans so far; NULL: no schedule */
    bool cut_short; /* the solver's part of the time was over before it had proven anything */
} SearchRounds;

bool rounds_are_over(const SearchRounds *s); /* by its time, or the user */

/* The points of memory so far and what they are limited to. rest: what choices do not tell counts
 * too, and what they tell is about right; else it is a lower bound. In the arena of *s. */
const MemoryPoint *rounds_points(const SearchRounds *s, bool rest);
const double *rounds_limits(const SearchRounds *s, bool rest);

/* Whether no plan is better than the best so far. */
bool rounds_are_proven(const SearchRounds *s);

/* Solves the problem, with limits as of rounds_points(), until its answer costs no less than the
 * best plan, or all moves of the answer are settled. Raises result->bound_us where the problem has
 * bounds of plans. Returns false if the problem is malformed. */
bool rounds_solve(SearchRounds *s, bool rest, InstanceCost kind, SolveAnswer *answer, Error *err);

#endif
