/* problem.h - a choice at every node, at least cost, under limits of memory.
 *
 *     cost(choice) = sum over nodes of cost[node][choice]
 *                  + sum over edges of cost[choice of a][choice of b]
 *     at every time t: sum over the uses that are alive at t of amount[choice] <= the limit at t
 *
 * Nothing here knows graphs of models: IOPDDL's instances, Alpa's and plans all take this form.
 * Costs are finite and not negative, or INFINITY for what is forbidden; their unit, and that of
 * amounts, is the caller's. Times are half-open intervals [from, to). A node may have several uses,
 * for example a weight that is always alive and an output that is alive until its last reader.
 * Several edges may join the same two nodes: their costs add up. Arrays belong to the caller and
 * are only read.
 */
#ifndef CORE_SOLVE_PROBLEM_H
#define CORE_SOLVE_PROBLEM_H

#include "core/base/error.h"

/* Larger costs would make sums and products lose their meaning. */
#define SOLVE_COST_MOST 1e100
enum { SOLVE_CHOICES_MOST = 1 << 20 };

typedef struct {
    int32_t a, b;       /* nodes; equal ones are allowed */
    const double *cost; /* [choices of a][choices of b] */
} SolveEdge;

typedef struct {
    int32_t node;
    int64_t from, to;     /* alive at from <= t < to */
    const double *amount; /* [choices of node], not negative */
} SolveUse;

/* Where limits overlap, the smallest holds; outside of all there is none. */
typedef struct {
    int64_t from, to;
    double most;
} SolveLimit;

typedef struct {
    int32_t n_nodes, n_edges, n_uses, n_limits;
    const int32_t *n_choices;  /* [n_nodes], at least 1 */
    const double *const *cost; /* [n_nodes][choices] */
    const SolveEdge *edge;
    const SolveUse *use;
    const SolveLimit *limit;
} SolveProblem;

/* Returns false if the problem is not of this form; the error names the node, edge or use. */
bool solve_problem_check(const SolveProblem *problem, Error *err);

/* The cost of one choice a node, limits aside. */
double solve_cost(const SolveProblem *problem, const int32_t *choice);

/* The choice of a node that costs least beside those of the others, limits aside. */
int32_t solve_best_beside(const SolveProblem *problem, int32_t node, const int32_t *choice);

/* The rounding error allowed when a sum of amounts is compared with its limit. */
static inline double solve_slack(double limit)
{
    return 1e-12 * (limit < 0 ? -limit : limit);
}

#endif
