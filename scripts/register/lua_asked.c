#include "scripts/register/lua_asked.h"

#include "core/reshard/price.h"
#include "scripts/lua_attrs.h"
#include "scripts/lua_push.h"

#include <lauxlib.h>

#include <math.h>

enum { COMMS_MAX = 64, VALUES_MAX = 1 << 24 };

static const char *const asked_names[] = {"cost", "comm", "input_gen",
                                          "gradient"}; /* ORDER ASKED */

struct AskedFunctions {
    Sandbox *sandbox;
    const char *name;
    int line;               /* where it is registered */
    int value[ASKED_COUNT]; /* references in Lua's registry */
};

/* One call, in sandbox_protect(). */
typedef struct {
    const AskedFunctions *functions;
    AskedKind kind;
    const OpPart *part;
    void *out;
    int *n;
} Question;

AskedFunctions *asked_new(Sandbox *sandbox, const char *name)
{
    AskedFunctions *asked = arena_make(sandbox->arena, AskedFunctions);
    *asked = (AskedFunctions){.sandbox = sandbox, .name = name, .line = sandbox_line(sandbox->lua)};
    return asked;
}

bool asked_keep(lua_State *L, AskedFunctions *asked, AskedKind kind, Error *err)
{
    bool list = kind == ASKED_COMM && lua_istable(L, -1);
    if (!lua_isfunction(L, -1) && !list)
        return error_set(err, "'%s' must be a function of a node%s, not a %s", asked_names[kind],
                         kind == ASKED_COMM ? ", or a list" : "", luaL_typename(L, -1));
    lua_pushvalue(L, -1);
    asked->value[kind] = luaL_ref(L, LUA_REGISTRYINDEX);
    return true;
}

/* Calls into the sandbox under its lock; `body` may set its host, which is put back. line: where
 * the function is registered. */
static bool ask(Sandbox *sandbox, const char *name, int line, const char *what, lua_CFunction body,
                void *context, Error *err)
{
    Error inner = {0};
    pthread_mutex_lock(&sandbox->turn);
    void *host = sandbox->host;
    sandbox_refill(sandbox);
    bool ok = sandbox_protect(sandbox, body, context, &inner);
    sandbox->host = host;
    pthread_mutex_unlock(&sandbox->turn);
    if (ok)
        return true;
    error_kind(err, inner.kind, "%s:%d: '%s' of %s: %s", sandbox->source.name,
               inner.line > 0 ? inner.line : line, what, name, inner.text);
    return error_hint(err, "%s", inner.hint);
}

void asked_push(lua_State *L, const AskedFunctions *asked, AskedKind kind)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, asked->value[kind]);
}

bool asked_run(const AskedFunctions *asked, AskedKind kind, lua_CFunction body, void *context,
               Error *err)
{
    return ask(asked->sandbox, asked->name, asked->line, asked_names[kind], body, context, err);
}

/* ---- the node ---- */

static void push_tensor(lua_State *L, const OpPart *part, int t, int32_t tensor)
{
    lua_createtable(L, 0, 3);
    sizes_push(L, &part->local[t]);
    lua_setfield(L, -2, "shape");
    sizes_push(L, &part->space->operand[t].shape);
    lua_setfield(L, -2, "whole");
    set_string(L, "dtype", dtype_name((Dtype)part->inferred->dtype[tensor]));
}

