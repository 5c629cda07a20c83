/* lua_model_config.c - the config of a model: pushed as a table, and asked for its fields. */
#include "scripts/lua_model.h"

/* ---- as Lua ---- */

/* Of its values, nested ones too; a null in an object is an absent member, in a list false. */
static void push_json(lua_State *L, const Json *value);

static void push_object(lua_State *L, const Json *object)
{
    lua_createtable(L, 0, json_size(object));
    for (const char *key = NULL; (key = json_key_after(object, key));) {
        const Json *value = json_get(object, key);
        if (json_is_null(value))
            continue;
        push_json(L, value);
        lua_setfield(L, -2, key);
    }
}

static void push_array(lua_State *L, const Json *array)
{
    int n = json_size(array);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        push_json(L, json_at(array, i));
        lua_rawseti(L, -2, i + 1);
    }
}

static void push_json(lua_State *L, const Json *value)
{
    luaL_checkstack(L, LUA_MINSTACK, "a config this deep");
    sandbox_spend(L, 10);
    Str text = json_str(value, "");
    if (json_is_object(value))
        push_object(L, value);
    else if (json_is_array(value))
        push_array(L, value);
    else if (json_is_string(value))
        lua_pushlstring(L, text.s, text.n);
    else if (json_is_int(value))
        lua_pushinteger(L, json_int(value, 0));
    else if (json_is_number(value))
        lua_pushnumber(L, json_real(value, 0));
    else
        lua_pushboolean(L, json_bool(value, false));
}

void config_push(lua_State *L, const ModelRequest *request)
{
    const DimBindings *dims = request->dims;
    if (request->values) {
        push_json(L, request->values);
        return;
    }
    lua_createtable(L, 0, dims->n);
    for (int i = 0; i < dims->n; i++) {
        model_asks(model_of(L), dims->at[i].name);
        lua_pushlstring(L, dims->at[i].name.s, dims->at[i].name.n);
        lua_pushinteger(L, dims->at[i].size);
        lua_rawset(L, -3);
    }
}

Dtype config_dtype(const Json *config)
{
    static const struct {
        const char *name;
        Dtype dtype;
    } names[] = {{"float32", DT_F32}, {"bfloat16", DT_BF16}, {"float16", DT_F16},
                 {"float64", DT_F64}, {"float", DT_F32},     {"half", DT_F16}};
    const Json *value = config ? json_get(config, "torch_dtype") : NULL;
    if (!value || !json_is_string(value))
        value = config ? json_get(config, "dtype") : NULL;
    Str given = json_str(value, "float32");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_eq(given, str_from(names[i].name)))
            return names[i].dtype;
    return DT_F32;
}

/* ---- asked for a field ---- */

/* Where the text has "NAME" in quotes, from there on: its place, or the end. */
static size_t place_of_word(Str text, size_t from, Str word)
{
    for (size_t at = from; at + word.n + 2 <= text.n; at++)
        if (text.s[at] == '"' && text.s[at + 1 + word.n] == '"' &&
            str_eq((Str){text.s + at + 1, word.n}, word))
            return at;
    return text.n;
}

/* Where the config has a field, "rope_scaling.factor", or as much of its path as it has. */
static size_t place_of_path(Str text, Str path)
{
    size_t at = 0;
    while (path.n > 0) {
        size_t next = place_of_word(text, at, str_take(&path, '.'));
        if (next == text.n)
            break;
        at = next;
    }
    return at;
}

/* Raises what is wrong with a field or a word of the config; it is placed there in the end. */
static int refuse_config(lua_State *L, ModelBuild *build, Str path, const char *what,
                         const char *hint)
{
    const Source *config = build->request->config;
    const char *within = build->request->within;
    if (within && *within)
        path = str_from(arena_printf(build->scratch, "%s.%.*s", within, STR_ARG(path)));
    Error err = {0};
    error_kind(&err, ERROR_UNREADABLE, "\"%.*s\" %s", STR_ARG(path), what);
    error_hint(&err, "%s", hint);
    build->misfit = err;
    size_t at = config ? place_of_path(config->text, path) : 0;
    if (config && at > 0)
        error_at(&build->misfit, config, at);
    else if (config)
        error_in_file(&build->misfit, config->name);
    return sandbox_raise(L, &err);
}

