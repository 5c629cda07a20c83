/* lua_register.h - register_op: a policy file adds operators by annotation.
 *
 * The file's top level runs before shapes are inferred. An annotation function is called for each
 * new combination of shapes and attributes.
 */
#ifndef SCRIPTS_REGISTER_LUA_REGISTER_H
#define SCRIPTS_REGISTER_LUA_REGISTER_H

#include "core/session/session.h"
#include "scripts/sandbox/lua_state.h"

/* Runs the file's top level in the sandbox, which has read the source. Registered rules are added
 * to `rules`; those with functions call into the sandbox as long as they are used. */
bool register_run(Sandbox *sandbox, const RuleBook *rules, Error *err);

#endif
