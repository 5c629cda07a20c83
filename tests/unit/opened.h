/* opened.h - a session as the program opens it: with Lua and the shipped policies. */
#ifndef TESTS_UNIT_OPENED_H
#define TESTS_UNIT_OPENED_H

#include "tests/unit/unit.h"

#include "core/session/session.h"
#include "scripts/hooks.h"

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session;
} Opened;

/* The arena is the session's from then on. */
static inline Opened open_in(Arena *arena, const SessionOptions *options)
{
    Opened o = {.arena = arena};
    o.scripts = scripts_new(o.arena, ".");
    SessionHooks hooks = scripts_hooks(o.scripts);
    Error err = {0};
    o.session = session_open(options, &hooks, &err);
    if (!o.session)
        fail_msg("%s: %s", options->model, err.text);
    return o;
}

static inline Opened open_options(const SessionOptions *options)
{
    return open_in(arena_new(), options);
}

static inline void close_opened(Opened *o)
{
    session_close(o->session);
    scripts_free(o->scripts);
    arena_free(o->arena);
}

#endif
