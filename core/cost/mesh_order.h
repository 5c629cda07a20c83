/* mesh_order.h - a finding if another order of the mesh's axes is faster.
 *
 * Devices along the last axis of a mesh are neighbours, so its collectives stay on a node as long
 * as the axis fits there; earlier axes cross nodes. Every order of the axes is priced with the
 * collectives of this plan. The finding names the cheapest order and its time per step; a plan made
 * in that order may choose other reshards, which cost no more.
 *
 * code              level     when
 * mesh-order        note      an axis crosses nodes, and the step takes at most 0.95 of its time in
 *                             the best order
 *
 * Only for meshes of 2 to MESH_ORDER_AXES axes with more than one device, whose devices are in
 * their natural order and on several nodes. Of equally good orders the first is named in which the
 * axes that separate pipeline stages come first and the others keep their order.
 */
#ifndef CORE_COST_MESH_ORDER_H
#define CORE_COST_MESH_ORDER_H

#include "core/plan/plan.h"

enum { MESH_ORDER_AXES = 5 }; /* 120 orders */

/* The plan must be priced. */
void mesh_order_find(Plan *plan);

#endif
