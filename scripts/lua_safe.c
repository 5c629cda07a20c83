/* lua_safe.c - what a script can call: Lua's own libraries, with what could hurt taken out.
 *
 * string, table, math, utf8 and coroutine are there. Functions of string, table and utf8 are called
 * through a clock, since one call may take as long as a loop; calls that could take hours are
 * refused: patterns that backtrack, tables that claim to be huge. Handlers of xpcall() and what a
 * dead coroutine would still close do not run where no hook counts. The originals stay in Lua's
 * table of loaded libraries, where its error messages find their names and scripts find nothing.
 */
#include "scripts/lua_state.h"

#include <lauxlib.h>
#include <lualib.h>

#include <stdio.h>
#include <time.h>

enum {
    NS_PER_INSTRUCTION = 32,
    PATTERN_BYTES_MAX = 128,
    SORT_INSTRUCTIONS = 20,                /* for a key, of pairs() */
    ELEMENTS_MAX = SANDBOX_BYTES_MAX / 16, /* more elements than a table has room for */
    PRINTED_BYTES_MAX = 2000               /* of one print() */
};

/* ---- a clock around a library function, which is upvalue 1 ---- */

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int timed(lua_State *L)
{
    int64_t start = now_ns();
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    sandbox_spend(L, (now_ns() - start) / NS_PER_INSTRUCTION);
    return lua_gettop(L);
}

/* ---- patterns ---- */

/* The offset after the set that opens at pattern.s[at], `[^]a-z]`. */
static size_t skip_set(Str pattern, size_t at)
{
    at++;
    if (at < pattern.n && pattern.s[at] == '^')
        at++;
    do {
        if (at < pattern.n && pattern.s[at] == '%')
            at++;
        at++;
    } while (at < pattern.n && pattern.s[at] != ']');
    return at + 1;
}

/* An upper bound on the steps of a match: each repetition may try every length at every place. */
static double pattern_steps(Str pattern, size_t subject_bytes)
{
    bool anchored = pattern.n > 0 && pattern.s[0] == '^';
    double places = (double)subject_bytes + 1, steps = anchored ? 1 : places;
    for (size_t i = 0; i < pattern.n;) {
        char c = pattern.s[i];
        if (c == '*' || c == '+' || c == '-')
            steps *= places;
        else if (c == '?')
            steps *= 2;
        i = c == '[' ? skip_set(pattern, i) : i + (c == '%' ? 2 : 1);
    }
    return steps;
}

static const double PATTERN_STEPS_MAX = 1e8, PLAIN_STEPS_MAX = 1e10;

static void check_pattern(lua_State *L)
{
    Str subject = {0}, pattern = {0};
    subject.s = luaL_checklstring(L, 1, &subject.n);
    pattern.s = luaL_checklstring(L, 2, &pattern.n);
    if (pattern.n > PATTERN_BYTES_MAX)
        luaL_error(L, "a pattern may have %d characters", PATTERN_BYTES_MAX);
    if (pattern_steps(pattern, subject.n) > PATTERN_STEPS_MAX)
        luaL_error(L, "this pattern could take too long on a text of %d characters",
                   (int)subject.n);
}

static int timed_match(lua_State *L)
{
    check_pattern(L);
    return timed(L);
}

/* Looking for a long text may compare it at every place. */
static void check_plain(lua_State *L)
{
    size_t n_subject, n_text;
    luaL_checklstring(L, 1, &n_subject);
    luaL_checklstring(L, 2, &n_text);
    if (n_text > PATTERN_BYTES_MAX && (double)n_text * (double)n_subject > PLAIN_STEPS_MAX)
        luaL_error(L, "this search could take too long on a text of %d characters", (int)n_subject);
}

static int timed_find(lua_State *L)
{
    if (lua_toboolean(L, 4))
        check_plain(L);
    else
        check_pattern(L);
    return timed(L);
}

/* gmatch answers a function that does the work. */
static int timed_gmatch(lua_State *L)
{
    check_pattern(L);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    lua_pushcclosure(L, timed, 1);
    return 1;
}

/* ---- counts that a script can make huge without having as much; wrong types are Lua's to refuse
 */

/* Nothing repeated is nothing, however often. */
static int timed_rep(lua_State *L)
{
    bool nothing = lua_type(L, 1) == LUA_TSTRING && lua_rawlen(L, 1) == 0;
    bool between = !lua_isnoneornil(L, 3) && lua_rawlen(L, 3) > 0;
    if (nothing && !between && lua_isinteger(L, 2)) {
        lua_settop(L, 1);
        return 1;
    }
    return timed(L);
}

