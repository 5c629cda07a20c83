/* Drawings for a column of a paper: as wide as that, in type that can be read, with nothing inside
 * that belongs into the caption. */
#include "tests/unit/opened.h"

#include "viz/export.h"
#include "viz/fold.h"
#include "viz/paper_table.h"

#include <stdlib.h>

typedef struct {
    const char *name, *model, *mesh, *policy, *train;
    DiagramKind kind;
    const char *of;
} PaperRow;

#define GPT2 "samples/models/gpt2.onnx", "dp=2,tp=4", "megatron", NULL
#define LLAMA "samples/models/llama-3-8b.json", "pp=2,dp=2,tp=4", "hybrid3d", NULL
#define STEP "samples/models/llama-3-8b.json", "pp=2,dp=2,tp=4", "hybrid3d", "auto"

static PaperRow rows[] = {
    {"overview", GPT2, DIAGRAM_OVERVIEW, NULL},
    {"overview of stages", LLAMA, DIAGRAM_OVERVIEW, NULL},
    {"layer", GPT2, DIAGRAM_LAYER, NULL},
    {"layer of a step", STEP, DIAGRAM_LAYER, NULL},
    {"block", GPT2, DIAGRAM_BLOCK, NULL},
    {"block of experts", "samples/models/mixtral-8x7b.json", "dp=2,ep=4", "expert", NULL,
     DIAGRAM_BLOCK, NULL},
    {"block of long names", "samples/models/llama-tiny.onnx", "dp=2,tp=2", "megatron", NULL,
     DIAGRAM_BLOCK, NULL},
    {"op", GPT2, DIAGRAM_OP, "transformer.h.0.attn.c_attn"},
    {"op of four dims", GPT2, DIAGRAM_OP, "transformer.h.0.attn/MatMul"},
    {"slices of a weight", GPT2, DIAGRAM_SLICES, "transformer.h.0.attn.c_attn.weight"},
    {"slices of an op", GPT2, DIAGRAM_SLICES, "transformer.h.0.attn.c_attn"},
    {"comm", GPT2, DIAGRAM_COMM, NULL},
    {"comm of a step", STEP, DIAGRAM_COMM, NULL},
    {"overview of a step", STEP, DIAGRAM_OVERVIEW, NULL},
    {"neighbourhood", GPT2, DIAGRAM_NEIGHBOURHOOD, "transformer.h.0.mlp.c_fc"},
    {"device", GPT2, DIAGRAM_DEVICE, NULL},
    {"devices of stages", LLAMA, DIAGRAM_DEVICE, NULL},
    {"stage", LLAMA, DIAGRAM_STAGE, NULL},
    {"schedule", STEP, DIAGRAM_SCHEDULE, NULL},
    {"memory", STEP, DIAGRAM_MEMORY, NULL},
    {"step", STEP, DIAGRAM_STEP, NULL},
    {"mesh", GPT2, DIAGRAM_MESH, NULL},
    {"mesh of stages", LLAMA, DIAGRAM_MESH, NULL},
    {"reshard", GPT2, DIAGRAM_RESHARD, NULL},
    {"why", GPT2, DIAGRAM_WHY, "transformer.h.0.mlp.c_proj.weight.0"},
};

/* The number behind a word, in points. */
static double number_after(Str text, const char *word)
{
    int64_t at = str_find(text, str_from(word));
    assert_true(at >= 0);
    return strtod(text.s + at + strlen(word), NULL);
}

static double smallest_type(Str svg)
{
    double least = 1e9;
    for (int64_t at; (at = str_find(svg, STR("font-size=\""))) >= 0;) {
        svg = (Str){svg.s + at + 11, svg.n - (size_t)at - 11};
        double size = strtod(svg.s, NULL);
        least = size < least ? size : least;
    }
    return least;
}

static void a_drawing_fits_its_column(void **state)
{
    const PaperRow *row = *state;
    Opened f = open_options(&(SessionOptions){
        .model = row->model, .mesh = row->mesh, .policy = row->policy, .train = row->train});
    ExportRequest request = {.drawing = {.session = f.session, .kind = row->kind, .of = row->of},
                             .paper = PAPER_COLUMN};
    ExportNotes notes = {.arena = f.arena};
    Buf out = buf_new(f.arena);
    Error err = {0};
    if (!export_write(export_format_find(STR("svg"), false), &request, &out, &notes, &err))
        fail_msg("%s", err.text);
    Str svg = buf_str(&out);
    double width = number_after(svg, "<svg width=\"");
    if (width > PAPER_COLUMN + 2) /* and the width of a border */
        fail_msg("%g points wide", width);
    assert_true(smallest_type(svg) >= 7);
    assert_true(str_find(svg, STR("legend")) < 0);
    assert_true(str_find(svg, STR("dimscope 0")) < 0);
    assert_true(str_starts(str_from(notes.at.at[0]), STR("caption: ")));
    assert_true(str_starts(str_from(notes.at.at[1]), STR("legend: axes ")));
    bool longer = number_after(svg, "pt\" height=\"") > 9.5 * 72 + 6;
    assert_true(notes.at.n == 2 || str_find(str_from(notes.at.at[2]), STR(" in high")) > 0);
    assert_true(notes.at.n == 2 || longer);
    close_opened(&f);
}

