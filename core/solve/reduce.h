/* reduce.h - makes a network smaller without losing its best choice.
 *
 *   - a value goes if its cost is infinite, no value of some neighbour goes with it, it alone
 * passes a limit beside the smallest amounts of the others, or another value of its node is never
 *     worse, in cost or amount (Goldstein's dominance);
 *   - a node goes if it has one value; if its value follows from a neighbour's; or if it uses no
 *     memory that counts and has at most two neighbours, which then are joined by the least costs;
 *   - a point goes if the largest amounts of all keep its limit.
 */
#ifndef CORE_SOLVE_REDUCE_H
#define CORE_SOLVE_REDUCE_H

#include "core/solve/clock.h"
#include "core/solve/network.h"

/* Returns false if the network has no solution; net->conflict says why. Stops early when the clock
 * does. */
bool network_reduce(Network *net, SolveClock *clock);

/* Drops only values that are impossible by themselves or beside every value of a neighbour, and
 * points whose limit cannot be exceeded: enough for message passing, in a fraction of the time. */
bool network_drop_impossible(Network *net, SolveClock *clock);

#endif
