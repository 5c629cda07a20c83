/* lua_push.h - sets fields of the table at the top of the Lua stack. */
#ifndef SCRIPTS_LUA_PUSH_H
#define SCRIPTS_LUA_PUSH_H

#include <lua.h>

static inline void set_integer(lua_State *L, const char *field, lua_Integer value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, field);
}

static inline void set_number(lua_State *L, const char *field, lua_Number value)
{
    lua_pushnumber(L, value);
    lua_setfield(L, -2, field);
}

static inline void set_string(lua_State *L, const char *field, const char *value)
{
    lua_pushstring(L, value);
    lua_setfield(L, -2, field);
}

/* Appends the value at the top to the list below it, and pops it. */
static inline void append(lua_State *L)
{
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

#endif
