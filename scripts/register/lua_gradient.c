#include "scripts/register/lua_gradient.h"

#include "scripts/register/lua_asked.h"
#include "scripts/lua_attrs.h"
#include "scripts/lua_model.h"

typedef struct {
    const AskedFunctions *functions;
    const GradientBuild *build;
    ModelBuild *model; /* what handles of values refer to */
} GradientQuestion;

/* A list of values; false where there is none. */
static void push_values(lua_State *L, const int32_t *tensor, int n)
{
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        if (tensor[i] < 0)
            lua_pushboolean(L, false);
        else
            value_push(L, tensor[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

static int ask_gradient(lua_State *L)
{
    const GradientQuestion *q = lua_touserdata(L, 1);
    const GradientBuild *build = q->build;
    const Graph *graph = build->inferred->graph;
    const GraphOp *node = &graph->ops[build->op];
    luaL_checkstack(L, node->n_inputs + LUA_MINSTACK, "gradients");
    sandbox_of(L)->host = q->model;
    model_open(L);
    lua_settop(L, 1);
    asked_push(L, q->functions, ASKED_GRADIENT);
    push_model(L);
    push_values(L, build->input, node->n_inputs);
    push_values(L, build->output, node->n_outputs);
    push_values(L, build->gradient, node->n_outputs);
    attrs_push(L, graph, build->op);
    lua_call(L, 5, LUA_MULTRET);
    int n = lua_gettop(L) - 1;
    if (n > node->n_inputs)
        return luaL_error(L, "it returns %d gradients of %d inputs", n, node->n_inputs);
    for (int i = 0; i < n; i++)
        if (lua_toboolean(L, 2 + i))
            build->made[i] = value_check(L, 2 + i, "a gradient");
    return 0;
}

/* The type of numbers in place of a value. */
static Dtype first_dtype(const GradientBuild *build)
{
    const Graph *graph = build->inferred->graph;
    for (int i = 0; i < graph->ops[build->op].n_inputs; i++) {
        int32_t t = op_inputs(graph, build->op)[i];
        if (t >= 0 && dtype_is_float((Dtype)build->inferred->dtype[t]))
            return (Dtype)build->inferred->dtype[t];
    }
    return DT_F32;
}

bool gradient_by_function(void *context, const GradientBuild *build, Error *err)
{
    const AskedFunctions *functions = context;
    DimBindings dims = {0};
    const ModelRequest request = {.dims = &dims, .registry = build->inferred->registry};
    Arena *scratch = arena_new();
    ModelBuild model = {.request = &request, .arena = build->arena, .scratch = scratch};
    model.dims = &dims;
    model.builder = build->builder;
    model.graph = graph_builder_graph(build->builder);
    model.dtype = first_dtype(build);
    model.path = buf_new(scratch);
    model.constants = intern_new(scratch);
    model.bases = intern_new(scratch);
    GradientQuestion q = {functions, build, &model};
    bool ok = asked_run(functions, ASKED_GRADIENT, ask_gradient, &q, err);
    arena_free(scratch);
    return ok;
}
