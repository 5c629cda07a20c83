/* axis_ref.h - axes and sub-axes as Shardy has them.
 *
 * An axis x of size 8 may be used whole, "x", or in part, "x:(2)4": the part of size 4 that has 2
 * before (more major than) it. Any split by a divisor is one, prime or not, which atoms of a mesh
 * (mesh.h) cannot say: of an axis of 6 atoms split 2.3, and x:(3)2 is no run of them.
 * Source: Shardy's AxisRefAttr.
 */
#ifndef CORE_PEERS_SHARDY_AXIS_REF_H
#define CORE_PEERS_SHARDY_AXIS_REF_H

#include "core/layout/mesh.h"

/* As many parts of more than one device, and whole axes of one, as a mesh has. */
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
bool axis_refs_overlap(const AxisRef *a, const AxisRef *b); /* some part of the axis is in both */
bool axis_ref_contains(const AxisRef *a, const AxisRef *b); /* all of b is in a */
/* b starts where a starts and goes further (or is a). */
bool axis_ref_is_prefix(const AxisRef *a, const AxisRef *b);

/* Parts that overlap can stand beside each other on different tensors when their borders divide
 * each other; of an axis of 12, (1)4 and (3)2 can not. */
bool axis_refs_can_coexist(const AxisRef *a, const AxisRef *b);

/* The longest prefix of a that does not overlap b (a itself when they do not). False: none is left,
 * or they can not coexist. */
bool axis_ref_without(const AxisRef *a, const AxisRef *b, AxisRef *out);
/* The same of every axis of a list. */
bool axis_ref_without_list(const AxisRef *a, const AxisList *list, AxisRef *out);

int64_t axis_list_size(const AxisList *list); /* product of sizes */
bool axis_list_equal(const AxisList *a, const AxisList *b);
/* a begins b, its last axis perhaps in part only. */
bool axis_list_is_prefix(const AxisList *a, const AxisList *b);
bool axis_list_is_strict_prefix(const AxisList *a, const AxisList *b);
void axis_list_add(AxisList *list, AxisRef ref);
/* Appends; a neighbour that continues the last one is merged with it. */
void axis_list_push(AxisList *list, const Mesh *mesh, AxisRef ref);
/* In mesh order: of one axis the more major part first. */
void axis_list_sort(AxisList *list);

void axis_ref_format(const Mesh *mesh, const AxisRef *ref, Buf *out); /* "x", "x:(2)4" */
bool axis_ref_parse(const Mesh *mesh, Str text, AxisRef *out, Error *err);

#endif
