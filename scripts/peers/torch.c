#include "scripts/peers/torch.h"

#include "core/session/session.h"
#include "core/peers/torch/strategy.h"
#include "scripts/lua_attrs.h"
#include "scripts/sandbox/lua_state.h"
#include "scripts/register/lua_registered.h"

#include <lauxlib.h>

enum { OUTPUTS_MAX = 64, ROWS_MAX = 4096 };

typedef struct {
    Sandbox *sandbox;
    const char *name;
    int function; /* reference in Lua's registry */
} StrategyFunction;

/* One call of a function, in sandbox_protect(). */
typedef struct {
    const StrategyFunction *function;
    const StrategyCall *call;
    StrategyRows *rows;     /* strategy-based */
    StrategyRuling *ruling; /* rule-based */
} AskedStrategy;

/* ---- what a function gets ---- */

static void push_placements(lua_State *L, const StrategyCall *call, const Placement *placements)
{
    lua_createtable(L, call->mesh->n_axes, 0);
    for (int a = 0; a < call->mesh->n_axes; a++) {
        Buf text = buf_new(call->arena);
        placement_format(&placements[a], false, &text);
        lua_pushlstring(L, text.s, text.n);
        lua_rawseti(L, -2, a + 1);
    }
}

static void push_input(lua_State *L, const StrategyCall *call, const StrategyTensor *input)
{
    if (input->shape.n_dims < 0) {
        lua_pushnil(L);
        return;
    }
    lua_newtable(L);
    sizes_push(L, &input->shape);
    lua_setfield(L, -2, "shape");
    lua_pushstring(L, dtype_name(input->dtype));
    lua_setfield(L, -2, "dtype");
    push_placements(L, call, input->placements);
    lua_setfield(L, -2, "placements");
}

/* Calls the function with (inputs, attrs); its result is left on the stack. */
static void call_function(lua_State *L, const AskedStrategy *asked)
{
    const StrategyCall *call = asked->call;
    lua_rawgeti(L, LUA_REGISTRYINDEX, asked->function->function);
    lua_createtable(L, call->n_inputs, 0);
    for (int i = 0; i < call->n_inputs; i++) {
        push_input(L, call, &call->input[i]);
        lua_rawseti(L, -2, i + 1);
    }
    attrs_push(L, call->graph, call->graph_op);
    lua_call(L, 2, 1);
}

/* ---- rows ---- */

/* Tensors behind the arrow: commas outside of brackets, and one. */
static int count_outputs(const char *row)
{
    const char *at = strstr(row, "->");
    int n = 1, depth = 0;
    for (; at && *at; at++) {
        depth += *at == '(' ? 1 : *at == ')' ? -1 : 0;
        n += *at == ',' && depth == 0;
    }
    return n;
}

static int add_rows(lua_State *L)
{
    const AskedStrategy *asked = lua_touserdata(L, 1);
    StrategyRows *rows = asked->rows;
    call_function(L, asked);
    if (!lua_istable(L, -1))
        return luaL_error(L, "a strategy returns a list of rows, not a %s", luaL_typename(L, -1));
    lua_Unsigned n = lua_rawlen(L, -1);
    if (n == 0 || n > ROWS_MAX)
        return luaL_error(L, "a strategy returns 1 to %d rows", ROWS_MAX);
    for (lua_Unsigned i = 1; i <= n; i++) {
        if (lua_rawgeti(L, -1, (lua_Integer)i) != LUA_TSTRING)
            return luaL_error(L, "row %d is a %s, not a text like \"s(0), R -> s(0)\"", (int)i,
                              luaL_typename(L, -1));
        Source source = {asked->function->name,
                         str_from(arena_str(rows->arena, str_from(lua_tostring(L, -1))))};
        Error err = {0};
        int n_outputs = count_outputs(source.text.s);
        if (i == 1)
            rows->n_outputs = n_outputs < OUTPUTS_MAX ? n_outputs : OUTPUTS_MAX;
        if (!strategy_row_read(rows, &source, &err))
            return luaL_error(L, "row %d, '%s': %s", (int)i, source.text.s, err.text);
        lua_pop(L, 1);
    }
    return 0;
}

/* StrategyFn */
static bool strategy_rows_of(const StrategyCall *call, void *context, StrategyRows *rows,
                             Error *err)
{
    const StrategyFunction *function = context;
    AskedStrategy asked = {.function = function, .call = call, .rows = rows};
    return sandbox_protect(function->sandbox, add_rows, &asked, err);
}

/* ---- rulings ---- */

/* The list of placements at the top, one per mesh axis. */
static Placement *read_placements(lua_State *L, const StrategyCall *call, int64_t n_dims)
{
    Placement *out = arena_array(call->arena, Placement, call->mesh->n_axes);
    if (!lua_istable(L, -1) || (int)lua_rawlen(L, -1) != call->mesh->n_axes)
        luaL_error(L, "placements are a list with one for each of the %d mesh axes",
                   call->mesh->n_axes);
    for (int a = 0; a < call->mesh->n_axes; a++) {
        if (lua_rawgeti(L, -1, a + 1) != LUA_TSTRING)
            luaL_error(L, "a placement is a text like \"S(0)\"");
        Source source = {"placement",
                         str_from(arena_str(call->arena, str_from(lua_tostring(L, -1))))};
        Error err = {0};
        Scan scan = scan_begin(&source, &err);
        if (!placement_scan(&scan, n_dims, &out[a]))
            luaL_error(L, "'%s': %s", source.text.s, err.text);
        lua_pop(L, 1);
    }
    return out;
}

