/* html_table.c - a table: numbers have their exact value as an attribute, for sorting; a shortened
 * text has the whole text as its title. */
#include "viz/report/html.h"

#include "viz/escape.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_MOST = 60, TEXT_MOST = 400, SHARDING_MOST = 160, LINES_MOST = 8 };

/* ---- texts of cells ---- */

static int64_t characters(const char *s)
{
    int64_t n = 0;

    for (; *s; s++)
        n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

/* A line with the names of axes in their colours: "8/dp,1024,768/tp". */
static void put_line(Html *html, Text line, int most)
{
    TextRun run;

    while (line.str.n <= (size_t)most && text_take_run(&line, &run)) {
        bool axis = run.axis >= 0 && !run.sum;
        if (axis)
            buf_printf(html->out, "<b class=\"a%d\">", run.axis < 4 ? run.axis : 4);
        escape_markup(run.str, most, html->out);
        buf_puts(html->out, axis ? "</b>" : "");
    }
    escape_markup(line.str, most,
                  html->out); /* a line that is too long is shortened, without colours */
}

static int limit_of(ReportLook look)
{
    return look == LOOK_NAME ? NAME_MOST : look == LOOK_TEXT ? TEXT_MOST : SHARDING_MOST;
}

/* The first lines of a cell, one below the other. */
static void put_lines(Html *html, const ReportCell *cell, ReportLook look)
{
    Text rest = cell->text;

    for (int i = 0; rest.str.n > 0 && i < LINES_MOST; i++) {
        buf_puts(html->out, i > 0 ? "<br>" : "");
        put_line(html, text_take(&rest, '\n'), limit_of(look));
    }
    if (rest.str.n > 0)
        buf_puts(html->out, "<br>..");
}

static bool is_cut(const ReportCell *cell, ReportLook look)
{
    return characters(cell->text.str.s) > limit_of(look);
}

/* ---- cells ---- */

/* The shortest text that reads back to the same number. */
static void put_exact(Buf *out, double number)
{
    char text[40];

    snprintf(text, sizeof text, "%.15g", number);
    if (strtod(text, NULL) != number)
        snprintf(text, sizeof text, "%.17g", number);
    buf_puts(out, text);
}

/* Returns whether the text is long enough to be wrapped. */
static bool is_long(const ReportCell *cell, ReportLook look)
{
    enum { SHORT = 18 };
    return (look == LOOK_TEXT || look == LOOK_NAME || look == LOOK_SHARDING) &&
           characters(cell->text.str.s) > SHORT;
}

static const char *class_of(ReportLook look)
{
    /* ORDER REPORT_LOOK */
    static const char *const classes[] = {"", "n", "n", "r", "r"};
    return classes[look];
}

/* cell: NULL for the head of the column. */
static void put_class(const ReportColumn *column, const ReportCell *cell, Buf *out)
{
    const char *own = cell || *class_of(column->look) == 'r' ? class_of(column->look) : "";
    const char *classes[] = {own, cell && is_long(cell, column->look) ? "w" : "",
                             column->more ? "m" : ""};
    Buf text = buf_new(out->arena);

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        buf_printf(&text, "%s%s", text.n > 0 && *classes[i] ? " " : "", classes[i]);
    if (text.n > 0)
        buf_printf(out, " class=\"%s\"", text.s);
}

static void open_cell(Html *html, const ReportRow *row, const ReportCell *cell,
                      const ReportColumn *column, bool first)
{
    Buf *out = html->out;

    buf_puts(out, first ? "<th scope=\"row\"" : "<td");
    put_class(column, cell, out);
    if (!isnan(cell->number)) {
        buf_puts(out, " data-n=\"");
        put_exact(out, cell->number);
        buf_putc(out, '"');
    }
    if (first && row->depth > 0)
        buf_printf(out, " style=\"--d:%d\"", row->depth);
    if (is_cut(cell, column->look)) {
        buf_puts(out, " title=\"");
        escape_markup(cell->text.str, TOOLTIP_MAX, out);
        buf_putc(out, '"');
    }
    buf_putc(out, '>');
}

/* The ids of a row after its first id are placed in its first cell. */
static void put_cell(Html *html, const ReportTable *table, const ReportRow *row, int c)
{
    const ReportColumn *column = &table->column[c];
    const ReportCell *cell = &table->cells.at[(row - table->rows.at) * table->n_columns + c];
    bool first = c == 0;
    Buf *out = html->out;
    ReportLook look = column->look;
    bool linked = cell->link && cell->text.str.n > 0 && html_has_id(html, cell->link);

    open_cell(html, row, cell, column, first);
    for (int k = 1; first && k < row->n_ids; k++)
        buf_printf(out, "<i id=\"%s\"></i>", table->ids.at[row->id + k]);
    if (linked)
        buf_printf(out, "<a href=\"%s\">", cell->link);
    put_lines(html, cell, look);
    buf_puts(out, linked ? "</a>" : "");
    if (look == LOOK_SHARE && cell->text.str.n > 0)
        buf_printf(out, "<span class=\"share\" style=\"--w:%.1f%%\"></span>",
                   cell->number < 1 ? 100 * cell->number : 100);
    buf_puts(out, first ? "</th>" : "</td>");
}

static void put_row(Html *html, const ReportTable *table, int at)
{
    const ReportRow *row = &table->rows.at[at];

    buf_puts(html->out, "<tr");
    if (row->n_ids > 0)
        buf_printf(html->out, " id=\"%s\"", table->ids.at[row->id]);
    buf_puts(html->out, row->head ? " class=\"head\">" : ">");
    for (int c = 0; c < table->n_columns; c++)
        put_cell(html, table, row, c);
    buf_puts(html->out, "</tr>\n");
}

/* ---- the table ---- */

static void put_head(Html *html, const ReportTable *table)
{
    buf_puts(html->out, "<thead><tr>");
    for (int c = 0; c < table->n_columns; c++) {
        const ReportColumn *column = &table->column[c];
        buf_puts(html->out, "<th scope=\"col\"");
        put_class(column, NULL, html->out);
        if (column->what) {
            buf_puts(html->out, " title=\"");
            html_text(html, column->what);
            buf_putc(html->out, '"');
        }
        buf_putc(html->out, '>');
        html_text(html, column->head);
        buf_puts(html->out, "</th>");
    }
    buf_puts(html->out, "</tr></thead>\n");
}

/* The meaning of the columns, for readers who cannot hover over the heads. */
static void put_about(Html *html, const ReportTable *table)
{
    bool any = false;

    for (int c = 0; c < table->n_columns; c++) {
        if (!table->column[c].what)
            continue;
        buf_puts(html->out, any ? "" : "<details class=\"about\"><summary>Columns</summary><dl>");
        any = true;
        buf_puts(html->out, "<div><dt>");
        html_text(html, table->column[c].head);
        buf_puts(html->out, "</dt><dd>");
        html_text(html, table->column[c].what);
        buf_puts(html->out, "</dd></div>");
    }
    buf_puts(html->out, any ? "</dl></details>\n" : "");
}

/* A box to tick for the columns that are left out where they do not fit. */
static void put_choice(Html *html, const ReportTable *table)
{
    int n = 0;

    for (int c = 0; c < table->n_columns; c++)
        n += table->column[c].more;
    if (n > 0)
        buf_printf(html->out,
                   "<input type=\"checkbox\" class=\"all\" id=\"%s-all\"/><label for=\"%s-all\">"
                   "all %d columns</label>\n",
                   table->id, table->id, table->n_columns);
}

void html_table(Html *html, const ReportTable *table)
{
    Buf *out = html->out;

    buf_puts(out, "<div><h3>");
    html_text(html, table->title);
    buf_puts(out, "</h3>\n");
    if (table->caption && *table->caption) {
        buf_puts(out, "<p class=\"says\">");
        html_text(html, table->caption);
        buf_puts(out, "</p>\n");
    }
    put_choice(html, table);
    buf_printf(out, "<div class=\"wide%s\" role=\"region\" tabindex=\"0\" aria-label=\"",
               table->high ? " high" : "");
    html_text(html, table->title);
    buf_printf(out, "\"><table id=\"%s\"><caption>", table->id);
    html_text(html, table->title);
    buf_puts(out, "</caption>\n");
    put_head(html, table);
    buf_puts(out, "<tbody>\n");
    for (int i = 0; i < table->rows.n; i++)
        put_row(html, table, i);
    buf_puts(out, "</tbody></table></div>\n");
    if (table->n_left_out > 0)
        buf_printf(out,
                   "<p class=\"says\">and %d rows more; <code>dimscope export --csv</code> writes "
                   "all of them</p>\n",
                   table->n_left_out);
    put_about(html, table);
    buf_puts(out, "</div>\n");
}
