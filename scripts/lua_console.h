/* lua_console.h - a line of Lua typed by a person, in the state of the policy.
 *
 * A line is an expression, whose values are shown, "=EXPRESSION", which means the same, or
 * statements. It sees the globals of the policy's file and those that lines before it set, and the
 * graph as `g` and `graph`, the mesh as `resource`: what it asks of the graph is answered from the
 * plan as it is, and what it decides counts after all that was decided before. Every line has the
 * whole budget of a script. Globals that lines set are gone when the file is read again:
 * sandbox->typed has their names.
 */
#ifndef SCRIPTS_LUA_CONSOLE_H
#define SCRIPTS_LUA_CONSOLE_H

#include "scripts/lua_policy.h"

/* Lines of answer: what the line prints, notes, then its values. False: as any script fails, with
 * the place in "console". */
bool console_run(Sandbox *sandbox, Session *session, const char *text, Journal *journal,
                 Buf *answer, Error *err);

#endif
