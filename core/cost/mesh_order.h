/* mesh_order.h - a finding where another order of the mesh's axes takes less time.
 *
 * The last axis of a mesh has neighbouring devices, so its collectives stay on a node as long as
 * it fits there; axes before it cross nodes. Every order of the axes is priced with the
 * collectives of this plan, and the cheapest is named with the time of its step: a plan that is
 * made in that order may choose other reshards, which cost no more.
 *
 * code              level     when
 * mesh-order        note      an axis crosses nodes, and the step takes at most 0.95 of its time in
 *                             the best order
 *
 * Looked at are meshes of 2 to MESH_ORDER_AXES axes with more than one device, whose devices are in
 * their own order and on several nodes. Of equally good orders the first is named, where the axes
 * that separate pipeline stages come first and the others stay in their order.
 */
#ifndef CORE_COST_MESH_ORDER_H
#define CORE_COST_MESH_ORDER_H

#include "core/plan/plan.h"

enum { MESH_ORDER_AXES = 5 }; /* 120 orders */

/* Needs the plan's prices. */
void mesh_order_find(Plan *plan);

#endif
