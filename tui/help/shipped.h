/* shipped.h - what the shipped policies, machines and model builders say of themselves. */
#ifndef TUI_HELP_SHIPPED_H
#define TUI_HELP_SHIPPED_H

#include "core/session/session.h"

/* The first sentence of the comment that scripts/KIND/NAME.lua begins with, after its name,
 * "-- dp.lua: .."; "" if the file is not there or has none. */
const char *shipped_about(const SessionHooks *hooks, Arena *arena, const char *kind, Str name);

#endif
