/* propagate.h - the default propagator, `factor`: axes flow between tensors and index dims, both
 * ways, until nothing changes.
 *
 * Phases (research: plans on real models, section 4): pins; ops on parameters alone; ops beside a
 * pinned operand, reduce dims too; early ops (element-wise, views, norms); all ops, map dims only;
 * all ops, reduce dims where 2 x bytes(outputs) <= bytes of the operands otherwise gathered.
 * In an op one axis cuts one index dim; who came first keeps it. Cuts only grow, so the sweeps end.
 * Parameters and constants take cuts and hand none on unless pinned.
 *
 * Speed: states of tensors and of ops are interned, so that one visit of an op is a look-up of
 * (op space, phase, states) -> states; the arithmetic on digits runs once per distinct case.
 */
#ifndef CORE_PLAN_PROPAGATE_H
#define CORE_PLAN_PROPAGATE_H

#include "core/plan/plan.h"

/* Fills plan->cut, cuts and sweeps from plan->pins. Conflicts become findings. */
void propagate_factor(Plan *plan);

/* The cut that an op's index dims give one dim of an operand. False: the dim has no index dim, or
 * the cut takes too many digits. */
bool cut_project(const OpSpace *space, const OpCut *cut, int operand, int dim, const Mesh *mesh,
                 Cut *out);

/* ---- for the bench: one forward and one backward sweep over a finished state ---- */
typedef struct Propagation Propagation;
Propagation *propagation_new(Plan *plan);
void propagation_run(Propagation *propagation); /* all phases to the fixed point */
bool propagation_sweep(
    Propagation *propagation); /* one double sweep; true when something changed */

#endif
