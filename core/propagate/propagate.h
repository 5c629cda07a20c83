/* propagate.h - the default propagator, `factor`: axes flow between tensors and index dims, in both
 * directions, until nothing changes.
 *
 * Phases: pins; ops on parameters alone; ops next to a pinned operand, including reduce dims; early
 * ops (element-wise, views, norms); all ops, only map dims; all ops, reduce dims if 2 x
 * bytes(outputs) <= bytes of the operands that would be gathered otherwise. Pins of a later
 * priority take effect after all these phases, and then all phases run again; until then their dims
 * are closed and their axes may not cut other dims of the tensor. In an op, one axis cuts one index
 * dim; the first to get it keeps it. Cuts only grow, so the sweeps terminate. Parameters and
 * constants receive cuts and pass on only pinned ones. A value that a loop carries is tied to what
 * the loop leaves for the next iteration, and Slices that together are one whole tensor are tied
 * like the outputs of a Split (core/propagate/ties.h). Tensors of a group have one sharding. A
 * barrier on a tensor refuses axes from its readers (forward), from its maker (backward), or both
 * (none).
 *
 * Speed: states are interned, so that one visit of an op is a look-up (core/propagate/engine.h);
 * the arithmetic on digits runs once per distinct case. A Propagation outlives plans: made for one
 * model and mesh, it plans again from the log of an earlier plan, looking only at what differs.
 */
#ifndef CORE_PROPAGATE_PROPAGATE_H
#define CORE_PROPAGATE_PROPAGATE_H

#include "core/plan/plan.h"
#include "core/plan/stop.h"

/* Lives in the arena. Op spaces and mesh must be those of every plan it is used for. */
Propagation *propagation_new(Arena *arena, const Inferred *inferred, const Mesh *mesh);

/* Why axes of the finished plan stop at an op: axes of its operands that the op does not have, and
 * axes of the op that its operands do not have. Returns the number of records, in the arena; 0 if
 * the propagator keeps none. */
int propagate_stops(Arena *arena, const Plan *plan, int32_t op, StopRecord **out);

/* ---- for the bench and for tests ---- */
/* One more sweep over the finished states; true: it changed something. */
bool propagation_sweep_all(Propagation *propagation);
int64_t propagation_n_visits(const Propagation *propagation); /* in the last run */

#endif
