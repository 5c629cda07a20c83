/* lua_model.h - model files: Lua whose MODEL(model, config) builds a graph.
 *
 * A config.json of Hugging Face names its builder by "model_type": MODEL_TYPE.lua (lua_builder.h)
 * gets the JSON object as config. Other model files get the given sizes of free dims, {batch = 8}.
 * Parameters have shapes but no values. Errors are placed in the model file at the failing call, or
 * in config.json at a wrong size.
 */
#ifndef SCRIPTS_LUA_MODEL_H
#define SCRIPTS_LUA_MODEL_H

#include "core/base/intern.h"
#include "core/base/json.h"
#include "core/rules/registry.h"
#include "scripts/lua_api.h"
#include "scripts/sandbox/lua_state.h"

typedef struct {
    const char *file;         /* what was opened: Graph.file */
    const Source *config;     /* text of a config.json, or NULL: */
    Json *values;             /* its object, or the part of it that is built: */
    const char *within;       /* the path of that part; "": all of it, for a model that has more
                                 than it says; NULL: values are all of the config */
    const DimBindings *dims;  /* sizes that free dims have been given */
    DimBindings *asked;       /* gets those that MODEL asks for; NULL: nobody wants to know */
    Dtype dtype;              /* of parameters; DT_NONE: the config's, else f32 */
    uint64_t settings;        /* a hash of the settings in `values` (model_settings.h); 0 if none */
    const Registry *registry; /* all known operators */
} ModelRequest;

/* Runs the file that the sandbox has read, then its MODEL. Default sizes of free dims that the file
 * gives are appended to `dims`. Returns NULL with *err: ERROR_SCRIPT; ERROR_UNREADABLE if the
 * config is unusable. */
Graph *model_build(Arena *arena, Sandbox *sandbox, const ModelRequest *request, DimBindings *dims,
                   Error *err);

/* ---- inside MODEL ---- */

typedef struct {
    const ModelRequest *request;
    Arena *arena, *scratch; /* of the model; of the run */
    GraphBuilder *builder;
    Graph *graph;
    DimBindings *dims; /* defaults */
    Dtype dtype;       /* of parameters without a type of their own */
    Buf path;          /* of the module being built */
    Intern *constants; /* by type and elements */
    Vec(int32_t) tensor_of_constant;
    Intern *bases; /* names before they are numbered */
    Vec(int32_t) n_of_base;
    Vec(int32_t) lines; /* of the ops */
    Vec(ModuleKind) kinds;
    int n_outputs;
    Error misfit; /* what is wrong with the config, placed there */
} ModelBuild;

ModelBuild *model_of(lua_State *L); /* raises if no model is being built */
void model_open(lua_State *L);      /* makes the types */
void push_model(lua_State *L);

#define model_refuse(L, hint, ...) sandbox_refuse(L, ERROR_INVALID, hint, __VA_ARGS__)

/* Call it after an op was added: raises the fault of the graph, if any, and records the op's line
 * in the script. */
void model_op_added(lua_State *L, ModelBuild *build);

/* The text at that place as the name of `what`, in the Lua stack. */
Str model_check_name(lua_State *L, int at, const char *what);
/* "PATH/Operator", numbered from the second one on: a name that no tensor has yet. */
Str model_new_name(ModelBuild *build, Str op_type);
/* A new tensor; no tensor may have the name yet. */
int32_t model_new_tensor(lua_State *L, const ModelBuild *build, Str name);

int value_push(lua_State *L, int32_t tensor); /* 1: one result */
bool value_is(lua_State *L, int at);
int32_t value_check(lua_State *L, int at, const char *what);

/* The constant for {0, 0, 8, 64} or 0.5 given in place of a value; equal constants are made once.
 */
int32_t constant_of_list(lua_State *L, int at, ModelBuild *build, Str op_type);

int model_op(lua_State *L); /* lua_model_op.c */

/* ---- lua_model_config.c ---- */

/* Pushes the config as a table; if there is none, the sizes of free dims. */
void config_push(lua_State *L, const ModelRequest *request);
/* Notes that the graph depends on the size of a free dim. */
void model_asks(const ModelBuild *build, Str name);
/* The type of parameters, under torch's name in the config; f32 if it has none. config may be NULL.
 */
Dtype config_dtype(const Json *config);

/* The fields and methods that scripts can use (lua_api.h). */
extern const LuaEntry model_fields[], model_methods[], config_methods[], value_fields[];

#endif