/* A list of lists of placements at the top; n_dims of tensor i is that of input i (suggestions) or
 * as many as a tensor may have. */
static Placement *const *read_tensors(lua_State *L, const StrategyCall *call, bool inputs, int *n)
{
    if (!lua_istable(L, -1))
        luaL_error(L, "'outputs' and 'suggest' are lists of lists of placements");
    lua_Unsigned given = lua_rawlen(L, -1);
    *n = inputs ? call->n_inputs : (int)given;
    if (given > OUTPUTS_MAX || (inputs && (int)given > call->n_inputs))
        luaL_error(L, "there are not that many tensors");
    Placement **out = arena_array(call->arena, Placement *, *n);
    for (int i = 0; i < *n; i++) {
        int64_t n_dims = inputs ? call->input[i].shape.n_dims : DIMS_MAX;
        if (lua_rawgeti(L, -1, i + 1) != LUA_TNIL)
            out[i] = read_placements(L, call, n_dims);
        else if (inputs && n_dims >= 0)
            luaL_error(L, "there is no suggestion for input %d", i);
        lua_pop(L, 1);
    }
    return out;
}

static int ask_rule(lua_State *L)
{
    const AskedStrategy *asked = lua_touserdata(L, 1);
    StrategyRuling *ruling = asked->ruling;
    int n;
    *ruling = (StrategyRuling){.why = ""};
    call_function(L, asked);
    if (!lua_istable(L, -1))
        return luaL_error(L, "a rule returns {outputs = ..} or {suggest = .., why = ..}, not a %s",
                          luaL_typename(L, -1));
    if (lua_getfield(L, -1, "outputs") != LUA_TNIL) {
        ruling->output = read_tensors(L, asked->call, false, &ruling->n_outputs);
        return 0;
    }
    lua_pop(L, 1);
    if (lua_getfield(L, -1, "suggest") == LUA_TNIL)
        return luaL_error(L, "a rule returns {outputs = ..} or {suggest = .., why = ..}");
    ruling->suggestion = read_tensors(L, asked->call, true, &n);
    lua_pop(L, 1);
    if (lua_getfield(L, -1, "why") == LUA_TSTRING)
        ruling->why = arena_str(asked->call->arena, str_from(lua_tostring(L, -1)));
    return 0;
}

/* StrategyRuleFn */
static bool strategy_rule_of(const StrategyCall *call, void *context, StrategyRuling *out,
                             Error *err)
{
    const StrategyFunction *function = context;
    AskedStrategy asked = {.function = function, .call = call, .ruling = out};
    return sandbox_protect(function->sandbox, ask_rule, &asked, err);
}

/* ---- register_strategy(name, function | {rule = function}) ---- */

static bool register_one(lua_State *L, Sandbox *sandbox, Error *err)
{
    const RuleBook *rules = sandbox->rules;
    bool rule_based = lua_istable(L, 2);
    if (!rules)
        return error_set(err, "register_strategy stands at the top level of the file, not in a "
                              "function that runs later");
    if (lua_type(L, 1) != LUA_TSTRING || lua_rawlen(L, 1) == 0)
        return error_set(err, "register_strategy takes the name of an operator first");
    if (rule_based)
        lua_getfield(L, 2, "rule");
    if (!lua_isfunction(L, -1))
        return error_set(err, "register_strategy takes a function, or {rule = function}");
    StrategyFunction *function = arena_make(sandbox->arena, StrategyFunction);
    *function = (StrategyFunction){.sandbox = sandbox};
    function->name = arena_str(sandbox->arena, str_from(lua_tostring(L, 1)));
    function->function = luaL_ref(L, LUA_REGISTRYINDEX);
    if (rule_based)
        strategies_add_rule(strategies_of(rules), str_from(function->name), strategy_rule_of,
                            function);
    else
        strategies_add(strategies_of(rules), str_from(function->name), strategy_rows_of, function);
    registered_note(L, function->name);
    return true;
}

static int register_strategy(lua_State *L)
{
    Error err = {0};
    lua_settop(L, 2);
    return register_one(L, sandbox_of(L), &err) ? 0 : sandbox_raise(L, &err);
}

const LuaEntry strategy_globals[] = {
    {"register_strategy", register_strategy,
     "(name: string, strategy: (fun(inputs: strategy_input[], attrs: attrs): string[])|{rule: "
     "fun(inputs: strategy_input[], attrs: attrs): strategy_ruling})",
     "Adds the strategies of an operator, as in DTensor and veScale: a function that lists "
     "strategies \"s(0), R -> s(0)\" for one mesh axis, or a rule that returns placements. Call it "
     "at the top level of the file. Refused: a strategy with a syntax error, or without one "
     "placement per axis."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry strategy_input_fields[] = {
    {"shape", NULL, "integer[]", "The sizes of the dims."},
    {"dtype", NULL, "string", "The element type: \"f32\"."},
    {"placements", NULL, "string[]", "One per mesh axis: \"S(0)\", \"R\", \"P(sum)\"."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry strategy_ruling_fields[] = {
    {"outputs", NULL, "string[][]?", "The placements of each output; the inputs stay as they are."},
    {"suggest", NULL, "string[][]?",
     "The placements that each input should have instead; nil in the list for an absent input."},
    {"why", NULL, "string?", "With suggest: the reason, for the error message."},
    {NULL, NULL, NULL, NULL},
};

const LuaEntry strategy_types[] = {
    {"strategy_input", NULL, "class", "A tensor for strategies of operators; nil if it is absent."},
    {"strategy_ruling", NULL, "class",
     "The answer of a rule-based strategy: outputs, or suggest and why."},
    {NULL, NULL, NULL, NULL},
};
