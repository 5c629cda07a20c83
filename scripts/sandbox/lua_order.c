#include "scripts/sandbox/lua_order.h"

#include "scripts/sandbox/lua_state.h"

#include <lauxlib.h>

#include <stdlib.h>

enum {
    KEY_INSTRUCTIONS = 10,    /* of the budget, for a key that is put in order */
    COMPARE_INSTRUCTIONS = 10 /* for a comparison of table.sort */
};

/* ---- texts ---- */

static void push_ordinals(lua_State *L)
{
    static const char key; /* of a table by object; those that nobody else holds go */
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) != LUA_TNIL)
        return;
    lua_pop(L, 1);
    lua_newtable(L);
    lua_newtable(L);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
}

/* 1 for the first object that was asked for. */
static lua_Integer ordinal_of(lua_State *L, int at)
{
    push_ordinals(L);
    lua_pushvalue(L, at);
    if (lua_rawget(L, -2) == LUA_TNIL) {
        lua_pushvalue(L, at);
        lua_pushinteger(L, ++sandbox_of(L)->n_ordinals);
        lua_rawset(L, -4);
        lua_pop(L, 2);
        return sandbox_of(L)->n_ordinals;
    }
    lua_Integer ordinal = lua_tointeger(L, -1);
    lua_pop(L, 2);
    return ordinal;
}

/* Lua has no text of its own for it. */
static bool is_object(lua_State *L, int at)
{
    int type = lua_type(L, at);
    return type == LUA_TTABLE || type == LUA_TFUNCTION || type == LUA_TTHREAD ||
           type == LUA_TUSERDATA || type == LUA_TLIGHTUSERDATA;
}

const char *sandbox_push_text(lua_State *L, int at, size_t *n)
{
    at = lua_absindex(L, at);
    luaL_checkstack(L, 8, "too much to show");
    bool own = luaL_getmetafield(L, at, "__tostring") != LUA_TNIL;
    if (own)
        lua_pop(L, 1);
    if (own || !is_object(L, at))
        return luaL_tolstring(L, at, n);
    lua_pushfstring(L, "%s: %I", luaL_typename(L, at), (LUAI_UACINT)ordinal_of(L, at));
    return lua_tolstring(L, -1, n);
}

int order_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    sandbox_push_text(L, 1, NULL);
    return 1;
}

/* The character that says what a "%5.2f" is made of, after the '%' at text[at]; 0: the end. */
static char conversion_of(Str text, size_t *at)
{
    while (++*at < text.n && strchr("-+ #0123456789.", text.s[*at]))
        ;
    return *at < text.n ? text.s[*at] : '\0';
}

int order_format(lua_State *L)
{
    Str text = {0};
    text.s = luaL_checklstring(L, 1, &text.n);
    int argument = 1, n = lua_gettop(L);
    for (size_t at = 0; at < text.n; at++) {
        if (text.s[at] != '%')
            continue;
        char conversion = conversion_of(text, &at);
        argument += conversion != '%';
        if (conversion == 'p')
            return luaL_error(L, "%%p shows an address, which differs from run to run");
        if (conversion == 's' && argument <= n && is_object(L, argument)) {
            sandbox_push_text(L, argument, NULL);
            lua_replace(L, argument);
        }
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, n, 1);
    return 1;
}

int order_randomseed(lua_State *L)
{
    int n = lua_gettop(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    if (n == 0)
        lua_pushinteger(L, 1); /* Lua's own takes the time and an address */
    lua_call(L, n == 0 ? 1 : n, 0);
    return 0;
}

/* ---- keys ---- */

typedef enum { KEY_BOOLEAN, KEY_NUMBER, KEY_TEXT, KEY_OBJECT, KEY_OTHER } KeyRank;

typedef struct {
    KeyRank rank;
    bool is_whole;
    lua_Integer whole; /* of a boolean, 0 or 1, and of what has no order: when it was first seen */
    lua_Number number;
    Str text;
    lua_Integer at; /* place in the list of keys */
} OrderedKey;

/* The text by which an object is ordered is left on the stack; false: it has none. */
static bool push_order(lua_State *L, int at)
{
    if (lua_istable(L, at) || luaL_getmetafield(L, at, "__order") == LUA_TNIL)
        return false; /* a script may not say it */
    lua_pushvalue(L, at);
    lua_call(L, 1, 1);
    return true;
}

/* Reads the key at that place; an object's text is put into the table at `texts`, which holds it.
 */
static OrderedKey read_key(lua_State *L, int at, int texts, bool strict)
{
    OrderedKey key = {.rank = KEY_OTHER};
    int type = lua_type(L, at);
    if (type == LUA_TBOOLEAN) {
        key.rank = KEY_BOOLEAN;
        key.whole = lua_toboolean(L, at);
    } else if (type == LUA_TNUMBER) {
        key.rank = KEY_NUMBER;
        key.is_whole = lua_isinteger(L, at);
        key.whole = lua_tointeger(L, at);
        key.number = lua_tonumber(L, at);
    } else if (type == LUA_TSTRING) {
        key.rank = KEY_TEXT;
        key.text.s = lua_tolstring(L, at, &key.text.n);
    } else if (push_order(L, at)) {
        key.rank = KEY_OBJECT;
        key.text.s = lua_tolstring(L, -1, &key.text.n);
        lua_rawseti(L, texts, (lua_Integer)lua_rawlen(L, texts) + 1);
    } else if (strict) {
        luaL_error(L, "a %s as a table key has no order: also keep a list of the keys",
                   luaL_typename(L, at));
    } else {
        key.whole = ordinal_of(L, at);
    }
    return key;
}

static int compare_texts(Str a, Str b)
{
    int order = memcmp(a.s, b.s, a.n < b.n ? a.n : b.n);
    return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

static int compare_keys(const void *left, const void *right)
{
    const OrderedKey *a = left, *b = right;
    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->rank == KEY_TEXT || a->rank == KEY_OBJECT)
        return compare_texts(a->text, b->text);
    if (a->rank == KEY_NUMBER && (!a->is_whole || !b->is_whole) && a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->whole > b->whole) - (a->whole < b->whole);
}

/* Leaves the keys of the table at that place as they come, and n of them; true when that is
 * 1, 2, 3 .. */
static bool push_unordered(lua_State *L, int table, lua_Integer *n)
{
    bool ordered = true;
    *n = 0;
    lua_newtable(L);
    int keys = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table);) {
        lua_pop(L, 1);
        ordered = ordered && lua_isinteger(L, -1) && lua_tointeger(L, -1) == *n + 1;
        lua_pushvalue(L, -1);
        lua_rawseti(L, keys, ++*n);
    }
    sandbox_spend(L, ordered ? *n : *n * KEY_INSTRUCTIONS);
    return ordered;
}

