/* lua_operator.h - the options of register_op and template: kernel, rules, cost, comm and others.
 *
 * `dimscope help lua.register_options` explains them. Functions among them are called under the
 * sandbox's lock, because plans and runs are made on other threads.
 */
#ifndef SCRIPTS_REGISTER_LUA_OPERATOR_H
#define SCRIPTS_REGISTER_LUA_OPERATOR_H

#include "core/rules/registry.h"
#include "core/session/session.h"
#include "core/run/kernel.h"
#include "scripts/sandbox/lua_state.h"

typedef struct {
    const char *kernel; /* the built-in operator whose kernel runs it; NULL */
    const Kernel *own;
    const char *example;
    const char *gradient;   /* column `gradient` of the row; NULL */
    double flops_per_point; /* -1: not given */
    bool says;              /* `user` contains something */
    UserOp user;
} OperatorOptions;

/* The names of the options above, ended by NULL. */
extern const char *const operator_option_names[];

/* Reads them from the table at that absolute stack index; functions stay in Lua's registry. name:
 * the operator's, for messages. Returns false with *err, which names the option and its legal
 * values. In sandbox_protect(). */
bool operator_options_read(lua_State *L, int table, const char *name, const RuleBook *rules,
                           OperatorOptions *out, Error *err);
/* Puts them into a row; flops_per_point only if it is given. */
void operator_options_set(const OperatorOptions *options, Arena *arena, Operator *row);

#endif
