/* lua_use.h - how a row of scripts is used, taken apart: parameters, results, names of types.
 *
 * scripts/lua_api.h has the language, which is that of Lua language servers.
 */
#ifndef TUI_CLI_LUA_USE_H
#define TUI_CLI_LUA_USE_H

#include "core/base/error.h"
#include "core/base/vec.h"

typedef struct {
    Str name;      /* "..." for any number of them */
    bool optional; /* the name, not the type, is marked so */
    Str type;
} LuaParam;

typedef struct {
    bool is_call; /* else a type, which stands in results alone */
    Vec(LuaParam) params;
    Vec(Str) results;
    Vec(Str) names; /* of types, each as often as it is there */
} LuaUse;

/* Parts of the text. ERROR_SYNTAX with the column. */
bool lua_use_parse(Arena *arena, const char *text, LuaUse *out, Error *err);

/* Lua knows the type by itself: "integer". */
bool lua_type_is_basic(Str name);

#endif
