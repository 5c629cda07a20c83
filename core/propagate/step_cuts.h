/* step_cuts.h - how the ops of a training step behind its forward pass are partitioned.
 *
 * Nothing propagates there. A gradient op takes the cuts of the op that it is the gradient of,
 * index dim by index dim (core/space/gradient.h): then a saved operand is needed exactly as the
 * forward op read it, the gradient of a result as the forward op made the result, and the reshards
 * of the backward pass are the transposes of the forward's. An op that is run again takes its cuts
 * whole. The sum of the gradients of a value adds them where they are, if all are sharded alike,
 * else as the value is. Ops that a user's function builds are cut as what they read is: operands
 * of the forward op as that op reads and makes them, first operand first. An op of the update takes
 * the sharding in which the states of its parameter are stored, or the parameter where there are
 * none: gradients reduced, parameters gathered after it are reshards like others. Gradients of
 * windows are made with overlapping borders, and lie without them.
 *
 * A pin of an index dim replaces what is copied; its axes are taken from the op's other dims. A pin
 * of a tensor dim says where the value lies: the op makes it so if its cut has no use for the axes,
 * else the value is moved behind the op. Sums are always moved, once, behind the sum.
 */
#ifndef CORE_PROPAGATE_STEP_CUTS_H
#define CORE_PROPAGATE_STEP_CUTS_H

#include "core/plan/plan.h"

/* forward: the propagator's result on plan->inferred->forward, by a plan with the same shardings.
 * Fills *out with it and with the cuts of all other ops. */
void step_cuts(Plan *plan, const Plan *forward, Propagated *out);

/* The cut of a gradient op, without pins of its own, where its forward op is cut so. */
OpCut gradient_op_cut(const OpSpace *space, const OpCut *of, const Mesh *mesh);

#endif
