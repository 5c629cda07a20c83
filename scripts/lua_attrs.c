#include "scripts/lua_attrs.h"

#include "scripts/sandbox/lua_state.h"

#include <lauxlib.h>

static void push_text(lua_State *L, Str text)
{
    lua_pushlstring(L, text.s, text.n);
}

/* False, and nothing pushed, for attributes that are tensors or graphs. */
static bool push_attr(lua_State *L, const Attr *attr)
{
    switch ((AttrType)attr->type) {
    case ATTR_INT:
        lua_pushinteger(L, attr->i);
        return true;
    case ATTR_FLOAT:
        lua_pushnumber(L, attr->f);
        return true;
    case ATTR_STRING:
        push_text(L, attr->s);
        return true;
    case ATTR_TENSOR:
    case ATTR_GRAPH:
        return false;
    case ATTR_INTS:
    case ATTR_FLOATS:
    case ATTR_STRINGS:
        break;
    }
    lua_createtable(L, attr->n, 0);
    for (int i = 0; i < attr->n; i++) {
        if (attr->type == ATTR_INTS)
            lua_pushinteger(L, attr->ints[i]);
        else if (attr->type == ATTR_FLOATS)
            lua_pushnumber(L, attr->floats[i]);
        else
            push_text(L, attr->strings[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return true;
}

void attrs_push(lua_State *L, const Graph *graph, int32_t op)
{
    const AttrList *attrs = &graph->attr_lists[graph->ops[op].attrs];
    lua_newtable(L);
    for (int i = 0; i < attrs->n; i++)
        if (push_attr(L, &attrs->at[i]))
            lua_setfield(L, -2, names_text(graph->names, attrs->at[i].name));
}

void kwargs_push(lua_State *L, const Kwargs *kwargs)
{
    lua_createtable(L, 0, kwargs->n);
    for (int i = 0; i < kwargs->n; i++)
        if (push_attr(L, &kwargs->at[i].value))
            lua_setfield(L, -2, kwargs->at[i].name);
}

/* ---- read ---- */

enum { LIST_MAX = 1 << 16 };

/* A number, a boolean or a text at the top of the stack, as an attribute of one. */
static bool read_one(lua_State *L, Arena *arena, Attr *out)
{
    size_t n;
    *out = (Attr){.type = ATTR_INT, .n = 1};
    if (lua_isboolean(L, -1)) {
        out->i = lua_toboolean(L, -1);
    } else if (lua_isinteger(L, -1)) {
        out->i = lua_tointeger(L, -1);
    } else if (lua_type(L, -1) == LUA_TNUMBER) {
        out->type = ATTR_FLOAT;
        out->f = lua_tonumber(L, -1);
    } else if (lua_type(L, -1) == LUA_TSTRING) {
        const char *text = lua_tolstring(L, -1, &n);
        out->type = ATTR_STRING;
        out->s = str_from(arena_str(arena, (Str){text, n}));
    } else {
        return false;
    }
    return true;
}

/* A list of one type; whole numbers among others are numbers. */
static bool read_list(lua_State *L, Arena *arena, Attr *out)
{
    lua_Unsigned n = lua_rawlen(L, -1);
    if (n > LIST_MAX)
        return false;
    Attr *item = arena_array(arena, Attr, n);
    bool floats = false, texts = n > 0;
    for (lua_Unsigned i = 0; i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        bool ok = read_one(L, arena, &item[i]);
        lua_pop(L, 1);
        if (!ok)
            return false;
        floats |= item[i].type == ATTR_FLOAT;
        texts &= item[i].type == ATTR_STRING;
    }
    int64_t *ints = arena_array(arena, int64_t, n);
    double *numbers = arena_array(arena, double, n);
    Str *strings = arena_array(arena, Str, n);
    for (lua_Unsigned i = 0; i < n; i++) {
        if ((item[i].type == ATTR_STRING) != texts)
            return false;
        if (texts)
            strings[i] = item[i].s;
        else if (floats)
            numbers[i] = item[i].type == ATTR_FLOAT ? item[i].f : (double)item[i].i;
        else
            ints[i] = item[i].i;
    }
    *out = (Attr){.type = texts ? ATTR_STRINGS : floats ? ATTR_FLOATS : ATTR_INTS, .n = (int)n};
    if (texts)
        out->strings = strings;
    else if (floats)
        out->floats = numbers;
    else
        out->ints = ints;
    return true;
}

bool kwargs_read(lua_State *L, Arena *arena, Kwargs *out, Error *err)
{
    int table = lua_gettop(L);
    sandbox_push_keys(L, table);
    int keys = lua_gettop(L);
    lua_Unsigned n = lua_rawlen(L, keys);
    Kwarg *at = arena_array(arena, Kwarg, n);
    bool ok = true;
    for (lua_Unsigned i = 0; ok && i < n; i++) {
        if (lua_rawgeti(L, keys, (lua_Integer)i + 1) != LUA_TSTRING) {
            ok = error_set(err, "keyword arguments need names, not numbers");
            break;
        }
        at[i].name = arena_str(arena, str_from(lua_tostring(L, -1)));
        lua_rawget(L, table);
        ok = lua_istable(L, -1) ? read_list(L, arena, &at[i].value)
                                : read_one(L, arena, &at[i].value);
        if (!ok)
            error_set(err, "the argument '%s' is a %s, not a number, a string or a list of these",
                      at[i].name, luaL_typename(L, -1));
        lua_settop(L, keys);
    }
    lua_settop(L, table);
    *out = (Kwargs){(int)n, at};
    return ok;
}

void sizes_push(lua_State *L, const Shape *shape)
{
    lua_createtable(L, (int)shape->n_dims, 0);
    for (int d = 0; d < shape->n_dims; d++) {
        lua_pushinteger(L, shape->dim[d]);
        lua_rawseti(L, -2, d + 1);
    }
}

const char *attrs_unknown_key(lua_State *L, const char *const *known)
{
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        bool text = lua_type(L, -2) == LUA_TSTRING, found = false;
        const char *key = text ? lua_tostring(L, -2) : "a number";
        for (int i = 0; text && known[i]; i++)
            found |= strcmp(known[i], key) == 0;
        if (found)
            continue;
        lua_pop(L, 2);
        return key; /* the table holds it */
    }
    return NULL;
}
