/* lua_registered.h - what a file registered, as hashes: does a file that was written say the same?
 *
 * The hash of a call is that of its values: texts, numbers, tables in the order of their keys, and
 * of functions the lines they stand in. What a function calls is not seen.
 */
#ifndef SCRIPTS_LUA_REGISTERED_H
#define SCRIPTS_LUA_REGISTERED_H

#include "scripts/lua_state.h"

/* Notes a call that registers `name` with the values at 1 and 2 of the stack. */
void registered_note(lua_State *L, const char *name);

/* Appends "'my::op', 'my::other'", those that differ, are new or are gone; nothing: none. */
void registered_differ(const Sandbox *before, const Sandbox *now, Buf *out);

#endif
