/* planners.h - plans reshards as torch and veScale do.
 *
 *     torch greedy  what torch runs: axis by axis; if a strided shard is an order of axes torch
 *                   itself uses the graph planner
 *     torch graph   torch's search over placements and orders of axes
 *     veScale       each axis separately: wrong data if another axis shards the same dim inside
 *
 * A step changes one axis; its layouts are those the planner assumes. Running the steps
 * (moves_run.h) shows whether they give the target.
 */
#ifndef CORE_PEERS_TORCH_PLANNERS_H
#define CORE_PEERS_TORCH_PLANNERS_H

#include "core/reshard/compare.h"

extern const Planner torch_planners[];

#endif
