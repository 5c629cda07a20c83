/* lua_registered.h - hashes of what a file registered, to notice when it changes.
 *
 * The hash of a call covers its values: strings, numbers, tables in the order of their keys, and
 * the source lines of functions, but not what these call.
 */
#ifndef SCRIPTS_REGISTER_LUA_REGISTERED_H
#define SCRIPTS_REGISTER_LUA_REGISTERED_H

#include "scripts/sandbox/lua_state.h"

/* Records a call that registers `name` with the values at stack indices 1 and 2. */
void registered_note(lua_State *L, const char *name);

/* Appends "'my::op', 'my::other'", those that differ, are new or are gone; nothing: none. */
void registered_differ(const Sandbox *before, const Sandbox *now, Buf *out);

#endif
