/* step_cuts.h - how the ops of a training step after its forward pass are partitioned.
 *
 * Nothing propagates there. A gradient op has the cuts of its forward op, index dim by index dim
 * (core/space/gradient.h). So it needs a saved operand exactly as the forward op read it, and the
 * gradient of a result as the forward op made the result; the reshards of the backward pass are the
 * transposes of the forward's. An op that runs again has all cuts of the original. The sum of the
 * gradients of a value is computed where the addends are, if all are sharded alike, else with the
 * sharding of the value. Ops that a user's function builds are cut like what they read: operands of
 * the forward op as that op reads and makes them, the first operand first. An op of the update has
 * the sharding in which the states of its parameter are stored, or that of the parameter if it has
 * no states; the gradients reduced before it and the parameters gathered after it are ordinary
 * reshards. Gradients of windows are made with overlapping borders, and stored without them.
 *
 * A pin of an index dim replaces the copied cut; its axes are removed from the op's other dims. A
 * pin of a tensor dim says how the value is sharded: the op makes it so if its cut does not use the
 * axes, else the value is moved after the op. Sums are always moved, once, after the sum.
 */
#ifndef CORE_PROPAGATE_STEP_CUTS_H
#define CORE_PROPAGATE_STEP_CUTS_H

#include "core/plan/plan.h"

/* forward: the propagator's result on plan->inferred->forward, from a plan with the same shardings.
 * Fills *out with that result and the cuts of all other ops. */
void step_cuts(Plan *plan, const Plan *forward, Propagated *out);

/* The cut of a gradient op without pins of its own if its forward op has the cut `of`. */
OpCut gradient_op_cut(const OpSpace *space, const OpCut *of, const Mesh *mesh);

#endif
