#include "scripts/lua_attrs.h"

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

void sizes_push(lua_State *L, const Shape *shape)
{
    lua_createtable(L, (int)shape->n_dims, 0);
    for (int d = 0; d < shape->n_dims; d++) {
        lua_pushinteger(L, shape->dim[d]);
        lua_rawseti(L, -2, d + 1);
    }
}
