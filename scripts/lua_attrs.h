/* lua_attrs.h - converts attributes and shapes of an op to and from Lua values. */
#ifndef SCRIPTS_LUA_ATTRS_H
#define SCRIPTS_LUA_ATTRS_H

#include "core/base/error.h"
#include "core/rules/user_op.h"

#include <lua.h>

/* Pushes a table of the op's attributes by name: numbers, texts, lists. Those that are tensors or
 * graphs are left out. */
void attrs_push(lua_State *L, const Graph *graph, int32_t op);

/* The same for the arguments of a part of an op. */
void kwargs_push(lua_State *L, const Kwargs *kwargs);
/* Reads the table at the top of the stack: whole numbers, numbers, booleans (0 and 1), texts and
 * lists of these, by name. Returns false with *err naming a value of another type. */
bool kwargs_read(lua_State *L, Arena *arena, Kwargs *out, Error *err);

void sizes_push(lua_State *L, const Shape *shape); /* a list */

/* A key of the table at the top of the stack that is not in `known`, which NULL ends; "a number"
 * for a key that is no text; NULL if all are known. */
const char *attrs_unknown_key(lua_State *L, const char *const *known);

#endif
