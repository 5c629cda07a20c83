/* hooks.h - finds and runs scripts for a session: machines, policies, models.
 *
 * A name without '/' and ".lua" is a shipped file, such as scripts/policies/NAME.lua, in the tree
 * of the executable or in DIMSCOPE_DATADIR; anything else is a path.
 *
 * Each run of a policy file gets a fresh Lua state: its top level runs before shapes are inferred
 * (register_op), then PAS. If PAS succeeds, the new state replaces the old one, and a note names
 * the console's definitions that are lost. States whose functions belong to operators live until
 * scripts_free().
 */
#ifndef SCRIPTS_HOOKS_H
#define SCRIPTS_HOOKS_H

#include "core/session/session.h"

typedef struct Scripts Scripts;

/* data_dir: the folder that contains scripts/; NULL: it is searched. Lives in the arena. */
Scripts *scripts_new(Arena *arena, const char *data_dir);

/* Call it after the sessions that use the hooks are closed. NULL is allowed. */
void scripts_free(Scripts *scripts);

/* The hooks of a session; they stay valid until scripts_free(). */
SessionHooks scripts_hooks(Scripts *scripts);

#endif
