/* step_opened.h - the training step of a small model that a text in Lua builds. */
#ifndef TESTS_UNIT_STEP_OPENED_H
#define TESTS_UNIT_STEP_OPENED_H

#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/session/session.h"
#include "scripts/hooks.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session; /* NULL: */
    Error err;
} OpenedStep;

static inline const char *write_file(Arena *arena, const char *end, const char *text)
{
    char name[] = "/tmp/dimscope_step_XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0 && close(fd) == 0 && unlink(name) == 0);
    const char *path = arena_printf(arena, "%s%s", name, end);
    assert_true(file_write(path, str_from(text), NULL));
    return path;
}

/* body: of MODEL(model). policy: of PAS(graph), or the name of a shipped one; NULL: none. */
static inline OpenedStep open_step(const char *body, const char *train, const char *mesh,
                                   const char *policy)
{
    OpenedStep o = {.arena = arena_new()};
    bool written = policy && strchr(policy, ':');
    SessionOptions options = {.train = train, .mesh = mesh, .policy = policy};
    options.model =
        strchr(body, '(')
            ? write_file(o.arena, ".lua",
                         arena_printf(o.arena, "function MODEL(model)\n%s\nend\n", body))
            : body;
    if (written)
        options.policy = write_file(
            o.arena, ".lua",
            arena_printf(o.arena, "function PAS(graph)\n%s\nreturn graph\nend\n", policy));
    o.scripts = scripts_new(o.arena, ".");
    SessionHooks hooks = scripts_hooks(o.scripts);
    o.session = session_open(&options, &hooks, &o.err);
    if (options.model != body)
        unlink(options.model);
    if (written)
        unlink(options.policy);
    return o;
}

static inline void close_step(OpenedStep *o)
{
    session_close(o->session);
    scripts_free(o->scripts);
    arena_free(o->arena);
}

#define X "local x = model:input('x', 'f32', {8, 16})\n"
#define W "local w = model:param('w', {16, 16}, 'f32')\n"
#define V "local v = model:param('v', {16, 4}, 'f32')\n"
#define MEAN(value) "model:output(model:op('ReduceMean', {" value "}, {keepdims = 0}), 'loss')\n"

#endif
