#include "scripts/register/lua_operator.h"

#include "core/rules/derivative.h"
#include "core/run/native.h"
#include "scripts/register/lua_asked.h"
#include "scripts/lua_attrs.h"
#include "scripts/register/lua_gradient.h"
#include "scripts/register/lua_kernel.h"

#include <lauxlib.h>

#include <ctype.h>
#include <math.h>

enum { RULES_MAX = 64, SPLITS_MAX = 256, INPLACE_MAX = 64 };

const char *const operator_option_names[] = {
    "kernel", "example",   "flops_per_point",   "rules",   "cost",
    "comm",   "input_gen", "inplace",           "dtype",   "gradient",
    "kwargs", "python",    "code_impl_pattern", "emit_fn", "independent",
    NULL};

typedef struct {
    lua_State *L;
    Sandbox *sandbox;
    const char *name; /* of the operator */
    const RuleBook *rules;
    AskedFunctions *asked;
    OperatorOptions *out;
    Error *err;
} OperatorReading;

/* ---- rules ---- */

/* "R", "V", "D0", "D(0)", "D(0,2)" */
static bool read_split_text(const char *text, AnnoSplit *out)
{
    *out = (AnnoSplit){.kind = SPLIT_REPLICATE};
    if (strcmp(text, "R") == 0)
        return true;
    out->kind = *text == 'V' ? SPLIT_VALUE : SPLIT_DIMS;
    if (*text == 'V')
        return text[1] == '\0';
    if (*text != 'D')
        return false;
    bool bracket = text[1] == '(';
    for (text += bracket ? 2 : 1; is_digit(text[*text == '-']); text++) {
        bool negative = *text == '-';
        text += negative;
        if (is_digit(text[1]) || (negative && *text == '0'))
            return false; /* dims are below 10 */
        if (out->n == DIMS_MAX)
            return false;
        out->dim[out->n++] = (uint8_t)(negative ? '0' - *text : *text - '0');
        if (text[1] == ',')
            text++;
    }
    return out->n > 0 && strcmp(text, bracket ? ")" : "") == 0;
}

/* {0, 2} at the top of the stack. */
static bool read_split_list(lua_State *L, AnnoSplit *out)
{
    lua_Unsigned n = lua_rawlen(L, -1);
    *out = (AnnoSplit){.kind = SPLIT_DIMS};
    if (n == 0 || n > DIMS_MAX)
        return false;
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        lua_Integer dim = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : -1;
        lua_pop(L, 1);
        if (dim < 0 || dim >= DIMS_MAX)
            return false;
        out->dim[out->n++] = (uint8_t)dim;
    }
    return true;
}

static int compare_dims(const AnnoSplit *split)
{
    for (int i = 1; i < split->n; i++)
        if (split->dim[i] <= split->dim[i - 1])
            return -1;
    return 0;
}

