/* lua_state.h - a sandbox: a Lua state in which untrusted files may run.
 *
 * The resources of a script are limited, depending on the size n of its model in ops: the model
 * that a policy is for, or the part that a builder has made so far (sandbox_grow()). Exceeding a
 * limit is an ordinary error with file:line:
 *   - time: 50 million + 500 n Lua instructions. Slow instructions and work in C count by their
 * time, allocations by their bytes, other work by sandbox_spend(). Once the budget is used up,
 * every further instruction fails, so no pcall() survives it;
 *   - memory: 256 MiB + 1 KiB n, including what is allocated for the script outside of Lua;
 *   - a string: 1 MiB, so that no single instruction takes long;
 *   - patterns, lists and recursion depth: lua_safe.c refuses what could take too long in C.
 * There is no io, os, debug, load, require and no finalizer; bytecode is refused. A script gives
 * the same result in every run (lua_order.h).
 *
 * Code that may raise a Lua error runs in sandbox_protect(). sandbox_raise() turns an Error into a
 * Lua error, and sandbox_protect() turns it back, hint included. Free a sandbox with
 * sandbox_free().
 */
#ifndef SCRIPTS_SANDBOX_LUA_STATE_H
#define SCRIPTS_SANDBOX_LUA_STATE_H

#include "core/base/names.h"
#include "core/base/progress.h"
#include "core/base/vec.h"
#include "scripts/sandbox/lua_chunks.h"
#include "scripts/sandbox/lua_memory.h"

#include <lua.h>
#include <pthread.h>

enum {
    SANDBOX_BYTES = 256 << 20,
    SANDBOX_BYTES_PER_OP = 1024,
    SANDBOX_TEXT_BYTES = 1 << 20, /* of one string */
    SANDBOX_INSTRUCTIONS = 50000000,
    SANDBOX_INSTRUCTIONS_PER_OP = 500,
    SANDBOX_ARENAS_MAX = 2,
    SCRIPT_BYTES_MAX = 4 << 20 /* of a file */
};

/* Limit of flops, bytes and microseconds that a script gives for one op: their sums stay finite. */
#define SCRIPT_COST_MAX 1e18

/* What include() may read beside the folder of the source: shipped files. */
typedef struct {
    /* The path of the file of that name; NULL with *err. NULL: nothing can be included. */
    const char *(*find)(void *finder, const char *name, Error *err);
    void *finder;
    Chunks *chunks; /* keeps what Lua compiled of them; or NULL */
} Includes;

/* A call that registered something, with a hash of its arguments (lua_registered.h). */
typedef struct {
    const char *name;
    uint64_t hash;
} Registered;

typedef struct {
    lua_State *lua;
    Arena *arena; /* lives as long as the sandbox */
    Source source;
    Str program;       /* what Lua reads instead of a source in YAML; empty: the source */
    const char *entry; /* the function that the engine calls: "PAS" */
    const char *chunk; /* the source's name in Lua's messages: its last part */
    void *host;        /* set by the caller: lua_policy.c's Policy while PAS runs, else NULL */
    Names *names;      /* of tensors that values of the script refer to */
    const void *rules; /* RuleBook that register_op and the like add to while the file's top
                          level runs; else NULL */
    Vec(Registered) registered; /* those calls */
    Vec(const char *) typed;    /* globals that lines of the console set, in their order */
    int64_t n_ordinals;         /* number of objects shown by a number (lua_order.c) */
    const Progress *progress;   /* can cancel the run; or NULL */
    void *listener;             /* of print */
    void (*print)(void *listener, const char *file, int line, const char *text); /* or NULL */
    pthread_mutex_t turn;    /* held while a kernel of it runs: ranks are threads */
    const void *kernel_call; /* KernelCall of the kernel that runs, or NULL */
    int64_t n_kernel_calls;
    Includes includes;
    bool includes_beside; /* include() looks below the folder of the source first */
    const Arena *grows[SANDBOX_ARENAS_MAX]; /* arenas whose memory counts as the script's; or
                                               NULL */
    int acting_line; /* the line to report while no line is being executed; 0: none */
    /* ---- bookkeeping of lua_state.c ---- */
    int64_t instructions_max;
    size_t bytes_max;
    LuaMemory memory;
    size_t n_bytes, n_bytes_before; /* of Lua; of `grows` when the script began */
    bool out_of_memory;             /* `grows` hold too much: the budget is set to 0 */
    int64_t budget;                 /* instructions left */
    int64_t hooked_ns;              /* processor time at the last check of the budget */
    bool running;
    Error raised;      /* the last of sandbox_raise() */
    Error failed;      /* text and line that the message handler received */
    int refused_line;  /* where memory was last refused */
    bool refused_text; /* that was for a text of more than SANDBOX_TEXT_BYTES */
    int n_unpaid;      /* instructions that are not yet subtracted from the budget */
} Sandbox;

