/* eliminate.h - the exact optimum of a network without limits, by bucket elimination.
 *
 * Nodes are eliminated one by one, the one whose neighbours have the fewest combinations first:
 * the least cost of the node for each combination becomes one table over the neighbours. Time and
 * memory grow with the tables, so with the width of the tree decomposition that the order makes.
 */
#ifndef CORE_SOLVE_ELIMINATE_H
#define CORE_SOLVE_ELIMINATE_H

#include "core/solve/clock.h"
#include "core/solve/network.h"

/* Writes the best value of each remaining node into choice [n_nodes] and the cost, including
 * net->constant, into *cost; INFINITY if there is no choice. Returns false if more than `work_most`
 * additions would be needed, the network has uses, or the clock stopped it. */
bool network_eliminate(Arena *arena, const Network *net, double work_most, SolveClock *clock,
                       int32_t *choice, double *cost);

#endif
