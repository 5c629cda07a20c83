/* compare.h - one reshard as this program and other systems' planners do it, at the same prices.
 *
 * All are priced by price.h on one machine; the peak is the largest shard that a rank holds on the
 * way. A planner that cannot express one of the layouts returns an error.
 */
#ifndef CORE_RESHARD_COMPARE_H
#define CORE_RESHARD_COMPARE_H

#include "core/reshard/reshard.h"

/* Whether the steps deliver the target, found by running them. */
typedef enum {
    MOVES_RIGHT,
    MOVES_WRONG,  /* some rank ends with wrong elements, or a group cannot assemble its parts */
    MOVES_NOT_RUN /* too large to run */
} MovesOutcome;

typedef struct {
    const char *why_not; /* NULL if the planner has an error */
    MovesOutcome outcome;
    int n_steps;
    const Step *step;
    int64_t wire_bytes, peak_bytes;
    double us;
    double ratio; /* relative to ours; 1 if both are free, INFINITY if only ours is */
} PlannedReshard;

typedef struct {
    const Mesh *mesh;
    const Machine *machine;
    Shardings *shardings;
    Resharder *resharder; /* made for this mesh, machine and these shardings */
    const Shape *shape;
    Dtype dtype;
    int32_t from, to; /* Shardings ids */
} ReshardQuestion;

/* Another system's planner, whose steps are translated into ours. Returns false with *err if it
 * has no plan. */
typedef struct Planner {
    const char *name; /* "torch greedy" */
    bool (*plan)(Arena *arena, const ReshardQuestion *question, PlannedReshard *out, Error *err);
} Planner;

enum { PLANNED_OURS, PLANNED_MAX = 8 };
const char *
planned_by_name(int i); /* "ours", then the peers' (core/base/peer.h); NULL past the last */

/* Fills the first n of out, one for each planner, and returns n. Returns 0 with ERROR_PARTIAL if
 * the target is partial where the source is not, or by another reduction. */
int reshard_compare(Arena *arena, const ReshardQuestion *question, PlannedReshard out[PLANNED_MAX],
                    Error *err);

/* Sets the steps and their sums. */
void planned_steps(const ReshardQuestion *question, const Step *step, int n, PlannedReshard *out);

#endif
