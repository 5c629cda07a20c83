/* tensor_sharding.h - a tensor's sharding in Shardy's terms, with the dims that may still change.
 *
 * Each dim has an ordered list of axes, major first; open dims may get more, closed ones may not; a
 * priority decides when a dim takes part in propagation. `replicated` axes must not shard the
 * tensor; it is partial over `unreduced` axes. The JSON form is that of the eval protocol:
 *     {"dims": [["x"],[]], "open": [true,false], "priority": [0,null], "replicated": [..],
 *      "unreduced": [..]}
 * Source: Shardy's TensorShardingAttr.
 */
#ifndef CORE_PEERS_SHARDY_TENSOR_SHARDING_H
#define CORE_PEERS_SHARDY_TENSOR_SHARDING_H

#include "core/base/json.h"
#include "core/layout/sharding.h"
#include "core/peers/shardy/axis_ref.h"

enum { PRIORITY_NONE = -1, MESH_NONE = -1 };

typedef struct {
    AxisList axes;
    bool open;
    int priority; /* PRIORITY_NONE counts as 0 */
} DimSharding;

typedef struct {
    int n_dims;
    int mesh;     /* index into the meshes of a request; MESH_NONE if it has no sharding yet */
    bool maximal; /* on one device: a mesh without axes, whose shardings list no dims */
    int shape;    /* id of the shape, set and used by callers only */
    DimSharding dim[DIMS_MAX];
    AxisList replicated, unreduced; /* in mesh order */
} TensorSharding;

TensorSharding tensor_sharding_open(int n_dims); /* no sharding: every dim empty and open */
bool tensor_sharding_equal(const TensorSharding *a, const TensorSharding *b);
bool tensor_sharding_uses_axes(const TensorSharding *sharding); /* any list is not empty */

/* Bytes that are equal exactly when the shardings are: a key for intern.h. */
void tensor_sharding_pack(const TensorSharding *sharding, Buf *out);

/* An absent or null value is fully open; others are on mesh 0. Errors: ERROR_RANK, ERROR_INVALID
 * (an axis twice, overlapping sub-axes, a priority on an empty closed dim), ERROR_UNBOUND (no such
 * axis). */
bool tensor_sharding_from_json(const Mesh *mesh, int n_dims, const Json *value, TensorSharding *out,
                               Error *err);
Json *axis_list_to_json(Arena *arena, const Mesh *mesh, const AxisList *list); /* names */
/* Writes `priority` only if a dim has one. */
Json *tensor_sharding_to_json(Arena *arena, const Mesh *mesh, const TensorSharding *sharding);

/* Converts to a sharding of plans (core/layout/sharding.h), one digit a dim. Returns false if the
 * mesh's atoms cannot express a sub-axis. */
bool tensor_sharding_to_layout(const TensorSharding *sharding, const Shape *shape, const Mesh *mesh,
                               Sharding *out);

/* Appends the atoms of an axis or a part of it, major first; false if it is not a run of atoms. */
bool axis_ref_to_atoms(const AxisRef *ref, const Mesh *mesh, uint8_t *atom, int *n);
/* Converts atoms to axes and merges adjacent atoms of one axis. */
void axis_list_from_atoms(const uint8_t *atom, int n, const Mesh *mesh, AxisList *out);

#endif
