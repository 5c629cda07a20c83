/* lua_chunks.h - what Lua compiled of the shipped files that scripts include. Compiling takes six
 * times as long as reading what was compiled, and every plan of a policy includes the same files.
 */
#ifndef SCRIPTS_SANDBOX_LUA_CHUNKS_H
#define SCRIPTS_SANDBOX_LUA_CHUNKS_H

#include "core/base/str.h"

#include <lua.h>

typedef struct Chunks Chunks;

/* NULL when there is no memory. Freed by chunks_free(). */
Chunks *chunks_new(void);
void chunks_free(Chunks *chunks); /* NULL is allowed */

/* Pushes the function that the text is, compiled under that name in Lua's sense, or an error: what
 * luaL_loadbufferx() returns of the text. chunks NULL: it is compiled. Any thread may call it, each
 * with a state of its own. */
int chunks_load(Chunks *chunks, lua_State *L, Str text, const char *name);

#endif
