/* decide.h - from choices to decisions, and back from a plan to choices.
 *
 * Decisions are few: pins of the index dims of some ops, from which the propagator makes the cuts
 * of all others; of how inputs are given, parameters are stored, and sums of gradients are sharded,
 * where that does not follow. Ops of equal layers get equal pins.
 */
#ifndef CORE_SEARCH_DECIDE_H
#define CORE_SEARCH_DECIDE_H

#include "core/search/instance.h"

typedef Vec(Decision) Decisions;

/* Appends the decisions with which the plan takes these choices [nodes]; *made is that plan, to be
 * freed, or NULL if it was cancelled or is not asked for. Returns false with *err. */
bool decide(Arena *arena, const Instance *instance, const int32_t *choice, Decisions *out,
            Plan **made, Error *err);

/* Which choices the plan takes: allowed[node], or NULL where none of them is its own. Returns
 * whether every node has one. */
bool choices_of_plan(Arena *arena, Instance *instance, const Plan *plan, const bool **allowed);

/* The same for a search of some ops: those outside of the holes, and what only they read, stay as
 * the plan has them; sums of gradients and moves follow. holes: [ops of the graph]. */
void choices_of_holes(Arena *arena, Instance *instance, const Plan *plan, const bool *holes,
                      const bool **allowed);

#endif
