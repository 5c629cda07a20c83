/* propagate.h - the default propagator, `factor`: axes flow between tensors and index dims, both
 * ways, until nothing changes.
 *
 * Phases: pins; ops on parameters alone; ops beside a
 * pinned operand, reduce dims too; early ops (element-wise, views, norms); all ops, map dims only;
 * all ops, reduce dims where 2 x bytes(outputs) <= bytes of the operands otherwise gathered. Pins
 * of a later priority are felt after all that, and then all of it again; until then their dims are
 * shut and their axes may not cut the rest of the tensor.
 * In an op one axis cuts one index dim; who came first keeps it. Cuts only grow, so the sweeps end.
 * Parameters and constants take cuts and hand none on unless pinned. What a loop carries is tied to
 * what it leaves for the next iteration, and Slices that are all of one tensor as the outputs of a
 * Split (core/propagate/ties.h). Tensors of a group have one sharding. A barrier on a
 * tensor refuses what readers hand back (forward), what its maker hands on (backward), or both
 * (none).
 *
 * Speed: states are interned, so that one visit of an op is a look-up (core/propagate/engine.h);
 * the arithmetic on digits runs once per distinct case. A Propagation outlives plans: made for one
 * model and mesh, it plans again from the log of an earlier plan, looking only at what differs.
 */
#ifndef CORE_PROPAGATE_PROPAGATE_H
#define CORE_PROPAGATE_PROPAGATE_H

#include "core/propagate/engine.h"
#include "core/plan/plan.h"
#include "core/plan/stop.h"

/* Lives in the arena. Op spaces and mesh are those of every plan it is used for. */
Propagation *propagation_new(Arena *arena, const Inferred *inferred, const Mesh *mesh);

/* Why axes of the finished plan stop at an op: axes of its operands that it does not take, and its
 * own that they do not take. Returns the number of records, in the arena; 0 if the propagator keeps
 * none. */
int propagate_stops(Arena *arena, const Plan *plan, int32_t op, StopRecord **out);

/* ---- for the bench and for tests ---- */
bool propagation_sweep_all(Propagation *propagation); /* over the finished states; true: it moved */
int64_t propagation_n_visits(const Propagation *propagation); /* in the last run */

#endif
