#include "tui/table.h"

#include "core/base/vec.h"
#include "tui/grid.h"

#include <stdlib.h>

struct Table {
    Arena *arena;
    const TableColumn *columns;
    int n;
    Vec(Str) cells;
};

Table *table_new(Arena *arena, const TableColumn *columns, int n)
{
    Table *table = arena_make(arena, Table);
    TableColumn *own = arena_array(arena, TableColumn, n);
    memcpy(own, columns, (size_t)n * sizeof *own);
    *table = (Table){.arena = arena, .columns = own, .n = n};
    if (own[0].heading)
        for (int c = 0; c < n; c++)
            table_cell(table, str_from(own[c].heading));
    return table;
}

void table_cell(Table *table, Str text)
{
    vec_push(table->arena, &table->cells, text);
}

void table_printf(Table *table, const char *format, ...)
{
    Buf text = buf_new(table->arena);
    va_list args;
    va_start(args, format);
    buf_vprintf(&text, format, args);
    va_end(args);
    table_cell(table, buf_str(&text));
}

int table_n_rows(const Table *table)
{
    return table->cells.n / table->n - (table->columns[0].heading ? 1 : 0);
}

static int column_width(const Table *table, int column)
{
    int width = 0, most = abs(table->columns[column].most);
    for (int i = column; i < table->cells.n; i += table->n) {
        int columns = text_columns(table->cells.at[i]);
        width = columns > width ? columns : width;
    }
    return most && width > most ? most : width;
}

/* The end of text that fits behind an ellipsis; a character has at most 4 bytes. */
static Str tail(Str text, int width)
{
    size_t most = (size_t)width * 4;
    if (text.n > most)
        text = (Str){text.s + text.n - most, most};
    while (text.n > 0 && text_columns(text) >= width) {
        do
            text = (Str){text.s + 1, text.n - 1};
        while (text.n > 0 && ((unsigned char)text.s[0] & 0xC0) == 0x80);
    }
    return text;
}

static void add_cell(Str text, int width, bool right, Buf *out)
{
    int columns = text_columns(text);
    bool fits = columns <= width;
    Str shown = fits ? text : tail(text, width);
    int blanks = fits ? width - columns : width - 1 - text_columns(shown);
    for (int i = 0; right && i < blanks; i++)
        buf_putc(out, ' ');
    buf_puts(out, fits ? "" : "…");
    buf_add(out, shown);
    for (int i = 0; !right && i < blanks; i++)
        buf_putc(out, ' ');
}

void table_format(const Table *table, const char *indent, Buf *out)
{
    int *width = arena_array(out->arena, int, table->n);
    for (int c = 0; c < table->n; c++)
        width[c] = column_width(table, c);
    for (int i = 0; i + table->n <= table->cells.n; i += table->n) {
        buf_puts(out, indent);
        for (int c = 0; c < table->n; c++) {
            buf_puts(out, c > 0 ? "  " : "");
            add_cell(table->cells.at[i + c], width[c], table->columns[c].most < 0, out);
        }
        while (out->n > 0 && out->s[out->n - 1] == ' ')
            out->s[--out->n] = '\0';
        buf_putc(out, '\n');
    }
}
