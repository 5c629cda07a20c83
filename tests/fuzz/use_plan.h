/* use_plan.h - a plan drawn, reported and exported in one of all formats, or run and verified:
 * whatever is said of it has no control bytes. */
#ifndef TESTS_FUZZ_USE_PLAN_H
#define TESTS_FUZZ_USE_PLAN_H

#include "core/run/run.h"
#include "tests/fuzz/tiny_gpt.h"
#include "viz/export.h"

enum { OPS_MAX = 60, ELEMENTS_MAX = 1 << 14 };

static inline bool is_small(const Inferred *inferred)
{
    const Graph *graph = inferred->graph;
    int64_t n = 0;
    for (int32_t t = 0; t < graph->n_tensors && n <= ELEMENTS_MAX; t++) {
        const Shape *shape = inferred_shape(inferred, t);
        int64_t elements = shape ? shape_elements(shape) : 0;
        n += elements < ELEMENTS_MAX ? elements : ELEMENTS_MAX;
        for (int d = 0; shape && d < shape->n_dims; d++) /* of an empty one too */
            n += shape->dim[d] < ELEMENTS_MAX ? shape->dim[d] : ELEMENTS_MAX;
    }
    return n <= ELEMENTS_MAX;
}

/* C1 bytes are looked for where UTF-8 has them: behind 0xc2. */
static inline void check_text(const char *format, Str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.s[i],
                      next = i + 1 < text.n ? (unsigned char)text.s[i + 1] : 0;
        bool control = (c < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f;
        if (control || (c == 0xc2 && next >= 0x80 && next < 0xa0)) {
            fprintf(stderr, "WRONG byte %02x of %s: %.*s\n", c, format, STR_ARG(text));
            abort();
        }
    }
}

static inline void export_plan(Arena *arena, const Session *session, const ExportFormat *format,
                               int kind)
{
    ExportRequest request = {.drawing = {.session = session, .kind = (DiagramKind)kind}};
    ExportNotes notes = {.arena = arena};
    Buf out = buf_new(arena);
    Error err = {0};
    if (export_write(format, &request, &out, &notes, &err) == error_is_set(&err))
        wrong(format->name);
    if (!format->binary && !error_is_set(&err))
        check_text(format->name, buf_str(&out));
}

static inline void run_plan_of(Arena *arena, const Session *session)
{
    RunOptions options = {.verify = true, .seed = 7, .repeat = 1};
    RunReport report;
    Error err = {0};
    if (plan_is_legal(session->plan) && is_small(session->inferred) &&
        run_plan(arena, session->plan, &options, &report, &err) == error_is_set(&err))
        wrong("run");
}

/* Those that another program lays out are left to tests that have it. */
static inline bool is_own(const ExportFormat *format)
{
    return strcmp(format->name, "svg") != 0 && strcmp(format->name, "pdf") != 0 &&
           strcmp(format->name, "png") != 0;
}

static inline void use_plan(Arena *arena, const Session *session, int what)
{
    enum { KINDS = 8 };
    int n = 0;
    while (export_format_at(n))
        n++;
    const ExportFormat *format = export_format_at(what % (n + 1));
    if (!format)
        run_plan_of(arena, session);
    else if (is_own(format))
        export_plan(arena, session, format, what / (n + 1) % KINDS);
}

#endif