/* NULL when the system has no memory for it. `name` must live as long as errors about the file do.
 */
Sandbox *sandbox_new(const char *name);
void sandbox_free(Sandbox *sandbox); /* NULL is allowed */

/* Reads the file of that name into sandbox->source: ERROR_UNREADABLE. */
bool sandbox_read(Sandbox *sandbox, Error *err);

/* Compiles and runs the source, whose result, if any, stays on the stack for body: body(L) is
 * called with the context as first and the result as second argument. body NULL: nothing more. */
bool sandbox_run(Sandbox *sandbox, lua_CFunction body, void *context, Error *err);

/* Calls body with a light userdata `context` on the stack. ERROR_SCRIPT, with the place in the
 * script and who called it, for every Lua error. The budget is not refilled. */
bool sandbox_protect(Sandbox *sandbox, lua_CFunction body, void *context, Error *err);

/* Sets the limits for a model of that many ops; sandbox_new() sets them for 0. */
void sandbox_scale(Sandbox *sandbox, int64_t n_ops);
/* Raises the limits, and the remaining budget, for one more op. */
void sandbox_grow(Sandbox *sandbox);

void sandbox_refill(Sandbox *sandbox); /* the full budget again, unless it ran out */
/* The same even if it ran out; no code of the script may be running. */
void sandbox_restart(Sandbox *sandbox);

/* ---- inside sandbox_protect() ---- */

Sandbox *sandbox_of(lua_State *L);
/* Does not return. The error keeps its own place if it has a line and a column; otherwise it gets
 * the line being executed. */
int sandbox_raise(lua_State *L, const Error *err);
/* Raises an error of that kind; hint "" for none. */
int sandbox_refuse(lua_State *L, ErrorKind kind, const char *hint, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void sandbox_spend(lua_State *L, int64_t n_instructions);
/* Subtracts the wall-clock time of a call, or the thread's processor time if other programs are
 * running. */
void sandbox_spend_time(lua_State *L, int64_t ns);

/* The line of the script being executed, else the acting line; 0 if there is none. Chunks whose
 * name begins with this prefix belong to included files; their lines are not the script's. */
#define SANDBOX_INCLUDED "[lib "
int sandbox_line(lua_State *L);
/* The first literal text with that content at or after that line: the offset of its first character
 * in the source; -1 if it is not there literally (it has escapes, or is composed). */
int64_t sandbox_find_text(const Sandbox *sandbox, int line, Str text);
Str sandbox_line_text(const Sandbox *sandbox, int line); /* trimmed, cut; empty for line 0 */

/* ---- lua_safe.c ---- */

void sandbox_open_libraries(lua_State *L); /* the libraries of scripts */

/* ---- lua_order.c ---- */

/* Pushes the list of keys of the table at that absolute stack index, in order. */
void sandbox_push_keys(lua_State *L, int table);

/* Pushes the result of tostring() for the value at that index, without addresses. n may be NULL. */
const char *sandbox_push_text(lua_State *L, int at, size_t *n);

#endif
