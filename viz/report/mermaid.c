/* mermaid.c - a drawing as a flowchart of Mermaid, which GitHub and GitLab draw inside Markdown. */
#include "viz/report/page.h"

#include "viz/escape.h"

/* Between double quotes; entities of Mermaid begin with '#'. */
static void put_text(Str plain, Buf *out)
{
    for (size_t i = 0; i < plain.n; i++) {
        char c = plain.s[i];
        if (strchr("\"#<>&`\\", c))
            buf_printf(out, "#%d;", c);
        else
            buf_putc(out, c);
    }
}

/* Adds the lines of a text, each with its break before it. */
static void put_lines(Str text, int limit, bool *any, Buf *out)
{
    while (text.n > 0) {
        Buf plain = buf_new(out->arena);
        escape_plain(str_trim(str_take(&text, '\n')), limit, &plain);
        buf_puts(out, *any ? "<br/>" : "");
        put_text(buf_str(&plain), out);
        *any = true;
    }
}

static void put_box(const Diagram *diagram, int i, Buf *out)
{
    static const char *const open[] = {[BOX_OP] = "[", [BOX_GROUP] = "[["},
                             *const close[] = {[BOX_OP] = "]", [BOX_GROUP] = "]]"};
    const DiagramBox *box = &diagram->boxes[i];
    bool known = box->look == BOX_OP || box->look == BOX_GROUP, any = false;

    buf_printf(out, "  n%d%s\"", i, known ? open[box->look] : "([");
    put_lines(str_from(box->title), LABEL_MAX, &any, out);
    put_lines(str_from(box->subtitle), LABEL_MAX, &any, out);
    put_lines(box->flow.str, LABEL_MAX, &any, out);
    put_lines(str_from(box->figures), LABEL_MAX, &any, out);
    buf_printf(out, "\"%s\n", known ? close[box->look] : "])");
}

static void put_line(const DiagramLine *line, Buf *out)
{
    bool any = false;

    if (line->look == LINE_ORDER)
        return;
    buf_printf(out, "  n%d %s", line->from,
               line->look == LINE_MOVED ? "==>"
               : line->partial          ? "-.->"
                                        : "-->");
    if (line->label.str.n > 0) {
        buf_puts(out, "|\"");
        put_lines(line->label.str, LABEL_MAX, &any, out);
        buf_puts(out, "\"|");
    }
    buf_printf(out, " n%d\n", line->to);
}

/* The frames and boxes in one frame; -1: outside of all. */
static void put_inside(const Diagram *diagram, int frame, Buf *out)
{
    for (int f = 0; f < diagram->n_frames; f++) {
        bool any = false;
        if (diagram->frames[f].parent != frame)
            continue;
        buf_printf(out, "  subgraph f%d[\"", f);
        put_lines(str_from(diagram->frames[f].title), LABEL_MAX, &any, out);
        buf_puts(out, any ? "\"]\n" : " \"]\n");
        put_inside(diagram, f, out);
        buf_puts(out, "  end\n");
    }
    for (int i = 0; i < diagram->n_boxes; i++)
        if (diagram->boxes[i].frame == frame)
            put_box(diagram, i, out);
}

bool page_flowchart(Page *page, DiagramKind kind)
{
    enum { BOXES_MOST = 60, LINES_MOST = 200 }; /* what is still drawn in a review */
    DiagramRequest request = page->request->drawing;
    Buf out = buf_new(page->arena);

    if (page->with_drawings)
        return false;
    request.kind = kind;
    request.of = NULL;
    Diagram *diagram = diagram_make(page->arena, &request, NULL);
    if (!diagram || diagram->n_boxes == 0 || diagram->n_boxes > BOXES_MOST ||
        diagram->n_lines > LINES_MOST)
        return false;
    buf_puts(&out, "flowchart TD\n");
    put_inside(diagram, -1, &out);
    for (int i = 0; i < diagram->n_lines; i++)
        put_line(&diagram->lines[i], &out);
    ReportBlock *block = page_block(page, BLOCK_FLOWCHART);
    block->text = out.s;
    return true;
}
