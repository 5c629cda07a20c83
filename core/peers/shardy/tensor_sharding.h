/* tensor_sharding.h - a tensor's sharding as Shardy has it, with what may still change.
 *
 * Per dim an ordered list of axes, major first; open dims may take more, closed ones may not; a
 * priority says when a dim is felt. `replicated` axes may not be used on the tensor, over
 * `unreduced` ones it is partial. The JSON form is that of the eval protocol:
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
    int priority; /* PRIORITY_NONE: nobody gave one, which is 0 */
} DimSharding;

typedef struct {
    int n_dims;
    int mesh;  /* of the meshes of a request, which; MESH_NONE: it has no sharding yet, and takes
                  part in any */
    int shape; /* a number of whoever tells shapes apart by it; handed on as it is */
    DimSharding dim[DIMS_MAX];
    AxisList replicated, unreduced; /* in mesh order */
} TensorSharding;

TensorSharding tensor_sharding_open(int n_dims); /* no sharding at all: every dim empty and open */
bool tensor_sharding_equal(const TensorSharding *a, const TensorSharding *b);
bool tensor_sharding_uses_axes(const TensorSharding *sharding); /* some dim, or set, is not empty */

/* The bytes that two shardings have in common exactly when they are equal: a key of intern.h. */
void tensor_sharding_pack(const TensorSharding *sharding, Buf *out);

/* NULL or null: open. Else of mesh 0. ERROR_RANK, ERROR_INVALID (an axis twice, overlapping
 * sub-axes, a priority on an empty closed dim), ERROR_UNBOUND (no such axis). */
bool tensor_sharding_from_json(const Mesh *mesh, int n_dims, const Json *value, TensorSharding *out,
                               Error *err);
/* `priority` only where some dim has one. */
Json *tensor_sharding_to_json(Arena *arena, const Mesh *mesh, const TensorSharding *sharding);

/* As a layout of plans (core/layout/sharding.h): one digit a dim. False: the mesh's atoms cannot
 * say a sub-axis of it. */
bool tensor_sharding_to_layout(const TensorSharding *sharding, const Shape *shape, const Mesh *mesh,
                               Sharding *out);

/* The atoms of an axis or a part of it, major first, appended; false: no run of atoms is it. */
bool axis_ref_to_atoms(const AxisRef *ref, const Mesh *mesh, uint8_t *atom, int *n);
/* A list of atoms as axes, neighbours of one axis joined. */
void axis_list_from_atoms(const uint8_t *atom, int n, const Mesh *mesh, AxisList *out);

#endif
