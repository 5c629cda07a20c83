/* compare.h - one reshard as this program and other systems' planners do it, at the same prices.
 *
 * All are priced by price.h on one machine; the peak is the largest part that a rank holds on the
 * way. A planner that cannot express one of the layouts says so.
 */
#ifndef CORE_RESHARD_COMPARE_H
#define CORE_RESHARD_COMPARE_H

#include "core/reshard/reshard.h"

/* Whether the steps deliver what is asked, found by running them. */
typedef enum {
    MOVES_RIGHT,
    MOVES_WRONG,  /* some rank ends with other elements, or a group cannot put its parts together */
    MOVES_NOT_RUN /* too large */
} MovesOutcome;

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

/* Another system's planner; its steps are translated into ours. False with *err: it has no plan. */
typedef struct Planner {
    const char *name; /* "torch greedy" */
    bool (*plan)(Arena *arena, const ReshardQuestion *question, PlannedReshard *out, Error *err);
} Planner;

enum { PLANNED_OURS, PLANNED_MAX = 8 };
const char *
planned_by_name(int i); /* "ours", then the peers' (core/base/peer.h); NULL: past them */

/* Fills the first n of out, and returns n, one for each planner. 0 with ERROR_PARTIAL: the target
 * is partial where the source is not, or by another reduction. */
int reshard_compare(Arena *arena, const ReshardQuestion *question, PlannedReshard out[PLANNED_MAX],
                    Error *err);

/* Sets the steps, and their sums. */
void planned_steps(const ReshardQuestion *question, const Step *step, int n, PlannedReshard *out);

#endif