/* Pushes the field; nil where it, or what it is in, is not there. */
static void push_field(lua_State *L, Str path)
{
    lua_getfield(L, LUA_REGISTRYINDEX, "config");
    while (path.n > 0) {
        Str name = str_take(&path, '.');
        if (!lua_istable(L, -1)) {
            lua_pop(L, 1);
            lua_pushnil(L);
            return;
        }
        lua_pushlstring(L, name.s, name.n);
        lua_rawget(L, -2);
        lua_remove(L, -2);
    }
}

static bool is_size(lua_State *L)
{
    enum { MOST = 1 << 30 };
    int exact;
    lua_Integer size = lua_tointegerx(L, -1, &exact);
    return exact && lua_type(L, -1) == LUA_TNUMBER && size >= 1 && size <= MOST;
}

static bool is_sizes(lua_State *L)
{
    int n = lua_istable(L, -1) ? (int)lua_rawlen(L, -1) : 0;
    bool good = n > 0;
    for (int i = 0; good && i < n; i++, lua_pop(L, 1)) {
        lua_rawgeti(L, -1, i + 1);
        good = is_size(L);
    }
    return good;
}

static bool is_number(lua_State *L)
{
    return lua_type(L, -1) == LUA_TNUMBER;
}

static bool is_flag(lua_State *L)
{
    return lua_isboolean(L, -1);
}

static bool is_text(lua_State *L)
{
    return lua_type(L, -1) == LUA_TSTRING;
}

/* "is 'many'": what the field at the top of the stack holds. */
static const char *value_words(lua_State *L, Arena *scratch)
{
    if (lua_istable(L, -1))
        return "is a list or an object";
    return arena_printf(scratch, "is '%.40s'", luaL_tolstring(L, -1, NULL));
}

/* model:size(name, default) and its kin. */
static int get_field(lua_State *L, bool (*fits)(lua_State *), const char *what)
{
    ModelBuild *build = model_of(L);
    lua_settop(L, 3);
    Str path = model_check_name(L, 2, "a field of the config");
    push_field(L, path);
    if (!lua_isnil(L, -1) && !fits(L))
        return refuse_config(L, build, path, value_words(L, build->scratch), what);
    if (lua_isnil(L, -1) && lua_isnil(L, 3))
        return refuse_config(L, build, path, "is not in the config, but the model needs it", what);
    if (lua_isnil(L, -1))
        lua_pushvalue(L, 3);
    else if (fits == is_size)
        lua_pushinteger(L, lua_tointeger(L, -1));
    return 1;
}

static int model_size(lua_State *L)
{
    return get_field(L, is_size, "it must be an integer, 1 or more");
}

static int model_sizes(lua_State *L)
{
    return get_field(L, is_sizes, "it must be a list of integers, 1 or more each");
}

static int model_number(lua_State *L)
{
    return get_field(L, is_number, "it must be a number");
}

static int model_flag(lua_State *L)
{
    return get_field(L, is_flag, "it must be true or false");
}

static int model_text(lua_State *L)
{
    return get_field(L, is_text, "it must be a string");
}

static int model_refuse_field(lua_State *L)
{
    ModelBuild *build = model_of(L);
    lua_settop(L, 4);
    Str word = model_check_name(L, 2, "a field of the config");
    return refuse_config(L, build, word, luaL_checkstring(L, 3), luaL_optstring(L, 4, ""));
}

const LuaEntry config_methods[] = {
    {"size", model_size, "(name: string, default?: integer|false): integer",
     "A size in the config: an integer, 1 or more. Another value is an error at its place in "
     "config.json; so is a missing field without a default. \"rope_scaling.factor\" is a field of "
     "a field."},
    {"sizes", model_sizes, "(name: string, default?: integer[]|false): integer[]",
     "A list of sizes in the config, like model:size."},
    {"number", model_number, "(name: string, default?: number|false): number",
     "A number in the config, like model:size."},
    {"flag", model_flag, "(name: string, default?: boolean): boolean",
     "A boolean in the config, like model:size."},
    {"text", model_text, "(name: string, default?: string|false): string",
     "A string in the config, like model:size."},
    {"refuse", model_refuse_field, "(word: string, what: string, hint?: string)",
     "Fails with what is wrong with a field of the config, or with a string in it, at its place in "
     "the file: model:refuse(\"hidden_act\", \"is not a known activation\")."},
    {NULL, NULL, NULL, NULL}};
