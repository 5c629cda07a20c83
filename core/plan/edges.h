/* edges.h - from op cuts to the sharding each value is made with, the sharding each reader needs,
 * and the reshards between them.
 *
 * Made: the projection of the maker's cut, partial over axes that shard a reduce dim. Needed: the
 * projection of the reader's cut. A partial value stays partial only through an op that is linear
 * in that operand and does not enlarge it, is the only reader of the value and is not itself
 * sharded by those axes. A sum of values that are partial over the same axes stays partial, too; so
 * does one whose result is marked `unreduced` if an addend is partial: others are added by the
 * ranks at coordinate 0 alone. A sum of gradients stays so over the axes of any addend, and over
 * those by which two addends or more are sharded and the sum is not: each rank adds its shard. For
 * every other reader it is reduced. An unpinned parameter is stored in the sharding that all its
 * uses agree on, else replicated.
 *
 * If maker and reader run on different parts of the mesh, the reshard sends the value from one to
 * the other, through the stages in between that relay values (stage.h). Such a stage holds the
 * value as it was made, but without the axes that cannot shard anything on its devices, even if
 * nothing there reads it; values of the backward pass are not relayed. Graph inputs, parameters and
 * constants exist on every part of the mesh that reads them, so they are never sent.
 *
 * A parameter or state that the update of a training step makes is sent to all parts of the mesh
 * that hold the old value and do not update it themselves (StepShape.part).
 *
 * The value that a loop carries is resharded at the end of an iteration to what the next one
 * expects: its reader is the LoopCarry op.
 *
 * In a training step a reshard's result that is larger than the value, such as an all-gather's, is
 * not kept from one phase to the next: each phase has its own reshard. Other results are what is
 * saved for the backward pass.
 *
 * A value about which the plan has an assumption (assume.h) is made as assumed.
 *
 * A partial output of the model is reduced, unless a mark (unreduced) or the propagator
 * (keeps_partial) keeps it partial.
 *
 * If a propagator decides itself what stays partial (plan->propagated->passed), its decision
 * replaces these rules, and parameters are stored as it propagated them.
 */
#ifndef CORE_PLAN_EDGES_H
#define CORE_PLAN_EDGES_H

#include "core/plan/plan.h"

/* Fills plan->moved of a plan whose cuts are known. */
void edges_fill(Plan *plan);

/* Per tensor, in the plan's arena: the sharding in which a parameter is stored, from its pins and
 * its readers. Readers without a cut (-1), the ops of a training step's update, are ignored. */
const int32_t *edges_stored(Plan *plan);

/* The cut of a stored dim: first the axes of its use, then the axes that store it, `4096/tp.dp`, so
 * that an all-gather over the latter gives what is used. If `own`, the pin, names axes of the use,
 * or cuts by more than axes, the result is the pin's cut. */
Cut cut_stored(const Cut *used, const Cut *own, const Mesh *mesh);
/* Adds the pins that say how those values of a parameter are stored to `from`, the Shardings id
 * that they have without these pins. Dims without a pin stay as they are, but lose the axes of the
 * pins. */
int32_t stored_as_pinned(const Plan *plan, int32_t parameter, Stored values, int32_t from);

/* The op that a reshard runs before: its first reader. Or the op that it runs after, the value's
 * maker, with *after true: if only a pin asks for it, if a loop carries the value, or if
 * reshards_at_once() holds. Returns -1 if it runs before any op. */
int32_t reshard_beside(const Plan *plan, const Reshard *reshard, bool *after);

/* Returns whether the tensor is a gradient of a parameter that only the update reads. It is then
 * resharded as soon as it is made, so that a whole gradient exists no longer than needed and its
 * reduction overlaps with the backward pass. With several micro-batches it is resharded once, after
 * the last of them. */
bool reshards_at_once(const Plan *plan, int32_t tensor);

/* The reshards of each tensor, for code that follows values through a plan. */
typedef struct {
    const Plan *plan;
    const int32_t *first, *next; /* first: per tensor; next: per reshard, the next of the same
                                    tensor; -1 at the end */
} ReshardIndex;

ReshardIndex reshard_index(Arena *arena, const Plan *plan);
/* Returns the reshard that gives the tensor this sharding on these devices for readers of that
 * plan_phase() (0: of any), or -1. */
int32_t reshard_filling(const ReshardIndex *index, int32_t tensor, int32_t to, int devices,
                        int phase);

/* The part of the mesh that holds the result of step i of the reshard. */
int reshard_step_devices(const Reshard *reshard, int i);

#endif
