/* hooked.h - Lua and the shipped policies, for sessions that a test opens one after another. */
#ifndef TESTS_UNIT_HOOKED_H
#define TESTS_UNIT_HOOKED_H

#include "tests/unit/unit.h"

#include "scripts/hooks.h"

typedef struct {
    Arena *arena;
    Scripts *scripts;
    SessionHooks hooks;
} Hooked;

static inline Hooked hooked_new(void)
{
    Arena *arena = arena_new();
    Hooked h = {.arena = arena, .scripts = scripts_new(arena, ".")};
    h.hooks = scripts_hooks(h.scripts);
    return h;
}

static inline void hooked_free(Hooked *h)
{
    scripts_free(h->scripts);
    arena_free(h->arena);
}

#endif
