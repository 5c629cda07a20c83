/* hooks.h - what a session asks of scripts: machines and policies, found and run.
 *
 * A name without '/' and ".lua" is a shipped file, scripts/machines/NAME.lua or
 * scripts/policies/NAME.lua, in the tree of the executable or in DIMSCOPE_DATADIR; anything else is
 * a path.
 *
 * A policy file gets a fresh Lua state each time it is run. Its top level runs before shapes are
 * inferred (register_op); PAS then runs in the same state. When PAS is asked for again, the file is
 * read again; its state takes the place of the one before when PAS has run, and a note names what
 * lines of the console had defined there. States that registered operators by function stay until
 * scripts_free().
 */
#ifndef SCRIPTS_HOOKS_H
#define SCRIPTS_HOOKS_H

#include "core/session/session.h"

typedef struct Scripts Scripts;

/* data_dir: where scripts/ is, NULL to look for it. Lives in the arena. */
Scripts *scripts_new(Arena *arena, const char *data_dir);

/* To be called after the sessions that use the hooks are closed. NULL is allowed. */
void scripts_free(Scripts *scripts);

/* The hooks of a session; they stay valid until scripts_free(). */
SessionHooks scripts_hooks(Scripts *scripts);

#endif
