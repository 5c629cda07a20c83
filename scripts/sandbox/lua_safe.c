/* lua_safe.c - the functions of Lua that scripts may call, without the dangerous ones.
 *
 * string, table, math, utf8 and coroutine are available. Functions of string, table and utf8 are
 * timed, since one call may take as long as a loop; calls that could take hours are refused:
 * patterns that backtrack, tables that claim to be huge. Handlers of xpcall() and pending closes of
 * a dead coroutine do not run where no hook counts. The originals stay in Lua's table of loaded
 * libraries, where error messages find their names and scripts cannot reach them.
 */
#include "scripts/sandbox/lua_order.h"
#include "scripts/sandbox/lua_state.h"

#include <lauxlib.h>
#include <lualib.h>

#include <ctype.h>
#include <stdio.h>
#include <time.h>

enum {
    PATTERN_BYTES_MAX = 128,
    CALL_STEPS = 64,         /* of a pattern: what calling a function for a match counts */
    ELEMENTS_MAX = 1 << 22,  /* of a list, in one call */
    PRINTED_BYTES_MAX = 2000 /* of one print() */
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
    sandbox_spend_time(L, now_ns() - start);
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

/* An upper bound on the steps of a match: each repetition may try every length at every place, and
 * so may %b() and %1; a set is looked through for each character. */
static double pattern_steps(Str pattern, size_t subject_bytes, bool anchored)
{
    double places = (double)subject_bytes + 1, steps = anchored ? 1 : places;
    size_t set = 0; /* the longest */
    for (size_t i = 0; i < pattern.n;) {
        char c = pattern.s[i], escaped = c == '%' && i + 1 < pattern.n ? pattern.s[i + 1] : '\0';
        size_t next = c == '[' ? skip_set(pattern, i) : i + (c == '%' ? 2 : 1);
        if (c == '*' || c == '+' || c == '-' || escaped == 'b' || isdigit((unsigned char)escaped))
            steps *= places;
        else if (c == '?')
            steps *= 2;
        if (c == '[' && next - i > set)
            set = next - i;
        i = next;
    }
    size_t looks = 1 + set / 8;
    return steps * (double)looks;
}

static const double PATTERN_STEPS_MAX = 2e7, PLAIN_STEPS_MAX = 1e10;

/* each: gmatch, for which '^' is a character; per_match: what a match costs beside. */
static void check_pattern(lua_State *L, bool each, int per_match)
{
    Str subject = {0}, pattern = {0};
    subject.s = luaL_checklstring(L, 1, &subject.n);
    pattern.s = luaL_checklstring(L, 2, &pattern.n);
    bool anchored = !each && pattern.n > 0 && pattern.s[0] == '^';
    if (pattern.n > PATTERN_BYTES_MAX)
        luaL_error(L, "a pattern can have at most %d characters", PATTERN_BYTES_MAX);
    if (pattern_steps(pattern, subject.n, anchored) * per_match > PATTERN_STEPS_MAX)
        luaL_error(L, "this pattern could take too long on a text of %d characters",
                   (int)subject.n);
}

static int timed_match(lua_State *L)
{
    check_pattern(L, false, 1);
    return timed(L);
}

static int timed_gsub(lua_State *L)
{
    check_pattern(L, false, lua_type(L, 3) == LUA_TSTRING ? 1 : CALL_STEPS);
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
        check_pattern(L, false, 1);
    return timed(L);
}

/* gmatch answers a function that does the work. */
static int timed_gmatch(lua_State *L)
{
    check_pattern(L, true, 1);
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

/* Moving, joining and sorting take as many steps as the table says that it has elements. */
static void check_list(lua_State *L)
{
    if (luaL_getmetafield(L, 1, "__len") != LUA_TNIL)
        luaL_error(L, "a list with __len cannot be moved, joined or sorted");
    if (lua_istable(L, 1) && lua_rawlen(L, 1) > ELEMENTS_MAX)
        luaL_error(L, "a list of more than %d elements cannot be moved, joined or sorted",
                   ELEMENTS_MAX);
}

static int timed_list(lua_State *L)
{
    check_list(L);
    return timed(L);
}

static int checked_sort(lua_State *L)
{
    check_list(L);
    return order_sort(L);
}

static int timed_concat(lua_State *L)
{
    lua_Integer first = luaL_optinteger(L, 3, 1);
    check_list(L);
    lua_Integer last = luaL_optinteger(L, 4, lua_istable(L, 1) ? (lua_Integer)lua_rawlen(L, 1) : 0);
    if (last > first && (lua_Unsigned)last - (lua_Unsigned)first >= ELEMENTS_MAX)
        return luaL_error(L, "too many elements to join");
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
        {"find", timed_find},     {"match", timed_match},   {"gsub", timed_gsub},
        {"gmatch", timed_gmatch}, {"rep", timed_rep},       {"format", order_format},
        {"insert", timed_list},   {"remove", timed_list},   {"sort", checked_sort},
        {"move", timed_move},     {"concat", timed_concat}, {NULL, NULL},
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

/* ---- globals ---- */

/* Finalizers would run where no hook counts. */
static int safe_setmetatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
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
        sandbox_push_text(L, i, NULL);
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
    static const luaL_Reg own[] = {
        {"xpcall", safe_xpcall}, {"print", print_note},        {"pairs", order_pairs},
        {"next", order_next},    {"tostring", order_tostring}, {NULL, NULL},
    };
    luaL_setfuncs(L, own, 0);
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

/* ("x"):rep(3) takes the wrapped functions too, and a script those alone. The string library is on
 * the stack. */
static void set_string_methods(lua_State *L)
{
    lua_pushliteral(L, "");
    lua_getmetatable(L, -1);
    lua_pushvalue(L, -3);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, false);
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 2);
}

/* The same numbers in every run. The math library is on the stack. */
static void seed_random(lua_State *L)
{
    lua_getfield(L, -1, "randomseed");
    lua_pushcclosure(L, order_randomseed, 1);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "randomseed");
    lua_call(L, 0, 0);
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
