/* reduce_points.h - drops values that memory limits exclude, and limits that can never be exceeded.

 */
#ifndef CORE_SOLVE_REDUCE_POINTS_H
#define CORE_SOLVE_REDUCE_POINTS_H

#include "core/solve/network.h"

/* Subtracts an amount that no longer depends on a choice from the limits. */
void network_use_fixed(Network *net, const NetUse *use);

/* Drops points whose limit cannot be exceeded, uses that are alive only at such points, and values
 * that exceed a limit beside the smallest amounts of the other nodes; queues what changed. Returns
 * false with net->conflict if the smallest amounts together exceed a limit. */
bool network_tighten_points(Network *net);

#endif
