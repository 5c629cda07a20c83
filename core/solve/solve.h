/* solve.h - the best choice of a problem, with a proof where there is time for one.
 *
 *     SolveAnswer answer;
 *     if (!solve(arena, &problem, &(SolveOptions){.seconds = 10}, &answer, &err)) ..
 *
 * A first choice is found at once, then better ones, while a lower bound rises. The answer is
 * proven optimal if the two meet: within 1e-9 of the cost, or closer than 1 if all costs are
 * integers. The same problem gives the same answer, unless the time ends first. Methods: reduce.h,
 * eliminate.h, bound.h, search.h, improve.h.
 */
#ifndef CORE_SOLVE_SOLVE_H
#define CORE_SOLVE_SOLVE_H

#include "core/base/progress.h"
#include "core/solve/search.h"

/* Reported whenever one of the two changes; may be called often. */
typedef void SolveReport(void *context, double objective, double bound);

typedef struct {
    double seconds;           /* 0: as long as it takes */
    double gap;               /* stops when the cost exceeds the bound by no more than this
                                 fraction */
    double bound;             /* a known lower bound of the cost; 0: none is known */
    const int32_t *start;     /* [n_nodes]: a choice to begin with, better than a guess; NULL */
    const Progress *progress; /* its stop flag ends the search; may be NULL */
    SolveReport *report;      /* may be NULL */
    void *context;
} SolveOptions;

typedef enum {
    SOLVE_CHOICE,     /* choice, objective */
    SOLVE_INFEASIBLE, /* no choice exists: `why` */
    SOLVE_UNKNOWN     /* stopped before a choice was found */
} SolveOutcome;

typedef struct {
    SolveOutcome outcome;
    double objective, bound; /* bound <= cost of every choice */
    bool proven;             /* no choice is better */
    const int32_t *choice;   /* [n_nodes] */
    const char *why;         /* of SOLVE_INFEASIBLE: what cannot be met */
    int64_t n_branches;
} SolveAnswer;

/* Returns false if the problem is malformed. */
bool solve(Arena *arena, const SolveProblem *problem, const SolveOptions *options,
           SolveAnswer *answer, Error *err);

#endif
