/* reduce_points.h - what limits of memory say about values, and which limits can never be passed.
 */
#ifndef CORE_SOLVE_REDUCE_POINTS_H
#define CORE_SOLVE_REDUCE_POINTS_H

#include "core/solve/network.h"

/* Takes an amount that no longer depends on a choice off the limits. */
void network_use_fixed(Network *net, const NetUse *use);

/* Drops points that cannot be passed, uses of such points alone, and values that pass a limit
 * beside the smallest amounts of the other nodes; queues what changed. Returns false with
 * net->conflict if the smallest amounts of all pass a limit. */
bool network_tighten_points(Network *net);

#endif
