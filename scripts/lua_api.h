/* lua_api.h - the scripting API as tables, from which help, completion and annotations are made.
 *
 * Each file with functions for scripts has a table of them; lua_api.c joins the tables. `use` is
 * written in the notation of Lua language servers:
 *
 *     a function or method   "(node: node, config: table): node[]"
 *     a field, a type        "integer[]"
 *
 *     use    = TYPE | ( PARAM, .. ) [: TYPE, .. [, ...]]
 *     PARAM  = name[?]: TYPE | ...: TYPE
 *     TYPE   = PART | PART | ..
 *     PART   = name | "text" | fun(PARAM, ..)[: TYPE, ..] | {name[?]: TYPE, [1]: TYPE, ..}
 *            | table<TYPE, TYPE> | (TYPE), each with [] and ? appended as wanted; a fun with
 * several results is in brackets
 *
 * The name of a type is one of Lua's (any boolean function integer nil number string table true
 * false) or a row of LUA_TYPES. `help` is one or more sentences; no row is without.
 */
#ifndef SCRIPTS_LUA_API_H
#define SCRIPTS_LUA_API_H

#include "core/base/eval.h"
#include "core/base/vec.h"
#include "core/session/script_entry.h"

#include <lauxlib.h>

typedef struct {
    const char *name;
    lua_CFunction function; /* of a field: called with the object; NULL: the field is set
                               elsewhere */
    const char *use, *help;
} LuaEntry;

/* ORDER SCRIPT KIND */
typedef enum {
    LUA_GLOBALS,
    LUA_METHODS,
    LUA_FIELDS,
    LUA_TYPES,
    LUA_STANDARD, /* Lua's own functions that dimscope changes, and names that only the console
                     has */
    LUA_DEFINED   /* what a file defines and dimscope calls */
} LuaTableKind;

typedef struct {
    const char *of; /* "graph"; "": the globals; "spmd": a global table of functions */
    LuaTableKind kind;
    const LuaEntry *entries;
} LuaTable;

extern const LuaTable lua_tables[]; /* ended by one without entries */

/* Sets the functions of all tables of that type and kind in the table at the top of the stack. */
void lua_api_set(lua_State *L, const char *of, LuaTableKind kind);

bool lua_api_has(const char *name); /* whether scripts have that global */

/* A verb of `dimscope eval` that runs Lua; NULL if it is none. */
const EvalVerb *lua_eval_verb(Str name);

typedef Vec(ScriptEntry) ScriptEntries;

/* All rows of all tables, and those of machine files, ended by one without a name, in the arena. */
const ScriptEntry *lua_api_rows(Arena *arena);

/* ---- lua_types.c: types by name, tables with fields, Lua's own, what files define ---- */
extern const LuaEntry type_rows[], standard_rows[], defined_rows[];
extern const LuaEntry register_globals[], register_fields[], rule_input_fields[], cut_rule_fields[],
    op_part_fields[], op_tensor_fields[], op_collective_fields[];
extern const LuaEntry include_globals[]; /* lua_include.c */
extern const LuaEntry resource_fields[], mesh_fields[], mesh_axis_fields[], cut_fields[],
    partition_fields[], reshard_fields[];

#endif
