/* decision_lua.h - a decision as the line of a policy that makes the same decision.
 *
 *     graph:shard("lm_head.weight", {[1] = {"tp"}})
 *     graph:pin(graph:op("/h.0/mlp/MatMul"), {k = {}})
 *     graph:unpin("lm_head.weight", 1)
 *     graph:replicated("lm_head.weight", {"tp"})       unreduced, tie, barrier, unmark
 *
 * A tensor is written with its name on screens (naming.h) if that finds it, else with its own name;
 * `shard` takes patterns, so a name with pattern characters is pinned by graph:pin. A policy can
 * express cuts of one digit, of interleaved parts, of units and of blocks (scripts/lua_cut.h); any
 * other cut becomes a comment with the cut.
 */
#ifndef CORE_SUMMARY_DECISION_LUA_H
#define CORE_SUMMARY_DECISION_LUA_H

#include "core/session/session.h"

/* Returns whether a policy can express the cut. */
bool cut_has_lua(const Cut *cut);

void put_lua_text(const char *text, Buf *out); /* in quotes */
void put_lua_str(Str text, Buf *out);          /* the same */

/* Marks the name of the tensor or op, without its quotes, with SPAN_NAME. */
void decision_lua(const Session *session, const Decision *decision, Buf *out);

/* One line for decisions 0 to n - 1, which differ only in their tensor or op, with a pattern that
 * matches exactly these:
 *
 *     graph:shard("h.*.mlp.c_fc.weight", {[1] = {"tp"}})
 *     graph:pin(graph:where{op = "node_linear_{5,12}"}, {n = {"tp"}})
 *
 * Returns how many of them, from the first one on, the line covers; 1 if there is no such pattern.
 */
int decisions_lua(const Session *session, const Decision *const *decisions, int n, Buf *out);

#endif
