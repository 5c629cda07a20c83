#include "scripts/register/lua_kernel.h"

#include "scripts/lua_attrs.h"
#include "scripts/lua_objects.h"

#include <inttypes.h>

static const char part_type[] = "part";

typedef struct {
    Kernel kernel;
    Sandbox *sandbox;
    int function; /* reference in Lua's registry */
} KernelFunction;

/* ---- parts: an input of one call, of no use after it ---- */

typedef struct {
    int64_t serial; /* of the call, among those of the sandbox */
    int input;
} PartRef;

static const Local *check_part(lua_State *L)
{
    const PartRef *part = luaL_checkudata(L, 1, part_type);
    const Sandbox *sandbox = sandbox_of(L);
    const KernelCall *call = sandbox->kernel_call;
    luaL_argcheck(L, call && part->serial == sandbox->n_kernel_calls, 1,
                  "the kernel it was given to has returned");
    /* cppcheck-suppress nullPointerRedundantCheck ; a failed check does not come back */
    return call->input[part->input];
}

static int64_t check_place(lua_State *L, int arg, int64_t size)
{
    lua_Integer at = luaL_checkinteger(L, arg);
    if (at < 0 || at >= size)
        return luaL_error(L, "index %d is outside of a dim of size %d", (int)at, (int)size);
    return at;
}

static void push_element(lua_State *L, const Local *local, int64_t element)
{
    double number;
    int64_t integer;
    const void *at = local_at(local, element);
    if (dtype_number(local->dtype) == NUMBER_I64) {
        elements_load(local->dtype, at, 1, 1, NUMBER_I64, &integer);
        lua_pushinteger(L, integer);
    } else {
        elements_load(local->dtype, at, 1, 1, NUMBER_F64, &number);
        lua_pushnumber(L, number);
    }
}

static int part_get(lua_State *L)
{
    const Local *local = check_part(L);
    int64_t n = local->shape.n_dims, place = 0;
    if (lua_gettop(L) != n + 1)
        return luaL_error(L, "get takes %d indices, one per dim", (int)n);
    for (int d = 0; d < n; d++)
        place = place * local->shape.dim[d] + check_place(L, d + 2, local->shape.dim[d]);
    push_element(L, local, place);
    return 1;
}

static int part_global(lua_State *L)
{
    const Local *local = check_part(L);
    int64_t d = check_place(L, 2, local->shape.n_dims);
    int64_t at = check_place(L, 3, local->shape.dim[d]);
    const Runs *runs = &local->runs[d];
    for (int r = 0; r < runs->n; at -= runs->at[r++].length)
        if (at < runs->at[r].length) {
            lua_pushinteger(L, runs->at[r].start + at);
            return 1;
        }
    return luaL_error(L, "index %d is not in this shard", (int)at);
}

static int part_shape(lua_State *L)
{
    sizes_push(L, &check_part(L)->shape);
    return 1;
}

static int part_whole(lua_State *L)
{
    sizes_push(L, &check_part(L)->whole);
    return 1;
}

static int part_dtype(lua_State *L)
{
    lua_pushstring(L, dtype_name(check_part(L)->dtype));
    return 1;
}

