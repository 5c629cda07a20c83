/* runs.h - which elements each rank holds.
 *
 * Digits make a rank's part of a dim a product of intervals, in mixed-radix order: `runs` are its
 * maximal contiguous pieces. The local tensor is row-major over dims, with each dim in run order.
 */
#ifndef CORE_LAYOUT_RUNS_H
#define CORE_LAYOUT_RUNS_H

#include "core/base/json.h"
#include "core/layout/sharding.h"

enum { RUNS_MAX = 1 << 20 }; /* the most pieces of one dim that runs_strided() makes */

typedef struct {
    int64_t start, length;
} Run;

typedef struct {
    int n;
    int64_t local_size;
    Run *at;
    bool unequal; /* not all of one length */
} Runs;

Runs runs_whole(Arena *arena, int64_t size);
Runs runs_copy(Arena *arena, const Runs *runs);

/* The runs of one dim on the rank at `position`, in local order, neighbours joined. They ascend and
 * have one length, except those of a block list. Call cut_n_runs() first if a dim may have too
 * many: a dim of 2^40 may have as many runs. */
Runs cut_runs(Arena *arena, const Cut *cut, const Mesh *mesh, int64_t position);
int64_t cut_n_runs(const Cut *cut, const Mesh *mesh, int64_t position);

/* The local index of a global one, or -1 if the rank does not hold it. Only for runs made by
 * cut_runs(); O(log n), or O(blocks) for a block list. */
int64_t runs_find(const Runs *runs, int64_t global);

/* torch.chunk at two levels: what `in` holds is chunked into n_blocks, each block into n_parts, and
 * `out` is part `part` of every block, in order. A chunk is ceil(size/n) long; the last ones are
 * shorter or empty. Returns false if that makes more than RUNS_MAX pieces. */
bool runs_strided(Arena *arena, const Runs *in, int64_t n_blocks, int64_t n_parts, int64_t part,
                  Runs *out);

/* The eval verb `layout`: placements in any order of the mesh axes, or nnScaler's [R,V,D1..Dn]
 * (conformance README). */
bool eval_layout(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err);

#endif
