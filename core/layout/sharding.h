/* sharding.h - how a tensor is sharded over the mesh: a cut per dim, and axes over which it is
 * partial.
 *
 * Interned: equal ids are equal layouts. Five views, each parsed and printed; a view that cannot
 * express a sharding returns an error instead of dropping something:
 *     VIEW_OURS           8/dp,4096,4096/tp        8/dp,(3)(768/tp)  Σtp (ASCII +tp), max(tp)
 *     VIEW_DIMS_MAPPING   [0,-1,1]  [[0,1],[]]     partial after it: [0,-1] {"1":"sum"}
 *     VIEW_PLACEMENTS     [S(0), P(sum)]           IS(1,3)  _S(d,f)
 *     VIEW_PARTITION_SPEC P('dp',None)  P(('dp','tp'))
 *     VIEW_SHARDY         [{"dp"},{"tp":(1)2}] unreduced={"tp"}
 */
#ifndef CORE_LAYOUT_SHARDING_H
#define CORE_LAYOUT_SHARDING_H

#include "core/model/shape.h"
#include "core/layout/cut.h"
#include "core/space/opspace.h"

typedef struct {
    int64_t n_dims;
    Cut dim[DIMS_MAX];
    uint8_t partial[ATOMS_MAX]; /* per atom: a ReduceOp; REDUCE_NONE if not partial over it */
    uint8_t unused[4];
} Sharding;

typedef struct Shardings Shardings;

Shardings *shardings_new(Arena *arena);
int32_t shardings_put(Shardings *shardings, const Sharding *sharding); /* unused dims are zero */
const Sharding *shardings_at(const Shardings *shardings, int32_t id);
int32_t shardings_count(const Shardings *shardings);

Sharding sharding_whole(const Shape *shape);         /* replicated */
AtomSet sharding_atoms(const Sharding *sharding);    /* that shard a dim */
AtomSet sharding_partials(const Sharding *sharding); /* atoms it is partial over */
Sharding sharding_without_partial(const Sharding *sharding);
bool sharding_equal(const Sharding *a, const Sharding *b);
/* Returns whether every partial axis is partial by sum. */
bool sharding_only_sums(const Sharding *sharding);
/* Whether every dim of `has` is that of `needs`, or would be without axes of `partial` and no
 * others: filled up with zeros, it is an addend of a sum over these that lies as `needs` says. */
bool sharding_is_addend(const Sharding *has, const Sharding *needs, AtomSet partial,
                        const Mesh *mesh);
bool sharding_has_sizes(const Sharding *sharding); /* a dim has parts of given sizes */
bool sharding_is_uneven(const Sharding *sharding, const Mesh *mesh);
void sharding_local_shape(const Sharding *sharding, const Mesh *mesh, int64_t position, Shape *out);
int64_t sharding_local_elements(const Sharding *sharding, const Mesh *mesh, int64_t position);
int64_t sharding_most_elements(const Sharding *sharding, const Mesh *mesh); /* of any rank */
bool sharding_has_halo(const Sharding *sharding);
Sharding sharding_without_halo(const Sharding *sharding);
Sharding sharding_settled(const Sharding *sharding); /* its addends that overlap are added, too */
bool sharding_has_ring(const Sharding *sharding);    /* parts of a dim go around a ring */
int sharding_carried_dim(const Sharding *sharding);  /* the dim along which it carries; -1: none */

typedef enum {
    VIEW_OURS,
    VIEW_OURS_ASCII,
    VIEW_DIMS_MAPPING,
    VIEW_PLACEMENTS,
    VIEW_PLACEMENTS_LONG,
    VIEW_PARTITION_SPEC,
    VIEW_SHARDY,
    VIEW_COUNT
} ShardingView;

const char *sharding_view_name(ShardingView view);
/* Returns false, with the reason in *err, if the view cannot express it; nothing is appended then.
 */
bool sharding_format(const Sharding *sharding, const Mesh *mesh, ShardingView view, Buf *out,
                     Error *err);
/* Reads a sharding of a tensor of this shape in that view. VIEW_OURS reads ASCII marks too. */
bool sharding_parse(const Source *source, const Shape *shape, const Mesh *mesh, ShardingView view,
                    Sharding *out, Error *err);
/* Reads a sharding in any view; its first characters tell which one: 8/dp,4; [0,-1]; [S(0), R];
 * P('dp',None); [{"dp"},{}]. */
bool sharding_parse_any(const Source *source, const Shape *shape, const Mesh *mesh, Sharding *out,
                        Error *err);
ShardingView sharding_view_of(Str text);
/* " Σtp max(dp)": the partial axes as VIEW_OURS writes them; `sum` is the mark before axes to be
 * summed. */
void sharding_format_sums(const Sharding *sharding, const Mesh *mesh, const char *sum, Buf *out);
/* Appends the partial axes alone, `{"1":"sum"}`: what VIEW_DIMS_MAPPING prints after the dims.
 * Returns false if only a part of an axis is partial. */
bool sharding_format_partial(const Sharding *sharding, const Mesh *mesh, Buf *out, Error *err);

bool reduce_from_name(Str name, ReduceOp *out); /* "sum" .. "all", and "product" */

#endif
