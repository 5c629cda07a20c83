/* fuzz_graph.c - any bytes as an ONNX file: where it can be planned, its plan is drawn, reported
 * and exported in one of all formats, or run and verified; whatever is said of it has no control
 * bytes.
 *
 * The first byte of the input chooses the mesh, the second what is done with the plan; the rest is
 * the file.
 */
#include "core/model/onnx.h"
#include "core/run/run.h"
#include "tests/fuzz/tiny_gpt.h"
#include "viz/export.h"

#include <assert.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { OPS_MAX = 60, ELEMENTS_MAX = 1 << 14 };

static bool is_small(const Inferred *inferred)
{
    const Graph *graph = inferred->graph;
    int64_t n = 0;
    for (int32_t t = 0; t < graph->n_tensors && n <= ELEMENTS_MAX; t++) {
        const Shape *shape = inferred_shape(inferred, t);
        int64_t elements = shape ? shape_elements(shape) : 0;
        n += elements < ELEMENTS_MAX ? elements : ELEMENTS_MAX;
    }
    return n <= ELEMENTS_MAX;
}

/* C1 bytes are looked for where UTF-8 has them: behind 0xc2. */
static void check_text(const char *format, Str text)
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

static void export_plan(Arena *arena, const Session *session, const ExportFormat *format, int kind)
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

static void run(Arena *arena, const Session *session)
{
    RunOptions options = {.verify = true, .seed = 7, .repeat = 1};
    RunReport report;
    Error err = {0};
    if (plan_is_legal(session->plan) && is_small(session->inferred) &&
        run_plan(arena, session->plan, &options, &report, &err) == error_is_set(&err))
        wrong("run");
}

/* Those that another program lays out are left to tests that have it. */
static bool is_own(const ExportFormat *format)
{
    return strcmp(format->name, "svg") != 0 && strcmp(format->name, "pdf") != 0 &&
           strcmp(format->name, "png") != 0;
}

static void use(Arena *arena, const Session *session, int what)
{
    enum { KINDS = 8 };
    int n = 0;
    while (export_format_at(n))
        n++;
    const ExportFormat *format = export_format_at(what % (n + 1));
    if (!format)
        run(arena, session);
    else if (is_own(format))
        export_plan(arena, session, format, what / (n + 1) % KINDS);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    static const SessionHooks hooks = {.machine = round_machine};
    static const char *const meshes[] = {"x=1", "dp=2", "dp=2,tp=2", "a=3,b=2"};
    if (n_bytes < 2)
        return 0;
    Arena *arena = arena_new();
    Error err = {0};
    Graph *graph = onnx_read(arena, "fuzz.onnx", (Str){(const char *)bytes + 2, n_bytes - 2}, &err);
    if (graph && graph->n_ops <= OPS_MAX) {
        SessionOptions options = {.mesh = meshes[bytes[0] % 4]};
        Session *session = session_open_graph(graph, &options, &hooks, &err);
        if ((session == NULL) != error_is_set(&err))
            wrong("open");
        if (session)
            use(arena, session, bytes[1]);
        session_close(session);
    }
    arena_free(arena);
    return 0;
}
