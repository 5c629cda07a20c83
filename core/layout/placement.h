/* placement.h - a sharding written as one placement per mesh axis, applied left to right.
 *
 *     R         replicated                               Replicate()
 *     S(d)      dim d of what is there, torch.chunk'ed   Shard(d)
 *     _S(d,f)   d in f chunks, each chunked, the r-th    _StridedShard(d,f)
 *               piece of every one
 *     IS(d,k)   the same of k equal blocks, all even     InterleavedShard(d,k)
 *     P(op)     every rank holds an addend               Partial(op)
 *
 * Arguments may be named: Shard(dim=0), _StridedShard(0, split_factor=3), InterleavedShard(dim=0,
 * interleaved_size=3); Partial() and P mean a sum.
 *
 * (torch DTensor and veScale.) Most shardings can be written both as digits and as placements, but
 * not all: one axis split in two parts is no placement, and a split factor that does not divide the
 * dim is no digit. Even shardings are translated by construction. Uneven ones are checked by
 * comparing each rank's elements, since chunks of chunks depend on the order of the axes.
 */
#ifndef CORE_LAYOUT_PLACEMENT_H
#define CORE_LAYOUT_PLACEMENT_H

#include "core/layout/runs.h"

typedef enum {
    PLACE_REPLICATE,
    PLACE_SHARD,
    PLACE_STRIDED,
    PLACE_INTERLEAVED,
    PLACE_PARTIAL,
    PLACE_NORM_PARTIAL, /* NormP(p); MaskP: the sum over ranks that each hold some rows and zeros
                           elsewhere */
} PlacementKind;

enum { MASK_FACTOR = 0 }; /* of PLACE_NORM_PARTIAL: MaskP */

typedef struct {
    PlacementKind kind;
    int dim;         /* of the three shards */
    int64_t factor;  /* f, k or p; 1 for a plain shard, MASK_FACTOR for MaskP */
    ReduceOp reduce; /* of partial */
} Placement;

/* Reads one, in either form; a negative dim counts from the end. ERROR_OUT_OF_RANGE if there is no
 * such dim. */
bool placement_scan(Scan *scan, int64_t n_dims, Placement *out);
void placement_format(const Placement *placement, bool long_form, Buf *out);

static inline bool placement_is_shard(const Placement *placement)
{
    return placement->kind >= PLACE_SHARD && placement->kind <= PLACE_INTERLEAVED;
}

static inline bool placement_is_partial(const Placement *placement)
{
    return placement->kind >= PLACE_PARTIAL;
}

/* Compares the written forms: IS(d,k) and _S(d,k) differ. */
static inline bool placement_equal(const Placement *a, const Placement *b)
{
    return a->kind == b->kind && (!placement_is_shard(a) || a->dim == b->dim) &&
           (a->kind == PLACE_REPLICATE || a->kind == PLACE_SHARD || a->factor == b->factor) &&
           (a->kind != PLACE_PARTIAL || a->reduce == b->reduce);
}

static inline bool placements_equal(const Placement *a, const Placement *b, int n_axes)
{
    for (int axis = 0; axis < n_axes; axis++)
        if (!placement_equal(&a[axis], &b[axis]))
            return false;
    return true;
}

/* The elements of dim `dim`, which has this size, that the rank at `position` holds. `order` lists
 * the mesh axes in the order they are applied. ERROR_NOT_DIVISIBLE if an IS does not divide the
 * dim. */
bool placements_runs(Arena *arena, const Placement *placements, const int *order, const Mesh *mesh,
                     int dim, int64_t size, int64_t position, Runs *out, Error *err);

/* placements_of() and placements_sharding() translate in both directions; placements[] has one
 * entry per mesh axis. Returns false, with the reason, if the other form cannot express it. */
bool placements_of(const Sharding *sharding, const Mesh *mesh, Placement *placements, Error *err);
bool placements_sharding(const Placement *placements, const Shape *shape, const Mesh *mesh,
                         Sharding *out, Error *err);

/* Reads "[S(0), R]", one for each mesh axis, as it is written; or a sharding in any other view
 * (sharding_parse_any) that placements can express. */
bool placements_parse(const Source *source, const Shape *shape, const Mesh *mesh,
                      Placement *placements, Error *err);

#endif
