#include "scripts/lua_model.h"

#include "core/base/nearest.h"

#include <limits.h>

/* The cost of calls in instructions; it also limits the memory of the graph. */
enum { COST_OP = 40, COST_OPERAND = 4 };
enum { OUTPUTS_MAX = 256, ATTRS_MAX = 64 };

/* ---- inputs ---- */

/* The current op for messages: "MatMul in 'layers.0.mlp'". */
static const char *op_words(const ModelBuild *build, Str op_type)
{
    return build->path.n == 0
               ? arena_printf(build->scratch, "%.*s", STR_ARG(op_type))
               : arena_printf(build->scratch, "%.*s in '%s'", STR_ARG(op_type), build->path.s);
}

static const Operator *check_operator(lua_State *L, const ModelBuild *build, Str name)
{
    const Registry *registry = build->request->registry;
    const Operator *op_type = registry_find(registry, name);
    if (op_type)
        return op_type;
    Nearest nearest = {name, INT_MAX, ""};
    for (int i = 0; i < registry_count(registry); i++)
        nearest_try(&nearest, registry_at(registry, i)->name);
    model_refuse(L, arena_printf(build->scratch, "did you mean '%s'?", nearest.name),
                 "there is no operator '%.*s'", STR_ARG(name));
    return NULL;
}

/* The highest index of a list that may have holes; -1 if it is not a list. */
static int list_end(lua_State *L, int at)
{
    lua_Integer end = 0;
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
        lua_Integer i = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
        if (i < 1 || i > UINT16_MAX)
            return -1;
        end = i > end ? i : end;
    }
    return (int)end;
}

static int32_t read_input(lua_State *L, int i, ModelBuild *build, Str op_type)
{
    if (value_is(L, -1))
        return value_check(L, -1, "an input");
    int type = lua_type(L, -1);
    if (type == LUA_TNIL || (type == LUA_TBOOLEAN && !lua_toboolean(L, -1)))
        return -1;
    if (type == LUA_TNUMBER || type == LUA_TTABLE)
        return constant_of_list(L, lua_gettop(L), build, op_type);
    return model_refuse(
        L, "an input must be a value, a list of integers, a number, or false if it is absent",
        "%s: its input %d is %s", op_words(build, op_type), i, luaL_typename(L, -1));
}

/* Reads the inputs at 3, a list or one value; returns their number. */
static int read_inputs(lua_State *L, ModelBuild *build, const Operator *row, Str op_type,
                       int32_t **out)
{
    bool one = value_is(L, 3);
    int n = one ? 1 : lua_istable(L, 3) ? list_end(L, 3) : -1;
    if (n < 0)
        model_refuse(L, "model:op(\"Add\", {a, b})",
                     "%s: its inputs must be a list of values, not %s", op_words(build, op_type),
                     luaL_typename(L, 3));
    bool known = row->inputs_max > 0 && !registry_alias(build->request->registry, op_type);
    if (known && (n < row->inputs_min || n > row->inputs_max))
        model_refuse(L, "", "%s has %d input%s, but takes %d%s", op_words(build, op_type), n,
                     n == 1 ? "" : "s", n < row->inputs_min ? row->inputs_min : row->inputs_max,
                     row->inputs_min == row->inputs_max ? ""
                     : n < row->inputs_min              ? " or more"
                                                        : " or fewer");
    sandbox_spend(L, (int64_t)n * COST_OPERAND);
    *out = arena_array(build->scratch, int32_t, n);
    for (int i = 0; i < n; i++) {
        if (one)
            lua_pushvalue(L, 3);
        else
            lua_rawgeti(L, 3, i + 1);
        (*out)[i] = read_input(L, i, build, op_type);
        lua_pop(L, 1);
        if (known && i < row->inputs_min && (*out)[i] < 0)
            model_refuse(L, "", "%s: its input %d is absent, but required",
                         op_words(build, op_type), i);
    }
    return n;
}

/* ---- attributes ---- */

/* The list at the top of the stack as ints, floats or texts. */
static bool read_list(lua_State *L, const ModelBuild *build, Attr *out)
{
    int n = list_end(L, lua_gettop(L)), n_texts = 0, n_whole = 0, n_numbers = 0;
    if (n < 0)
        return false;
    for (int i = 0; i < n; i++, lua_pop(L, 1)) {
        int type = lua_rawgeti(L, -1, i + 1);
        n_texts += type == LUA_TSTRING;
        n_numbers += type == LUA_TNUMBER;
        n_whole += lua_isinteger(L, -1);
    }
    sandbox_spend(L, n);
    int64_t *ints = arena_array(build->scratch, int64_t, n);
    double *floats = arena_array(build->scratch, double, n);
    Str *texts = arena_array(build->scratch, Str, n);
    for (int i = 0; i < n; i++, lua_pop(L, 1)) {
        lua_rawgeti(L, -1, i + 1);
        ints[i] = lua_tointeger(L, -1);
        floats[i] = lua_tonumber(L, -1);
        if (n_texts == n)
            texts[i] = str_from(arena_str(build->scratch, str_from(lua_tostring(L, -1))));
    }
    out->n = n;
    out->type = n_whole == n ? ATTR_INTS : n_numbers == n ? ATTR_FLOATS : ATTR_STRINGS;
    if (n_whole == n)
        out->ints = ints;
    else if (n_numbers == n)
        out->floats = floats;
    else
        out->strings = texts;
    return n_whole == n || n_numbers == n || n_texts == n;
}

