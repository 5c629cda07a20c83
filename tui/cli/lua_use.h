/* lua_use.h - parses the use of a script function: parameters, results, names of types.
 *
 * scripts/lua_api.h describes the language, which is that of Lua language servers.
 */
#ifndef TUI_CLI_LUA_USE_H
#define TUI_CLI_LUA_USE_H

#include "core/base/error.h"
#include "core/base/vec.h"

typedef struct {
    Str name;      /* "..." for any number of arguments */
    bool optional; /* the name, not the type, is marked optional */
    Str type;
} LuaParam;

typedef struct {
    bool is_call; /* else a type, which has results only */
    Vec(LuaParam) params;
    Vec(Str) results;
    Vec(Str) names; /* of types, with repetitions */
} LuaUse;

/* The texts are views of `text`. ERROR_SYNTAX with the column. */
bool lua_use_parse(Arena *arena, const char *text, LuaUse *out, Error *err);

/* Whether it is a basic type of Lua: "integer". */
bool lua_type_is_basic(Str name);

#endif
