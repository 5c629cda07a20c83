/* lua_order.h - Lua's functions whose answers would differ from run to run, made the same in each.
 *
 * Lua orders keys by seeds and addresses, and shows addresses. Here keys go in this order: false,
 * true; numbers; texts by their bytes; what has an __order, which gives a text (nodes, tensors), by
 * that. Tables and functions as keys have no order: pairs() and next() refuse them. table.sort() is
 * a merge sort: equal elements keep their places, and a comparison that contradicts itself gives
 * something, always the same. What Lua shows as an address is shown as a number, counted from the
 * first that is shown.
 */
#ifndef SCRIPTS_LUA_ORDER_H
#define SCRIPTS_LUA_ORDER_H

#include <lua.h>

int order_pairs(lua_State *L);
int order_next(lua_State *L); /* each call looks at all keys */
int order_sort(lua_State *L);
int order_tostring(lua_State *L);
int order_format(lua_State *L);     /* upvalue 1: string.format */
int order_randomseed(lua_State *L); /* upvalue 1: math.randomseed */

#endif
