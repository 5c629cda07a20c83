#include "scripts/register/lua_register.h"

#include "scripts/lua_api.h"
#include "core/space/anno.h"
#include "scripts/lua_attrs.h"
#include "scripts/register/lua_operator.h"
#include "scripts/register/lua_registered.h"

#include <lauxlib.h>

/* ---- annotations made by a function ---- */

typedef struct {
    Sandbox *sandbox;
    int function; /* reference in Lua's registry */
} AnnoFunction;

typedef struct {
    const AnnoFunction *function;
    const RuleCall *call;
    const char *text; /* the answer */
} MakeCall;

/* {is_tensor = true, shape = {2, 3}, dtype = "f32"} */
static void push_input(lua_State *L, const Shape *shape, Dtype dtype)
{
    lua_newtable(L);
    lua_pushboolean(L, true);
    lua_setfield(L, -2, "is_tensor");
    lua_pushstring(L, dtype_name(dtype));
    lua_setfield(L, -2, "dtype");
    if (shape->n_dims < 0)
        return; /* not known */
    sizes_push(L, shape);
    lua_setfield(L, -2, "shape");
}

static int call_function(lua_State *L)
{
    MakeCall *make = lua_touserdata(L, 1);
    const RuleCall *call = make->call;
    lua_rawgeti(L, LUA_REGISTRYINDEX, make->function->function);
    lua_newtable(L);
    for (int i = 0; i < call->n_inputs; i++) {
        if (!call->shape[i])
            continue;
        push_input(L, call->shape[i], call->dtype[i]);
        lua_rawseti(L, -2, i + 1);
    }
    attrs_push(L, call->graph, call->op);
    lua_call(L, 2, 1);
    if (lua_type(L, -1) != LUA_TSTRING)
        return luaL_error(L, "the annotation function returned a %s, not a string",
                          luaL_typename(L, -1));
    make->text = arena_str(call->arena, str_from(lua_tostring(L, -1)));
    return 0;
}

/* AnnoSource.make */
static const char *make_annotation(void *context, const RuleCall *call, Error *err)
{
    const AnnoFunction *function = context;
    MakeCall make = {function, call, NULL};
    return sandbox_protect(function->sandbox, call_function, &make, err) ? make.text : NULL;
}

/* ---- register_op(annotation, {name = ..}) ---- */

enum { ANNOS_MAX = 64, ANNO_BYTES_MAX = 4096, ANNO_INSTRUCTIONS = 1000 };

static bool is_option(const char *key)
{
    for (int i = 0; operator_option_names[i]; i++)
        if (strcmp(operator_option_names[i], key) == 0)
            return true;
    return strcmp(key, "name") == 0;
}

/* The name; keys that are no options are refused. */
static bool read_name(lua_State *L, const char **name, Error *err)
{
    if (!lua_istable(L, 2))
        return error_set(err, "register_op needs a name: register_op(ANNOTATION, {name = \"..\"})");
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "1";
        if (is_option(key))
            continue;
        Buf known = buf_new(sandbox_of(L)->arena);
        for (int i = 0; operator_option_names[i]; i++)
            buf_printf(&known, ", %s", operator_option_names[i]);
        error_set(err, "register_op has no option '%s'", key);
        return error_hint(err, "options: name%s", known.s);
    }
    int type = lua_getfield(L, 2, "name");
    if (type == LUA_TNIL)
        return error_set(err, "register_op needs a name: {name = \"..\"}");
    *name = type == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    return (*name && **name && strlen(*name) <= ANNO_BYTES_MAX) ||
           error_set(err, "'name' must be a string of at most %d characters", ANNO_BYTES_MAX);
}

/* Where the text of a candidate stands: a literal at or behind the line that registers it. */
static TextPlace place_of(const Sandbox *sandbox, int line, Str text)
{
    int64_t at = sandbox_find_text(sandbox, line, text);
    Error place = {.text = "here"};
    if (at < 0)
        return (TextPlace){line, 0};
    error_at(&place, &sandbox->source, (size_t)at);
    return (TextPlace){place.line, place.column};
}

/* The byte of a text at an error's line and character. */
static size_t byte_of(const char *text, const Error *place)
{
    const char *at = text;
    for (int line = 1; line < place->line && strchr(at, '\n'); line++)
        at = strchr(at, '\n') + 1;
    for (int column = 1; column < place->column && *at; at++)
        column += ((unsigned char)at[1] & 0xC0) != 0x80;
    return (size_t)(at - text);
}

/* What is wrong at a character of an annotation is wrong at that of the file. */
static bool blame(const Sandbox *sandbox, TextPlace start, const char *text, const Error *wrong,
                  Error *err)
{
    error_kind(err, wrong->kind, "%s, at character %d of '%s'", wrong->text, wrong->column, text);
    int64_t at = sandbox_find_text(sandbox, start.line, str_from(text));
    if (at >= 0)
        error_at(err, &sandbox->source, (size_t)at + byte_of(text, wrong));
    return false;
}

