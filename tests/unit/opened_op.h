/* opened_op.h - a session on one op and a file of Lua, for tests of what a file registers. */
#ifndef TESTS_UNIT_OPENED_OP_H
#define TESTS_UNIT_OPENED_OP_H

#include "tests/unit/unit.h"

#include "core/base/file.h"
#include "core/rules/one_op.h"
#include "scripts/hooks.h"

#include <unistd.h>

/* A session on one op 'my::op' with these operands and attributes, and a file of that text. */
typedef struct {
    Arena *arena;
    Graph *graph;
    Scripts *scripts;
    Session *session;
    const char *path;
    Error err;
} Opened;

static inline Graph *graph_of(Arena *arena, const char *operands, const char *attrs)
{
    Error err = {0};
    OneOp op = {.op_type = STR("my::op"), .n_outputs = 1};
    if (!one_op_operands(arena, str_from(operands), &op, &err))
        fail_msg("%s", err.text);
    OneOpBuilder *builder = one_op_new(arena, &op);
    for (Str rest = str_from(attrs ? attrs : ""); rest.n > 0;)
        assert_true(one_op_attr_text(builder, arena_str(arena, str_take(&rest, ' ')), &err));
    Graph *graph = one_op_graph(builder, &err);
    if (!graph)
        fail_msg("%s", err.text);
    return graph;
}

static inline void write_file(const char *path, const char *text)
{
    Error err = {0};
    assert_true(file_write(path, str_from(text), &err));
}

static inline Opened open_allowing(const char *operands, const char *attrs, const char *mesh,
                                   const char *script, bool native)
{
    static int n_opened;
    Opened opened = {.arena = arena_new()};
    opened.path =
        arena_printf(opened.arena, "/tmp/test_register_%d_%d.lua", (int)getpid(), n_opened++);
    write_file(opened.path, script);
    opened.graph = graph_of(opened.arena, operands, attrs);
    opened.scripts = scripts_new(opened.arena, ".");
    SessionHooks hooks = scripts_hooks(opened.scripts);
    SessionOptions options = {.mesh = mesh, .policy = opened.path, .machine = "h100x8"};
    options.allow_native = native;
    opened.session = session_open_graph(opened.graph, &options, &hooks, &opened.err);
    return opened;
}

static inline Opened open_op(const char *operands, const char *attrs, const char *mesh,
                             const char *script)
{
    return open_allowing(operands, attrs, mesh, script, false);
}

static inline void close_op(Opened *opened)
{
    if (opened->session)
        session_close(opened->session);
    scripts_free(opened->scripts);
    unlink(opened->path);
    arena_free(opened->arena);
}

static inline void must_open(const Opened *opened)
{
    if (!opened->session)
        fail_msg("%s:%d: %s (%s)", opened->err.file, opened->err.line, opened->err.text,
                 opened->err.hint);
}

static inline const char *space_text(const Opened *opened)
{
    Buf text = buf_new(opened->arena);
    const OpSpace *space = program_space(opened->session->inferred, 0);
    if (space->no_rule)
        fail_msg("no rule: %s", opened->session->inferred->findings.at[0].text);
    opspace_format(space, &text);
    return text.s;
}

#define PINS(pins) "function PAS(graph) " pins " return graph end\n"

#endif
