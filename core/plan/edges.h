/* edges.h - from op cuts to the sharding each value is made with, the sharding each reader needs,
 * and the reshards between them.
 *
 * Made: the projection of the maker's cut, partial over axes that shard a reduce dim. Needed: the
 * projection of the reader's cut. A partial value stays partial only through an op that is linear
 * in that operand and does not enlarge it, if that op is its only reader and is not itself sharded
 * by those axes; a sum of values that are partial on the same axes passes too. Every other reader
 * makes it reduced. An unpinned parameter is stored in the sharding that all its uses agree on,
 * else replicated.
 *
 * Where maker and reader run on different parts of the mesh, the reshard sends the value from one
 * to the other, by way of the stages between that relay values (stage.h). Such a stage holds the
 * value as it was made, without the axes that its devices cannot be sharded by, even if nobody
 * there reads it; values of the backward pass are not relayed. Graph inputs, parameters and
 * constants are on every part of the mesh that reads them, so they are never sent.
 *
 * What a training step leaves for the next is sent to all parts of the mesh that hold what it takes
 * the place of and do not update it themselves (StepShape.part).
 *
 * A value that a loop carries over is resharded at the end of an iteration to what the next one
 * expects: its reader is the LoopCarry op.
 *
 * In a training step the result of a reshard that is larger than the value, as an all-gather's is,
 * is not kept from one phase to another: each phase has its own. Others are what is saved.
 *
 * A value that the plan makes an assumption about (assume.h) is made as assumed.
 *
 * A partial output of the model is reduced, unless a mark (unreduced) or the propagator
 * (keeps_partial) keeps it so.
 *
 * If a propagator decides itself what stays partial (plan->propagated->passed), its decision
 * replaces these rules, and parameters are stored as it propagated them.
 */
#ifndef CORE_PLAN_EDGES_H
#define CORE_PLAN_EDGES_H

#include "core/plan/plan.h"

/* Fills plan->moved of a plan whose cuts are known. */
void edges_fill(Plan *plan);

/* Per tensor, in the plan's arena: the sharding in which a parameter is stored by its pins and its
 * readers; ops without a cut (-1), those of a training step's update, do not count as such. */
const int32_t *edges_stored(Plan *plan);

/* The cut of a stored dim: as it is used, then by the axes that store it, `4096/tp.dp`, so that a
 * gather over those alone gives what is used. As the pin has it, `own`, where that names axes of
 * the use, or more than axes. */
Cut cut_stored(const Cut *used, const Cut *own, const Mesh *mesh);
/* Adds the pins that say how those values of a parameter are stored to the sharding that they have
 * without, a Shardings id. Dims without a pin stay so, without the axes of the pins. */
int32_t stored_as_pinned(const Plan *plan, int32_t parameter, Stored values, int32_t from);

/* The op that a reshard runs before (its first reader) or, if only a pin asks for it, a loop
 * carries the value or reshards_at_once() of it, the op that it runs after (the maker). Returns -1
 * if it runs before any op. */
int32_t reshard_beside(const Plan *plan, const Reshard *reshard, bool *after);

/* Whether the update alone reads the tensor, a gradient of a parameter: it is moved as soon as it
 * is made, so that a whole gradient is there no longer than it has to be, and its reduction
 * overlaps with the backward pass. With several micro-batches it is moved once, behind the last of
 * them. */
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