static void push_keys(lua_State *L, int table, bool strict)
{
    lua_Integer n;
    if (push_unordered(L, table, &n))
        return;
    int keys = lua_gettop(L);
    OrderedKey *key = lua_newuserdatauv(L, (size_t)n * sizeof *key, 0);
    lua_newtable(L); /* texts */
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, keys, i + 1);
        key[i] = read_key(L, keys + 3, keys + 2, strict);
        key[i].at = i + 1;
        lua_settop(L, keys + 2);
    }
    qsort(key, (size_t)n, sizeof *key, compare_keys);
    lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, keys, key[i].at);
        lua_rawseti(L, -2, i + 1);
    }
    lua_replace(L, keys);
    lua_settop(L, keys);
}

void sandbox_push_keys(lua_State *L, int table)
{
    luaL_checkstack(L, 8, "too many keys");
    push_keys(L, table, false);
}

/* Upvalues: the table, its keys in order, how many were given. */
static int next_pair(lua_State *L)
{
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(3));
    for (;;) {
        if (lua_rawgeti(L, lua_upvalueindex(2), ++i) == LUA_TNIL)
            return 1;
        lua_pushvalue(L, -1);
        if (lua_gettable(L, lua_upvalueindex(1)) != LUA_TNIL)
            break; /* not taken out meanwhile */
        lua_pop(L, 2);
    }
    lua_pushinteger(L, i);
    lua_replace(L, lua_upvalueindex(3));
    return 2;
}

int order_pairs(lua_State *L)
{
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 3);
        return 3;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    push_keys(L, 1, true);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_pair, 3);
    return 1;
}

/* The least key after the one given, which may be gone. On the stack: the table, the key, texts,
 * the best key so far, then what lua_next() takes. */
int order_next(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    lua_newtable(L);
    bool first = lua_isnil(L, 2), found = false;
    OrderedKey after = {0}, best = {0};
    if (!first)
        after = read_key(L, 2, 3, true);
    lua_pushnil(L);
    lua_Integer n = 0;
    for (lua_pushnil(L); lua_next(L, 1); n++) {
        lua_pop(L, 1);
        OrderedKey key = read_key(L, 5, 3, true);
        if ((!first && compare_keys(&key, &after) <= 0) || (found && compare_keys(&key, &best) > 0))
            continue;
        best = key;
        found = true;
        lua_copy(L, 5, 4);
    }
    sandbox_spend(L, n);
    if (!found)
        return 0;
    lua_pushvalue(L, 4);
    lua_rawget(L, 1);
    return 2;
}

/* ---- table.sort ---- */

/* Whether element b, on the stack above a, comes before it. The comparison is at 2, or nil. */
static bool comes_before(lua_State *L)
{
    sandbox_spend(L, COMPARE_INSTRUCTIONS);
    if (lua_isnil(L, 2))
        return lua_compare(L, -1, -2, LUA_OPLT);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, -2);
    lua_pushvalue(L, -4);
    lua_call(L, 2, 1);
    bool before = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return before;
}

/* Elements [first, middle) and [middle, last) of the list at `from`, each in order, go to `to`. */
static void merge(lua_State *L, int from, int to, lua_Integer first, lua_Integer middle,
                  lua_Integer last)
{
    lua_Integer a = first, b = middle;
    for (lua_Integer at = first; at < last; at++) {
        bool right = a >= middle;
        if (!right && b < last) {
            lua_rawgeti(L, from, a);
            lua_rawgeti(L, from, b);
            right = comes_before(L);
            lua_pop(L, 2);
        }
        lua_rawgeti(L, from, right ? b++ : a++);
        lua_rawseti(L, to, at);
    }
}

int order_sort(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnoneornil(L, 2))
        luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 1);
    lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
    for (lua_Integer i = 1; i <= n; i++) { /* the comparison may change the list: it sorts a copy */
        lua_rawgeti(L, 1, i);
        lua_rawseti(L, 3, i);
    }
    lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
    int from = 3, to = 4;
    for (lua_Integer width = 1; width < n; width *= 2) {
        for (lua_Integer first = 1; first <= n; first += 2 * width) {
            lua_Integer middle = first + width <= n ? first + width : n + 1;
            lua_Integer last = middle + width <= n ? middle + width : n + 1;
            merge(L, from, to, first, middle, last);
        }
        int other = from;
        from = to;
        to = other;
    }
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, from, i);
        lua_rawseti(L, 1, i);
    }
    return 0;
}
