/* lua_order.h - Lua functions whose results differ from run to run, made reproducible.
 *
 * Table keys are visited in this order: false, true; numbers; strings by their bytes; objects with
 * an
 * __order metamethod (nodes, tensors) by the string it returns. pairs() and next() refuse tables
 * and functions as keys. table.sort() is a merge sort. Addresses are shown as numbers, counted from
 * the first one shown.
 */
#ifndef SCRIPTS_SANDBOX_LUA_ORDER_H
#define SCRIPTS_SANDBOX_LUA_ORDER_H

#include <lua.h>

int order_pairs(lua_State *L);
int order_next(lua_State *L); /* each call looks at all keys */
int order_sort(lua_State *L);
int order_tostring(lua_State *L);
int order_format(lua_State *L);     /* upvalue 1: string.format */
int order_randomseed(lua_State *L); /* upvalue 1: math.randomseed */

#endif
