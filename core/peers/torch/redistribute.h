/* redistribute.h - redistributes a tensor from some placements to others step by step, as torch and
 * veScale do.
 *
 * A step changes the placement of one mesh axis. Three planners:
 *
 *   greedy  Axis by axis. A sharded source is first processed from the last axis to the
 *           first: each axis goes straight to its target, but to replicated where the axes before
 *           it do not yet shard the target's dim as in the target (the inner shard would differ).
 *           Then the remaining axes from the first to the last.
 *   graph   Dijkstra over (placements, order of the axes within each dim): only the last axis of a
 *           dim's order may leave it, a new one comes last. Ties go to the state found first.
 *   vescale Each axis separately: those that remove a shard from the last axis to the first, then
 *           the others from the first to the last. It ignores other axes that shard the same dim
 *           inside, so the data can be wrong: moves_run.h finds this.
 *
 * Default is greedy, and graph where a strided shard is an order of axes: _S(d,f) whose f is the
 * product of the sizes of axes that come later in the mesh but shard first. Any other strided shard
 * (from a view, or with another f) is moved through replicated.
 *
 * The price of a step, with g = GiB a rank holds, n = size of the axis:
 *     all-gather       g *= n;  6.6 + (n-1) hop + g (n-1)/n / bandwidth
 *     all-to-all                the same without g *= n, + 1.0
 *     all-reduce                6.6 + 2(n-1) hop + 2 g (n-1)/n / bandwidth
 *     reduce-scatter            6.6 + (n-1) hop + g (n-1)/n / bandwidth;  g /= n
 *     slice            0;       g /= n
 *     to partial       0
 * in us; bandwidth 87.7 GB/s and hop 0.6 us as long as the axes from the last one on fit a host of
 * 8 devices, 0.22 of it and 2.7 us beyond.
 */
#ifndef CORE_PEERS_TORCH_REDISTRIBUTE_H
#define CORE_PEERS_TORCH_REDISTRIBUTE_H

#include "core/base/vec.h"
#include "core/model/dtype.h"
#include "core/layout/placement.h"

typedef enum {
    MOVE_SLICE,
    MOVE_TO_PARTIAL,
    MOVE_ALL_GATHER,
    MOVE_ALL_REDUCE,
    MOVE_REDUCE_SCATTER,
    MOVE_ALL_TO_ALL
} MoveKind; /* ORDER MOVE_KIND: move_name() */

typedef struct {
    MoveKind kind;
    int axis;
    Placement from, to;
} TorchMove;

typedef Vec(TorchMove) TorchMoves;

/* ORDER REDISTRIBUTE_PLANNER */
typedef enum {
    PLANNER_DEFAULT,
    PLANNER_GREEDY,
    PLANNER_GRAPH,
    PLANNER_VESCALE
} RedistributePlanner;

typedef struct {
    const Mesh *mesh;
    const Shape *shape;
    Dtype dtype;
    const Placement *from, *to; /* one per axis */
    bool from_view,
        to_view; /* their strided shards come from a view and are not an order of axes */
    RedistributePlanner planner;
} Redistribution;

const char *move_name(MoveKind kind); /* "all_gather" */

/* True if users may request it. ERROR_PARTIAL: torch makes only shards partial, as a sum;
 * ERROR_NOT_DIVISIBLE: blocks of a shard that do not divide the dim; ERROR_UNSUPPORTED: a placement
 * that the system lacks. */
bool redistribute_allowed(const Redistribution *redistribution, Error *err);

/* The steps, in order. ERROR_UNSUPPORTED if the graph planner finds no way or visits too many
 * states. Does not check redistribute_allowed(). */
bool redistribute_plan(Arena *arena, const Redistribution *redistribution, TorchMoves *out,
                       Error *err);

/* The price of a redistribution in an operator's choice; INFINITY if it is never chosen. */
double redistribute_us(Arena *arena, const Redistribution *redistribution);

/* A fast lower bound of redistribute_us(), exact if no shard is strided. Each axis that removes a
 * shard or a partial pays one ring pass of the least that a rank may hold. */
double redistribute_floor_us(Arena *arena, const Redistribution *redistribution);

/* How many of the steps communicate: slice and to-partial do not, nor does an axis of size 1. */
int redistribute_n_comm(const Mesh *mesh, const TorchMoves *moves);

#endif
