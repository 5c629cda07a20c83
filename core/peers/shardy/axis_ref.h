/* axis_ref.h - axes and sub-axes in Shardy's sense.
 *
 * An axis x of size 8 may be used whole, "x", or in part, "x:(2)4": the part of size 4 with a part
 * of size 2 before (more major than) it. Any divisor may split an axis. The atoms of a mesh
 * (mesh.h) cannot express every split: they split an axis of size 6 as 2.3, and x:(3)2 is not a run
 * of those atoms. Source: Shardy's AxisRefAttr.
 */
#ifndef CORE_PEERS_SHARDY_AXIS_REF_H
#define CORE_PEERS_SHARDY_AXIS_REF_H

#include "core/layout/mesh.h"

/* Upper bound of the parts in a list: each atom, and each whole axis of size 1. */
enum { AXIS_REFS_MAX = ATOMS_MAX + MESH_AXES_MAX };

typedef struct {
    int axis;      /* of the mesh */
    int pre, size; /* the whole axis: 1 and its size */
} AxisRef;

typedef struct {
    int n;
    AxisRef at[AXIS_REFS_MAX]; /* major to minor */
} AxisList;

AxisRef axis_ref_whole(const Mesh *mesh, int axis);
bool axis_ref_is_whole(const AxisRef *ref, const Mesh *mesh);
bool axis_ref_equal(const AxisRef *a, const AxisRef *b);
bool axis_refs_overlap(const AxisRef *a, const AxisRef *b); /* they share a part of the axis */
bool axis_ref_contains(const AxisRef *a, const AxisRef *b); /* a includes all of b */
/* b starts where a starts and is at least as long. */
bool axis_ref_is_prefix(const AxisRef *a, const AxisRef *b);

/* True when two parts may be used on different tensors of one op: their borders divide each other.
 * For an axis of size 12, (1)4 and (3)2 cannot coexist. */
bool axis_refs_can_coexist(const AxisRef *a, const AxisRef *b);

/* The longest prefix of a that does not overlap b (a itself if they do not overlap). Returns false
 * if nothing is left or they cannot coexist. */
bool axis_ref_without(const AxisRef *a, const AxisRef *b, AxisRef *out);
/* The same for every axis of a list. */
bool axis_ref_without_list(const AxisRef *a, const AxisList *list, AxisRef *out);

int64_t axis_list_size(const AxisList *list); /* product of sizes */
bool axis_list_equal(const AxisList *a, const AxisList *b);
/* a is a prefix of b; the last axis of a may be a prefix of the axis in b. */
bool axis_list_is_prefix(const AxisList *a, const AxisList *b);
bool axis_list_is_strict_prefix(const AxisList *a, const AxisList *b);
void axis_list_add(AxisList *list, AxisRef ref);
/* Appends `ref`; merges it with the last entry when it continues that one. */
void axis_list_push(AxisList *list, const Mesh *mesh, AxisRef ref);
/* Sorts by mesh axis, then the more major part first. */
void axis_list_sort(AxisList *list);

bool meshes_same_axes(const Mesh *a, const Mesh *b);    /* names and sizes, in order */
bool meshes_same_devices(const Mesh *a, const Mesh *b); /* for meshes of equal size */

void axis_ref_format(const Mesh *mesh, const AxisRef *ref, Buf *out); /* "x", "x:(2)4" */
bool axis_ref_parse(const Mesh *mesh, Str text, AxisRef *out, Error *err);

#endif
