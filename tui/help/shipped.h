/* shipped.h - the descriptions of shipped policies, machines and model builders. */
#ifndef TUI_HELP_SHIPPED_H
#define TUI_HELP_SHIPPED_H

#include "core/session/session.h"

/* The first sentence of the comment at the top of scripts/KIND/NAME.lua, after its name, "--
 * dp.lua: .."; "" if the file or the comment is missing. */
const char *shipped_about(const SessionHooks *hooks, Arena *arena, const char *kind, Str name);

#endif