/* The attribute whose value is at the top of the stack. */
static bool read_attr(lua_State *L, const ModelBuild *build, Attr *out)
{
    switch (lua_type(L, -1)) {
    case LUA_TBOOLEAN:
        out->type = ATTR_INT;
        out->i = lua_toboolean(L, -1);
        return true;
    case LUA_TNUMBER:
        out->type = lua_isinteger(L, -1) ? ATTR_INT : ATTR_FLOAT;
        if (lua_isinteger(L, -1))
            out->i = lua_tointeger(L, -1);
        else
            out->f = lua_tonumber(L, -1);
        return true;
    case LUA_TSTRING: {
        size_t n;
        const char *text = lua_tolstring(L, -1, &n);
        out->type = ATTR_STRING;
        out->s = (Str){text, n};
        return true;
    }
    case LUA_TTABLE:
        return read_list(L, build, out);
    default:
        return false;
    }
}

/* The attributes at 4, in the order of their names. */
static int32_t read_attrs(lua_State *L, const ModelBuild *build, Str op_type)
{
    if (lua_isnil(L, 4))
        return 0;
    if (!lua_istable(L, 4))
        model_refuse(L, "model:op(\"Softmax\", {x}, {axis = -1})",
                     "%s: its attributes must be a table, not %s", op_words(build, op_type),
                     luaL_typename(L, 4));
    sandbox_push_keys(L, 4);
    int keys = lua_gettop(L), n = (int)lua_rawlen(L, keys);
    luaL_argcheck(L, n <= ATTRS_MAX, 4, "too many attributes");
    luaL_checkstack(L, n + LUA_MINSTACK, "attributes"); /* texts of them stay on the stack */
    Attr attrs[ATTRS_MAX] = {0};
    for (int i = 0; i < n; i++) {
        bool named = lua_rawgeti(L, keys, i + 1) == LUA_TSTRING;
        const char *name = named ? lua_tostring(L, -1) : "";
        lua_pushvalue(L, -1);
        lua_rawget(L, 4);
        attrs[i].name = names_intern(build->graph->names, str_from(name));
        if (!named || !read_attr(L, build, &attrs[i]))
            model_refuse(
                L, "an attribute must be a number, a string, a boolean, or a list of one of these",
                "%s: its attribute '%s' is %s", op_words(build, op_type), named ? name : "1",
                luaL_typename(L, -1));
    }
    int32_t list = graph_add_attrs(build->builder, attrs, n);
    lua_settop(L, keys - 1);
    return list;
}

/* ---- the op ---- */

/* The number of outputs at 5. */
static int read_n_outputs(lua_State *L, const ModelBuild *build, const Operator *row, Str op_type)
{
    int max = row->outputs_max == 0              ? 1
              : row->outputs_max == OPERATOR_ANY ? OUTPUTS_MAX
                                                 : row->outputs_max;
    if (!row->rule || registry_alias(build->request->registry, op_type))
        max = OUTPUTS_MAX; /* the annotation defines it */
    lua_Integer n = lua_isnil(L, 5) ? 1 : lua_isinteger(L, 5) ? lua_tointeger(L, 5) : 0;
    if (n < 1 || n > max)
        model_refuse(L, "", "%s has at most %d output%s, but '%s' are requested",
                     op_words(build, op_type), max, max == 1 ? "" : "s",
                     luaL_tolstring(L, 5, NULL));
    return (int)n;
}

int model_op(lua_State *L)
{
    ModelBuild *build = model_of(L);
    lua_settop(L, 5);
    Str op_type = model_check_name(L, 2, "an operator");
    const Operator *row = check_operator(L, build, op_type);
    if (!row)
        return 0;
    int32_t *inputs, outputs[OUTPUTS_MAX];
    int n_inputs = read_inputs(L, build, row, op_type, &inputs);
    int32_t attrs = read_attrs(L, build, op_type);
    int n_outputs = read_n_outputs(L, build, row, op_type);
    sandbox_spend(L, COST_OP);
    luaL_checkstack(L, n_outputs, "outputs");
    Str name = model_new_name(build, op_type);
    for (int i = 0; i < n_outputs; i++)
        outputs[i] = model_new_tensor(
            L, build,
            n_outputs == 1 ? name
                           : str_from(arena_printf(build->scratch, "%.*s#%d", STR_ARG(name), i)));
    graph_add_op(build->builder, op_type, name, buf_str(&build->path), inputs, n_inputs, outputs,
                 n_outputs, attrs);
    model_op_added(L, build);
    for (int i = 0; i < n_outputs; i++)
        value_push(L, outputs[i]);
    return n_outputs;
}
