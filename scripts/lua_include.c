/* lua_include.c - include("NAME"): returns what another Lua file returns.
 *
 * The file is below the folder of the policy, or among the shipped policies, models or machines; no
 * other file can be read. A file runs once per state. Decisions, notes and errors of its functions
 * get the line of the script that called them (SANDBOX_INCLUDED).
 */
#include "core/base/file.h"
#include "scripts/lua_api.h"
#include "scripts/sandbox/lua_state.h"
#include "scripts/sandbox/lua_yaml.h"

enum { NAME_BYTES_MAX = 64, BYTES_PER_INSTRUCTION = 8 };

#define REFUSE(...)                                                                                \
    sandbox_refuse(L, ERROR_INVALID,                                                               \
                   "include \"lib/x\" returns what the file lib/x.lua returns: one below the "     \
                   "folder of the policy, or a shipped one",                                       \
                   __VA_ARGS__)

/* No way out of the folder, no hidden file. */
static bool is_file_name(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n <= NAME_BYTES_MAX && name[0] != '/' &&
           strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_/-") == n;
}

/* The path of the file below the folder of the policy; NULL if there is none. */
static const char *find_beside(const Sandbox *sandbox, const char *name)
{
    if (!sandbox->includes_beside)
        return NULL;
    static const char *const endings[] = {"lua", "yaml"};
    const char *folder = path_dir(sandbox->arena, sandbox->source.name);
    for (int i = 0; i < 2; i++) {
        const char *path = path_join(sandbox->arena, folder,
                                     arena_printf(sandbox->arena, "%s.%s", name, endings[i]));
        if (file_exists(path) && path_is_below(folder, path))
            return path;
    }
    return NULL;
}

/* A policy that returns nothing is included for its PAS. */
static bool returns_pas(lua_State *L)
{
    lua_pop(L, 1);
    return lua_getglobal(L, "PAS") == LUA_TFUNCTION;
}

/* Pushes what the file of that name returns. */
static void run_file(lua_State *L, const char *name)
{
    Sandbox *sandbox = sandbox_of(L);
    Error err = {0};
    Source source = {0};
    if (!sandbox->includes.find)
        REFUSE("nothing can be included here");
    const char *path = find_beside(sandbox, name);
    bool shipped = !path;
    if (shipped)
        path = sandbox->includes.find(sandbox->includes.finder, name, &err);
    if (!path || !file_read(sandbox->arena, path, SCRIPT_BYTES_MAX, &source, &err))
        sandbox_raise(L, &err);
    sandbox_spend(L, (int64_t)source.text.n / BYTES_PER_INSTRUCTION);
    if (file_is_yaml(str_from(path))) {
        Buf lua = buf_new(sandbox->arena);
        if (!yaml_to_lua(sandbox->arena, &source, &lua, &err))
            sandbox_raise(L, &err);
        buf_puts(&lua, "return true");
        source.text = buf_str(&lua);
    }
    const char *chunk = lua_pushfstring(L, "=" SANDBOX_INCLUDED "%s]", name);
    if (chunks_load(shipped ? sandbox->includes.chunks : NULL, L, source.text, chunk) != LUA_OK)
        lua_error(L);
    lua_call(L, 0, 1);
    if (lua_isnil(L, -1) && !returns_pas(L))
        REFUSE("'%s' returns nothing", name);
}

/* The registry's "included" has what files gave by name, false while one runs. */
static int include(lua_State *L)
{
    lua_settop(L, 1);
    const char *name = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : "";
    if (!is_file_name(name))
        return REFUSE("include needs the name of a file below the folder of the policy, or of a "
                      "shipped one, not '%s'",
                      luaL_tolstring(L, 1, NULL));
    luaL_getsubtable(L, LUA_REGISTRYINDEX, "included");
    int type = lua_getfield(L, 2, name);
    if (type == LUA_TBOOLEAN)
        return REFUSE("'%s' includes itself", name);
    if (type != LUA_TNIL)
        return 1;
    lua_pushboolean(L, false);
    lua_setfield(L, 2, name);
    run_file(L, name);
    lua_pushvalue(L, -1);
    lua_setfield(L, 2, name);
    return 1;
}

const LuaEntry include_globals[] = {
    {"include", include, "(name: string): any",
     "Returns what another file returns: include \"lib/common\" runs lib/common.lua below the "
     "folder "
     "of the policy if it is there, else the shipped scripts/policies/lib/common.lua; a file of "
     "scripts/models in a model file, one of scripts/machines in a machine file. A policy that "
     "returns nothing gives its PAS. A file of templates in YAML, NAME.yaml beside the policy, is "
     "read "
     "where there is no NAME.lua. Other files cannot be read."},
    {NULL, NULL, NULL, NULL}};
