/* space_rule.h - the dims_mapping rule of an operator that a user registered, from its op space.
 *
 * Each index dim that may be sharded has a letter; a tensor dim has that of its major index dim,
 * and '1' if it is never sharded: "(h t) k -> h t k" is the rule "ac->abc". Letters that no output
 * has are partial by the reduction of their index dim.
 */
#ifndef CORE_PEERS_PADDLE_SPACE_RULE_H
#define CORE_PEERS_PADDLE_SPACE_RULE_H

#include "core/peers/paddle/op_call.h"

/* Fills *call with such a rule and the operands that have letters. Returns false for a built-in
 * operator, and if letters cannot express the space. */
bool spmd_call_of_space(Arena *arena, const Inferred *inferred, int32_t op, SpmdOpCall *call);

#endif