static bool add_annotation(lua_State *L, Arena *arena, const char **out, TextPlace *place,
                           Error *err)
{
    if (lua_type(L, -1) != LUA_TSTRING)
        return error_set(
            err, "an annotation must be a string, a list of strings or a function, not a %s",
            luaL_typename(L, -1));
    if (lua_rawlen(L, -1) > ANNO_BYTES_MAX)
        return error_set(err, "an annotation can have at most %d characters", ANNO_BYTES_MAX);
    sandbox_spend(L, ANNO_INSTRUCTIONS);
    *out = arena_str(arena, str_from(lua_tostring(L, -1)));
    Source source = {"annotation", str_from(*out)};
    Error wrong = {0};
    const Sandbox *sandbox = sandbox_of(L);
    *place = place_of(sandbox, sandbox_line(L), source.text);
    return anno_parse(arena, &source, &wrong) || blame(sandbox, *place, *out, &wrong, err);
}

/* The texts at 1, a text or a list of them, ended by NULL. */
static bool read_annotations(lua_State *L, Arena *arena, AnnoSource *out, Error *err)
{
    bool list = lua_istable(L, 1);
    lua_Unsigned n_listed = list ? lua_rawlen(L, 1) : 1;
    if (n_listed == 0 || n_listed > ANNOS_MAX)
        return error_set(err, "a list of annotations must have 1 to %d entries", ANNOS_MAX);
    int n = (int)n_listed;
    const char **annos = arena_array(arena, const char *, n + 1);
    TextPlace *place = arena_array(arena, TextPlace, n);
    for (int i = 0; i < n; i++) {
        if (list)
            lua_rawgeti(L, 1, i + 1);
        else
            lua_pushvalue(L, 1);
        bool ok = add_annotation(L, arena, &annos[i], &place[i], err);
        lua_pop(L, 1);
        if (!ok)
            return false;
    }
    out->annos = annos;
    out->place = place;
    return true;
}

static AnnoFunction *keep_function(lua_State *L, Sandbox *sandbox)
{
    AnnoFunction *function = arena_make(sandbox->arena, AnnoFunction);
    lua_pushvalue(L, 1);
    *function = (AnnoFunction){sandbox, luaL_ref(L, LUA_REGISTRYINDEX)};
    return function;
}

/* Multiply and add where something is summed; a function is not asked before it has to be. */
static double default_flops(const AnnoSource *source)
{
    bool sums = source->annos && strchr(source->annos[0], '+');
    return sums ? 2 : 1;
}

static bool register_one(lua_State *L, Sandbox *sandbox, Error *err)
{
    const RuleBook *rules = sandbox->rules;
    OperatorOptions options;
    const char *name = NULL;
    if (!rules)
        return error_set(err, "register_op must be called at the top level of the file, not in a "
                              "function that runs later");
    if (!read_name(L, &name, err))
        return false;
    const Operator *old = registry_find(rules->registry, str_from(name));
    if (old && old->anno && old->anno->file)
        return error_kind(err, ERROR_DUPLICATE, "operator '%s' is already registered in line %d",
                          name, old->anno->line);
    if (!operator_options_read(L, 2, name, rules, &options, err))
        return false;

    AnnoSource source = {.file = sandbox->source.name, .line = sandbox_line(L)};
    if (lua_isfunction(L, 1)) {
        source.make = make_annotation;
        source.context = keep_function(L, sandbox);
    } else if (!read_annotations(L, sandbox->arena, &source, err)) {
        return false;
    }
    Operator row = {.name = name, .anno = &source, .family = "registered"};
    row.flops_per_point = default_flops(&source);
    operator_options_set(&options, registry_arena(rules->registry), &row);
    registry_add(rules->registry, &row);
    registered_note(L, name);
    return true;
}

static int register_op(lua_State *L)
{
    Error err = {0};
    lua_settop(L, 2);
    return register_one(L, sandbox_of(L), &err) ? 0 : sandbox_raise(L, &err);
}

static int open_register(lua_State *L)
{
    lua_pushcfunction(L, register_op);
    lua_setglobal(L, "register_op");
    lua_pushglobaltable(L);
    lua_api_set(L, "", LUA_GLOBALS);
    for (const LuaTable *table = lua_tables; table->entries; table++) {
        if (table->kind != LUA_GLOBALS || !*table->of)
            continue;
        lua_newtable(L);
        lua_api_set(L, table->of, LUA_GLOBALS);
        lua_setfield(L, -2, table->of);
    }
    return 0;
}

bool register_run(Sandbox *sandbox, const RuleBook *rules, Error *err)
{
    if (!sandbox_protect(sandbox, open_register, NULL, err))
        return false;
    sandbox->rules = rules;
    bool ok = sandbox_run(sandbox, NULL, NULL, err);
    sandbox->rules = NULL;
    return ok;
}
