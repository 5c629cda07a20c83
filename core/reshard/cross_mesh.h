/* cross_mesh.h - resharding a tensor from one mesh to another.
 *
 * This happens between pipeline stages, or when a model's mesh grows or shrinks. A path is a
 * reshard on the source's mesh, a crossing (crossing.h), and a reshard on the target's; any of the
 * three may be empty. The meshes name devices, which may be disjoint, shared in part, or the same
 * in another order. The cheapest is chosen among
 *
 *     parts      sends of the parts that both sides have in common
 *     broadcast  one message for all replicas of a part
 *     scatter    each replica gets a piece of the part, and gathers the rest on its own mesh
 *
 * each with every layout in between that is tried: the source's, the target's (if the other mesh
 * has its axes), and partial values reduced, or scattered onto a dim, before they cross, added up
 * by their receivers, or reduced on the target's mesh. (nnScaler's inter-RVD has the same ideas
 * for even layouts of disjoint meshes.)
 *
 * bound_us is a lower bound: what no device of the target holds must be sent to one of them, by
 * devices that all send at once, over the fastest link between the two meshes.
 */
#ifndef CORE_RESHARD_CROSS_MESH_H
#define CORE_RESHARD_CROSS_MESH_H

#include "core/reshard/crossing.h"
#include "core/reshard/reshard.h"

/* ORDER CROSS_WAY */
typedef enum { CROSS_PARTS, CROSS_BROADCAST, CROSS_SCATTER, CROSS_WAY_COUNT } CrossWay;

typedef struct {
    CrossWay way;
    const Shardings *from_shardings, *to_shardings; /* the steps before and after the crossing */
    int32_t from, sent, received, to;               /* the first two on the source's mesh */
    const ReshardPath *before, *after;
    Crossing crossing;
    double us, bound_us;
    double way_us[CROSS_WAY_COUNT]; /* the cheapest path of each kind; INFINITY if none was tried */
} CrossMeshPath;

const char *cross_way_name(CrossWay way); /* for example "scatter, then gather" */

/* ERROR_RANK: the shapes differ; ERROR_PARTIAL: the target is partial, or the source is partial by
 * several reductions; ERROR_UNSUPPORTED: see crossing_plan(). */
bool cross_mesh_reshard(Arena *arena, const Machine *machine, Dtype dtype,
                        const CrossMeshSide *from, const CrossMeshSide *to, CrossMeshPath *out,
                        Error *err);

#endif
