/* lua_kernel.h - kernels in Lua for registered operators.
 *
 * A kernel gets this rank's shards and returns those of the outputs as flat lists; if a summed dim
 * is sharded, it returns this rank's addend. Ranks take turns, since a Lua state runs one at a
 * time.
 */
#ifndef SCRIPTS_REGISTER_LUA_KERNEL_H
#define SCRIPTS_REGISTER_LUA_KERNEL_H

#include "core/run/kernel.h"
#include "scripts/lua_api.h"
#include "scripts/sandbox/lua_state.h"

/* A kernel that calls the function at the top of the stack, which is popped. It lives as long as
 * the sandbox. In sandbox_protect(). */
const Kernel *kernel_of_function(lua_State *L, const char *name);

/* The fields of its inputs, as the type "part". */
extern const LuaEntry part_fields[], part_methods[];

#endif