/* insert, remove, sort: as many steps as the table says that it has elements. */
static int timed_list(lua_State *L)
{
    if (luaL_getmetafield(L, 1, "__len") != LUA_TNIL ||
        (lua_istable(L, 1) && lua_rawlen(L, 1) > ELEMENTS_MAX))
        return luaL_error(L, "a list that counts itself, or has gaps, is not moved or sorted");
    return timed(L);
}

static int timed_move(lua_State *L)
{
    lua_Integer first = lua_tointeger(L, 2), last = lua_tointeger(L, 3);
    if (last > first && (lua_Unsigned)last - (lua_Unsigned)first >= ELEMENTS_MAX)
        return luaL_error(L, "too many elements to move");
    return timed(L);
}

static lua_CFunction wrapper_of(const char *name)
{
    static const luaL_Reg special[] = {
        {"find", timed_find},   {"match", timed_match},
        {"gsub", timed_match},  {"gmatch", timed_gmatch},
        {"rep", timed_rep},     {"insert", timed_list},
        {"remove", timed_list}, {"sort", timed_list},
        {"move", timed_move},   {NULL, NULL},
    };
    for (const luaL_Reg *it = special; it->name; it++)
        if (strcmp(it->name, name) == 0)
            return it->func;
    return timed;
}

/* Opens a library and makes a global of that name whose functions are wrapped; leaves it on the
 * stack. */
static void open_wrapped(lua_State *L, const char *name, lua_CFunction open)
{
    luaL_requiref(L, name, open, 0);
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, -3); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        if (lua_isfunction(L, -1))
            lua_pushcclosure(L, wrapper_of(lua_tostring(L, -2)), 1);
        lua_settable(L, -5);
    }
    lua_remove(L, -2);
    lua_pushvalue(L, -1);
    lua_setglobal(L, name);
}

/* ---- pairs in sorted order: whole numbers, other numbers, texts, the rest as they come ---- */

static int key_rank(lua_State *L, int at)
{
    return lua_type(L, at) == LUA_TNUMBER ? 0 : lua_type(L, at) == LUA_TSTRING ? 1 : 2;
}

static int key_less(lua_State *L)
{
    int a = key_rank(L, 1), b = key_rank(L, 2);
    lua_pushboolean(L, a != b ? a < b : a < 2 && lua_compare(L, 1, 2, LUA_OPLT));
    return 1;
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

/* table.sort as Lua made it, whatever the script did to its own. */
static void push_sort(lua_State *L)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, LUA_TABLIBNAME);
    lua_getfield(L, -1, "sort");
    lua_insert(L, -3);
    lua_pop(L, 2);
}

void sandbox_push_keys(lua_State *L, int table)
{
    bool ordered = true; /* so far 1, 2, 3 .., as the keys of a list come */
    lua_Integer n = 0;
    lua_newtable(L);
    int keys = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table);) {
        lua_pop(L, 1);
        ordered = ordered && lua_isinteger(L, -1) && lua_tointeger(L, -1) == n + 1;
        lua_pushvalue(L, -1);
        lua_rawseti(L, keys, ++n);
    }
    sandbox_spend(L, ordered ? n : n * SORT_INSTRUCTIONS);
    if (ordered)
        return;
    push_sort(L);
    lua_pushvalue(L, keys);
    lua_pushcfunction(L, key_less);
    lua_call(L, 2, 0);
}

static int sorted_pairs(lua_State *L)
{
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL) {
        lua_pushvalue(L, 1);
        lua_call(L, 1, 3);
        return 3;
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    sandbox_push_keys(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_pair, 3);
    return 1;
}

/* ---- globals ---- */

/* Finalizers would run where no hook counts. */
static int safe_setmetatable(lua_State *L)
{
    if (lua_istable(L, 2)) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL)
            return luaL_error(L, "a metatable may not have __gc here");
        lua_pop(L, 1);
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

/* xpcall calls its handler after the error instead of in it: an error that a hook raises turns
 * hooks off until it is caught, so a handler could run for ever. On the stack are the handler, and
 * the results or the error. */
static int finish_xpcall(lua_State *L, int status, lua_KContext context)
{
    (void)context;
    bool ok = status == LUA_OK || status == LUA_YIELD;
    if (!ok)
        lua_pcall(L, 1, LUA_MULTRET, 0); /* its own error is what it answers then */
    lua_pushboolean(L, ok);
    if (ok)
        lua_replace(L, 1);
    else
        lua_insert(L, 1);
    return lua_gettop(L);
}

