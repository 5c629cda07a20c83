/* tapestry.h - templates as Lua tables: `template "name" { inputs = {..}, .. }`.
 *
 * Fields are those of core/peers/tapestry/template.h, all texts; functions and unknown fields are
 * refused. At the top level of a policy, or of a shipped file of scripts/ops, it adds the operator
 * `name` to the registry.
 */
#ifndef SCRIPTS_PEERS_TAPESTRY_H
#define SCRIPTS_PEERS_TAPESTRY_H

#include "core/peers/tapestry/template.h"
#include "core/base/eval.h"
#include "scripts/lua_api.h"

extern const LuaEntry template_globals[];

/* The one template that the Lua text defines, in the arena. NULL: its own kind of error; what is
 * wrong with the Lua is ERROR_SYNTAX. */
const Template *template_read(Arena *arena, const char *name, Str text, Error *err);

/* template.apply, whose `template` is a Lua text. */
extern const EvalVerb template_eval_verbs[];

#endif
