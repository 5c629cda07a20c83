/* compare.h - one reshard as four planners do it, priced alike.
 *
 *     ours          reshard.h
 *     torch greedy  what torch runs: axis by axis; where a strided shard is an order of axes torch
 *                   itself takes its other planner
 *     torch graph   torch's search over placements and orders of axes
 *     veScale       every axis by itself: wrong data where an axis is moved that another cuts
 * within
 *
 * The steps of the others are translated into ours: a step changes one axis, its layouts are what
 * the planner takes them for. All are priced by price.h on one machine; the peak is the largest
 * part that a rank holds on the way. Whether they deliver is found by running them
 * (strategy/moves_run.h). A planner that has no word for one of the layouts says so.
 */
#ifndef CORE_PEERS_TORCH_COMPARE_H
#define CORE_PEERS_TORCH_COMPARE_H

#include "core/reshard/reshard.h"
#include "core/peers/torch/moves_run.h"

/* ORDER PLANNED_BY: planned_by_name() */
typedef enum {
    PLANNED_OURS,
    PLANNED_TORCH_GREEDY,
    PLANNED_TORCH_GRAPH,
    PLANNED_VESCALE,
    PLANNED_BY_COUNT
} PlannedBy;

typedef struct {
    const char *why_not; /* NULL: there is a plan */
    MovesOutcome outcome;
    int n_steps;
    const Step *step;
    int64_t wire_bytes, peak_bytes;
    double us;
    double ratio; /* to ours; 1 where both are free, INFINITY where only ours is */
} PlannedReshard;

typedef struct {
    const Mesh *mesh;
    const Machine *machine;
    Shardings *shardings;
    Resharder *resharder; /* of these three */
    const Shape *shape;
    Dtype dtype;
    int32_t from, to; /* Shardings ids */
} ReshardQuestion;

const char *planned_by_name(PlannedBy planner); /* "torch greedy" */

/* ERROR_PARTIAL: the target is partial where the source is not, or otherwise. */
bool reshard_compare(Arena *arena, const ReshardQuestion *question,
                     PlannedReshard out[PLANNED_BY_COUNT], Error *err);

#endif
