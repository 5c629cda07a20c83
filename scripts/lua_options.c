#include "scripts/lua_options.h"

#include "core/base/file.h"
#include "core/session/model_settings.h"

#include <lauxlib.h>
#include <string.h>

enum { OPTIONS_MAX = 64, TEXT_BYTES_MAX = 500 };

static const char *const kept_values = "options"; /* in the registry */

typedef struct {
    const PolicySettings *settings;
    Arena *arena;
    PolicyOptions *out;
    Error err; /* of a setting: not an error of the script */
} OptionReader;

/* ---- one option: {name, value, help} at the top of the stack ---- */

static const char *copy_text(OptionReader *reader, lua_State *L, int at)
{
    Str text = {0};
    text.s = luaL_tolstring(L, at, &text.n);
    const char *copy = arena_str(reader->arena, text);
    lua_pop(L, 1);
    return copy;
}

static bool is_name(const char *name)
{
    size_t n = strlen(name);
    return n > 0 && n <= TEXT_BYTES_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == n;
}

/* Pushes the fields of entry i of the list at `list`; raises if they are no option. */
static void push_entry(lua_State *L, int list, int i)
{
    static const char *const hint = "write OPTIONS = {{\"micro_batches\", 8, \"what it is\"}, ..}";
    int entry = lua_gettop(L) + 1;
    if (lua_rawgeti(L, list, i) != LUA_TTABLE)
        sandbox_refuse(L, ERROR_INVALID, hint, "OPTIONS[%d] is not a list", i);
    for (int field = 1; field <= 3; field++)
        lua_rawgeti(L, entry, field);
    int type = lua_type(L, entry + 2);
    if (lua_type(L, entry + 1) != LUA_TSTRING || !is_name(lua_tostring(L, entry + 1)))
        sandbox_refuse(L, ERROR_INVALID, hint, "OPTIONS[%d] has no name of letters, digits and _",
                       i);
    if (type != LUA_TNUMBER && type != LUA_TBOOLEAN && type != LUA_TSTRING)
        sandbox_refuse(L, ERROR_INVALID, hint,
                       "option '%s' has no default: a number, a text, true or false",
                       lua_tostring(L, entry + 1));
    if (lua_type(L, entry + 3) != LUA_TSTRING || lua_rawlen(L, entry + 3) > TEXT_BYTES_MAX)
        sandbox_refuse(L, ERROR_INVALID, hint, "option '%s' has no help",
                       lua_tostring(L, entry + 1));
    lua_remove(L, entry);
}

/* Pushes the text as a value of the type that the default at `at` has. Returns NULL, or what was
 * wanted. */
static const char *push_value(lua_State *L, int at, const char *text)
{
    bool yes = strcmp(text, "true") == 0;
    if (lua_type(L, at) == LUA_TSTRING) {
        lua_pushstring(L, text);
        return NULL;
    }
    if (lua_type(L, at) == LUA_TBOOLEAN) {
        lua_pushboolean(L, yes);
        return yes || strcmp(text, "false") == 0 ? NULL : "true or false";
    }
    bool whole = lua_isinteger(L, at);
    bool number = lua_stringtonumber(L, text) == strlen(text) + 1;
    if (!number)
        lua_pushnil(L);
    if (!number || (whole && !lua_isinteger(L, -1)))
        return whole ? "a whole number" : "a number";
    return NULL;
}

/* Name, default and help are at `at` and behind. Sets the value in the table at `values`. */
static bool read_option(lua_State *L, OptionReader *reader, int at, int values)
{
    PolicyOption option = {copy_text(reader, L, at), NULL, copy_text(reader, L, at + 1),
                           copy_text(reader, L, at + 2)};
    const char *given = policy_settings_find(reader->settings, option.name);
    const char *wanted = NULL;
    if (given)
        wanted = push_value(L, at + 1, given);
    else
        lua_pushvalue(L, at + 1);
    if (wanted) {
        error_kind(&reader->err, ERROR_USAGE, "option '%s' is %s, not '%s'", option.name, wanted,
                   given);
        return error_hint(&reader->err, "%s (default %s)", option.help, option.fallback);
    }
    option.value = copy_text(reader, L, lua_gettop(L));
    lua_setfield(L, values, option.name);
    vec_push(reader->arena, reader->out, option);
    return true;
}

/* ---- all ---- */

/* __index of the values: a field that is not there. */
static int refuse_unknown(lua_State *L)
{
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    return sandbox_refuse(L, ERROR_NO_MATCH, "a policy declares its options in OPTIONS",
                          "the policy declares no option '%s'", name);
}

static void set_refusal(lua_State *L)
{
    lua_newtable(L);
    lua_pushcfunction(L, refuse_unknown);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
}

static int read_all(lua_State *L)
{
    OptionReader *reader = lua_touserdata(L, 1);
    lua_newtable(L);
    int values = lua_gettop(L);
    int type = lua_getglobal(L, "OPTIONS");
    if (type != LUA_TNIL && type != LUA_TTABLE)
        return sandbox_refuse(L, ERROR_INVALID, "it is a list of {name, value, help}",
                              "OPTIONS is a %s", lua_typename(L, type));
    int list = lua_gettop(L);
    int n = type == LUA_TTABLE ? (int)lua_rawlen(L, list) : 0;
    if (n > OPTIONS_MAX)
        return sandbox_refuse(L, ERROR_INVALID, "", "a policy can have at most %d options",
                              OPTIONS_MAX);
    for (int i = 1; i <= n; i++) {
        push_entry(L, list, i);
        if (!read_option(L, reader, list + 1, values))
            return 0;
        lua_settop(L, list);
    }
    lua_settop(L, values);
    set_refusal(L);
    lua_setfield(L, LUA_REGISTRYINDEX, kept_values);
    return 0;
}

/* A setting that no option has the name of. */
static bool check_names(const Sandbox *sandbox, const OptionReader *reader, Error *err)
{
    for (int s = 0; s < reader->settings->n; s++) {
        const char *name = reader->settings->at[s].name;
        const char *nearest = policy_options_nearest(reader->out, str_from(name));
        bool known = model_setting_is(str_from(name));
        for (int i = 0; i < reader->out->n; i++)
            known |= strcmp(reader->out->at[i].name, name) == 0;
        if (known)
            continue;
        error_kind(err, ERROR_USAGE, "%s has no option '%s'", path_base(sandbox->source.name),
                   name);
        return error_hint(err, "%s%s%s", nearest ? "did you mean '" : "it declares no options",
                          nearest ? nearest : "", nearest ? "'?" : "");
    }
    return true;
}

bool options_read(Sandbox *sandbox, const PolicySettings *settings, Arena *arena,
                  PolicyOptions *out, Error *err)
{
    OptionReader reader = {.settings = settings, .arena = arena, .out = out};
    *out = (PolicyOptions){0};
    if (!sandbox_protect(sandbox, read_all, &reader, err))
        return false;
    if (error_is_set(&reader.err)) {
        *err = reader.err;
        return false;
    }
    return check_names(sandbox, &reader, err);
}

void push_options(lua_State *L)
{
    if (lua_getfield(L, LUA_REGISTRYINDEX, kept_values) == LUA_TTABLE)
        return;
    lua_pop(L, 1);
    lua_newtable(L);
    set_refusal(L);
}
