/* rings.h - products whose parts go around a ring: pins laid upon the cuts that propagation gives.
 *
 * Such a pin changes no sharding of any other op: the axes that shard the op otherwise still do,
 * and one index dim of it is computed part by part (op_cut_ring()). So no propagator has to know.
 * Gradient ops take the ring of their forward op, as they take its cuts (step_cuts.h).
 */
#ifndef CORE_PROPAGATE_RINGS_H
#define CORE_PROPAGATE_RINGS_H

#include "core/plan/plan.h"

/* Adds the pins about the ops first .. end-1. Index dims that are sharded already stay so. */
void rings_put(const Plan *plan, Propagated *out, int32_t first, int32_t end);

#endif
