/* lua_attrs.h - attributes and shapes of an op as Lua values. */
#ifndef SCRIPTS_LUA_ATTRS_H
#define SCRIPTS_LUA_ATTRS_H

#include "core/model/graph.h"

#include <lua.h>

/* Pushes a table of the op's attributes by name: numbers, texts, lists. Those that are tensors or
 * graphs are left out. */
void attrs_push(lua_State *L, const Graph *graph, int32_t op);

void sizes_push(lua_State *L, const Shape *shape); /* a list */

#endif
