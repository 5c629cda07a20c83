/* lua_help.h - help on the functions and values of scripts, from rows that the scripts layer makes.
 *
 * A row is found by its whole name, graph:partition, node.name, spmd.merge, register_op, graph (a
 * dot may replace the colon), or by its last part, which several rows may share; "lua." may precede
 * it. A type is shown with its methods and fields.
 */
#ifndef TUI_HELP_LUA_HELP_H
#define TUI_HELP_LUA_HELP_H

#include "core/base/error.h"
#include "core/base/vec.h"
#include "core/session/script_entry.h"

typedef Vec(const ScriptEntry *) LuaRows;

/* "lua" or "lua.NAME"? */
bool lua_help_is_meant(Str topic);

void lua_row_name(const ScriptEntry *row, Buf *out); /* "graph:partition" */
/* "graph:partition(node: node, ..): node[]", "node.name: string", "axes: string|string[]" */
void lua_row_use(const ScriptEntry *row, Buf *out);

/* The rows of that name; a type is followed by its methods and fields. ERROR_USAGE with the nearest
 * name. */
bool lua_help_find(Arena *arena, const ScriptEntry *rows, Str name, LuaRows *out, Error *err);

/* The text of `help lua.NAME`; name "lua" or "": the index. */
bool lua_help(const ScriptEntry *rows, Str name, Buf *out, Error *err);

/* "lua.graph.partition lua.node.name ..", for completion. */
void lua_help_words(const ScriptEntry *rows, Buf *out);

#endif
