/* shipped_machine.h - a machine of scripts/machines, read as a session reads it. */
#ifndef TESTS_UNIT_SHIPPED_MACHINE_H
#define TESTS_UNIT_SHIPPED_MACHINE_H

#include "scripts/hooks.h"

static bool shipped_machine(Arena *arena, const char *name, Machine *out, Error *err)
{
    Scripts *scripts = scripts_new(arena, ".");
    SessionHooks hooks = scripts_hooks(scripts);
    bool ok = hooks.machine(hooks.context, arena, name, out, err);
    scripts_free(scripts);
    return ok;
}

#endif
