/* bound.h - a lower bound of a network's cost by passing messages along its edges, and choices that
 * come near it.
 *
 * Sequential tree-reweighted message passing (Kolmogorov 2006) as a reparametrisation: nodes are
 * visited in order. For each of its values, a node moves the least cost of each edge to an earlier
 * node into its own cost; then it hands an equal share of its cost above its minimum to each edge
 * to a later node. Edges to earlier nodes then cost at least 0, so the sum of the nodes' least
 * costs is a lower bound after every pass, and no pass lowers it. Memory limits are relaxed: each
 * point has a price >= 0 per unit of its amount, which rises where the choices found exceed the
 * limit (a subgradient step; with few points the first price is found by bisection, each step after
 * some passes).
 */
#ifndef CORE_SOLVE_BOUND_H
#define CORE_SOLVE_BOUND_H

#include "core/solve/classes.h"
#include "core/solve/clock.h"
#include "core/solve/network.h"
#include "core/solve/slack.h"

typedef struct {
    Network *net;
    Arena *arena;
    int32_t n;          /* nodes left */
    int32_t *order;     /* [n] */
    double **message_a; /* [edges][values of a]: subtracted from the edge for a; NULL for removed
                           edges */
    double **message_b;
    EdgeClasses *classes; /* [edges]; NULL before the pass from which on they pay */
    double *price_sum;    /* [n_points + 1]: prices of the points before */
    double *load;         /* [n_points + 1] of each node's least value */
    double *direction;    /* [n_points]: the smoothed subgradient */
    double *cost;         /* of one node, scratch */
    double *room;         /* of one edge, scratch */
    int n_passes;
    Slack left;            /* room under the limits with the decoded choice, for amounts above
                              the least ones */
    double *left_at_first; /* [n_points] */
    int32_t *choice;       /* [n_nodes]: values decoded in the last pass */
    double *regret;        /* [n_nodes]: from the last visit: second least cost minus least cost */
    double step, bound, best;
    double low, high;   /* a price at which the limits are exceeded, and one at which they are
                           kept */
    int n_held;         /* passes since the price changed */
    double *best_price; /* [n_points] */
    double *best_messages, *messages;
    size_t n_messages;
} Bound;

void bound_begin(Bound *bound, Arena *arena, Network *net);

/* One pass, forward or backward, and a step of the prices towards `target` (INFINITY: not known).
 * Returns false if the clock stopped it; the bound is then that of earlier passes. */
bool bound_pass(Bound *bound, bool forward, double target, SolveClock *clock);

/* The cost of the decoded choice in the network; INFINITY if it is forbidden or exceeds a limit. */
double bound_decoded_cost(const Bound *bound);

/* Moves the network's costs as the best bound has them, and drops every value and pair whose total
 * cost would be at least `most`. Returns whether any was dropped; *ok is false if a node has no
 * value left. */
bool bound_apply(Bound *bound, double most, bool *ok);

#endif