/* One that cannot is drawn as wide as it has to be, and a note says how wide. */
static void one_that_does_not_fit_says_its_width(void **state)
{
    (void)state;
    Opened f = open_options(&(SessionOptions){
        .model = "samples/models/gpt2.onnx", .mesh = "dp=2,tp=4", .policy = "megatron"});
    ExportRequest request = {
        .drawing = {.session = f.session, .kind = DIAGRAM_OP, .of = "transformer.h.0.attn.c_attn"},
        .paper = PAPER_COLUMN / 3};
    ExportNotes notes = {.arena = f.arena};
    Buf out = buf_new(f.arena);
    assert_true(export_write(export_format_find(STR("svg"), false), &request, &out, &notes, NULL));
    assert_true(str_starts(str_from(notes.at.at[0]), STR("it is ")));
    double inches = number_after(str_from(notes.at.at[0]), "--width ");
    double width = number_after(buf_str(&out), "<svg width=\"");
    assert_true(width <= inches * 72 + 2);
    assert_true(smallest_type(buf_str(&out)) >= 7);
    close_opened(&f);
}

/* A name that is cut keeps the pass that it begins with, else rows of two passes are called alike.
 */
static void names_of_passes_differ(void **state)
{
    (void)state;
    Opened f = open_options(&(SessionOptions){.model = "samples/models/llama-3-8b.json",
                                              .mesh = "pp=2,dp=2,tp=4",
                                              .policy = "hybrid3d",
                                              .train = "auto"});
    ExportRequest request = {.drawing = {.session = f.session, .kind = DIAGRAM_OVERVIEW},
                             .paper = PAPER_COLUMN};
    ExportNotes notes = {.arena = f.arena};
    Buf out = buf_new(f.arena);
    assert_true(export_write(export_format_find(STR("svg"), false), &request, &out, &notes, NULL));
    assert_true(str_find(buf_str(&out), STR("bwd layers[14..0] ×15")) > 0);
    assert_true(str_find(buf_str(&out), STR("upd layers[0..15] ×16")) > 0);
    close_opened(&f);
}

/* A head that takes much of the page stands above its row, once; each cell is as wide as it says.
 */
static void a_wide_head_stands_above(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    enum { COLUMNS = 5, ROWS = 4, PAGE = 30 };
    DiagramCell cells[COLUMNS * ROWS] = {{.text = text_from("")}};
    DiagramBox box = {.n_columns = COLUMNS, .n_cells = COLUMNS * ROWS, .cells = cells};

    for (int i = 0; i < COLUMNS * ROWS; i++)
        cells[i].text = text_from(
            arena_printf(arena, i % COLUMNS ? "%d: 12.0 MiB" : "a.long.name.of.a.value.%d", i));
    paper_fold_cells(arena, &box, PAGE);
    int heads = 0, others = 0;
    for (int i = 0; i < box.n_cells; i++) {
        bool head = box.cells[i].text.str.s[0] == 'a';
        heads += head;
        others += !head;
        assert_true(!head || box.cells[i].columns == box.n_columns);
        assert_true(fold_columns(box.cells[i].text.str) <= PAGE);
    }
    assert_int_equal(heads, ROWS);
    assert_int_equal(others, ROWS * (COLUMNS - 1));
    arena_free(arena);
}

static void numbers_keep_their_units(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    static const char *const folded[][2] = {
        {"AR tp 12.0 MiB 81.2 us", "AR tp 12.0 MiB\n81.2 us"},
        {"transformer.h[0..11] x12", "transformer.\nh[0..11] x12"},
    };
    for (size_t i = 0; i < COUNT_OF(folded); i++)
        assert_true(
            str_eq(fold_text(arena, text_from(folded[i][0]), 19).str, str_from(folded[i][1])));
    arena_free(arena);
}

/* Columns that do not fit go below the others, behind the same heads of rows; no cell is lost. */
static void a_wide_table_goes_on_below(void **state)
{
    (void)state;
    Arena *arena = arena_new();
    enum { COLUMNS = 7, ROWS = 3, PAGE = 30 };
    DiagramCell cells[1 + COLUMNS * ROWS] = {
        {.text = text_from("of all columns"), .columns = COLUMNS}};
    DiagramBox box = {.n_columns = COLUMNS, .n_cells = 1 + COLUMNS * ROWS, .cells = cells};

    for (int i = 0; i < COLUMNS * ROWS; i++)
        cells[1 + i].text = text_from(
            arena_printf(arena, i % COLUMNS ? "c%dr%d" : "h%d%d", i % COLUMNS, i / COLUMNS));
    paper_fold_cells(arena, &box, PAGE);
    assert_true(box.n_columns > 2 && box.n_columns < COLUMNS);
    assert_int_equal(box.cells[0].columns, box.n_columns);
    int heads = 0, found = 0, wide = 0, column = 0;
    for (int i = 1; i < box.n_cells; i++) {
        const DiagramCell *cell = &box.cells[i];
        wide = column == 0 ? 2 : wide + 2;
        wide += fold_columns(cell->text.str);
        assert_true(wide <= PAGE);
        heads += column == 0 && cell->text.str.s[0] == 'h';
        found += cell->text.str.s[0] == 'c';
        column = (column + (cell->columns > 1 ? cell->columns : 1)) % box.n_columns;
    }
    assert_int_equal(found, (COLUMNS - 1) * ROWS);
    assert_int_equal(heads % ROWS, 0);
    assert_true(heads > ROWS);
    arena_free(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_does_not_fit_says_its_width),
        cmocka_unit_test(a_wide_table_goes_on_below),
        cmocka_unit_test(a_wide_head_stands_above),
        cmocka_unit_test(numbers_keep_their_units),
        cmocka_unit_test(names_of_passes_differ),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("in a column of a paper", rows, a_drawing_fits_its_column);
}
