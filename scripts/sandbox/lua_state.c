#include "scripts/sandbox/lua_state.h"

#include "core/base/file.h"
#include "scripts/sandbox/lua_yaml.h"

#include <lauxlib.h>

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    HOOK_INSTRUCTIONS = 100,
    CLOCK_INSTRUCTIONS = 1000,  /* after so many a hook looks at the clock and at the budget */
    TEXT_HEADER_BYTES = 64,     /* of a string in Lua, at most */
    NS_PER_INSTRUCTION = 100,   /* the most one takes before its time counts instead */
    BYTES_PER_INSTRUCTION = 64, /* what allocating costs of the budget */
    BROKE_BYTES_MAX = 4096,     /* the most one allocation gets when the budget is gone */
    CHUNK_NAME_MAX = LUA_IDSIZE - 1,
    TRACE_LEVELS_MAX = 6,
    LINE_BYTES_MAX = 200,        /* of a line that is shown */
    WATCHED_BYTES = 256 << 10,   /* an allocation at which the clock is looked at */
    UNHOOKED_NS_MAX = 1000000000 /* the most that may pass there since a hook looked at it */
};

/* ---- memory ---- */

static bool is_included(const lua_Debug *at)
{
    return str_starts(str_from(at->source), STR("=" SANDBOX_INCLUDED));
}

static int line_from_level(lua_State *L, int level)
{
    lua_Debug at;
    for (; lua_getstack(L, level, &at); level++) {
        bool own = lua_getinfo(L, "S", &at) && at.what[0] != 'C' && !is_included(&at);
        if (own && lua_getinfo(L, "l", &at) && at.currentline > 0)
            return at.currentline;
    }
    return 0;
}

