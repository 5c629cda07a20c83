/* decision_lua.h - a decision as the line of a policy that decides the same.
 *
 *     graph:shard("lm_head.weight", {[1] = {"tp"}})
 *     graph:pin(graph:op("/h.0/mlp/MatMul"), {k = {}})
 *     graph:unpin("lm_head.weight", 1)
 *     graph:replicated("lm_head.weight", {"tp"})       unreduced, tie, barrier, unmark
 *
 * A tensor is named as people name it where that name finds it, else by its own name; `shard` takes
 * patterns, so a name with their signs is pinned by graph:pin. A policy can say cuts of one digit,
 * of interleaved parts, of units and of blocks (scripts/lua_cut.h); what needs more is a comment
 * that says the cut.
 */
#ifndef CORE_SUMMARY_DECISION_LUA_H
#define CORE_SUMMARY_DECISION_LUA_H

#include "core/session/session.h"

/* Whether a policy can say the cut. */
bool cut_has_lua(const Cut *cut);

void decision_lua(const Session *session, const Decision *decision, Buf *out);

#endif
