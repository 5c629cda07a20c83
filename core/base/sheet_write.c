#include "core/base/sheet_write.h"

#include "core/base/json.h"

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

/* Whether no byte of a string needs an escape. */
static bool is_plain(Str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (text.s[i] < 0x20 || text.s[i] > 0x7e || text.s[i] == '"' || text.s[i] == '\\')
            return false;
    return true;
}

/* Whether JSON would print the number in the same way: "-12", "0.5", and few enough digits to
 * survive a round trip. */
static bool is_plain_number(Str text)
{
    enum { DIGITS = 15 };
    size_t i = text.n > 0 && text.s[0] == '-', begin = i, points = 0;

    if (i + 1 < text.n && text.s[i] == '0' && text.s[i + 1] != '.')
        return false;
    for (; i < text.n && (is_digit(text.s[i]) || (text.s[i] == '.' && i > begin)); i++)
        points += text.s[i] == '.';
    return i == text.n && i > begin && i - begin <= DIGITS && points <= 1 &&
           is_digit(text.s[i - 1]);
}

static void add_json(Json *value, Buf *out)
{
    json_write(value, out);
    json_free(value);
}

static void add_json_text(Str text, Buf *out)
{
    if (!is_plain(text)) {
        add_json(json_from_str(text), out);
        return;
    }
    buf_putc(out, '"');
    buf_add(out, text);
    buf_putc(out, '"');
}

static void add_json_number(Str cell, Buf *out)
{
    int64_t whole;
    char *end;

    if (is_plain_number(cell)) {
        buf_add(out, cell);
        return;
    }
    if (str_to_int(cell, &whole)) {
        add_json(json_from_int(whole), out);
        return;
    }
    Arena *scratch = arena_new();
    const char *text = arena_str(scratch, cell);
    double value = strtod(text, &end);
    add_json(end == text || *end || !isfinite(value) ? json_null() : json_from_real(value), out);
    arena_free(scratch);
}

void sheet_write_json_rows(const Sheet *sheet, Buf *out)
{
    int n = sheet->columns.n;

    buf_puts(out, "\"columns\":[");
    for (int c = 0; c < n; c++) {
        buf_puts(out, c > 0 ? "," : "");
        add_json_text(str_from(sheet->columns.at[c].name), out);
    }
    buf_puts(out, "],\"rows\":[");
    for (int i = 0; i < sheet_rows(sheet) * n; i++) {
        buf_puts(out, i % n > 0 ? "," : i > 0 ? ",{" : "{");
        add_json_text(str_from(sheet->columns.at[i % n].name), out);
        buf_putc(out, ':');
        if (sheet->columns.at[i % n].number)
            add_json_number(sheet->cells.at[i], out);
        else
            add_json_text(sheet->cells.at[i], out);
        buf_puts(out, i % n + 1 == n ? "}" : "");
    }
    buf_putc(out, ']');
}

void sheet_write_json(const Sheet *sheet, const char *view, Buf *out)
{
    buf_printf(out, "{\"schema\":\"dimscope.sheet\",\"version\":%d,\"view\":", SHEET_VERSION);
    add_json_text(str_from(view), out);
    buf_putc(out, ',');
    sheet_write_json_rows(sheet, out);
    buf_puts(out, "}\n");
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