/* The list `field` of the rule at the top of the stack, appended to `split`. */
static bool read_splits(const OperatorReading *r, int rule, const char *field, AnnoSplit *split,
                        int *n)
{
    lua_State *L = r->L;
    if (lua_getfield(L, -1, field) != LUA_TTABLE)
        return error_set(r->err, "rule %d needs '%s', a list of splits: {\"D(0)\", \"R\"}", rule,
                         field);
    lua_Unsigned length = lua_rawlen(L, -1);
    if (length > SPLITS_MAX)
        return error_set(r->err, "rule %d has more than %d splits", rule, SPLITS_MAX);
    for (lua_Unsigned i = 0; i < length; i++) {
        int type = lua_rawgeti(L, -1, (lua_Integer)i + 1);
        bool ok = type == LUA_TSTRING  ? read_split_text(lua_tostring(L, -1), &split[i])
                  : type == LUA_TTABLE ? read_split_list(L, &split[i])
                                       : false;
        if (!ok || compare_dims(&split[i]) != 0) {
            error_set(r->err, "rule %d, '%s', entry %d is not a split%s%s%s", rule, field,
                      (int)i + 1, type == LUA_TSTRING ? ": '" : "",
                      type == LUA_TSTRING ? lua_tostring(L, -1) : "",
                      type == LUA_TSTRING ? "'" : "");
            return error_hint(
                r->err,
                "a split is \"R\", \"V\", \"D(0)\" or \"D(0,2)\", with dims in rising order");
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    *n = (int)length;
    return true;
}

static bool check_keys(const OperatorReading *r, const char *what, const char *const *known)
{
    const char *key = attrs_unknown_key(r->L, known);
    return !key || error_set(r->err, "%s has no field '%s'", what, key);
}

/* The rule at the top of the stack. */
static bool read_rule(const OperatorReading *r, int nth, CutRule *out)
{
    static const char *const known[] = {"ins", "outs", "kwargs", NULL};
    lua_State *L = r->L;
    Arena *arena = r->sandbox->arena;
    AnnoSplit *split = arena_array(arena, AnnoSplit, 2 * SPLITS_MAX);
    Error wrong = {0};
    *out = (CutRule){.split = split};
    if (!lua_istable(L, -1))
        return error_set(r->err, "rule %d is a %s, not a table {ins = .., outs = ..}", nth,
                         luaL_typename(L, -1));
    if (!check_keys(r, "a rule", known) || !read_splits(r, nth, "ins", split, &out->n_inputs) ||
        !read_splits(r, nth, "outs", split + out->n_inputs, &out->n_outputs))
        return false;
    int type = lua_getfield(L, -1, "kwargs");
    if (type != LUA_TNIL && type != LUA_TFUNCTION)
        return error_set(r->err, "rule %d, 'kwargs' must be a function, not a %s", nth,
                         lua_typename(L, type));
    if (type == LUA_TFUNCTION) {
        lua_pushvalue(L, -1);
        asked_kwargs(L, r->name, out);
    }
    lua_pop(L, 1);
    return cut_rule_check(out, &wrong) ||
           error_kind(r->err, wrong.kind, "rule %d: %s", nth, wrong.text);
}

/* The list at the top of the stack. */
static bool read_rules(const OperatorReading *r)
{
    lua_State *L = r->L;
    lua_Unsigned n = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
    if (n == 0 || n > RULES_MAX)
        return error_set(r->err, "'rules' must be a list of 1 to %d rules {ins = .., outs = ..}",
                         RULES_MAX);
    CutRule *rules = arena_array(r->sandbox->arena, CutRule, n);
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        if (!read_rule(r, (int)i + 1, &rules[i]))
            return false;
        lua_pop(L, 1);
    }
    r->out->user.rules = rules;
    r->out->user.n_rules = (int)n;
    return true;
}

/* ---- in place ---- */

/* {[output] = input} at the top of the stack, in the order of outputs. */
static bool read_inplace(const OperatorReading *r)
{
    lua_State *L = r->L;
    int table = lua_gettop(L), n = 0;
    if (!lua_istable(L, table))
        return error_set(r->err, "'inplace' must be a table {[output] = input}, not a %s",
                         luaL_typename(L, -1));
    sandbox_push_keys(L, table);
    lua_Unsigned length = lua_rawlen(L, -1);
    int(*pairs)[2] = arena_alloc(r->sandbox->arena, sizeof *pairs * (size_t)(length + 1));
    for (lua_Unsigned i = 0; i < length && i < INPLACE_MAX; i++, n++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        lua_pushvalue(L, -1);
        lua_rawget(L, table);
        bool ok = lua_isinteger(L, -1) && lua_isinteger(L, -2);
        lua_Integer input = lua_tointeger(L, -1), output = lua_tointeger(L, -2);
        lua_pop(L, 2);
        if (!ok || input < 0 || output < 0 || input >= OPERANDS_MAX || output >= OPERANDS_MAX)
            return error_set(r->err,
                             "'inplace' must be a table {[output] = input} of numbers from 0");
        pairs[n][0] = (int)output;
        pairs[n][1] = (int)input;
        for (int k = 0; k < n; k++)
            if (pairs[k][1] == pairs[n][1])
                return error_kind(r->err, ERROR_DUPLICATE,
                                  "'inplace' makes input %d both output %d and output %d",
                                  pairs[n][1], pairs[k][0], pairs[n][0]);
    }
    lua_settop(L, table);
    r->out->user.inplace = (const int(*)[2])pairs;
    r->out->user.n_inplace = n;
    return true;
}

/* ---- element types ---- */

/* "f32", or the number of an input, at the top of the stack. */
static bool read_dtype(const OperatorReading *r, DeclaredDtype *out)
{
    lua_State *L = r->L;
    *out = (DeclaredDtype){-1, DT_NONE};
    if (lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 0 && lua_tointeger(L, -1) < OPERANDS_MAX)
        out->input = (int)lua_tointeger(L, -1);
    else if (lua_type(L, -1) == LUA_TSTRING)
        out->dtype = dtype_from_name(str_from(lua_tostring(L, -1)));
    return out->input >= 0 || out->dtype != DT_NONE ||
           error_set(r->err, "'dtype' must be an element type, \"f32\", the number of an input, "
                             "from 0, or a list of these by output");
}

static bool read_dtypes(const OperatorReading *r)
{
    lua_State *L = r->L;
    bool list = lua_istable(L, -1);
    lua_Unsigned n = list ? lua_rawlen(L, -1) : 1;
    if (n > INPLACE_MAX)
        return error_set(r->err, "'dtype' has more than %d outputs", INPLACE_MAX);
    DeclaredDtype *dtypes = arena_array(r->sandbox->arena, DeclaredDtype, n);
    for (lua_Unsigned i = 0; i < n; i++) {
        if (list)
            lua_rawgeti(L, -1, (lua_Integer)i + 1);
        else
            lua_pushvalue(L, -1);
        if (!read_dtype(r, &dtypes[i]))
            return false;
        lua_pop(L, 1);
    }
    r->out->user.dtype = dtypes;
    r->out->user.n_dtypes = (int)n;
    return true;
}

/* ---- kernels ---- */

static bool text_field(lua_State *L, const char *field, const char **out)
{
    *out = lua_getfield(L, -1, field) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    lua_pop(L, 1);
    return *out != NULL;
}

/* {plugin = "./libmy.so", symbol = "my_kernel"} at the top of the stack; the path is seen from the
 * file that says it. */
static const Kernel *read_plugin(const OperatorReading *r, const char **words)
{
    static const char *const known[] = {"plugin", "symbol", NULL};
    const char *plugin, *symbol;
    Arena *arena = r->sandbox->arena;
    if (!check_keys(r, "'kernel'", known))
        return NULL;
    if (!text_field(r->L, "plugin", &plugin) || !text_field(r->L, "symbol", &symbol)) {
        error_set(r->err, "a native kernel must be {plugin = \"./libmy.so\", symbol = \"name\"}");
        return NULL;
    }
    const char *folder = path_dir(arena, r->sandbox->source.name);
    const char *path = *plugin == '/' ? plugin : path_join(arena, folder, plugin);
    *words = arena_printf(arena, "%s of %s", symbol, plugin);
    return r->rules->allow_native ? native_kernel(arena, path, symbol, r->err)
                                  : native_refused(arena, arena_str(arena, str_from(plugin)));
}

/* A function, or {plugin = .., symbol = ..}, at the top of the stack. */
static const Kernel *read_own_kernel(const OperatorReading *r, const char **words)
{
    if (!lua_isfunction(r->L, -1))
        return read_plugin(r, words);
    lua_pushvalue(r->L, -1);
    *words = "a Lua function";
    return kernel_of_function(r->L, "registered");
}

static bool read_kernel(const OperatorReading *r)
{
    lua_State *L = r->L;
    if (lua_isfunction(L, -1) || lua_istable(L, -1)) {
        r->out->own = read_own_kernel(r, &r->out->user.kernel);
        return r->out->own != NULL;
    }
    r->out->kernel = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (r->out->kernel && kernel_find(NULL, r->out->kernel))
        return true;
    error_set(r->err,
              "'kernel' must be a function, the name of an operator that has a kernel, or {plugin "
              "= .., symbol = ..}%s%s%s",
              r->out->kernel ? ": there is no kernel of '" : "",
              r->out->kernel ? r->out->kernel : "", r->out->kernel ? "'" : "");
    return false;
}

/* ---- gradients ---- */

/* Kernels whose results depend on the built-in operator that they are the derivative of. */
static bool needs_operator(const char *kernel)
{
    return strcmp(kernel, "local") == 0 || strcmp(kernel, "activated") == 0 ||
           strcmp(kernel, "branch") == 0;
}

static bool check_clause(const OperatorReading *r, const DerivativeClause *clause)
{
    const char *kernel = clause->kernel;
    if (!kernel)
        return true;
    if (strcmp(kernel, "kernel") == 0)
        return r->out->user.gradient_kernel ||
               error_set(r->err, "'gradient' calls \"kernel\", which is not given: {\"0: "
                                 "kernel(x0)\", kernel = function(inputs, kwargs) .. end}");
    if (needs_operator(kernel) && !r->out->kernel)
        return error_set(r->err,
                         "'gradient': '%s' is the derivative of a built-in operator, so "
                         "'kernel' has to name one",
                         kernel);
    return kernel_find(&(OpSpace){.kernel = kernel}, "") ||
           error_set(r->err, "'gradient': there is no kernel '%s'", kernel);
}

static bool read_clauses(const OperatorReading *r, const char *text)
{
    Derivative derivative;
    Error wrong = {0};
    if (!derivative_read(r->sandbox->arena, text, &derivative, &wrong)) {
        error_set(r->err, "'gradient': %s", wrong.text);
        return error_hint(r->err, "clauses by input, from 0: \"0: contract(x1); 1: contract(x0)\"");
    }
    for (int i = 0; i < derivative.n; i++)
        if (!check_clause(r, &derivative.clause[i]))
            return false;
    r->out->gradient = arena_str(r->sandbox->arena, str_from(text));
    return true;
}

/* {"0: kernel(x0)", kernel = ..} at the top of the stack. */
static bool read_gradient_table(const OperatorReading *r)
{
    lua_State *L = r->L;
    const char *words;
    if (lua_getfield(L, -1, "kernel") != LUA_TNIL) {
        if (!lua_isfunction(L, -1) && !lua_istable(L, -1))
            return error_set(r->err,
                             "the kernel of 'gradient' must be a function or {plugin = .., "
                             "symbol = ..}, not a %s",
                             luaL_typename(L, -1));
        r->out->user.gradient_kernel = read_own_kernel(r, &words);
        if (!r->out->user.gradient_kernel)
            return false;
    }
    lua_pop(L, 1);
    return lua_rawgeti(L, -1, 1) == LUA_TSTRING
               ? read_clauses(r, lua_tostring(L, -1))
               : error_set(r->err, "'gradient' needs its clauses first: {\"0: kernel(x0)\", kernel "
                                   "= function(inputs, kwargs) .. end}");
}

static bool read_gradient(const OperatorReading *r)
{
    lua_State *L = r->L;
    switch (lua_type(L, -1)) {
    case LUA_TSTRING:
        return read_clauses(r, lua_tostring(L, -1));
    case LUA_TTABLE:
        return read_gradient_table(r);
    case LUA_TFUNCTION:
        r->out->user.gradient = gradient_by_function;
        return asked_keep(L, r->asked, ASKED_GRADIENT, r->err);
    default:
        return error_set(r->err,
                         "'gradient' must be clauses, a function that builds it, or a table "
                         "of clauses and their kernel, not a %s",
                         luaL_typename(L, -1));
    }
}

/* ---- the rest ---- */

static bool read_number(const OperatorReading *r)
{
    double number = lua_tonumber(r->L, -1);
    r->out->flops_per_point = number;
    return (lua_type(r->L, -1) == LUA_TNUMBER && number >= 0 && number <= SCRIPT_COST_MAX) ||
           error_set(r->err, "'flops_per_point' must be a number from 0 to 1e18");
}

static bool read_example(const OperatorReading *r)
{
    r->out->example = lua_type(r->L, -1) == LUA_TSTRING ? lua_tostring(r->L, -1) : NULL;
    return r->out->example ||
           error_set(r->err, "'example' must be a string of operands: \"4x6,6x5\"");
}

static bool read_cost(const OperatorReading *r)
{
    r->out->user.cost = asked_cost;
    return asked_keep(r->L, r->asked, ASKED_COST, r->err);
}

static bool read_comm(const OperatorReading *r)
{
    r->out->user.comm = asked_comm;
    return asked_keep(r->L, r->asked, ASKED_COMM, r->err);
}

static bool read_input_gen(const OperatorReading *r)
{
    r->out->user.input_gen = asked_input_gen;
    return asked_keep(r->L, r->asked, ASKED_INPUT_GEN, r->err);
}

/* {h = 8}: whole numbers by name. */
static bool read_kwargs(const OperatorReading *r)
{
    enum { KWARGS_MAX = 32 };
    lua_State *L = r->L;
    int table = lua_gettop(L), n = 0;
    const char *form = "'kwargs' must be a table of whole numbers by name: {h = 8}";
    if (!lua_istable(L, table))
        return error_set(r->err, "%s", form);
    Kwarg *at = arena_array(r->sandbox->arena, Kwarg, KWARGS_MAX);
    sandbox_push_keys(L, table);
    for (lua_Integer i = 1; lua_rawgeti(L, table + 1, i) != LUA_TNIL; i++) {
        lua_pushvalue(L, -1);
        if (lua_type(L, -1) != LUA_TSTRING || lua_rawget(L, table) != LUA_TNUMBER ||
            !lua_isinteger(L, -1) || n == KWARGS_MAX)
            return error_set(r->err, "%s", form);
        at[n++] = (Kwarg){arena_str(r->sandbox->arena, str_from(lua_tostring(L, -2))),
                          {.type = ATTR_INT, .i = lua_tointeger(L, -1)}};
        lua_settop(L, table + 1);
    }
    lua_settop(L, table);
    r->out->user.defaults = (Kwargs){n, at};
    return true;
}

/* The path of a Python function, "custom_ops.mm", at the top of the stack. */
static bool read_path(const OperatorReading *r, const char *option, const char **out)
{
    const char *text = lua_type(r->L, -1) == LUA_TSTRING ? lua_tostring(r->L, -1) : "";
    bool good = strchr(text, '.') != NULL;
    for (const char *at = text; good && *at; at++) {
        bool first = at == text || at[-1] == '.';
        good = *at == '.' ? !first && at[1]
                          : *at == '_' || isalpha((unsigned char)*at) || (!first && is_digit(*at));
    }
    if (!good)
        return error_set(r->err, "'%s' must name a function of a Python module: \"custom_ops.mm\"",
                         option);
    *out = arena_str(r->sandbox->arena, str_from(text));
    return true;
}

static bool read_python(const OperatorReading *r)
{
    return read_path(r, "python", &r->out->user.python);
}

static bool read_emit(const OperatorReading *r)
{
    return read_path(r, "emit_fn", &r->out->user.emit_fn);
}

static bool read_pattern(const OperatorReading *r)
{
    const char *text = lua_type(r->L, -1) == LUA_TSTRING ? lua_tostring(r->L, -1) : "";
    r->out->user.source = strcmp(text, "source") == 0;
    return r->out->user.source || strcmp(text, "import") == 0 ||
           error_set(r->err, "'code_impl_pattern' must be \"import\" or \"source\"");
}

/* {1}: outputs, from 0. */
static bool read_independent(const OperatorReading *r)
{
    enum { OUTPUTS_MAX = 32 };
    const char *form = "'independent' must be a list of outputs, from 0: {1}";
    lua_State *L = r->L;
    lua_Unsigned n = lua_istable(L, -1) ? lua_rawlen(L, -1) : 0;
    if (n == 0 || n > OUTPUTS_MAX)
        return error_set(r->err, "%s", form);
    for (lua_Unsigned i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i);
        lua_Integer output = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : -1;
        lua_pop(L, 1);
        if (output < 0 || output >= OUTPUTS_MAX)
            return error_set(r->err, "%s", form);
        r->out->user.independent |= 1u << output;
    }
    return true;
}