/* Absent tensors stay nil. */
static void push_tensors(lua_State *L, const OpPart *part, const int32_t *tensors, int first, int n)
{
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        if (tensors[i] < 0)
            continue;
        push_tensor(L, part, first + i, tensors[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

static void push_index_dims(lua_State *L, const OpPart *part)
{
    const OpSpace *space = part->space;
    lua_createtable(L, 0, space->n_index);
    lua_createtable(L, 0, space->n_index);
    lua_createtable(L, 0, space->n_index);
    for (int j = 0; j < space->n_index; j++) {
        lua_pushinteger(L, space->index[j].size);
        lua_setfield(L, -4, space->index[j].name);
        lua_pushinteger(L, part->piece ? part->piece[j].num : 1);
        lua_setfield(L, -3, space->index[j].name);
        set_string(L, space->index[j].name, part->axes ? part->axes[j] : "");
    }
    lua_setfield(L, -4, "axes");
    lua_setfield(L, -3, "cut");
    lua_setfield(L, -2, "size");
}

static void push_node(lua_State *L, const OpPart *part)
{
    const Graph *graph = part->inferred->graph;
    const GraphOp *op = &graph->ops[part->op];
    luaL_checkstack(L, 20, "node");
    lua_createtable(L, 0, 8);
    push_index_dims(L, part);
    set_string(L, "name", op_operator(graph, part->op));
    set_string(L, "path", names_text(graph->names, op->path));
    push_tensors(L, part, op_inputs(graph, part->op), 0, op->n_inputs);
    lua_setfield(L, -2, "inputs");
    push_tensors(L, part, op_outputs(graph, part->op), op->n_inputs, op->n_outputs);
    lua_setfield(L, -2, "outputs");
    kwargs_push(L, &part->kwargs);
    lua_setfield(L, -2, "kwargs");
}

/* Pushes what the function answers, or the list that stands for it. */
static void push_answer(lua_State *L, const Question *q)
{
    asked_push(L, q->functions, q->kind);
    if (!lua_isfunction(L, -1))
        return;
    push_node(L, q->part);
    lua_call(L, 1, 1);
}

/* ---- cost ---- */

/* A number of the table at the top, 0 or more; -1 where it is not given. */
static double number_field(lua_State *L, const char *field)
{
    if (lua_getfield(L, -1, field) == LUA_TNIL) {
        lua_pop(L, 1);
        return -1;
    }
    double number = lua_tonumber(L, -1);
    if (lua_type(L, -1) != LUA_TNUMBER || !(number >= 0) || !(number <= SCRIPT_COST_MAX))
        luaL_error(L, "'%s' must be a number from 0 to 1e18", field);
    lua_pop(L, 1);
    return number;
}

static void known_fields(lua_State *L, const char *const *known, const char *what)
{
    const char *key = attrs_unknown_key(L, known);
    if (key)
        luaL_error(L, "%s has no field '%s'", what, key);
}

static int ask_cost(lua_State *L)
{
    static const char *const known[] = {"flops", "bytes", "us", NULL};
    const Question *q = lua_touserdata(L, 1);
    DeclaredCost *out = q->out;
    push_answer(L, q);
    if (!lua_istable(L, -1))
        return luaL_error(L, "it must return {flops = .., bytes = ..} or {us = ..}, not a %s",
                          luaL_typename(L, -1));
    known_fields(L, known, "a cost");
    *out =
        (DeclaredCost){number_field(L, "flops"), number_field(L, "bytes"), number_field(L, "us")};
    if (out->flops < 0 && out->bytes < 0 && out->us < 0)
        return luaL_error(
            L, "it must return {flops = .., bytes = ..} or {us = ..}, but returned neither");
    if (out->us >= 0 && out->bytes >= 0)
        return luaL_error(L, "a cost has either 'us', or 'flops' and 'bytes'");
    return 0;
}

bool asked_cost(void *context, const OpPart *part, DeclaredCost *out, Error *err)
{
    const AskedFunctions *functions = context;
    Question q = {functions, ASKED_COST, part, out, NULL};
    return asked_run(functions, ASKED_COST, ask_cost, &q, err);
}

/* ---- collectives ---- */

static const char *text_field(lua_State *L, Arena *arena, const char *field)
{
    int type = lua_getfield(L, -1, field);
    if (type != LUA_TNIL && type != LUA_TSTRING)
        luaL_error(L, "'%s' must be a string, not a %s", field, lua_typename(L, type));
    const char *text = type == LUA_TSTRING ? arena_str(arena, str_from(lua_tostring(L, -1))) : NULL;
    lua_pop(L, 1);
    return text;
}

static bool is_step_kind(const char *kind)
{
    for (int k = STEP_ALL_GATHER; k <= STEP_SEND; k++)
        if (strcmp(step_kind_name((StepKind)k), kind) == 0)
            return true;
    return false;
}

/* The table at the top of the stack. */
static SaidComm read_comm(lua_State *L, const OpPart *part)
{
    static const char *const known[] = {"kind", "dim", "axis", "bytes", NULL};
    if (!lua_istable(L, -1))
        luaL_error(L, "a collective must be {kind = .., dim = .., bytes = ..}, not a %s",
                   luaL_typename(L, -1));
    known_fields(L, known, "a collective");
    SaidComm comm = {.kind = text_field(L, part->arena, "kind"),
                     .dim = text_field(L, part->arena, "dim"),
                     .axis = text_field(L, part->arena, "axis")};
    double bytes = number_field(L, "bytes");
    if (!comm.kind || !is_step_kind(comm.kind))
        luaL_error(L,
                   "'kind' must be all_gather, all_reduce, reduce_scatter, all_to_all, permute or "
                   "send%s%s%s",
                   comm.kind ? ", not '" : "", comm.kind ? comm.kind : "", comm.kind ? "'" : "");
    if (!comm.dim == !comm.axis)
        luaL_error(L, "a collective needs either 'dim', an index dim, or 'axis', a mesh axis");
    if (comm.dim && opspace_find_index(part->space, str_from(comm.dim)) < 0)
        luaL_error(L, "the op has no index dim '%s'", comm.dim);
    if (bytes < 0 || bytes > 0x1p60)
        luaL_error(L, "a collective needs 'bytes', the payload of one rank");
    comm.bytes = (int64_t)bytes;
    return comm;
}

static int ask_comm(lua_State *L)
{
    const Question *q = lua_touserdata(L, 1);
    push_answer(L, q);
    *q->n = 0;
    if (lua_isnil(L, -1))
        return 0;
    if (!lua_istable(L, -1))
        return luaL_error(L, "it must return a list of collectives, not a %s",
                          luaL_typename(L, -1));
    lua_Unsigned n = lua_rawlen(L, -1);
    if (n > COMMS_MAX)
        return luaL_error(L, "an op can have at most %d collectives of its own", COMMS_MAX);
    SaidComm *comms = arena_array(q->part->arena, SaidComm, n);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        comms[i] = read_comm(L, q->part);
        lua_pop(L, 1);
    }
    *(const SaidComm **)q->out = comms;
    *q->n = (int)n;
    return 0;
}

bool asked_comm(void *context, const OpPart *part, const SaidComm **out, int *n, Error *err)
{
    const AskedFunctions *functions = context;
    Question q = {functions, ASKED_COMM, part, (void *)out, n};
    return asked_run(functions, ASKED_COMM, ask_comm, &q, err);
}

/* ---- inputs ---- */

/* {lo = 0, hi = 10}, {1, 2, 3} or 7 at the top of the stack. */
static Generated read_generated(lua_State *L, const OpPart *part, int i)
{
    static const char *const known[] = {"lo", "hi", NULL};
    Generated out = {.kind = GENERATED_VALUES, .n = 1};
    if (lua_type(L, -1) != LUA_TNUMBER && !lua_istable(L, -1))
        luaL_error(L, "input %d needs a number, a list of numbers or {lo = .., hi = ..}, not a %s",
                   i, luaL_typename(L, -1));
    bool list = lua_istable(L, -1) && lua_rawlen(L, -1) > 0;
    if (lua_istable(L, -1) && !list) {
        known_fields(L, known, "a range");
        lua_getfield(L, -1, "lo");
        lua_getfield(L, -2, "hi");
        out = (Generated){.kind = GENERATED_RANGE};
        out.lo = lua_tonumber(L, -2);
        out.hi = lua_tonumber(L, -1);
        if (lua_type(L, -1) != LUA_TNUMBER || lua_type(L, -2) != LUA_TNUMBER ||
            !(out.lo < out.hi) || !isfinite(out.lo) || !isfinite(out.hi))
            luaL_error(L, "input %d: a range must be {lo = .., hi = ..} with lo < hi", i);
        lua_pop(L, 2);
        return out;
    }
    lua_Unsigned n = list ? lua_rawlen(L, -1) : 1;
    int64_t whole = shape_elements(&part->space->operand[i].shape);
    if (n > VALUES_MAX || (n != 1 && (int64_t)n != whole))
        luaL_error(L, "input %d is given %d values, but has %d elements", i, (int)n, (int)whole);
    double *values = arena_array(part->arena, double, n);
    for (lua_Unsigned k = 0; k < n; k++) {
        if (list)
            lua_rawgeti(L, -1, (lua_Integer)k + 1);
        else
            lua_pushvalue(L, -1);
        values[k] = luaL_checknumber(L, -1);
        lua_pop(L, 1);
    }
    out.n = (int64_t)n;
    out.values = values;
    return out;
}

static int ask_input_gen(lua_State *L)
{
    const Question *q = lua_touserdata(L, 1);
    Generated *out = q->out;
    push_answer(L, q);
    if (!lua_istable(L, -1))
        return luaL_error(L, "it must return a table by input, {[1] = {lo = 0, hi = 8}}, not a %s",
                          luaL_typename(L, -1));
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 ||
            lua_tointeger(L, -2) > q->part->space->n_inputs)
            return luaL_error(L, "it must return a table by input, 1 to %d",
                              q->part->space->n_inputs);
    for (int i = 0; i < q->part->space->n_inputs; i++) {
        if (lua_rawgeti(L, -1, i + 1) != LUA_TNIL)
            out[i] = read_generated(L, q->part, i);
        lua_pop(L, 1);
    }
    return 0;
}

bool asked_input_gen(void *context, const OpPart *part, Generated *out, Error *err)
{
    const AskedFunctions *functions = context;
    Question q = {functions, ASKED_INPUT_GEN, part, out, NULL};
    return asked_run(functions, ASKED_INPUT_GEN, ask_input_gen, &q, err);
}

/* ---- a rule's keyword arguments ---- */

typedef struct {
    Sandbox *sandbox;
    const char *name;
    int line, function;
} KwargsFunction;

typedef struct {
    const KwargsFunction *function;
    Arena *arena;
    const RulePiece *piece;
    Kwargs *kwargs;
} KwargsQuestion;

static int ask_kwargs(lua_State *L)
{
    const KwargsQuestion *q = lua_touserdata(L, 1);
    Error err = {0};
    lua_rawgeti(L, LUA_REGISTRYINDEX, q->function->function);
    kwargs_push(L, q->kwargs);
    lua_pushinteger(L, q->piece->idx);
    lua_pushinteger(L, q->piece->dim);
    lua_pushinteger(L, q->piece->num);
    lua_pushinteger(L, q->piece->at);
    lua_call(L, 5, 1);
    if (!lua_istable(L, -1))
        return luaL_error(L, "it must return the arguments of the part, a table, not a %s",
                          luaL_typename(L, -1));
    return kwargs_read(L, q->arena, q->kwargs, &err) ? 0 : luaL_error(L, "%s", err.text);
}

/* CutRule.kwargs */
static bool kwargs_of(void *context, Arena *arena, const RulePiece *piece, Kwargs *kwargs,
                      Error *err)
{
    const KwargsFunction *function = context;
    KwargsQuestion q = {function, arena, piece, kwargs};
    return ask(function->sandbox, function->name, function->line, "kwargs", ask_kwargs, &q, err);
}

void asked_kwargs(lua_State *L, const char *name, CutRule *rule)
{
    Sandbox *sandbox = sandbox_of(L);
    KwargsFunction *function = arena_make(sandbox->arena, KwargsFunction);
    *function = (KwargsFunction){sandbox, name, sandbox_line(L), luaL_ref(L, LUA_REGISTRYINDEX)};
    rule->kwargs = kwargs_of;
    rule->context = function;
}
