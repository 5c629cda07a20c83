/* bound.h - a lower bound of a network's cost by passing messages along its edges, and choices that
 * come near it.
 *
 * Sequential tree-reweighted message passing (Kolmogorov 2006) in the form of a reparametrisation:
 * nodes are visited in order; each takes from its edges to earlier nodes what they cost at least,
 * value by value, and gives an equal share of what it then has above its own least to each edge to
 * a later node. Edges behind then cost at least 0, so the sum of the nodes' least costs is a bound
 * after every pass, and no pass lowers it. Limits of memory are relaxed: each point has a price >=
 * 0 a unit of its amount, raised where the choices found pass the limit (a subgradient step; the
 * first price of few points is halved in, each time after some passes).
 */
#ifndef CORE_SOLVE_BOUND_H
#define CORE_SOLVE_BOUND_H

#include "core/solve/clock.h"
#include "core/solve/network.h"
#include "core/solve/slack.h"

typedef struct {
    Network *net;
    Arena *arena;
    int32_t n;          /* nodes left */
    int32_t *order;     /* [n] */
    double **message_a; /* [edges][values of a]: taken off the edge for a; NULL for edges gone */
    double **message_b;
    double *price_sum;     /* [n_points + 1]: prices of the points before */
    double *load;          /* [n_points + 1] of each node's least value */
    double *direction;     /* [n_points]: the smoothed subgradient */
    double *cost;          /* of one node, scratch */
    Slack left;            /* of the decoded choice: for amounts above the least ones */
    double *left_at_first; /* [n_points] */
    int32_t *choice;       /* [n_nodes]: values decoded in the last pass */
    double *regret;        /* [n_nodes]: of the last visit: second least less least cost */
    double step, bound, best;
    double low, high;   /* prices at which the limits are passed, and kept */
    int n_held;         /* passes since the price changed */
    double *best_price; /* [n_points] */
    double *best_messages, *messages;
    size_t n_messages;
} Bound;

void bound_begin(Bound *bound, Arena *arena, Network *net);

/* One pass, forward or backward, and a step of the prices towards `target` (INFINITY: not known).
 * Returns false if the clock stopped it; the bound is then that of earlier passes. */
bool bound_pass(Bound *bound, bool forward, double target, SolveClock *clock);

/* The cost of the decoded choice in the network; INFINITY if it is forbidden or passes a limit. */
double bound_decoded_cost(const Bound *bound);

/* Moves costs in the network as the best bound has them, and drops every value and pair that costs
 * at least `most` in all. Returns whether any went; *ok is false if a node has none left. */
bool bound_apply(Bound *bound, double most, bool *ok);

#endif
