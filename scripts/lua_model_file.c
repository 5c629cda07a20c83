#include "scripts/lua_model.h"

/* ---- the run ---- */

static int open_api(lua_State *L)
{
    model_open(L);
    lua_pushcfunction(L, include_globals[0].function);
    lua_setglobal(L, "include");
    return 0;
}

/* The module that the parameters of a language model are below in checkpoints of the model that it
 * is a part of: what the file says, as a global PART, else "language_model". */
static void enter_part(lua_State *L, ModelBuild *build)
{
    if (!build->request->within)
        return;
    bool given = lua_getglobal(L, "PART") == LUA_TSTRING;
    buf_puts(&build->path, given ? lua_tostring(L, -1) : "language_model");
    lua_pop(L, 1);
}

static int call_model(lua_State *L)
{
    ModelBuild *build = model_of(L);
    if (lua_getglobal(L, "MODEL") != LUA_TFUNCTION)
        return model_refuse(L, "function MODEL(model, config) .. end",
                            "a model file must define a function MODEL");
    enter_part(L, build);
    push_model(L);
    config_push(L, build->request);
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
    graph->kinds = build->kinds.at;
    graph->n_kinds = build->kinds.n;
    graph->script = arena_str(build->arena, str_from(sandbox->source.name));
    Str text = sandbox->source.text;
    const uint64_t parts[] = {hash_bytes(text.s, text.n),
                              (config ? hash_bytes(config->text.s, config->text.n) : 0) ^
                                  (uint64_t)build->request->dtype ^ build->request->settings};
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
    build.dtype = request->dtype != DT_NONE ? request->dtype : config_dtype(request->values);
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
