/* recompute.h - which values a training step computes again in the backward pass instead of keeping
 * them.
 *
 * Ops of the model are in recomputation groups (PIN_RECOMPUTE). A value of a group that only ops of
 * the group read is dropped in the forward pass. When a gradient op first reads it, the ops that
 * make it run again just before (PHASE_AGAIN), from the inputs of the group. So the inputs and
 * outputs of a group are kept, and an op whose results no gradient needs is not run again, unless
 * the whole group must be.
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

/* Flag in a group's number: all its ops run again with the first one, as in Megatron-LM and in
 * torch's reentrant checkpoints. */
enum { RECOMPUTE_WHOLE = 1 << 30 };

/* In a group's place: of an op whose value is made of parameters alone, and kept for the backward
 * pass where it would be made again, since several stages read it. */
enum { RECOMPUTE_NEVER = -2 };

/* Marks the values that are made again. group: per op, negative for none. Ops in branches and loops
 * keep their values. */
void recompute_mark(const Inferred *model, const int32_t *group, bool *remade);

/* The group of each op, from 0 in program order, or -1. Ops of other groups may lie between the ops
 * of a group. */
int32_t *recompute_layers(Arena *arena, const Inferred *model);
int32_t *recompute_attention(Arena *arena, const Inferred *model);

#endif
