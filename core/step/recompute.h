/* recompute.h - which values a training step does not keep for its backward pass, but makes again.
 *
 * Ops of the model are in groups (PIN_RECOMPUTE). A value of a group that only ops of the group
 * read is dropped in the forward pass. When a gradient op first reads it, the ops that it is made
 * of run again just before (PHASE_AGAIN), from what comes into the group. So what comes into a
 * group and what leaves it is kept, and an op whose results no gradient needs is not run again,
 * unless the whole group is to.
 *
 * Two ways to group the ops, as trainers offer them:
 *     full        each layer: groups of modules, or of repeated ops, that have equal ones beside
 *                 them (core/model/group.h)
 *     selective   the core of each attention that is spelled out, from the product of queries and
 *                 keys to that with the values (Korthikanti et al. 2022, arXiv 2205.05198)
 */
#ifndef CORE_STEP_RECOMPUTE_H
#define CORE_STEP_RECOMPUTE_H

#include "core/rules/infer.h"

/* In the number of a group: all its ops run again with the first, as Megatron-LM's and torch's
 * reentrant checkpoints do. */
enum { RECOMPUTE_WHOLE = 1 << 30 };

/* Marks what is made again. group: per op, -1 for none. Ops of branches and loops keep theirs. */
void recompute_mark(const Inferred *model, const int32_t *group, bool *remade);

/* The group of each op, from 0 in program order, or -1. Groups may have ops of others between. */
int32_t *recompute_layers(Arena *arena, const Inferred *model);
int32_t *recompute_attention(Arena *arena, const Inferred *model);

#endif
