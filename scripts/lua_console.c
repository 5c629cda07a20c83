#include "scripts/lua_console.h"

#include "scripts/lua_objects.h"

enum { FIELDS_SHOWN = 24, TEXT_BYTES_MAX = 2000 };

typedef struct {
    Str text;
    Buf *answer;
} Line;

/* ---- values ---- */

/* "lm_head.weight  f32 50257,768/tp": the sharding of the plan, and what its readers need. */
static void put_tensor(const Session *session, const NamedTensor *named, Buf *out)
{
    const Plan *plan = session->plan;
    int32_t tensor = named->tensor;
    text_printable(str_from(named->name), out);
    buf_printf(out, "  %s ", dtype_name((Dtype)session->inferred->dtype[tensor]));
    if (!plan || plan->moved->sharding[tensor] < 0) {
        inferred_put_shape(session->inferred, tensor, out);
        return;
    }
    sharding_format(plan_sharding(plan, tensor), plan->mesh, VIEW_OURS, out, NULL);
    for (int r = 0; r < plan->moved->n_reshards; r++)
        if (plan->moved->reshards[r].tensor == tensor) {
            buf_puts(out, "  needs ");
            reshard_format_steps(plan->moved->reshards[r].path, plan->mesh, out);
        }
}

static void put_plain(lua_State *L, int at, bool quoted, Buf *out)
{
    size_t n;
    const char *text = sandbox_push_text(L, at, &n);
    bool mark = quoted && lua_type(L, at) == LUA_TSTRING;
    buf_puts(out, mark ? "\"" : "");
    text_printable((Str){text, n < TEXT_BYTES_MAX ? n : TEXT_BYTES_MAX}, out);
    buf_puts(out, n > TEXT_BYTES_MAX ? ".." : "");
    buf_puts(out, mark ? "\"" : "");
    lua_pop(L, 1);
}

static void put_field(lua_State *L, int at, Buf *out)
{
    if (lua_istable(L, at))
        buf_puts(out, "{..}");
    else
        put_plain(L, at, true, out);
}

/* {1, 2, name = "tp"}: one level, the first FIELDS_SHOWN of it. */
static void put_table(lua_State *L, int at, Buf *out)
{
    sandbox_push_keys(L, at);
    int keys = lua_gettop(L);
    lua_Integer n = (lua_Integer)lua_rawlen(L, keys);
    buf_putc(out, '{');
    for (lua_Integer i = 1; i <= n && i <= FIELDS_SHOWN; i++) {
        buf_puts(out, i > 1 ? ", " : "");
        lua_rawgeti(L, keys, i);
        if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) != i) {
            bool name = lua_type(L, -1) == LUA_TSTRING;
            buf_puts(out, name ? "" : "[");
            put_plain(L, lua_gettop(L), false, out);
            buf_puts(out, name ? " = " : "] = ");
        }
        lua_rawget(L, at);
        put_field(L, lua_gettop(L), out);
        lua_settop(L, keys);
    }
    if (n > FIELDS_SHOWN)
        buf_printf(out, ", .. %lld in all", (long long)n);
    buf_putc(out, '}');
    lua_pop(L, 1);
}

static void put_value(lua_State *L, int at, Buf *out)
{
    const NamedTensor *named = luaL_testudata(L, at, tensor_type);
    if (named)
        put_tensor(policy_of(L)->session, named, out);
    else if (lua_istable(L, at) && luaL_getmetafield(L, at, "__tostring") == LUA_TNIL)
        put_table(L, at, out);
    else
        put_plain(L, at, false, out);
}

/* ---- a line ---- */

/* Leaves the compiled line, or the error, on the stack: first as an expression. */
static bool compile(lua_State *L, Str text)
{
    if (text.n > 0 && text.s[0] == '=')
        text = (Str){text.s + 1, text.n - 1};
    lua_pushliteral(L, "return ");
    lua_pushlstring(L, text.s, text.n);
    lua_concat(L, 2);
    size_t n;
    const char *expression = lua_tolstring(L, -1, &n);
    if (luaL_loadbufferx(L, expression, n, "=console", "t") == LUA_OK)
        return true;
    lua_settop(L, 1);
    return luaL_loadbufferx(L, text.s, text.n, "=console", "t") == LUA_OK;
}

/* ---- globals that lines set ---- */

static const char globals_before[] = "globals before the line";

