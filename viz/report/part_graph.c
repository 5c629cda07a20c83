/* part_graph.c - the plan as drawings. */
#include "viz/report/page.h"

#include "viz/dot.h"
#include "viz/dot_layout.h"
#include "viz/svg.h"

/* A diagram that cannot be laid out: its boxes and lines as rows. */
static void add_boxes(Page *page, const Diagram *diagram, const char *id)
{
    ReportTable *table = page_table(page, arena_printf(page->arena, "%s-boxes", id), diagram->title,
                                    diagram->caption.str.s);

    table->page_only = true;
    table_column(table, "what", LOOK_NAME, NULL);
    table_column(table, "is", LOOK_TEXT, NULL);
    table_column(table, "from and to", LOOK_SHARDING, NULL);
    table_column(table, "figures", LOOK_TEXT, NULL);
    table_column(table, "leads to", LOOK_TEXT, NULL);
    for (int i = 0; i < diagram->n_boxes && table_row(table, 0); i++) {
        const DiagramBox *box = &diagram->boxes[i];
        Buf to = buf_new(page->arena);
        for (int l = 0; l < diagram->n_lines; l++) {
            const DiagramLine *line = &diagram->lines[l];
            if (line->from != i || line->look == LINE_ORDER)
                continue;
            buf_printf(&to, "%s%s%s%s", to.n ? "\n" : "", diagram->boxes[line->to].title,
                       line->label.str.n > 0 ? " by " : "",
                       line->label.str.n > 0 ? line->label.str.s : "");
        }
        table_link(table, box->title, box->link);
        table_text(table, box->subtitle);
        table_marked(table, box->flow);
        table_text(table, box->figures);
        table_text(table, to.s);
    }
}

void page_drawing(Page *page, DiagramKind kind, const char *title, const char *caption)
{
    DiagramRequest request = page->request->drawing;
    Buf dot = buf_new(page->arena), raw = buf_new(page->arena), svg = buf_new(page->arena);
    Error err = {0};
    const char *name = diagram_kind(kind)->name;

    if (!page->with_drawings)
        return;
    request.kind = kind;
    request.of = NULL;
    Diagram *diagram = diagram_make(page->arena, &request, NULL);
    if (!diagram || diagram->n_boxes == 0)
        return;
    if (diagram->n_boxes > LAYOUT_BOXES_MAX) {
        export_note(page->notes, "%s: its %d boxes are a table in the report", title,
                    diagram->n_boxes);
        add_boxes(page, diagram, name);
        return;
    }
    diagram->linked = true;
    if (!dot_write(diagram, page->session->mesh, &dot, &err) ||
        !layout_dot(buf_str(&dot), "svg", page->request->progress, &raw, NULL, &err)) {
        export_note(page->notes, "%s: a table in the report, because %s", title, err.text);
        add_boxes(page, diagram, name);
        return;
    }
    svg_finish(buf_str(&raw), diagram, arena_printf(page->arena, "%s-", name), &svg);
    ReportBlock *block = page_block(page, BLOCK_DRAWING);
    block->id = arena_printf(page->arena, "drawing-%s", name);
    block->title = title;
    block->caption = caption;
    block->text = svg.s;
    block->page_only = true;
}

/* ---- the graph ---- */

void part_graph(Page *page)
{
    page_section(page, "graph", "Graph");
    ReportBlock *section = page->blocks.at[page->blocks.n - 1];
    section->page_only = !page_flowchart(page, DIAGRAM_OVERVIEW);
    page_drawing(page, DIAGRAM_OVERVIEW, "The model, equal layers folded",
                 "A box is a group of ops; its second line has the shardings of its input and its "
                 "output. Its link leads to the rows below.");
    page_drawing(page, DIAGRAM_BLOCK, "One repeated block in full", NULL);
    if (page->session->plan->decided->stages)
        page_drawing(page, DIAGRAM_STAGE, "Stages", NULL);
}
