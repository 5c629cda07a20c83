#include "core/base/table.h"

#include "core/base/error.h"
#include "core/base/vec.h"
#include "core/base/text.h"

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

/* A cell is one line whatever its text: a tensor's name may have line breaks. */
void table_cell(Table *table, Str text)
{
    for (size_t i = 0; i < text.n; i++)
        if ((unsigned char)text.s[i] < ' ') {
            Buf shown = buf_new(table->arena);
            text_printable(text, &shown);
            text = buf_str(&shown);
            break;
        }
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

void table_name(Table *table, int indent, Str name, int most)
{
    Buf text = buf_new(table->arena);
    buf_blanks(&text, indent);
    text_put_name(name, most - indent > 1 ? most - indent : 1, &text);
    table_cell(table, buf_str(&text));
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

static void add_cell(Str text, int width, bool right, Buf *out)
{
    Buf shown = buf_new(out->arena);
    if (text_columns(text) > width)
        buf_printf(&shown, "%.*s…", STR_ARG(text_head(text, width - 1)));
    else
        buf_add(&shown, text);
    int blanks = width - text_columns(buf_str(&shown));
    buf_blanks(out, right ? blanks : 0);
    buf_add(out, buf_str(&shown));
    buf_blanks(out, right ? 0 : blanks);
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
