/* Drawings: what they say is what the plan says, and any graph gives text that Graphviz reads. */
#include "tests/unit/opened.h"

#include "core/base/file.h"
#include "viz/dot.h"
#include "viz/ids.h"
#include "viz/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static Opened open_sample(const char *model, const char *mesh)
{
    return open_options(&(SessionOptions){.model = model, .mesh = mesh, .policy = "megatron"});
}

static Diagram *draw(const Opened *f, DiagramKind kind, Error *err)
{
    DiagramRequest request = {.session = f->session, .kind = kind};
    return diagram_make(f->arena, &request, err);
}

static bool export(const Opened *f, DiagramKind kind, const char *format, Buf *out, Error *err)
{
    ExportRequest request = {.drawing = {.session = f->session, .kind = kind}};
    ExportNotes notes = {.arena = f->arena};
    return export_write(export_format_find(str_from(format), false), &request, out, &notes, err);
}

/* One AR edge is drawn bold for each all-reduce of the block, and none else. */
static void the_block_shows_its_two_all_reduces(void **state)
{
    (void)state;
    Opened f = open_sample("samples/models/gpt2.onnx", "dp=2,tp=4");
    Diagram *diagram = draw(&f, DIAGRAM_BLOCK, NULL);
    assert_non_null(diagram);
    int reduces = 0, moves = 0;
    for (int i = 0; i < diagram->n_lines; i++) {
        const DiagramLine *line = &diagram->lines[i];
        moves += line->look == LINE_MOVED;
        reduces += line->look == LINE_MOVED && line->axis == 1 && line->kind == STEP_ALL_REDUCE &&
                   line->bytes == 12582912;
    }
    assert_int_equal(reduces, 2);
    assert_int_equal(moves, 2);
    close_opened(&f);
}

static void the_overview_folds_the_layers(void **state)
{
    (void)state;
    Opened f = open_sample("samples/models/gpt2-dynamo.onnx", "dp=2,tp=4");
    Diagram *diagram = draw(&f, DIAGRAM_OVERVIEW, NULL);
    int folds = 0;
    for (int i = 0; i < diagram->n_boxes; i++) {
        folds += diagram->boxes[i].look == BOX_GROUP;
        if (diagram->boxes[i].look == BOX_GROUP)
            assert_non_null(strstr(diagram->boxes[i].figures, "each: 2 all-reduces over tp"));
    }
    assert_int_equal(folds, 1);
    assert_true(diagram->n_boxes <= 60);
    close_opened(&f);
}

/* Graphviz itself reads the text: `dot -Tplain` answers a line per box and per edge. */
static void graphviz_reads_every_drawing(void **state)
{
    const char *const *model = *state;
    for (int kind = 0; kind < DIAGRAM_KIND_COUNT; kind++) {
        Opened f = open_sample(*model, "dp=2,tp=2");
        char path[] = "/tmp/dimscope-test-XXXXXX";
        int fd = mkstemp(path);
        assert_true(fd >= 0);
        close(fd);
        Error err = {0};
        Buf text = buf_new(f.arena);
        Diagram *diagram = draw(&f, (DiagramKind)kind, &err);
        if (!diagram) { /* a kind that needs to be told of what, or that this plan has none of */
            assert_true(err.kind == ERROR_USAGE || err.kind == ERROR_UNSUPPORTED);
            assert_true(err.hint[0] || err.kind == ERROR_UNSUPPORTED);
            unlink(path);
            close_opened(&f);
            continue;
        }
        assert_true(dot_write(diagram, f.session->mesh, &text, &err));
        assert_true(file_write(path, buf_str(&text), &err));
        FILE *plain = popen(arena_printf(f.arena, "dot -Tplain %s", path), "r");
        char line[4096];
        int boxes = 0, edges = 0, legend = 0;
        while (fgets(line, sizeof line, plain)) {
            bool is_legend = strncmp(line, "node legend", 11) == 0;
            boxes += strncmp(line, "node ", 5) == 0 && !is_legend;
            edges += strncmp(line, "edge ", 5) == 0;
            legend += is_legend;
        }
        assert_int_equal(pclose(plain), 0);
        assert_int_equal(boxes, diagram->n_boxes);
        assert_int_equal(edges, diagram->n_lines);
        assert_true(legend > 0);
        unlink(path);
        close_opened(&f);
    }
}

static const char *models[][2] = {
    {"samples/models/tiny-gpt.onnx", ""},
    {"samples/models/llama-tiny.onnx", ""},
    {"samples/models/gpt2-dynamo.onnx", ""},
};

