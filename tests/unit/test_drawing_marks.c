/* Drawings say what is true of the plan: a box what it makes for others, a tooltip a cause for each
 * axis, a legend the marks that occur; and viewers show them so. */
#include "tests/unit/opened.h"

#include "viz/dot.h"
#include "viz/dot_layout.h"
#include "viz/export.h"
#include "viz/legend.h"
#include "viz/placed.h"

static Opened open_with(const char *model, const char *policy)
{
    return open_options(&(SessionOptions){.model = model, .mesh = "dp=2,tp=4", .policy = policy});
}

static Diagram *draw(const Opened *f, DiagramKind kind, const char *of)
{
    DiagramRequest request = {.session = f->session, .kind = kind, .of = of};
    Error err = {0};
    Diagram *diagram = diagram_make(f->arena, &request, &err);
    if (!diagram)
        fail_msg("%s", err.text);
    return diagram;
}

static Str export(const Opened *f, DiagramKind kind, const char *format)
{
    ExportRequest request = {.drawing = {.session = f->session, .kind = kind}};
    ExportNotes notes = {.arena = f->arena};
    Buf out = buf_new(f->arena);
    Error err = {0};
    if (!export_write(export_format_find(str_from(format), false), &request, &out, &notes, &err))
        fail_msg("%s", err.text);
    return buf_str(&out);
}

static const DiagramBox *box_named(const Diagram *diagram, const char *title)
{
    for (int i = 0; i < diagram->n_boxes; i++)
        if (strcmp(diagram->boxes[i].title, title) == 0)
            return &diagram->boxes[i];
    fail_msg("no box '%s'", title);
    return NULL;
}

/* The last op of the second half of a layer, in program order, transposes a weight. */
static void a_device_box_ends_in_the_value_that_leaves_it(void **state)
{
    (void)state;
    Opened f = open_with("samples/models/llama-3-8b.json", "megatron_sp");
    const DiagramBox *box =
        box_named(draw(&f, DIAGRAM_DEVICE, NULL), "post_attention_layernorm, mlp");
    assert_string_equal(box->flow.str.s, "8/dp,4096/tp,4096 \xe2\x86\x92 8/dp,4096/tp,4096");
    close_opened(&f);
}

static void a_tooltip_has_a_cause_for_each_axis(void **state)
{
    (void)state;
    Opened f = open_with("samples/models/gpt2.onnx", "megatron");
    const Diagram *diagram = draw(&f, DIAGRAM_BLOCK, NULL);
    const char *why = box_named(diagram, "c_fc")->why;
    assert_non_null(strstr(why, "input_ids dim 0"));
    assert_non_null(strstr(why, "c_fc.weight dim 1"));
    assert_null(strchr(box_named(diagram, "ln_1")->why, '\n')); /* sharded by dp alone */
    close_opened(&f);
}

static bool explains(const Legend *legend, const char *sign)
{
    for (int i = 0; i < legend->rows.n; i++)
        if (str_eq(legend->rows.at[i].sign.str, str_from(sign)))
            return true;
    return false;
}

static void a_legend_explains_the_marks_that_occur(void **state)
{
    (void)state;
    Opened f = open_options(
        &(SessionOptions){.model = "samples/models/gpt2.onnx", .mesh = "dp=8", .policy = "dp"});
    Legend legend = legend_of(f.arena, draw(&f, DIAGRAM_BLOCK, NULL), f.session->mesh);
    assert_true(explains(&legend, "768/dp"));
    assert_false(explains(&legend, "768/tp"));
    assert_false(explains(&legend, "\xce\xa3"
                                   "dp"));
    legend = legend_of(f.arena, draw(&f, DIAGRAM_MESH, NULL), f.session->mesh);
    assert_false(explains(&legend, "768/dp")); /* devices alone */
    close_opened(&f);
    f = open_with("samples/models/gpt2.onnx", "megatron");
    legend = legend_of(f.arena, draw(&f, DIAGRAM_BLOCK, NULL), f.session->mesh);
    assert_true(explains(&legend, "\xce\xa3"
                                  "tp"));
    close_opened(&f);
}

