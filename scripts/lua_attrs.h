/* lua_attrs.h - converts attributes and shapes of an op to and from Lua values. */
#ifndef SCRIPTS_LUA_ATTRS_H
#define SCRIPTS_LUA_ATTRS_H

#include "core/base/error.h"
#include "core/rules/user_op.h"

#include <lua.h>

/* Pushes a table of the op's attributes by name: numbers, texts, lists. Those that are tensors or
 * graphs are left out. */
void attrs_push(lua_State *L, const Graph *graph, int32_t op);

/* The same of the arguments of a part of an op. */
void kwargs_push(lua_State *L, const Kwargs *kwargs);
/* The table at the top of the stack, by name: whole numbers, numbers, booleans (0 and 1), texts and
 * lists of these. False with *err, which names what is none of them. */
bool kwargs_read(lua_State *L, Arena *arena, Kwargs *out, Error *err);

void sizes_push(lua_State *L, const Shape *shape); /* a list */

/* A key of the table at the top of the stack that is not among the known ones, which NULL ends;
 * "a number" for one that is no text; NULL: there is none. */
const char *attrs_unknown_key(lua_State *L, const char *const *known);

#endif