static void svg_comes_from_the_dot_program(void **state)
{
    (void)state;
    Opened f = open_sample("samples/models/tiny-gpt.onnx", "dp=2,tp=2");
    Buf svg = buf_new(f.arena);
    Error err = {0};
    assert_true(export(&f, DIAGRAM_BLOCK, "svg", &svg, &err));
    assert_true(str_find(buf_str(&svg), STR("<svg")) >= 0);
    assert_true(str_ends(str_trim(buf_str(&svg)), STR("</svg>")));
    close_opened(&f);
}

static void without_the_program_the_hint_says_dot(void **state)
{
    (void)state;
    Opened f = open_sample("samples/models/tiny-gpt.onnx", "dp=2,tp=2");
    const char *path = arena_str(f.arena, str_from(getenv("PATH")));
    setenv("PATH", "/nowhere", 1);
    Buf svg = buf_new(f.arena);
    Error err = {0};
    bool ok = export(&f, DIAGRAM_BLOCK, "svg", &svg, &err);
    setenv("PATH", path, 1);
    assert_false(ok);
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_non_null(strstr(err.hint, "--dot"));
    close_opened(&f);
}

/* Runs export with a program `dot` of this script; what the error says. */
static void export_with_dot(Opened *f, const char *script, Buf *svg, Error *err)
{
    char dir[] = "/tmp/dimscope-viz-XXXXXX";
    assert_non_null(mkdtemp(dir));
    const char *program = path_join(f->arena, dir, "dot");
    assert_true(file_write(program, str_from(script), err));
    assert_int_equal(chmod(program, 0700), 0);
    const char *path = arena_str(f->arena, str_from(getenv("PATH")));
    setenv("PATH", arena_printf(f->arena, "%s:%s", dir, path), 1);
    assert_false(export(f, DIAGRAM_BLOCK, "svg", svg, err));
    setenv("PATH", path, 1);
    unlink(program);
    rmdir(dir);
}

static void half_a_drawing_is_an_error(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"#!/bin/sh\nexec cat >/dev/null\n", "dot wrote an incomplete drawing"},
        {"#!/bin/sh\necho '<svg>'\n", "dot wrote an incomplete drawing"},
        {"#!/bin/sh\necho '<svg></svg>'; exit 3\n", "dot failed with exit status 3"},
        {"#!/bin/sh\nkill -9 $$\n", "dot was killed by signal 9"},
    };
    Opened f = open_sample("samples/models/tiny-gpt.onnx", "dp=2,tp=2");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        Buf svg = buf_new(f.arena);
        Error err = {0};
        export_with_dot(&f, rows[i][0], &svg, &err);
        assert_string_equal(err.text, rows[i][1]);
        assert_int_equal(svg.n, 0);
    }
    close_opened(&f);
}

static void names_cannot_break_the_text(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    DiagramBox boxes[2] = {
        {.title = "a<b>&\"\\\x1b[31m\xff",
         .subtitle = "]>",
         .flow = text_from("8/dp\xce\xa3"),
         .figures = "<",
         .why = "\"x\\",
         .frame = -1,
         .level = -1},
        {.title = "", .subtitle = "", .figures = "", .why = "", .frame = -1, .level = -1}};
    DiagramLine line = {.from = 0,
                        .to = 1,
                        .axis = 0,
                        .look = LINE_MOVED,
                        .kind = STEP_ALL_TO_ALL,
                        .bytes = 1 << 30,
                        .label = text_from("AR \"tp\"")};
    Diagram diagram = {.title = "\"",
                       .n_boxes = 2,
                       .n_lines = 1,
                       .boxes = boxes,
                       .lines = &line,
                       .facts = "<&>\n\n\""};
    Source source = {.name = "mesh", .text = STR("dp=2")};
    Mesh *mesh = mesh_parse(arena, &source, NULL);
    Buf text = buf_new(arena);
    diagram_name_all(arena, &diagram);
    assert_true(dot_write(&diagram, mesh, &text, NULL));
    assert_true(str_find(buf_str(&text), STR("\x1b")) < 0);
    FILE *dot = popen("dot -Tplain >/dev/null", "w");
    fwrite(text.s, 1, text.n, dot);
    assert_int_equal(pclose(dot), 0);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_shows_its_two_all_reduces),
        cmocka_unit_test(the_overview_folds_the_layers),
        cmocka_unit_test(svg_comes_from_the_dot_program),
        cmocka_unit_test(without_the_program_the_hint_says_dot),
        cmocka_unit_test(half_a_drawing_is_an_error),
        cmocka_unit_test(names_cannot_break_the_text),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("graphviz reads", models, graphviz_reads_every_drawing);
}