const LuaEntry part_fields[] = {
    {"shape", part_shape, "integer[]", "The sizes of this rank's shard; shape[1] is dim 0."},
    {"whole", part_whole, "integer[]", "The sizes of the whole tensor."},
    {"dtype", part_dtype, "string", "The element type: \"f32\"."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry part_methods[] = {
    {"get", part_get, "(...: integer): number",
     "The element at this index of the shard, one number per dim, from 0. Booleans are 0 or 1. An "
     "index outside the shard is an error."},
    {"global", part_global, "(dim: integer, at: integer): integer",
     "The index in the whole tensor that index `at` of that dim of the shard has; all count from "
     "0."},
    {NULL, NULL, NULL, NULL},
};

static void push_part(lua_State *L, const KernelCall *call, int input)
{
    const Local *local = call->input[input];
    if (!dtype_is_computed(local->dtype))
        luaL_error(L, "kernels in Lua cannot read elements of type %s", dtype_name(local->dtype));
    PartRef *part = lua_newuserdatauv(L, sizeof *part, 0);
    *part = (PartRef){sandbox_of(L)->n_kernel_calls, input};
    open_type(L, part_type);
    lua_setmetatable(L, -2);
}

/* ---- running ---- */

static void read_output(lua_State *L, Local *out, int i)
{
    int64_t n = shape_elements(&out->shape);
    if (!lua_istable(L, -1))
        luaL_error(L, "output %d is a %s, not a list", i, luaL_typename(L, -1));
    if ((int64_t)lua_rawlen(L, -1) != n)
        luaL_error(L, "output %d has %d elements, but its shard has %d", i, (int)lua_rawlen(L, -1),
                   (int)n);
    for (int64_t k = 0; k < n; k++) {
        lua_rawgeti(L, -1, k + 1);
        if (lua_isinteger(L, -1)) {
            int64_t integer = lua_tointeger(L, -1);
            elements_store(out->dtype, local_at(out, k), 1, NUMBER_I64, &integer);
        } else {
            double number = lua_isboolean(L, -1) ? lua_toboolean(L, -1) : luaL_checknumber(L, -1);
            elements_store(out->dtype, local_at(out, k), 1, NUMBER_F64, &number);
        }
        lua_pop(L, 1);
    }
}

static void read_outputs(lua_State *L, const KernelCall *call)
{
    for (int o = 0; o < call->n_outputs; o++) {
        if (!call->output[o])
            continue;
        if (!dtype_is_computed(call->output[o]->dtype))
            luaL_error(L, "output %d has type %s, which kernels in Lua cannot write", o,
                       dtype_name(call->output[o]->dtype));
        if (call->n_outputs == 1) {
            read_output(L, call->output[o], o);
            continue;
        }
        if (!lua_istable(L, -1))
            luaL_error(L, "a kernel with %d outputs must return a list of lists", call->n_outputs);
        lua_rawgeti(L, -1, o + 1);
        read_output(L, call->output[o], o);
        lua_pop(L, 1);
    }
}

typedef struct {
    const KernelCall *call;
    Kwargs kwargs;
} KernelRun;

static int run_function(lua_State *L)
{
    const KernelRun *run = lua_touserdata(L, 1);
    const KernelCall *call = run->call;
    const KernelFunction *function = call->kernel->row;
    lua_rawgeti(L, LUA_REGISTRYINDEX, function->function);
    lua_createtable(L, call->n_inputs, 0);
    for (int i = 0; i < call->n_inputs; i++) {
        if (!call->input[i])
            continue;
        push_part(L, call, i);
        lua_rawseti(L, -2, i + 1);
    }
    kwargs_push(L, &run->kwargs);
    lua_call(L, 2, 1);
    read_outputs(L, call);
    return 0;
}

/* KernelFn */
static bool run_kernel(const KernelCall *call, Error *err)
{
    const KernelFunction *function = call->kernel->row;
    Sandbox *sandbox = function->sandbox;
    Error inner = {0};
    KernelRun run = {.call = call};
    if (!kernel_kwargs(call, &run.kwargs, err))
        return false;
    pthread_mutex_lock(&sandbox->turn);
    sandbox_refill(sandbox);
    sandbox->n_kernel_calls++;
    sandbox->kernel_call = call;
    bool ok = sandbox_protect(sandbox, run_function, &run, &inner);
    sandbox->kernel_call = NULL;
    pthread_mutex_unlock(&sandbox->turn);
    if (!ok)
        error_kind(err, ERROR_RUN, "%s:%d: %s", inner.file, inner.line, inner.text);
    return ok;
}

const Kernel *kernel_of_function(lua_State *L, const char *name)
{
    Sandbox *sandbox = sandbox_of(L);
    KernelFunction *function = arena_make(sandbox->arena, KernelFunction);
    *function = (KernelFunction){.sandbox = sandbox};
    function->function = luaL_ref(L, LUA_REGISTRYINDEX);
    function->kernel = (Kernel){arena_str(sandbox->arena, str_from(name)), run_kernel, function, 0,
                                ROUNDING_SENSITIVE};
    return &function->kernel;
}
