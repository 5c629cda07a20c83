/* lua_console.h - runs a line of Lua typed in the console, in the state of the policy.
 *
 * A line is an expression, whose values are shown, "=EXPRESSION", or statements. It sees the
 * globals of the policy's file and of earlier lines, `g` and `graph`, and `resource`. Its decisions
 * follow those made before. Each line has the full budget of a script. Globals set by lines are
 * lost when the file is read again: sandbox->typed has their names.
 */
#ifndef SCRIPTS_LUA_CONSOLE_H
#define SCRIPTS_LUA_CONSOLE_H

#include "scripts/lua_policy.h"

/* The answer has the output of the line, notes, then its values. Returns false if the line fails,
 * with the place in "console". */
bool console_run(Sandbox *sandbox, Session *session, const char *text, Journal *journal,
                 Buf *answer, Error *err);

#endif
