/* Drawings for a column of a paper: as wide as that, in type that can be read, with nothing inside
 * that belongs into the caption. */
#include "tests/unit/opened.h"

#include "viz/export.h"

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
    assert_int_equal(notes.at.n, 2);
    assert_true(str_starts(str_from(notes.at.at[0]), STR("caption: ")));
    assert_true(str_starts(str_from(notes.at.at[1]), STR("legend: axes ")));
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
        .paper = PAPER_COLUMN};
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_does_not_fit_says_its_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("in a column of a paper", rows, a_drawing_fits_its_column);
}
