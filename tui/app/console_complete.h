/* console_complete.h - completion of a half-typed line of Lua, as Completions like those of `:`
 * commands.
 *
 *     g:sh           methods and fields of the type that stands before (lua_typed.h), or, where
 *                    that is not known, of all types; each with its use
 *     g:op("h.0.     modules, what they own (PATH.weight), inputs; where none begins so, the
 *                    graph's own names of ops and tensors; a level of dots and slashes at a
 *                    time. A pattern is left as it is
 *     g:shard("h.0.mlp.weight", {      dims of that tensor, and index dims of the op that uses it
 *     .. {n = "  axes: "tp:"           axes of the mesh; and their parts
 *     g:assign(x, {  g:schedule("      axes; schedules: by the type of that parameter in its row
 *
 * It costs one walk over the names, of which the first CANDIDATES_MAX are kept: in a model of 1e6
 * ops about 10 ms for modules, 30 ms if only the graph's own names match.
 */
#ifndef TUI_APP_CONSOLE_COMPLETE_H
#define TUI_APP_CONSOLE_COMPLETE_H

#include "tui/app/complete.h"

/* In the frame's arena. */
Completions console_complete_find(Ui *ui, Str typed);

#endif
