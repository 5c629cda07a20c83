/* lua_operator.h - what register_op and template say of an operator beside its annotation.
 *
 *     rules     = {{ins = {"R", "D(0)"}, outs = {"V"}, kwargs = rows_of_part}}
 *     cost      = function(node) return {flops = .., bytes = ..} end
 *     comm      = {{kind = "all_gather", dim = "s", bytes = 4096}}
 *     input_gen = function(node) return {[2] = {lo = 0, hi = 50257}} end
 *     inplace   = {[0] = 0}
 *     dtype     = "f32"
 *     kernel    = {plugin = "./libmy.so", symbol = "my_kernel"}
 *     example, flops_per_point
 *
 * Splits are "R", "V" and "D(0)", "D(0,2)", also without brackets, or a list of dims. A function's
 * node is a table: name, path, inputs and outputs {shape, whole, dtype}, kwargs, and by index dim
 * size, cut (how many parts) and axes. cost and comm see rank 0's part, input_gen the whole op;
 * each is asked under the sandbox's turn, since plans and runs are made on other threads.
 */
#ifndef SCRIPTS_LUA_OPERATOR_H
#define SCRIPTS_LUA_OPERATOR_H

#include "core/rules/registry.h"
#include "core/session/session.h"
#include "core/run/kernel.h"
#include "scripts/lua_state.h"

typedef struct {
    const char *kernel; /* the built-in operator's whose kernel runs it; NULL */
    const Kernel *own;
    const char *example;
    double flops_per_point; /* -1: not given */
    bool says;              /* `user` says anything */
    UserOp user;
} OperatorOptions;

/* The names of the options above, ended by NULL. */
extern const char *const operator_option_names[];

/* Reads them from the table at that absolute place; functions stay in Lua's registry. name: of the
 * operator, for messages. False with *err, which names the option and what it may be. In
 * sandbox_protect(). */
bool operator_options_read(lua_State *L, int table, const char *name, const RuleBook *rules,
                           OperatorOptions *out, Error *err);
/* Puts them into a row; flops_per_point only where it is given. */
void operator_options_set(const OperatorOptions *options, Arena *arena, Operator *row);

#endif
