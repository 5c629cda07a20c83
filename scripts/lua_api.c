#include "scripts/lua_api.h"

#include "scripts/lua_objects.h"

#include <string.h>

const LuaTable lua_tables[] = {
    {"graph", LUA_METHODS, graph_methods},
    {"graph", LUA_METHODS, partition_methods},
    {"node", LUA_FIELDS, node_fields},
    {"node", LUA_METHODS, node_methods},
    {"tensor", LUA_FIELDS, tensor_fields},
    {"tensor", LUA_METHODS, tensor_methods},
    {"algorithm", LUA_METHODS, algorithm_methods},
    {NULL, LUA_GLOBALS, NULL},
};

void lua_api_set(lua_State *L, const char *of, LuaTableKind kind)
{
    for (const LuaTable *table = lua_tables; table->entries; table++) {
        if (table->kind != kind || strcmp(table->of, of) != 0)
            continue;
        for (const LuaEntry *it = table->entries; it->name; it++) {
            lua_pushcfunction(L, it->function);
            lua_setfield(L, -2, it->name);
        }
    }
}