/* An axis "us" of a model whose modules are "focus" and "ms" is no time. */
static void a_legend_explains_units_where_numbers_have_them(void **state)
{
    static DiagramLine line;
    static const struct {
        const char *words;
        bool unit;
    } rows[] = {{"32/us, focus ms", false},    {"AR us 4 MiBs", false},
                {"(2 MiB): all-reduce", true}, {"1,024 B", true},
                {"12.0 MiB AR us", true},      {"takes 51.2\xc2\xa0us\nand", true}};
    (void)state;
    Opened f = open_with("samples/models/tiny-gpt.onnx", "megatron");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        line = (DiagramLine){.label = text_from(rows[i].words)};
        Diagram diagram = {.lines = &line, .n_lines = 1};
        Legend legend = legend_of(f.arena, &diagram, f.session->mesh);
        if (explains(&legend, "us, MiB") != rows[i].unit)
            fail_msg("%s", rows[i].words);
    }
    close_opened(&f);
}

static void blanks_beside_coloured_axes_are_kept(void **state)
{
    (void)state;
    Opened f = open_with("samples/models/gpt2.onnx", "megatron");
    Str rest = export(&f, DIAGRAM_DEVICE, "svg");
    for (int64_t at; (at = str_find(rest, STR("<text "))) >= 0;) {
        rest = (Str){rest.s + at, rest.n - (size_t)at};
        assert_true(str_starts(rest, STR("<text xml:space=\"preserve\"")));
        rest = (Str){rest.s + 1, rest.n - 1};
    }
    close_opened(&f);
}

/* Links lead to places in a report, and a file of its own has none. */
static void a_file_of_its_own_has_no_links(void **state)
{
    (void)state;
    Opened f = open_with("samples/models/gpt2.onnx", "megatron");
    assert_true(str_find(export(&f, DIAGRAM_OVERVIEW, "svg"), STR("href=\"#")) < 0);
    assert_true(str_find(export(&f, DIAGRAM_OVERVIEW, "html"), STR("xlink:href=\"#op-")) >= 0);
    assert_true(str_find(export(&f, DIAGRAM_BLOCK, "pdf"),
                         STR("/Title (gpt2.onnx: transformer.h.0)")) >= 0);
    close_opened(&f);
}

/* The side of a title is chosen from where dot leads the lines. */
static void no_line_crosses_the_title_of_a_frame(void **state)
{
    const char *const *model = *state;
    Opened f = open_with(*model, "megatron");
    for (int kind = 0; kind < DIAGRAM_KIND_COUNT; kind++) {
        DiagramRequest request = {.session = f.session, .kind = (DiagramKind)kind};
        Diagram *diagram = diagram_make(f.arena, &request, &(Error){0});
        Buf dot = buf_new(f.arena), json = buf_new(f.arena);
        Placed placed;
        if (!diagram || diagram->n_frames == 0)
            continue;
        assert_true(dot_write(diagram, f.session->mesh, &dot, NULL));
        assert_true(layout_dot(buf_str(&dot), "json0", NULL, &json, NULL, NULL));
        assert_true(placed_read(f.arena, buf_str(&json), diagram, &placed, NULL));
        placed_choose_sides(&placed, diagram);
        for (int i = 0; i < diagram->n_frames; i++)
            if (placed_crossings(&placed, diagram, i, diagram->frames[i].side) > 0)
                fail_msg("%s: a line crosses the title '%s'", diagram_kind(request.kind)->name,
                         diagram->frames[i].title);
    }
    close_opened(&f);
}

static const char *models[][2] = {
    {"samples/models/gpt2.onnx", ""},
    {"samples/models/llama-3-8b.json", ""},
    {"samples/models/mixtral-8x7b.json", ""},
    {"samples/models/vit_b_16.onnx", ""},
};

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_box_ends_in_the_value_that_leaves_it),
        cmocka_unit_test(a_tooltip_has_a_cause_for_each_axis),
        cmocka_unit_test(a_legend_explains_the_marks_that_occur),
        cmocka_unit_test(a_legend_explains_units_where_numbers_have_them),
        cmocka_unit_test(blanks_beside_coloured_axes_are_kept),
        cmocka_unit_test(a_file_of_its_own_has_no_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) +
           run_rows("titles of frames", models, no_line_crosses_the_title_of_a_frame);
}
