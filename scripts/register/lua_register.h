/* lua_register.h - register_op: a policy file adds operators by annotation.
 *
 * The file's top level runs before shapes are inferred. An annotation function is called for each
 * new combination of shapes and attributes.
 */
#ifndef SCRIPTS_REGISTER_LUA_REGISTER_H
#define SCRIPTS_REGISTER_LUA_REGISTER_H

#include "core/session/session.h"
#include "scripts/lua_state.h"

/* Runs the file's top level in the sandbox, whose source has been read. What it registers goes to
 * the rules; what has a function calls into the sandbox as long as the rules are used. */
bool register_run(Sandbox *sandbox, const RuleBook *rules, Error *err);

#endif
