#include "viz/dot_label.h"

#include "core/base/text.h"
#include "viz/escape.h"
#include "viz/legend.h"
#include "viz/style.h"

#include <limits.h>

/* ---- texts inside labels; Graphviz refuses empty elements ---- */

static void add_escaped(Buf *out, Str s)
{
    if (s.n == 0)
        buf_puts(out, "&#160;");
    escape_markup(s, LABEL_MAX, out);
}

enum {
    LONG_LABEL = 4 * LABEL_MAX
}; /* limit in bytes for a text that names axes: shortening would hide them */

/* A line with each axis in its colour: "8/dp,1024,768/tp". */
static void add_line_of(Buf *out, Text line, int most)
{
    TextRun run;

    if (line.str.n == 0)
        buf_puts(out, "&#160;");
    while (text_take_run(&line, &run)) {
        if (run.axis < 0 || run.sum) {
            escape_markup(run.str, most, out);
            continue;
        }
        buf_printf(out, "<FONT COLOR=\"%s\"><B>", style_axis_colour(run.axis));
        escape_markup(run.str, LABEL_MAX, out);
        buf_puts(out, "</B></FONT>");
    }
}

/* Lines below each other, aligned left. */
static void add_lines(Buf *out, Text text, int most)
{
    bool several = text.str.n > 0 && memchr(text.str.s, '\n', text.str.n);

    do {
        add_line_of(out, text_take(&text, '\n'), most);
        if (several) /* without a break the last line would be centred */
            buf_puts(out, "<BR ALIGN=\"LEFT\"/>");
    } while (text.str.n > 0);
}

/* ---- boxes ---- */

static void add_cell(const DiagramCell *cell, Buf *out)
{
    bool bold = cell->look == CELL_HEAD || cell->look == CELL_MARKED;
    bool is_long = cell->look == CELL_LONG || cell->text.n_spans > 0;

    buf_puts(out, "<TD ALIGN=\"LEFT\"");
    if (cell->columns > 1)
        buf_printf(out, " COLSPAN=\"%d\"", cell->columns);
    if (cell->port)
        buf_printf(out, " PORT=\"%s\"", cell->port);
    if (cell->shade > 0)
        buf_printf(out, " BGCOLOR=\"%s\"", style_shade(cell->shade));
    else if (cell->look == CELL_HEAD)
        buf_puts(out, " BGCOLOR=\"" STYLE_GROUP "\"");
    if (cell->look == CELL_MARKED)
        buf_puts(out, " BORDER=\"3\"");
    buf_puts(out, bold                       ? "><B>"
                  : cell->look == CELL_FAINT ? "><FONT COLOR=\"" STYLE_NEUTRAL "\">"
                                             : ">");
    add_lines(out, cell->text, is_long ? LONG_LABEL : LABEL_MAX);
    buf_puts(out, bold ? "</B></TD>" : cell->look == CELL_FAINT ? "</FONT></TD>" : "</TD>");
}

/* padding: points around the text of a cell. */
static void add_cells(const DiagramBox *box, int padding, Buf *out)
{
    int column = 0;

    buf_printf(out,
               "<TABLE BORDER=\"0\" CELLBORDER=\"1\" CELLSPACING=\"0\" CELLPADDING=\"%d\" "
               "COLOR=\"" STYLE_NEUTRAL "\">",
               padding);
    for (int i = 0; i < box->n_cells; i++) {
        if (column == 0)
            buf_puts(out, "<TR>");
        add_cell(&box->cells[i], out);
        column += box->cells[i].columns > 1 ? box->cells[i].columns : 1;
        if (column >= box->n_columns || i + 1 == box->n_cells) {
            buf_puts(out, "</TR>");
            column = 0;
        }
    }
    buf_puts(out, "</TABLE>");
}

