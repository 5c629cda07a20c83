/* points.h - the times at which a limit can be exceeded.
 *
 * Nothing changes between two times at which a use or a limit begins or ends, so each such stretch
 * is one point. A point implied by a neighbour (at least as many uses alive, no larger a limit) is
 * left out. Uses become ranges of points.
 */
#ifndef CORE_SOLVE_POINTS_H
#define CORE_SOLVE_POINTS_H

#include "core/solve/problem.h"

typedef struct {
    int32_t n;
    double *limit;      /* [n] */
    int64_t *time;      /* [n]: a time in the stretch */
    int32_t *from, *to; /* [n_uses]: points at which the use is alive, half-open */
} SolvePoints;

SolvePoints solve_points(Arena *arena, const SolveProblem *problem);

/* Writes limit - sum of amounts of each point into `left`, which has room for n + 1. */
void solve_points_left(const SolvePoints *points, const SolveProblem *problem,
                       const int32_t *choice, double *left);

/* Whether every limit is kept, but for the rounding of sums. */
bool solve_points_fit(const SolvePoints *points, const double *left);

#endif
