/* lua_store.c - graph:zero(): what a training step keeps of the parameters, sharded. */
#include "scripts/lua_cut.h"
#include "scripts/lua_legal.h"
#include "scripts/lua_objects.h"

#include <inttypes.h>

/* By level. */
static const uint8_t stored_at[] = {STORED_NONE, STORED_STATES, STORED_GRADIENT | STORED_STATES,
                                    STORED_ALL};
enum { LEVELS = sizeof stored_at };

/* The first dim that n divides, else the largest; -1 without a dim of more than one element. */
static int dim_for(const Shape *shape, int64_t n)
{
    int best = -1;
    for (int d = 0; d < shape->n_dims; d++) {
        if (shape->dim[d] > 1 && shape->dim[d] % n == 0)
            return d;
        if (shape->dim[d] > (best < 0 ? 1 : shape->dim[best]))
            best = d;
    }
    return best;
}

/* Stores each parameter that a node reads; returns how many have no dim to shard. */
static int store_parameters(lua_State *L, Policy *policy, const CutSpec *spec)
{
    const Session *session = policy->session;
    const Inferred *inferred = session->inferred;
    int64_t n = 1;
    int n_whole = 0;
    for (int i = 0; i < spec->n; i++)
        n *= session->mesh->atoms[spec->atom[i]].size;
    for (int32_t t = 0; t < inferred->graph->n_tensors; t++) {
        const Shape *shape = inferred_shape(inferred, t);
        if (!shape || !tensor_is_parameter(inferred, t) || inferred->graph->tensors[t].buffer ||
            tensor_n_uses(inferred->graph, t) == 0)
            continue;
        int dim = dim_for(shape, n);
        Cut cut;
        Error err = {0};
        n_whole += dim < 0;
        if (dim < 0)
            continue;
        if (!cut_spec_cut(spec, shape->dim[dim], session->mesh, &cut, &err))
            sandbox_raise(L, &err);
        Decision decision = {.kind = PIN_TENSOR_DIM, .place = t, .dim = dim, .cut = &cut};
        decision.store = spec->store;
        decision.open = true;
        decision.keep = spec->keep;
        policy_decide(L, policy, &decision);
    }
    return n_whole;
}

static bool read_keep(lua_State *L, int at, bool *out)
{
    if (lua_isnoneornil(L, at))
        return true;
    luaL_checktype(L, at, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || strcmp(lua_tostring(L, -2), "keep") != 0 ||
            !lua_isboolean(L, -1))
            return false;
        *out = lua_toboolean(L, -1);
    }
    return true;
}

static int graph_zero(lua_State *L)
{
    Policy *policy = graph_check(L);
    lua_settop(L, 4);
    int whole;
    lua_Integer level = lua_tointegerx(L, 2, &whole);
    CutSpec spec = {.interleave = 1, .unit = 1};
    Error err = {0};
    if (!whole || level < 0 || level >= LEVELS)
        sandbox_refuse(L, ERROR_INVALID,
                       "1 stores the optimizer's states sharded, 2 gradients too, 3 parameters too",
                       "the level of ZeRO must be 0, 1, 2 or 3");
    if (!read_keep(L, 4, &spec.keep) || (spec.keep && level < 3))
        sandbox_refuse(L, ERROR_INVALID, "graph:zero(3, \"dp\", {keep = true})",
                       "the options of zero are {keep = true or false}; keep is of level 3");
    if (level == 0)
        return 0;
    if (!cut_axes_read(L, 3, policy->session->mesh, spec.atom, &spec.n, &err) ||
        (spec.n == 0 && !error_set(&err, "no axis is given: write for example \"dp\"")))
        sandbox_raise(L, &err);
    spec.store = stored_at[level];
    int n_whole = store_parameters(L, policy, &spec);
    if (n_whole > 0)
        policy_note(L, policy, LEVEL_NOTE, "zero-whole",
                    arena_printf(policy->arena, "zero: %d parameter%s of one element stay%s whole",
                                 n_whole, n_whole > 1 ? "s" : "", n_whole > 1 ? "" : "s"),
                    "");
    return 0;
}

const LuaEntry store_methods[] = {
    {"zero", graph_zero, "(level: integer, axes: axes, options?: {keep?: boolean})",
     "Stores what a training step keeps of each parameter sharded by the axes: at level 1 the "
     "optimizer's states, at 2 the gradient too, at 3 the parameter too, as FSDP does; 0 does "
     "nothing. It is one pin a parameter, {axis = axes, store = {..}, open = true}, of the first "
     "dim that the axes divide, else of the largest. Sharding by use stays, and the axes that it "
     "lacks are added. With keep, "
     "of level 3, a parameter that was gathered stays so until the end of the step; else it is "
     "gathered again in the backward pass."},
    {NULL, NULL, NULL, NULL},
};
