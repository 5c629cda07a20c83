/* lua_template.h - templates as Lua tables: `template "name" { inputs = {..}, .. }`.
 *
 * Fields are those of core/peers/tapestry/template.h, all texts; functions and unknown fields are
 * refused. At the top level of a policy, or of a shipped file of scripts/ops, it adds the operator
 * `name` to the registry.
 */
#ifndef SCRIPTS_LUA_TEMPLATE_H
#define SCRIPTS_LUA_TEMPLATE_H

#include "core/peers/tapestry/template.h"
#include "scripts/lua_state.h"

/* Makes `template` a global of the state; for register_run(), in sandbox_protect(). */
void template_open(lua_State *L);

/* The one template that the Lua text defines, in the arena. NULL: its own kind of error; what is
 * wrong with the Lua is ERROR_SYNTAX. */
const Template *template_read(Arena *arena, const char *name, Str text, Error *err);

/* template.apply of the eval protocol, whose `template` is a Lua text. */
bool template_answer(const char *verb, Arena *arena, const Json *request, Json *answer, Error *err);

#endif