/* ORDER OPERATOR_OPTION */
typedef bool OptionFn(const OperatorReading *reading);
static OptionFn *const option_readers[] = {
    read_kernel, read_example,   read_number,  read_rules,  read_cost,
    read_comm,   read_input_gen, read_inplace, read_dtypes, read_gradient,
    read_kwargs, read_python,    read_pattern, read_emit,   read_independent};

bool operator_options_read(lua_State *L, int table, const char *name, const RuleBook *rules,
                           OperatorOptions *out, Error *err)
{
    Sandbox *sandbox = sandbox_of(L);
    OperatorReading reading = {L,   sandbox, arena_str(sandbox->arena, str_from(name)), rules, NULL,
                               out, err};
    *out = (OperatorOptions){.flops_per_point = -1};
    reading.asked = asked_new(sandbox, reading.name);
    out->user.context = reading.asked;
    luaL_checkstack(L, 20, "options");
    for (int i = 0; operator_option_names[i]; i++) {
        int top = lua_gettop(L);
        bool given = lua_getfield(L, table, operator_option_names[i]) != LUA_TNIL;
        if (given && !option_readers[i](&reading))
            return false;
        out->says |= given && i >= 3;
        lua_settop(L, top);
    }
    out->says |= out->own != NULL;
    return true;
}

void operator_options_set(const OperatorOptions *options, Arena *arena, Operator *row)
{
    row->kernel = options->kernel;
    row->own = options->own;
    row->gradient = options->gradient;
    row->examples = options->example ? options->example : row->examples;
    if (options->flops_per_point >= 0)
        row->flops_per_point = options->flops_per_point;
    if (!options->says)
        return;
    UserOp *user = arena_make(arena, UserOp);
    *user = options->user;
    row->user = user;
}