static void keep_globals(lua_State *L)
{
    lua_newtable(L);
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        lua_pushvalue(L, -2);
        lua_pushvalue(L, -2);
        lua_rawset(L, -6);
    }
    lua_pop(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, globals_before);
}

static void note_typed(Sandbox *sandbox, Str name)
{
    Buf shown = buf_new(sandbox->arena);
    text_printable(name, &shown);
    for (int i = 0; i < sandbox->typed.n; i++)
        if (str_eq(str_from(sandbox->typed.at[i]), buf_str(&shown)))
            return;
    vec_push(sandbox->arena, &sandbox->typed, shown.s);
}

/* Those that are not what they were go to sandbox->typed. */
static int find_typed(lua_State *L)
{
    enum { BEFORE = 2, GLOBALS, KEYS, TYPED_MAX = 1000 };
    if (lua_getfield(L, LUA_REGISTRYINDEX, globals_before) != LUA_TTABLE)
        return 0;
    lua_pushglobaltable(L);
    sandbox_push_keys(L, GLOBALS);
    lua_Integer n = (lua_Integer)lua_rawlen(L, KEYS);
    for (lua_Integer i = 1; i <= n && sandbox_of(L)->typed.n < TYPED_MAX; i++) {
        lua_rawgeti(L, KEYS, i);
        bool is_name = lua_type(L, -1) == LUA_TSTRING;
        lua_pushvalue(L, -1);
        lua_rawget(L, BEFORE);
        lua_pushvalue(L, -2);
        lua_rawget(L, GLOBALS);
        size_t length;
        if (is_name && !lua_rawequal(L, -1, -2)) {
            const char *name = lua_tolstring(L, -3, &length);
            note_typed(sandbox_of(L), (Str){name, length});
        }
        lua_settop(L, KEYS);
    }
    return 0;
}

static int run_line(lua_State *L)
{
    const Line *line = lua_touserdata(L, 1);
    objects_open(L);
    push_graph(L);
    lua_pushvalue(L, -1);
    lua_setglobal(L, "g");
    lua_setglobal(L, "graph");
    push_resource(L, policy_of(L)->session->mesh);
    lua_setglobal(L, "resource");
    lua_settop(L, 1);
    keep_globals(L);
    if (!compile(L, line->text))
        return lua_error(L);
    int first = lua_gettop(L);
    lua_call(L, 0, LUA_MULTRET);
    int n = lua_gettop(L) - first + 1;
    luaL_checkstack(L, 8, "too many values");
    for (int i = 0; i < n; i++) {
        put_value(L, first + i, line->answer);
        buf_putc(line->answer, '\n');
    }
    return 0;
}

static void print_line(void *listener, const char *file, int at, const char *text)
{
    (void)file, (void)at;
    for (Str rest = str_from(text), line = str_take(&rest, '\n');; line = str_take(&rest, '\n')) {
        while (line.n > 0) {
            Str part = str_take(&line, '\t');
            text_printable(part, listener);
            buf_puts(listener, line.n > 0 ? "  " : "");
        }
        buf_putc(listener, '\n');
        if (rest.n == 0)
            return;
    }
}

/* Notes about calls of this line are part of its answer, not findings of the plan. */
static void take_notes(Session *session, int n_before, Buf *answer)
{
    for (int i = n_before; i < session->notes.n; i++) {
        const Finding *note = &session->notes.at[i];
        buf_printf(answer, "%s%s%s\n", note->text, *note->hint ? ": " : "", note->hint);
    }
    session->notes.n = n_before;
}

bool console_run(Sandbox *sandbox, Session *session, const char *text, Journal *journal,
                 Buf *answer, Error *err)
{
    Sandbox policy = *sandbox;
    Line line = {str_trim(str_from(text)), answer};
    int n_notes = session->notes.n;

    sandbox->source = (Source){"console", line.text};
    sandbox->chunk = "console";
    sandbox->listener = answer;
    sandbox->print = print_line;
    sandbox_scale(sandbox, session->graph->n_ops);
    sandbox_restart(sandbox);
    bool ok = policy_protect(sandbox, session, run_line, &line, journal, err);
    Error unheard = {0};
    sandbox_restart(sandbox);
    sandbox_protect(sandbox, find_typed, NULL, &unheard);
    sandbox->source = policy.source;
    sandbox->chunk = policy.chunk;
    sandbox->listener = policy.listener;
    sandbox->print = policy.print;
    take_notes(session, n_notes, answer);
    return ok;
}
