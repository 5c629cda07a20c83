/* layout.h - which elements each rank holds.
 *
 * Digits make a rank's part of a dim a product of intervals, in mixed-radix order: `runs` are its
 * maximal contiguous pieces. The local tensor lies row-major over dims, each dim in run order.
 */
#ifndef CORE_PLAN_LAYOUT_H
#define CORE_PLAN_LAYOUT_H

#include "core/base/json.h"
#include "core/plan/sharding.h"

typedef struct {
    int64_t start, length;
} Run;

typedef struct {
    int n;
    int64_t local_size;
    Run *at;
} Runs;

/* The runs of one dim on the rank at `position`, in local order, neighbours joined. */
Runs cut_runs(Arena *arena, const Cut *cut, const Mesh *mesh, int64_t position);

/* The place of a global index in the local dim, or -1 when the rank does not hold it. */
int64_t runs_find(const Runs *runs, int64_t global);

/* Placements applied left to right on run lists: torch's Shard, _StridedShard (any split factor,
 * torch.chunk at each level), veScale's InterleavedShard; nnScaler's RVD. Answers the eval verb
 * `layout` (conformance README). */
bool eval_layout(Arena *arena, const Json *request, Json *answer, Error *err);

#endif
