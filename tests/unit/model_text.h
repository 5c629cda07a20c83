/* model_text.h - model files of a text: written, opened as `info` or with a plan, and taken away.
 */
#ifndef TESTS_UNIT_MODEL_TEXT_H
#define TESTS_UNIT_MODEL_TEXT_H

#include "tests/unit/unit.h"

#include "core/session/session.h"
#include "scripts/hooks.h"

#include <stdlib.h>
#include <unistd.h>

typedef struct {
    Arena *arena;
    Scripts *scripts;
    Session *session; /* NULL: */
    Error err;
    const char *path;
} OpenedText;

/* A file of that text, a config.json where it begins with '{', else Lua. dims: "batch=2", "" for
 * none. mesh NULL: without a plan; policy: NULL for none. */
static inline OpenedText model_text_open(const char *text, const char *dims, const char *mesh,
                                         const char *policy)
{
    OpenedText o = {.arena = arena_new()};
    char name[] = "/tmp/dimscope_model_XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0 && close(fd) == 0 && unlink(name) == 0);
    o.path = arena_printf(o.arena, "%s%s", name, text[0] == '{' ? ".json" : ".lua");
    assert_true(file_write(o.path, str_from(text), NULL));
    o.scripts = scripts_new(o.arena, ".");
    SessionHooks of_scripts = scripts_hooks(o.scripts);
    SessionOptions options = {.model = o.path, .mesh = mesh, .policy = policy};
    Source source = {"--dim", str_from(dims)};
    assert_true(dims[0] == '\0' || dims_parse(o.arena, &source, &options.dims, NULL));
    o.session = mesh ? session_open(&options, &of_scripts, &o.err)
                     : session_open_model(&options, &of_scripts, &o.err);
    return o;
}

static inline void model_text_close(OpenedText *o)
{
    unlink(o->path);
    session_close(o->session);
    scripts_free(o->scripts);
    arena_free(o->arena);
}

#endif
