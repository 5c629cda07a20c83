/* sandbox_text.h - a Lua sandbox whose script is a text, and what it says as lines. */
#ifndef TESTS_UNIT_SANDBOX_TEXT_H
#define TESTS_UNIT_SANDBOX_TEXT_H

#include "tests/unit/unit.h"

#include "core/model/graph.h"
#include "scripts/sandbox/lua_state.h"

/* ---- a sandbox of a text ---- */

static inline void print_line(void *listener, const char *file, int line, const char *text)
{
    (void)file;
    buf_printf(listener, "%d: %s\n", line, text);
}

static inline void format_error(const Error *err, Buf *out)
{
    buf_printf(out, "%d: %s: %s", err->line, error_kind_name(err->kind), err->text);
    if (err->hint[0] != '\0')
        buf_printf(out, " [%s]", err->hint);
    buf_putc(out, '\n');
}

static inline Sandbox *sandbox_with(const char *name, const char *text, Buf *said)
{
    Sandbox *sandbox = sandbox_new(name);
    assert_non_null(sandbox);
    sandbox->source.text = str_from(text);
    sandbox->listener = said;
    sandbox->print = print_line;
    return sandbox;
}

typedef struct {
    const char *name, *script, *want;
} ScriptRow;

static inline int32_t add_weight(GraphBuilder *builder, const char *name, int64_t rows,
                                 int64_t columns)
{
    int32_t tensor = graph_tensor(builder, str_from(name));
    Shape shape = {.n_dims = columns > 0 ? 2 : 1, .dim = {rows, columns}};
    TensorData absent = {.form = DATA_ABSENT, .location = "w"};
    graph_add_initializer(builder, tensor, DT_F32, &shape, absent);
    return tensor;
}

#endif
