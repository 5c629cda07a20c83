#include "scripts/lua_model.h"

#include "core/base/file.h"

/* ---- the config ---- */

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

/* The sizes of free dims, where there is no config. */
static void push_dims(lua_State *L, const DimBindings *dims)
{
    lua_createtable(L, 0, dims->n);
    for (int i = 0; i < dims->n; i++) {
        lua_pushlstring(L, dims->at[i].name.s, dims->at[i].name.n);
        lua_pushinteger(L, dims->at[i].size);
        lua_rawset(L, -3);
    }
}

/* The type of parameters, in torch's word for it. */
static Dtype dtype_of_config(const Json *config)
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

/* Where the text has "name": its place, or the end. */
static size_t place_of_key(Str text, Str name)
{
    for (size_t at = 0; at + name.n + 2 <= text.n; at++)
        if (text.s[at] == '"' && text.s[at + 1 + name.n] == '"' &&
            str_eq((Str){text.s + at + 1, name.n}, name))
            return at;
    return text.n;
}

/* Raises what is wrong with the config, where it is. */
static int refuse_config(lua_State *L, ModelBuild *build, Str name, const char *what)
{
    const Source *config = build->request->config;
    Error err = {0};
    error_kind(&err, ERROR_UNREADABLE, "\"%.*s\" %s", STR_ARG(name), what);
    error_hint(&err, "it is a whole number, 1 or more");
    build->misfit = err;
    size_t at = config ? place_of_key(config->text, name) : 0;
    if (config && at < config->text.n)
        error_at(&build->misfit, config, at);
    else if (config)
        error_in_file(&build->misfit, config->name);
    return sandbox_raise(L, &err);
}

int model_size(lua_State *L)
{
    enum { SIZE_MAX_HERE = 1 << 30 };
    ModelBuild *build = model_of(L);
    lua_settop(L, 3);
    Str name = model_check_name(L, 2, "a size of the config");
    lua_getfield(L, LUA_REGISTRYINDEX, "config");
    lua_pushvalue(L, 2);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        if (lua_isnil(L, 3))
            return refuse_config(L, build, name, "is not in the config, and the model needs it");
        lua_pushvalue(L, 3);
        return 1;
    }
    int exact;
    lua_Integer size = lua_tointegerx(L, -1, &exact);
    if (!exact || lua_type(L, -1) != LUA_TNUMBER || size < 1 || size > SIZE_MAX_HERE)
        return refuse_config(L, build, name, "is no size");
    lua_pushinteger(L, size);
    return 1;
}

/* ---- the run ---- */

static int open_api(lua_State *L)
{
    model_open(L);
    lua_pushcfunction(L, include_globals[0].function);
    lua_setglobal(L, "include");
    return 0;
}

static int call_model(lua_State *L)
{
    const ModelBuild *build = model_of(L);
    if (lua_getglobal(L, "MODEL") != LUA_TFUNCTION)
        return model_refuse(L, "function MODEL(model, config) .. end",
                            "a model file defines a function MODEL");
    push_model(L);
    if (build->request->values)
        push_json(L, build->request->values);
    else
        push_dims(L, build->request->dims);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, "config");
    lua_call(L, 2, 0);
    return 0;
}

/* The config's fault, where it made the run fail, is placed in the config. */
static void place_misfit(const ModelBuild *build, Error *err)
{
    const Error *misfit = &build->misfit;
    if (err && error_is_set(misfit) && misfit->file[0] != '\0' &&
        str_starts(str_from(err->text), str_from(misfit->text)))
        *err = *misfit;
}

static Graph *seal(const ModelBuild *build, const Sandbox *sandbox, Error *err)
{
    Graph *graph = build->graph;
    const Source *config = build->request->config;
    bool ok = build->n_outputs > 0 || error_kind(err, ERROR_SCRIPT, "the model has no output");
    if (!ok)
        error_hint(err, "model:output(value, \"logits\")");
    ok = ok && graph_seal(build->builder, err);
    if (!ok) {
        error_in_file(err, sandbox->source.name);
        return NULL;
    }
    int32_t *lines = arena_array(build->arena, int32_t, graph->n_ops);
    if (graph->n_ops > 0)
        memcpy(lines, build->lines.at, (size_t)graph->n_ops * sizeof *lines);
    graph->lines = lines;
    graph->script = arena_str(build->arena, str_from(sandbox->source.name));
    Str text = sandbox->source.text;
    const uint64_t parts[] = {hash_bytes(text.s, text.n),
                              config ? hash_bytes(config->text.s, config->text.n) : 0};
    graph->hash = hash_bytes(parts, sizeof parts);
    return graph;
}

enum { MODEL_OPSET = 23 };

Graph *model_build(Arena *arena, Sandbox *sandbox, const ModelRequest *request, DimBindings *dims,
                   Error *err)
{
    Arena *scratch = arena_new();
    ModelBuild build = {.request = request, .arena = arena, .scratch = scratch, .dims = dims};
    build.builder = graph_builder_new(arena, request->file);
    build.graph = graph_builder_graph(build.builder);
    build.dtype = dtype_of_config(request->values);
    build.graph->opset = MODEL_OPSET;
    build.path = buf_new(scratch);
    build.constants = intern_new(scratch);
    build.bases = intern_new(scratch);
    sandbox->host = &build;
    sandbox->entry = "MODEL";
    bool ok = sandbox_protect(sandbox, open_api, NULL, err) &&
              sandbox_run(sandbox, NULL, NULL, err) &&
              sandbox_protect(sandbox, call_model, NULL, err);
    sandbox->host = NULL;
    if (!ok)
        place_misfit(&build, err);
    Graph *graph = ok ? seal(&build, sandbox, err) : NULL;
    arena_free(scratch);
    return graph;
}