static int safe_xpcall(lua_State *L)
{
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushvalue(L, 1);
    lua_copy(L, 2, 1);
    lua_replace(L, 2);
    int n_args = lua_gettop(L) - 2;
    return finish_xpcall(L, lua_pcallk(L, n_args, LUA_MULTRET, 0, 0, finish_xpcall), 0);
}

/* Nothing may write on the terminal: what is printed becomes a note. */
static int print_note(lua_State *L)
{
    luaL_Buffer line;
    int n = lua_gettop(L);
    Sandbox *sandbox = sandbox_of(L);
    luaL_buffinit(L, &line);
    for (int i = 1; i <= n; i++) {
        luaL_addstring(&line, i > 1 ? "\t" : "");
        luaL_tolstring(L, i, NULL);
        luaL_addvalue(&line);
    }
    luaL_pushresult(&line);
    const char *text = lua_tostring(L, -1);
    if (strlen(text) > PRINTED_BYTES_MAX)
        text = lua_pushfstring(L, "%s...", lua_pushlstring(L, text, PRINTED_BYTES_MAX));
    if (sandbox->print)
        sandbox->print(sandbox->listener, sandbox->source.name, sandbox_line(L), text);
    return 0;
}

static void open_base(lua_State *L)
{
    static const char *const unsafe[] = {"collectgarbage", "dofile", "load", "loadfile", "warn"};
    luaL_requiref(L, LUA_GNAME, luaopen_base, 1);
    for (size_t i = 0; i < sizeof unsafe / sizeof *unsafe; i++) {
        lua_pushnil(L);
        lua_setfield(L, -2, unsafe[i]);
    }
    lua_getfield(L, -1, "setmetatable");
    lua_pushcclosure(L, safe_setmetatable, 1);
    lua_setfield(L, -2, "setmetatable");
    lua_pushcfunction(L, safe_xpcall);
    lua_setfield(L, -2, "xpcall");
    lua_pushcfunction(L, print_note);
    lua_setfield(L, -2, "print");
    lua_pushcfunction(L, sorted_pairs);
    lua_setfield(L, -2, "pairs");
    lua_pop(L, 1);
}

/* What coroutine.wrap answers; upvalue 1 is the coroutine. */
static int resume_wrapped(lua_State *L)
{
    lua_State *routine = lua_tothread(L, lua_upvalueindex(1));
    int n_args = lua_gettop(L), n_results;
    if (!lua_checkstack(routine, n_args))
        return luaL_error(L, "too many arguments to resume");
    lua_xmove(L, routine, n_args);
    int status = lua_resume(routine, L, n_args, &n_results);
    if (status == LUA_OK || status == LUA_YIELD) {
        luaL_checkstack(L, n_results, "too many results to resume");
        lua_xmove(routine, L, n_results);
        return n_results;
    }
    lua_xmove(routine, L, 1);
    if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

/* A coroutine that a hook's error ended has its hooks off: unlike Lua's own wrap and close, nothing
 * here runs what it still has to close. */
static int safe_wrap(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_State *routine = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, routine, 1);
    lua_pushcclosure(L, resume_wrapped, 1);
    return 1;
}

static void open_coroutine(lua_State *L)
{
    luaL_requiref(L, LUA_COLIBNAME, luaopen_coroutine, 1);
    lua_pushcfunction(L, safe_wrap);
    lua_setfield(L, -2, "wrap");
    lua_pushnil(L);
    lua_setfield(L, -2, "close");
    lua_pop(L, 1);
}

/* ("x"):rep(3) takes the wrapped functions too. The string library is on the stack. */
static void set_string_methods(lua_State *L)
{
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 2);
}

/* The same numbers in every run. The math library is on the stack. */
static void seed_random(lua_State *L)
{
    lua_getfield(L, -1, "randomseed");
    lua_pushinteger(L, 1);
    lua_call(L, 1, 0);
}

void sandbox_open_libraries(lua_State *L)
{
    open_base(L);
    open_wrapped(L, LUA_STRLIBNAME, luaopen_string);
    lua_pushnil(L);
    lua_setfield(L, -2, "dump");
    set_string_methods(L);
    open_wrapped(L, LUA_TABLIBNAME, luaopen_table);
    open_wrapped(L, LUA_UTF8LIBNAME, luaopen_utf8);
    open_coroutine(L);
    luaL_requiref(L, LUA_MATHLIBNAME, luaopen_math, 1);
    seed_random(L);
    lua_settop(L, 0);
}
