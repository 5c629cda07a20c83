/* planners.h - reshards as torch and veScale plan them.
 *
 *     torch greedy  what torch runs: axis by axis; where a strided shard is an order of axes torch
 *                   itself uses its other planner
 *     torch graph   torch's search over placements and orders of axes
 *     veScale       every axis by itself: wrong data where an axis is moved that another cuts
 * within
 *
 * A step changes one axis; its layouts are what the planner takes them for. Whether the steps
 * deliver is found by running them (moves_run.h).
 */
#ifndef CORE_PEERS_TORCH_PLANNERS_H
#define CORE_PEERS_TORCH_PLANNERS_H

#include "core/reshard/compare.h"

extern const Planner torch_planners[];

#endif