/* Running out of memory raises an error that no handler sees: the place is noted here. */
static void *refuse(Sandbox *sandbox, bool too_long)
{
    sandbox->refused_text = too_long;
    if (sandbox->running)
        sandbox->refused_line = line_from_level(sandbox->lua, 0);
    return NULL;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Lua may loop in itself, where no hook counts, while its stack grows: a __call that is its own. */
static void watch_the_clock(Sandbox *sandbox)
{
    if (now_ns() - sandbox->hooked_ns > UNHOOKED_NS_MAX)
        sandbox->budget = 0;
}

/* lua_Alloc. For a new block old_bytes is a type tag. Texts are short, so that no instruction on
 * them takes long: between two hooks nothing ends a script. */
static void *allocate(void *context, void *block, size_t old_bytes, size_t new_bytes)
{
    Sandbox *sandbox = context;
    size_t held = block ? old_bytes : 0;
    if (!block && old_bytes == LUA_TSTRING && new_bytes > SANDBOX_TEXT_BYTES + TEXT_HEADER_BYTES)
        return refuse(sandbox, true);
    if (new_bytes > held) {
        size_t more = new_bytes - held;
        if (more >= WATCHED_BYTES && sandbox->running)
            watch_the_clock(sandbox);
        if (more > sandbox->bytes_max - sandbox->n_bytes ||
            (sandbox->budget <= 0 && more > BROKE_BYTES_MAX))
            return refuse(sandbox, false);
        sandbox->budget -= (int64_t)(more / BYTES_PER_INSTRUCTION);
    }
    void *moved = lua_memory_resize(&sandbox->memory, block, held, new_bytes);
    if (!moved && new_bytes > 0)
        return new_bytes <= held ? block : refuse(sandbox, false);
    sandbox->n_bytes += new_bytes - held;
    return moved;
}

/* ---- time ---- */

static bool asked_to_stop(const Sandbox *sandbox)
{
    return sandbox->progress && atomic_load(&sandbox->progress->stop);
}

static void say_no_memory(const Sandbox *sandbox, Error *err)
{
    error_kind(err, ERROR_SCRIPT, "not enough memory: a script may use %d MiB",
               (int)(sandbox->bytes_max >> 20));
}

/* Why the budget is gone. */
static void say_stopped(const Sandbox *sandbox, Error *err)
{
    if (asked_to_stop(sandbox)) {
        error_kind(err, ERROR_CANCELLED, "stopped");
    } else if (sandbox->out_of_memory) {
        say_no_memory(sandbox, err);
    } else {
        error_kind(err, ERROR_SCRIPT, "stopped after %d million instructions",
                   (int)(sandbox->instructions_max / 1000000));
        error_hint(err, "a loop that does not end?");
    }
}

static void stop(lua_State *L)
{
    Error err = {0};
    say_stopped(sandbox_of(L), &err);
    sandbox_raise(L, &err);
}

static size_t bytes_outside(const Sandbox *sandbox)
{
    size_t n = 0;
    for (int i = 0; i < SANDBOX_ARENAS_MAX; i++)
        n += sandbox->grows[i] ? arena_bytes(sandbox->grows[i]) : 0;
    return n;
}

static bool is_out_of_memory(const Sandbox *sandbox)
{
    size_t grown = bytes_outside(sandbox) - sandbox->n_bytes_before;
    return grown > sandbox->bytes_max - sandbox->n_bytes;
}

/* One instruction may compare two texts of 100 MB: where they take long, time is what counts. */
static void count_hook(lua_State *L, lua_Debug *at)
{
    (void)at;
    Sandbox *sandbox = sandbox_of(L);
    int count = sandbox->n_unpaid += lua_gethookcount(L);
    if (count < CLOCK_INSTRUCTIONS && sandbox->budget > 0 && !asked_to_stop(sandbox))
        return;
    sandbox->n_unpaid = 0;
    int64_t now = now_ns(), slow = (now - sandbox->hooked_ns) / NS_PER_INSTRUCTION;
    sandbox->hooked_ns = now;
    if (sandbox->budget > 0)
        sandbox->budget -= slow > count ? slow : count;
    if (sandbox->budget > 0 && is_out_of_memory(sandbox))
        sandbox->out_of_memory = true;
    if (sandbox->out_of_memory || asked_to_stop(sandbox))
        sandbox->budget = 0;
    if (sandbox->budget > 0)
        return;
    lua_sethook(L, count_hook, LUA_MASKCOUNT, 1);
    stop(L);
}

void sandbox_spend(lua_State *L, int64_t n_instructions)
{
    Sandbox *sandbox = sandbox_of(L);
    sandbox->budget = asked_to_stop(sandbox) ? 0 : sandbox->budget - n_instructions;
    if (sandbox->budget > 0)
        return;
    lua_sethook(L, count_hook, LUA_MASKCOUNT, 1);
    stop(L);
}

void sandbox_spend_time(lua_State *L, int64_t ns)
{
    enum { CALL_NS_PER_INSTRUCTION = 32, LONG_NS = 50000 };
    int64_t own = ns < LONG_NS ? ns : now_ns() - sandbox_of(L)->hooked_ns;
    sandbox_spend(L, (own < ns ? own : ns) / CALL_NS_PER_INSTRUCTION);
}

void sandbox_refill(Sandbox *sandbox)
{
    if (sandbox->budget > 0)
        sandbox->budget = sandbox->instructions_max;
}

void sandbox_scale(Sandbox *sandbox, int64_t n_ops)
{
    sandbox->instructions_max = SANDBOX_INSTRUCTIONS + n_ops * SANDBOX_INSTRUCTIONS_PER_OP;
    sandbox->bytes_max = SANDBOX_BYTES + (size_t)n_ops * SANDBOX_BYTES_PER_OP;
}

void sandbox_grow(Sandbox *sandbox)
{
    sandbox->instructions_max += SANDBOX_INSTRUCTIONS_PER_OP;
    sandbox->budget += SANDBOX_INSTRUCTIONS_PER_OP;
    sandbox->bytes_max += SANDBOX_BYTES_PER_OP;
}

void sandbox_restart(Sandbox *sandbox)
{
    sandbox->budget = sandbox->instructions_max;
    sandbox->out_of_memory = false;
    lua_sethook(sandbox->lua, count_hook, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
}

/* ---- places ---- */

Sandbox *sandbox_of(lua_State *L)
{
    return *(Sandbox **)lua_getextraspace(L);
}

int sandbox_line(lua_State *L)
{
    int line = line_from_level(L, 0);
    return line > 0 ? line : sandbox_of(L)->acting_line;
}

/* Where the line begins in the text; the text's end when it has fewer lines. */
static size_t line_offset(Str text, int line)
{
    size_t at = 0;
    for (; line > 1 && at < text.n; line--) {
        const char *end = memchr(text.s + at, '\n', text.n - at);
        at = end ? (size_t)(end - text.s) + 1 : text.n;
    }
    return at;
}

int64_t sandbox_find_text(const Sandbox *sandbox, int line, Str text)
{
    Str source = sandbox->source.text;
    if (line < 1 || text.n == 0)
        return -1;
    for (size_t from = line_offset(source, line); from < source.n;) {
        int64_t found = str_find((Str){source.s + from, source.n - from}, text);
        if (found < 0)
            return -1;
        size_t at = from + (size_t)found, end = at + text.n;
        char before = at > 0 ? source.s[at - 1] : ' ', after = end < source.n ? source.s[end] : ' ';
        bool quoted = (before == '"' || before == '\'') && before == after;
        bool bracketed = (before == '[' || before == '\n') && (after == ']' || after == '\n');
        if (quoted || bracketed)
            return (int64_t)at;
        from = at + 1;
    }
    return -1;
}

Str sandbox_line_text(const Sandbox *sandbox, int line)
{
    if (line < 1)
        return (Str){"", 0};
    Str text = sandbox->source.text;
    size_t at = line_offset(text, line);
    const char *end = memchr(text.s + at, '\n', text.n - at);
    Str whole = str_trim((Str){text.s + at, end ? (size_t)(end - text.s) - at : text.n - at});
    return (Str){whole.s, whole.n < LINE_BYTES_MAX ? whole.n : LINE_BYTES_MAX};
}

/* ---- errors ---- */

int sandbox_raise(lua_State *L, const Error *err)
{
    Sandbox *sandbox = sandbox_of(L);
    sandbox->raised = *err;
    int line = sandbox_line(L);
    if (line > 0)
        lua_pushfstring(L, "%s:%d: %s", sandbox->chunk, line, err->text);
    else
        lua_pushstring(L, err->text);
    return lua_error(L);
}

int sandbox_refuse(lua_State *L, ErrorKind kind, const char *hint, const char *format, ...)
{
    char text[sizeof((Error){0}.text)];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    Error err = {0};
    error_kind(&err, kind, "%s", text);
    error_hint(&err, "%s", hint);
    return sandbox_raise(L, &err);
}

/* Takes "policy.lua:12: " off the front of a message; the line, or 0 when it has no such front. */
static int take_line(const Sandbox *sandbox, const char **message)
{
    size_t n = strlen(sandbox->chunk);
    const char *at = *message + n;
    if (strncmp(*message, sandbox->chunk, n) != 0 || *at != ':' || !isdigit((unsigned char)at[1]))
        return 0;
    char *end;
    long line = strtol(at + 1, &end, 10);
    if (end[0] != ':' || line > INT32_MAX)
        return 0;
    *message = end + (end[1] == ' ' ? 2 : 1);
    return (int)line;
}

/* Appends who called, ", called from line 31 in PAS, line 4", without the level of the error. */
static void trace(lua_State *L, char *out, size_t room)
{
    lua_Debug at;
    int n = 0;
    size_t used = 0;
    out[0] = '\0';
    for (int level = 0; n <= TRACE_LEVELS_MAX && lua_getstack(L, level, &at); level++) {
        lua_getinfo(L, "nSl", &at);
        if (at.currentline <= 0 || is_included(&at) || n++ == 0)
            continue;
        const char *name = at.name                        ? at.name
                           : strcmp(at.what, "main") == 0 ? "the file"
                                                          : sandbox_of(L)->entry;
        int written = snprintf(out + used, room - used, "%s line %d in %s",
                               used == 0 ? "; called from" : ",", at.currentline, name);
        if (written < 0 || (size_t)written >= room - used)
            return;
        used += (size_t)written;
    }
}

/* Memory is refused because there is none left, because a string is too long, or because the budget
 * is gone. */
static void keep_refusal(Sandbox *sandbox, int line)
{
    sandbox->failed = (Error){.line = line};
    if (sandbox->budget <= 0)
        say_stopped(sandbox, &sandbox->failed);
    else if (sandbox->refused_text)
        error_kind(&sandbox->failed, ERROR_SCRIPT, "a string of a script can have at most %d MiB",
                   SANDBOX_TEXT_BYTES >> 20);
    else
        say_no_memory(sandbox, &sandbox->failed);
}

/* The message handler: keeps text, line and callers in sandbox->failed, while the stack is there.
 */
static int keep_failure(lua_State *L)
{
    Sandbox *sandbox = sandbox_of(L);
    const char *message = lua_tostring(L, 1);
    if (!message)
        message = lua_pushfstring(L, "the error is a %s, not a string", luaL_typename(L, 1));
    int line = line_from_level(L, 0);
    for (int said; (said = take_line(sandbox, &message)) > 0;)
        line = said; /* a coroutine's error has its place behind that of the resume */
    if (strcmp(message, "not enough memory") == 0) {
        keep_refusal(sandbox, line);
        return 1;
    }
    char callers[200];
    trace(L, callers, sizeof callers);
    sandbox->failed = (Error){.line = line};
    if (strcmp(message, "C stack overflow") == 0)
        message = "calls or brackets nest too deep";
    error_kind(&sandbox->failed, ERROR_SCRIPT, "%s%s", message, callers);
    if (strcmp(message, sandbox->raised.text) == 0) {
        error_hint(&sandbox->failed, "%s", sandbox->raised.hint);
        if (sandbox->raised.column > 0 && strcmp(sandbox->raised.file, sandbox->source.name) == 0)
            sandbox->failed = sandbox->raised;
    }
    return 1;
}

/* Copies the failure to *err, with its place in the source. */
static bool fail(const Sandbox *sandbox, Error *err)
{
    const Error *failed = &sandbox->failed;
    if (!err || error_is_set(err))
        return false;
    if (asked_to_stop(sandbox))
        return error_kind(err, ERROR_CANCELLED, "stopped");
    error_kind(err, ERROR_SCRIPT, "%s",
               error_is_set(failed) ? failed->text : "the script failed while it was failing");
    if (failed->hint[0] != '\0')
        error_hint(err, "%s", failed->hint);
    if (failed->column > 0) {
        *err = *failed;
        err->kind = ERROR_SCRIPT;
        return false;
    }
    if (failed->line < 1) {
        error_in_file(err, sandbox->source.name);
        return false;
    }
    Str text = sandbox->source.text;
    size_t at = line_offset(text, failed->line);
    while (at < text.n && (text.s[at] == ' ' || text.s[at] == '\t'))
        at++;
    error_at(err, &sandbox->source, at);
    return false;
}

bool sandbox_protect(Sandbox *sandbox, lua_CFunction body, void *context, Error *err)
{
    lua_State *L = sandbox->lua;
    int top = lua_gettop(L);
    bool outer = !sandbox->running;
    sandbox->running = true;
    if (outer)
        sandbox->n_bytes_before = bytes_outside(sandbox);
    sandbox->hooked_ns = now_ns();
    sandbox->failed = (Error){0};
    sandbox->raised = (Error){0};
    lua_pushcfunction(L, keep_failure);
    lua_pushcfunction(L, body);
    lua_pushlightuserdata(L, context);
    int status = lua_pcall(L, 1, 0, top + 1);
    if (outer)
        sandbox->running = false;
    if (status == LUA_ERRMEM)
        keep_refusal(sandbox, sandbox->refused_line);
    lua_settop(L, top);
    return status == LUA_OK || fail(sandbox, err);
}

/* ---- life ---- */

static int open_libraries(lua_State *L)
{
    lua_gc(L, LUA_GCINC, 400, 400, 0);
    sandbox_open_libraries(L);
    return 0;
}

Sandbox *sandbox_new(const char *name)
{
    Arena *arena = arena_new();
    Sandbox *sandbox = arena_make(arena, Sandbox);
    sandbox->arena = arena;
    sandbox->source.name = name;
    sandbox->source.text = (Str){"", 0};
    sandbox->entry = "PAS";
    sandbox_scale(sandbox, 0);
    sandbox->budget = sandbox->instructions_max;
    pthread_mutex_init(&sandbox->turn, NULL);
    Str base = str_from(path_base(name));
    sandbox->chunk =
        arena_str(arena, (Str){base.s, base.n < CHUNK_NAME_MAX ? base.n : CHUNK_NAME_MAX});

    sandbox->lua = lua_newstate(allocate, sandbox);
    if (sandbox->lua) {
        *(Sandbox **)lua_getextraspace(sandbox->lua) = sandbox;
        lua_sethook(sandbox->lua, count_hook, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
        if (sandbox_protect(sandbox, open_libraries, NULL, NULL))
            return sandbox;
    }
    sandbox_free(sandbox);
    return NULL;
}

void sandbox_free(Sandbox *sandbox)
{
    if (!sandbox)
        return;
    if (sandbox->lua)
        lua_close(sandbox->lua);
    lua_memory_free(&sandbox->memory);
    pthread_mutex_destroy(&sandbox->turn);
    arena_free(sandbox->arena);
}

bool sandbox_read(Sandbox *sandbox, Error *err)
{
    Source source;
    if (!file_read(sandbox->arena, sandbox->source.name, SCRIPT_BYTES_MAX, &source, err))
        return false;
    sandbox->source.text = source.text;
    if (!file_is_yaml(str_from(source.name)))
        return true;
    Buf lua = buf_new(sandbox->arena);
    if (!yaml_to_lua(sandbox->arena, &sandbox->source, &lua, err))
        return false;
    sandbox->program = buf_str(&lua);
    return true;
}

typedef struct {
    const Sandbox *sandbox;
    lua_CFunction body;
    void *context;
} SandboxRun;

/* Without a first line for a shell, of which the end stays so that lines count as in the file. */
static Str script_of(Str text)
{
    if (str_starts(text, STR("#")))
        while (text.n > 0 && text.s[0] != '\n')
            text = (Str){text.s + 1, text.n - 1};
    return text;
}

typedef struct {
    Str rest;
    int line; /* that was read last */
} LineReader;

static const char *read_line(lua_State *L, void *context, size_t *n)
{
    (void)L;
    LineReader *reader = context;
    const char *line = reader->rest.s, *end = memchr(line, '\n', reader->rest.n);
    *n = end ? (size_t)(end - line) + 1 : reader->rest.n;
    reader->rest = (Str){line + *n, reader->rest.n - *n};
    reader->line++;
    return line;
}

/* What nests too deep to be read is an error that Lua gives no line. */
static void load_text(lua_State *L, Str text, const char *chunk)
{
    LineReader reader = {text, 0};
    if (lua_load(L, read_line, &reader, lua_pushfstring(L, "=%s", chunk), "t") == LUA_OK)
        return;
    const char *message = lua_tostring(L, -1);
    size_t n = strlen(chunk);
    if (message && (strncmp(message, chunk, n) != 0 || message[n] != ':'))
        lua_pushfstring(L, "%s:%d: %s", chunk, reader.line, message);
    lua_error(L);
}

static int run_body(lua_State *L)
{
    const SandboxRun *run = lua_touserdata(L, 1);
    const Sandbox *sandbox = run->sandbox;
    load_text(L, sandbox->program.n > 0 ? sandbox->program : script_of(sandbox->source.text),
              sandbox->chunk);
    lua_call(L, 0, 1);
    if (!run->body)
        return 0;
    lua_pushcfunction(L, run->body);
    lua_insert(L, -2);
    lua_pushlightuserdata(L, run->context);
    lua_insert(L, -2);
    lua_call(L, 2, 0);
    return 0;
}

bool sandbox_run(Sandbox *sandbox, lua_CFunction body, void *context, Error *err)
{
    SandboxRun run = {sandbox, body, context};
    return sandbox_protect(sandbox, run_body, &run, err);
}
