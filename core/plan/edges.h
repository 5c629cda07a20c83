/* edges.h - from cuts of ops to what each value is made as, what each reader needs, and the
 * reshards between.
 *
 * Made: the projection of the maker's cut, partial over axes that cut a reduce dim. Needed: the
 * projection of the reader's cut. A partial value stays partial only through an op linear in that
 * operand which does not grow it, when that op is its only reader and cuts nothing by those axes;
 * a sum of values partial on the same axes passes too. Anything else reduces it. A parameter nobody
 * pinned is stored as all its uses agree, else whole.
 *
 * Where maker and reader run on other parts of the mesh the reshard sends the value from the one to
 * the other, by way of the stages between that relay (stage.h); such a stage has it as it was made,
 * less the axes its devices cannot cut by, and nobody there need read it. What is given or known is
 * on every part where it is read, and nothing of it is sent.
 *
 * What a loop carries on, as the iteration made it, is put as the next one finds it: its reader is
 * the LoopCarry.
 *
 * Where a propagator says by itself what stays partial (plan->passed), that holds instead, and
 * parameters lie as their flow says.
 */
#ifndef CORE_PLAN_EDGES_H
#define CORE_PLAN_EDGES_H

#include "core/plan/plan.h"

/* Fills made, sharding, need, reshards and reshard_uses of a plan whose cuts are known. */
void edges_fill(Plan *plan);

/* The op that a reshard is done before: its first reader; or after, its maker, where only a pin
 * asks for it or a loop carries the value back. -1: of what is given, before any op. */
int32_t reshard_beside(const Plan *plan, const Reshard *reshard, bool *after);

/* The reshards of each tensor, for what follows values through a plan. */
typedef struct {
    const Plan *plan;
    const int32_t *first, *next; /* per tensor, per reshard: of the same tensor; -1 */
} ReshardIndex;

ReshardIndex reshard_index(Arena *arena, const Plan *plan);
/* That which fills the tensor in a sharding on devices; -1: none does. */
int32_t reshard_filling(const ReshardIndex *index, int32_t tensor, int32_t to, int devices);

/* The part of the mesh that has the result of a step of the reshard: the i-th of its path. */
int reshard_step_devices(const Reshard *reshard, int i);

#endif
