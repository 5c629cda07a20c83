#include "core/base/sheet_write.h"

#include <math.h>
#include <stdlib.h>

/* ---- csv ---- */

static void add_field(Str text, Buf *out)
{
    bool quote = text.n > 0 && (text.s[0] == ' ' || text.s[text.n - 1] == ' ');

    for (size_t i = 0; i < text.n; i++)
        quote = quote || strchr("\",\r\n", text.s[i]);
    if (!quote) {
        buf_add(out, text);
        return;
    }
    buf_putc(out, '"');
    for (size_t i = 0; i < text.n; i++) {
        if (text.s[i] == '"')
            buf_putc(out, '"');
        buf_putc(out, text.s[i]);
    }
    buf_putc(out, '"');
}

void sheet_write_csv(const Sheet *sheet, Buf *out)
{
    int n = sheet->columns.n;

    for (int c = 0; c < n; c++) {
        add_field(str_from(sheet->columns.at[c].name), out);
        buf_putc(out, c + 1 < n ? ',' : '\n');
    }
    for (int i = 0; i < sheet_rows(sheet) * n; i++) {
        add_field(sheet->cells.at[i], out);
        buf_putc(out, i % n + 1 < n ? ',' : '\n');
    }
}

/* ---- json ---- */

static Json *json_number(Arena *arena, Str cell)
{
    const char *text = arena_str(arena, cell);
    int64_t whole;
    char *end;

    if (str_to_int(cell, &whole))
        return json_from_int(whole);
    double value = strtod(text, &end);
    return end == text || *end || !isfinite(value) ? json_null() : json_from_real(value);
}

void sheet_put_json(const Sheet *sheet, Json *out)
{
    Json *columns = json_array(), *rows = json_array();
    Arena *scratch = arena_new();
    int n = sheet->columns.n;

    for (int c = 0; c < n; c++)
        json_add(columns, json_from_str(str_from(sheet->columns.at[c].name)));
    for (int r = 0; r < sheet_rows(sheet); r++) {
        Json *row = json_object();
        for (int c = 0; c < n; c++) {
            Str cell = sheet->cells.at[r * n + c];
            json_set(row, sheet->columns.at[c].name,
                     sheet->columns.at[c].number ? json_number(scratch, cell)
                                                 : json_from_str(cell));
        }
        json_add(rows, row);
    }
    json_set(out, "columns", columns);
    json_set(out, "rows", rows);
    arena_free(scratch);
}

void sheet_write_json(const Sheet *sheet, const char *view, Buf *out)
{
    Json *root = json_object();

    json_set_str(root, "schema", "dimscope.sheet");
    json_set_int(root, "version", SHEET_VERSION);
    json_set_str(root, "view", view);
    sheet_put_json(sheet, root);
    json_write(root, out);
    buf_putc(out, '\n');
    json_free(root);
}

/* ---- md ---- */

static void add_line(Str line, Buf *out)
{
    Buf safe = buf_new(out->arena);

    text_printable(line, &safe);
    for (size_t i = 0; i < safe.n; i++) {
        if (safe.s[i] == '<' || safe.s[i] == '&') {
            buf_puts(out, safe.s[i] == '<' ? "&lt;" : "&amp;");
            continue;
        }
        if (strchr("\\`*_[]|~#", safe.s[i]))
            buf_putc(out, '\\');
        buf_putc(out, safe.s[i]);
    }
}

static void add_cell(Str text, Buf *out)
{
    buf_putc(out, ' ');
    while (text.n > 0) {
        add_line(str_take(&text, '\n'), out);
        if (text.n > 0)
            buf_puts(out, "<br>");
    }
    buf_puts(out, " |");
}

void sheet_write_md(const Sheet *sheet, Buf *out)
{
    int n = sheet->columns.n;

    buf_putc(out, '|');
    for (int c = 0; c < n; c++)
        add_cell(str_from(sheet->columns.at[c].name), out);
    buf_puts(out, "\n|");
    for (int c = 0; c < n; c++)
        buf_puts(out, sheet->columns.at[c].number ? " ---: |" : " --- |");
    buf_putc(out, '\n');
    for (int r = 0; r < sheet_rows(sheet); r++) {
        buf_putc(out, '|');
        for (int c = 0; c < n; c++)
            add_cell(sheet->cells.at[r * n + c], out);
        buf_putc(out, '\n');
    }
}
