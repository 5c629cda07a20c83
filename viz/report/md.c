/* md.c - the report as GitHub's Markdown: what a reviewer needs, on a few screens. */
#include "viz/report/page.h"

#include "viz/escape.h"
#include "viz/report/report.h"

#include <math.h>

enum { CELL_MOST = 90, LINE_MOST = 200, LINES_MOST = 60 };

/* ---- texts ---- */

/* Escapes all markup, inside or outside of a table. */
static void put_escaped(Str plain, Buf *out)
{
    for (size_t i = 0; i < plain.n; i++) {
        char c = plain.s[i];
        if (c == '<' || c == '>' || c == '&') {
            buf_puts(out, c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&amp;");
            continue;
        }
        if (strchr("\\`*_[]|~#$", c))
            buf_putc(out, '\\');
        buf_putc(out, c);
    }
}

/* Returns whether a code span shows the text unchanged. */
static bool fits_code(Str plain)
{
    for (size_t i = 0; i < plain.n; i++)
        if (plain.s[i] == '`' || plain.s[i] == '\\')
            return false;
    return plain.n > 0;
}

/* In a table `|` ends the cell, even in a code span. */
static void put_code(Str plain, Buf *out)
{
    buf_putc(out, '`');
    for (size_t i = 0; i < plain.n; i++) {
        if (plain.s[i] == '|')
            buf_putc(out, '\\');
        buf_putc(out, plain.s[i]);
    }
    buf_putc(out, '`');
}

/* A text in one line; lines of a cell are separated by breaks. */
static void put_text(const char *text, bool code, int limit, Buf *out)
{
    Str rest = str_from(text);

    while (rest.n > 0) {
        Buf plain = buf_new(out->arena);
        escape_plain(str_trim(str_take(&rest, '\n')), limit, &plain);
        if (code && fits_code(buf_str(&plain)))
            put_code(buf_str(&plain), out);
        else
            put_escaped(buf_str(&plain), out);
        if (rest.n > 0)
            buf_puts(out, "<br>");
    }
}

/* ---- tables ---- */

static bool is_right(ReportLook look)
{
    return look == LOOK_NUMBER || look == LOOK_SHARE;
}

static void put_row(const ReportTable *table, int at, Buf *out)
{
    buf_putc(out, '|');
    for (int c = 0; c < table->n_columns; c++) {
        const ReportColumn *column = &table->column[c];
        if (column->page_only)
            continue;
        buf_putc(out, ' ');
        put_text(table->cells.at[at * table->n_columns + c].text.str.s,
                 column->look == LOOK_NAME || column->look == LOOK_SHARDING,
                 column->look == LOOK_TEXT ? LINE_MOST : CELL_MOST, out);
        buf_puts(out, " |");
    }
    buf_putc(out, '\n');
}

static void put_heads(const ReportTable *table, Buf *out)
{
    buf_putc(out, '|');
    for (int c = 0; c < table->n_columns; c++)
        if (!table->column[c].page_only) {
            buf_putc(out, ' ');
            put_text(table->column[c].head, false, CELL_MOST, out);
            buf_puts(out, " |");
        }
    buf_puts(out, "\n|");
    for (int c = 0; c < table->n_columns; c++)
        if (!table->column[c].page_only)
            buf_puts(out, is_right(table->column[c].look) ? " ---: |" : " --- |");
    buf_putc(out, '\n');
}

static void put_table(const ReportTable *table, Buf *out)
{
    int n = table->rows.n, most = table->md_rows > 0 && table->md_rows < n ? table->md_rows : n;

    if (table->page_only)
        return;
    buf_puts(out, "**");
    put_text(table->title, false, CELL_MOST, out);
    buf_puts(out, "**");
    if (table->caption && *table->caption) {
        buf_puts(out, "  \n");
        put_text(table->caption, false, LINE_MOST, out);
    }
    buf_puts(out, "\n\n");
    put_heads(table, out);
    for (int i = 0; i < most; i++)
        put_row(table, i, out);
    if (n + table->n_left_out > most)
        buf_printf(out, "\nand %d rows more\n", n + table->n_left_out - most);
    buf_putc(out, '\n');
}

/* ---- the rest ---- */

/* Figures side by side: names, values, notes. */
static void put_figures(const ReportBlock *block, Buf *out)
{
    for (int line = 0; line < 4; line++) {
        buf_putc(out, '|');
        for (int i = 0; i < block->facts.n; i++) {
            const ReportFact *fact = &block->facts.at[i];
            const char *text = line == 0 ? fact->name : line == 2 ? fact->value : fact->caption;
            if (line == 1) {
                buf_puts(out, " ---: |");
                continue;
            }
            buf_puts(out, line == 2 ? " **" : " ");
            put_text(text ? text : "", false, CELL_MOST, out);
            buf_puts(out, line == 2 ? "** |" : " |");
        }
        buf_putc(out, '\n');
    }
    buf_putc(out, '\n');
}

static void put_facts(const ReportBlock *block, Buf *out)
{
    for (int i = 0; i < block->facts.n; i++) {
        buf_puts(out, "- ");
        put_text(block->facts.at[i].name, false, CELL_MOST, out);
        buf_puts(out, ": ");
        put_text(block->facts.at[i].value, true, LINE_MOST, out);
        buf_putc(out, '\n');
    }
    buf_putc(out, '\n');
}

/* "parameters 378.8 MiB (32.2%), activations .." */
static void put_parts(const ReportBlock *block, Buf *out)
{
    double whole = 0;

    for (int i = 0; i < block->parts.n; i++)
        whole += block->parts.at[i].number;
    put_text(block->title, false, LINE_MOST, out);
    for (int i = 0; i < block->parts.n; i++) {
        const ReportPart *part = &block->parts.at[i];
        buf_printf(out, "%s%s %s (%.1f%%)", i > 0 ? ", " : ": ", part->name, part->text,
                   whole > 0 ? 100 * part->number / whole : 0);
    }
    buf_puts(out, "\n\n");
}

/* Indented, so that no text can end the block. */
static void put_lines(const ReportBlock *block, Buf *out)
{
    Str rest = str_from(block->text);

    buf_puts(out, "<details><summary>");
    escape_markup(str_from(block->title), LINE_MOST, out);
    buf_puts(out, "</summary>\n\n");
    for (int i = 0; rest.n > 0 && i < LINES_MOST; i++) {
        buf_puts(out, "    ");
        escape_plain(str_take(&rest, '\n'), LINE_MOST, out);
        buf_putc(out, '\n');
    }
    buf_puts(out, rest.n > 0 ? "    ..\n\n</details>\n\n" : "\n</details>\n\n");
}

static void put_sentence(const char *mark, const char *text, Buf *out)
{
    buf_puts(out, mark);
    put_text(text, false, 10 * LINE_MOST, out);
    buf_puts(out, "\n\n");
}

static void put_block(const ReportBlock *block, Buf *out)
{
    if (block->page_only)
        return;
    switch (block->kind) {
    case BLOCK_SECTION:
        put_sentence("## ", block->title, out);
        return;
    case BLOCK_FACTS:
        put_facts(block, out);
        return;
    case BLOCK_FIGURES:
        put_figures(block, out);
        return;
    case BLOCK_SENTENCE:
        put_sentence("", block->text, out);
        return;
    case BLOCK_ALARM:
        put_sentence("> [!WARNING]\n> ", block->text, out);
        return;
    case BLOCK_LINES:
        put_lines(block, out);
        return;
    case BLOCK_TABLE:
        put_table(block->table, out);
        return;
    case BLOCK_BAR:
        put_parts(block, out);
        return;
    case BLOCK_FLOWCHART:
        buf_printf(out, "```mermaid\n%s```\n\n", block->text);
        return;
    case BLOCK_CURVE:
    case BLOCK_DRAWING:
        return;
    }
}

bool report_md(const ExportRequest *request, Buf *out, ExportNotes *notes, Error *err)
{
    Page *page = page_make(out->arena, request, false, notes, err);

    if (!page)
        return false;
    buf_puts(out, "# How ");
    put_text(page->title, true, CELL_MOST, out);
    buf_puts(out, " is sharded\n\n");
    for (int i = 0; i < page->blocks.n; i++)
        put_block(page->blocks.at[i], out);
    while (out->n > 1 && out->s[out->n - 2] == '\n')
        out->s[--out->n] = '\0';
    comm_free(page->comm);
    return true;
}
