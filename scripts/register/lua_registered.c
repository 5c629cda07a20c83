#include "scripts/register/lua_registered.h"

#include "core/base/intern.h"

#include <lauxlib.h>

enum { DEPTH_MAX = 8 };

static uint64_t join(uint64_t hash, uint64_t other)
{
    uint64_t both[2] = {hash, other};
    return hash_bytes(both, sizeof both);
}

/* The lines a function stands in; of one in C its address is the same for as long as the program
 * runs. */
static uint64_t hash_function(lua_State *L, int at)
{
    lua_Debug where;
    const void *address = lua_topointer(L, at);
    lua_pushvalue(L, at);
    lua_getinfo(L, ">S", &where);
    if (where.linedefined < 1)
        return hash_bytes(&address, sizeof address);
    Str rest = sandbox_of(L)->source.text;
    for (int line = 1; line < where.linedefined; line++)
        str_take(&rest, '\n');
    const char *from = rest.s;
    for (int line = where.linedefined; line <= where.lastlinedefined && rest.n > 0; line++)
        str_take(&rest, '\n');
    return hash_bytes(from, (size_t)(rest.s - from));
}

static uint64_t hash_value(lua_State *L, int at, int depth);

static uint64_t hash_table(lua_State *L, int at, int depth)
{
    uint64_t hash = 0;
    luaL_checkstack(L, 8, "table");
    sandbox_push_keys(L, at);
    int keys = lua_gettop(L);
    lua_Unsigned n = lua_rawlen(L, keys);
    for (lua_Unsigned i = 1; i <= n; i++) {
        lua_rawgeti(L, keys, (lua_Integer)i);
        hash = join(hash, hash_value(L, keys + 1, depth + 1));
        lua_rawget(L, at);
        hash = join(hash, hash_value(L, keys + 1, depth + 1));
        lua_settop(L, keys);
    }
    lua_settop(L, keys - 1);
    return hash;
}

/* Of the value at that absolute place. */
static uint64_t hash_value(lua_State *L, int at, int depth)
{
    int type = lua_type(L, at);
    size_t n;
    if (type == LUA_TSTRING) {
        const char *text = lua_tolstring(L, at, &n);
        return hash_bytes(text, n);
    }
    if (type == LUA_TNUMBER) {
        double number = lua_tonumber(L, at);
        return join((uint64_t)type, hash_bytes(&number, sizeof number));
    }
    if (type == LUA_TFUNCTION)
        return hash_function(L, at);
    if (type == LUA_TTABLE && depth < DEPTH_MAX)
        return hash_table(L, at, depth);
    return join((uint64_t)type, (uint64_t)lua_toboolean(L, at));
}

void registered_note(lua_State *L, const char *name)
{
    Sandbox *sandbox = sandbox_of(L);
    Registered it = {arena_str(sandbox->arena, str_from(name)), 0};
    for (int at = 1; at <= 2 && at <= lua_gettop(L); at++)
        it.hash = join(it.hash, hash_value(L, at, 0));
    vec_push(sandbox->arena, &sandbox->registered, it);
}

static const Registered *find(const Sandbox *sandbox, const char *name)
{
    for (int i = 0; i < sandbox->registered.n; i++)
        if (strcmp(sandbox->registered.at[i].name, name) == 0)
            return &sandbox->registered.at[i];
    return NULL;
}

static void put(Buf *out, const char *name, const char *what)
{
    buf_printf(out, "%s'%s'%s", out->n > 0 ? ", " : "", name, what);
}

void registered_differ(const Sandbox *before, const Sandbox *now, Buf *out)
{
    for (int i = 0; i < now->registered.n; i++) {
        const Registered *it = &now->registered.at[i];
        const Registered *old = before ? find(before, it->name) : NULL;
        if (!old)
            put(out, it->name, " is new");
        else if (old->hash != it->hash)
            put(out, it->name, " has changed");
    }
    for (int i = 0; before && i < before->registered.n; i++)
        if (!find(now, before->registered.at[i].name))
            put(out, before->registered.at[i].name, " is gone");
}
