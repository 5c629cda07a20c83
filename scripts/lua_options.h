/* lua_options.h - reads OPTIONS of a policy file, and gives PAS their values. */
#ifndef SCRIPTS_LUA_OPTIONS_H
#define SCRIPTS_LUA_OPTIONS_H

#include "core/session/policy_options.h"
#include "scripts/sandbox/lua_state.h"

/* Reads the global OPTIONS of a file that was run in the sandbox, and the given values. `out` gets
 * them in the order of the file; its texts are copied to the arena. ERROR_SCRIPT: OPTIONS is not a
 * list of {name, value, help}; ERROR_USAGE: a setting names no option, or has another type. */
bool options_read(Sandbox *sandbox, const PolicySettings *settings, Arena *arena,
                  PolicyOptions *out, Error *err);

/* Pushes their values by name, for resource.options. Reading an unknown name is an error. */
void push_options(lua_State *L);

#endif
