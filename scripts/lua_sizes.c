/* lua_sizes.c - the sizes of free dims that a policy asks for: its function SIZES(resource). */
#include "scripts/lua_objects.h"
#include "scripts/lua_policy.h"

typedef struct {
    const Mesh *mesh;
    Arena *arena;
    DimBindings *out;
} Wanted;

/* The name is at `at`, its size behind it. */
static void read_size(lua_State *L, int at, Wanted *wanted)
{
    Str name = {0};
    if (lua_type(L, at) != LUA_TSTRING || !lua_isinteger(L, at + 1) || lua_tointeger(L, at + 1) < 1)
        sandbox_refuse(L, ERROR_SCRIPT, "",
                       "SIZES must return sizes of dims by name, such as "
                       "{batch = 8}, and has %s",
                       lua_type(L, at) == LUA_TSTRING ? lua_tostring(L, at) : type_shown(L, at));
    name.s = lua_tolstring(L, at, &name.n);
    DimBinding dim = {str_from(arena_str(wanted->arena, name)), lua_tointeger(L, at + 1)};
    vec_push(wanted->arena, wanted->out, dim);
}

static int call_sizes(lua_State *L)
{
    Wanted *wanted = lua_touserdata(L, 1);
    if (lua_getglobal(L, "SIZES") == LUA_TNIL)
        return 0;
    lua_Debug at;
    lua_pushvalue(L, -1);
    lua_getinfo(L, ">S", &at);
    push_resource(L, wanted->mesh);
    lua_call(L, 1, 1);
    sandbox_of(L)->acting_line = at.linedefined;
    if (!lua_istable(L, -1))
        return sandbox_refuse(L, ERROR_SCRIPT, "return {} for none",
                              "SIZES must return a table of sizes, but returned a %s",
                              type_shown(L, -1));
    int table = lua_gettop(L);
    sandbox_push_keys(L, table);
    for (lua_Integer i = 1; lua_rawgeti(L, table + 1, i) != LUA_TNIL; i++) {
        lua_pushvalue(L, -1);
        lua_rawget(L, table);
        read_size(L, table + 2, wanted);
        lua_settop(L, table + 1);
    }
    return 0;
}

bool policy_sizes(Sandbox *sandbox, const Mesh *mesh, Arena *arena, DimBindings *out, Error *err)
{
    Wanted wanted = {mesh, arena, out};
    sandbox->entry = "SIZES";
    return sandbox_protect(sandbox, call_sizes, &wanted, err);
}
