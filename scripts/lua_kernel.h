/* lua_kernel.h - a kernel in Lua: what a registered operator computes, for runs and for proofs.
 *
 *     register_op("a b+ -> a", {name = "row_sum", kernel = function(inputs, kwargs)
 *       local x, out = inputs[1], {}
 *       for i = 0, x.shape[1] - 1 do
 *         local sum = 0
 *         for j = 0, x.shape[2] - 1 do sum = sum + x:get(i, j) end
 *         out[#out + 1] = sum
 *       end
 *       return out
 *     end})
 *
 * It sees this rank's parts: x.shape is the part's, x.whole the tensor's, x:global(d, i) where
 * place i of dim d stands in the tensor. Places and dims count from 0, lists from 1. It returns the
 * elements of the output's part, row-major, as a flat list; with several outputs a list of such,
 * with nil for one that is not there. Where a summed dim is cut it returns this rank's addend.
 * Ranks take turns: a Lua state runs one of them at a time.
 */
#ifndef SCRIPTS_LUA_KERNEL_H
#define SCRIPTS_LUA_KERNEL_H

#include "core/run/kernel.h"
#include "scripts/lua_api.h"
#include "scripts/lua_state.h"

/* A kernel that calls the function at the top of the stack, which is popped. It lives as long as
 * the sandbox. In sandbox_protect(). */
const Kernel *kernel_of_function(lua_State *L, const char *name);

/* What its inputs have, as the type "part". */
extern const LuaEntry part_fields[], part_methods[];

#endif
