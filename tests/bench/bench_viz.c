/* bench_viz.c - what exports take: drawings of GPT-2 and of 100 layers, DOT of thousands of boxes,
 * the report, all tables, the trace. Drawings that `dot` lays out are there where it is. */
#include "scripts/hooks.h"
#include "tests/bench/bench.h"
#include "tests/bench/synthetic.h"
#include "viz/dot.h"
#include "viz/export.h"

enum { REPEATS = 3, LAYERS = 100, BOXES = 5000 };

typedef struct {
    const char *format;
    DiagramKind kind;
    const char *of;
    int hops;
} Export;

/* The least of several; bytes are those of the export. Nothing where it cannot be made here. */
static void time_export(const char *name, const Session *session, Export what)
{
    const ExportFormat *format = export_format_find(str_from(what.format), false);
    double ns = 0;
    size_t bytes = 0;
    for (int i = 0; i < REPEATS; i++) {
        Arena *arena = arena_new();
        ExportRequest request = {
            .drawing = {.session = session, .kind = what.kind, .of = what.of, .hops = what.hops}};
        ExportNotes notes = {.arena = arena};
        Buf out = buf_new(arena);
        Error err = {0};
        double start = now_ns();
        bool ok = export_write(format, &request, &out, &notes, &err);
        ns = least(ns, now_ns() - start);
        bytes = out.n;
        arena_free(arena);
        if (!ok)
            return;
    }
    Arena *arena = arena_new();
    figure(arena_printf(arena, "viz.%s", name), ns / 1e6, "ms");
    figure(arena_printf(arena, "viz.%s.size", name), (double)bytes, "bytes");
    arena_free(arena);
}

static void bench_gpt2(void)
{
    Session *session = bench_session(NULL, "samples/models/gpt2.onnx");
    time_export("gpt2.overview.svg", session, (Export){"svg", DIAGRAM_OVERVIEW, NULL, 0});
    time_export("gpt2.block.svg", session, (Export){"svg", DIAGRAM_BLOCK, NULL, 0});
    session_close(session);
}

static void bench_layers(void)
{
    Arena *arena = arena_new();
    Session *session = bench_session(synthetic_transformer(arena, LAYERS, 8, 1024), NULL);
    time_export("layers100.overview.svg", session, (Export){"svg", DIAGRAM_OVERVIEW, NULL, 0});
    time_export("layers100.html", session, (Export){"html", DIAGRAM_OVERVIEW, NULL, 0});
    time_export("layers100.tables", session, (Export){"json", DIAGRAM_OVERVIEW, NULL, 0});
    time_export("layers100.trace", session, (Export){"trace", DIAGRAM_OVERVIEW, NULL, 0});
    session_close(session);
    arena_free(arena);
}

/* All around one op: every op of the graph is a box. */
static void bench_boxes(void)
{
    Arena *arena = arena_new();
    Graph *graph = synthetic_transformer(arena, synthetic_layers(BOXES), 8, 1024);
    Session *session = bench_session(graph, NULL);
    const char *of = op_name(graph, session->inferred->program[0]);
    DiagramRequest request = {
        .session = session, .kind = DIAGRAM_NEIGHBOURHOOD, .of = of, .hops = 1000000};
    double make_ns = 0, write_ns = 0;
    int n = 0;
    for (int i = 0; i < REPEATS; i++) {
        Arena *one = arena_new();
        Buf out = buf_new(one);
        Error err = {0};
        double start = now_ns();
        const Diagram *diagram = diagram_make(one, &request, &err);
        must(diagram != NULL, &err);
        if (!diagram)
            break;
        make_ns = least(make_ns, now_ns() - start);
        start = now_ns();
        must(dot_write(diagram, session->mesh, &out, &err), &err);
        write_ns = least(write_ns, now_ns() - start);
        n = diagram->n_boxes;
        arena_free(one);
    }
    figure("viz.boxes5000.boxes", n, "boxes");
    figure("viz.boxes5000.draw", make_ns / 1e6, "ms");
    figure("viz.boxes5000.dot", write_ns / 1e6, "ms");
    session_close(session);
    arena_free(arena);
}

void bench_viz(void)
{
    bench_gpt2();
    bench_layers();
    bench_boxes();
}