static const char *whole_label(Arena *arena, const Diagram *diagram, const DiagramBox *box)
{
    Buf label = buf_new(arena);
    const char *row = "<TR><TD COLSPAN=\"2\" ALIGN=\"LEFT\">";

    buf_puts(&label, "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"1\">");
    if (*box->title || *box->subtitle || box->n_cells == 0) {
        buf_puts(&label, "<TR><TD ALIGN=\"LEFT\"><B>");
        add_escaped(&label, str_from(box->title));
        buf_puts(&label, "</B></TD><TD ALIGN=\"RIGHT\">");
        buf_puts(&label, *box->subtitle ? "&#160;" : "");
        add_escaped(&label, str_from(box->subtitle));
        buf_puts(&label, "</TD></TR>");
    }
    if (box->flow.str.n > 0) {
        buf_puts(&label, row);
        add_lines(&label, box->flow, LONG_LABEL);
        buf_puts(&label, "</TD></TR>");
    }
    if (*box->figures) {
        buf_printf(&label, "%s<FONT COLOR=\"" STYLE_NEUTRAL "\">", row);
        add_lines(&label, text_from(box->figures), LABEL_MAX);
        buf_puts(&label, "</FONT></TD></TR>");
    }
    if (box->n_cells > 0) {
        buf_puts(&label, row);
        add_cells(box, diagram->bare ? 1 : 3, &label); /* closer on paper */
        buf_puts(&label, "</TD></TR>");
    }
    buf_puts(&label, "</TABLE>");
    return label.s;
}
/* Of a box that is placed: its title and its text. */
static const char *placed_label(Arena *arena, const DiagramBox *box)
{
    Buf label = buf_new(arena);
    bool several = false;

    if (*box->title) {
        buf_puts(&label, "<B>");
        add_escaped(&label, str_from(box->title));
        buf_puts(&label, box->flow.str.n > 0 ? "</B><BR/>" : "</B>");
    }
    for (Text rest = box->flow; rest.str.n > 0;) {
        add_line_of(&label, text_take(&rest, '\n'), LONG_LABEL);
        several |= rest.str.n > 0;
        buf_puts(&label, box->left && several ? "<BR ALIGN=\"LEFT\"/>"
                         : rest.str.n > 0     ? "<BR/>"
                                              : "");
    }
    return label.n > 0 ? label.s : "";
}

const char *label_box(Arena *arena, const Diagram *diagram, const DiagramBox *box)
{
    bool plain = box->n_cells == 0 && !*box->subtitle && !*box->figures;
    return diagram->placed && plain ? placed_label(arena, box) : whole_label(arena, diagram, box);
}

/* ---- the page ---- */

DiagramPlace diagram_page(const Diagram *diagram)
{
    DiagramPlace page = {0};

    for (int i = 0; i < diagram->n_boxes; i++) {
        DiagramPlace place = diagram->boxes[i].place;
        page.h = place.y + place.h > page.h ? place.y + place.h : page.h;
        page.w = place.x + place.w > page.w ? place.x + place.w : page.w;
    }
    return page;
}

const char *label_legend(Arena *arena, const Diagram *diagram, const Mesh *mesh)
{
    Legend legend = legend_of(arena, diagram, mesh);
    Buf label = buf_new(arena);

    buf_puts(&label, "<TABLE BORDER=\"0\" CELLBORDER=\"0\" CELLSPACING=\"0\" CELLPADDING=\"1\">");
    for (int i = 0; i < legend.rows.n; i++) {
        buf_puts(&label, "<TR><TD ALIGN=\"LEFT\">");
        add_line_of(&label, legend.rows.at[i].sign, LABEL_MAX);
        buf_puts(&label, "&#160;</TD><TD ALIGN=\"LEFT\">");
        add_line_of(&label, legend.rows.at[i].meaning, LABEL_MAX);
        buf_puts(&label, "</TD></TR>");
    }
    buf_puts(&label, "</TABLE>");
    return label.s;
}

/* A line of the caption: above a page that is placed, as wide as that. */
static Text take_caption_line(const Diagram *diagram, Text *rest)
{
    enum { LEAST = 40 };
    Str left = rest->str;
    int columns =
        diagram->placed ? (int)(diagram_page(diagram).w / (0.6 * diagram->points)) : INT_MAX;
    Str line = text_take_line(&left, columns > LEAST ? columns : LEAST);
    Text taken = text_part(*rest, 0, line.n);

    *rest = text_part(*rest, rest->str.n - left.n, left.n);
    return taken;
}

const char *label_title(Arena *arena, const Diagram *diagram)
{
    Buf label = buf_new(arena);

    if (diagram->points > 0)
        buf_printf(&label, "<FONT POINT-SIZE=\"%g\"><B>", diagram->points + 2);
    else
        buf_puts(&label, "<FONT POINT-SIZE=\"14\"><B>");
    add_escaped(&label, str_from(diagram->title));
    buf_puts(&label, "</B></FONT>");
    for (Text rest = diagram->caption; rest.str.n > 0;) {
        Text line = text_take(&rest, '\n');
        while (line.str.n > 0) {
            buf_puts(&label, "<BR/>");
            add_line_of(&label, take_caption_line(diagram, &line), LONG_LABEL);
        }
    }
    buf_puts(&label, "<BR/>&#160;");
    return label.s;
}
