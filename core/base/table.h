/* table.h - a text table: each column is as wide as its cells need, up to a limit.
 *
 *     Table *table = table_new(arena, (const TableColumn[]){{"NAME", 30}, {"TIME", -9}}, 2);
 *     table_cell(table, STR("c_fc")); table_cell(table, STR("12.0 us"));
 *     table_format(table, "  ", out);
 *
 * Cells are given row by row. A cell that is too wide is cut and ends in an ellipsis; table_name()
 * keeps the end of a name instead, since the end tells more.
 */
#ifndef CORE_BASE_TABLE_H
#define CORE_BASE_TABLE_H

#include "core/base/str.h"

typedef struct {
    const char *heading; /* NULL in all columns: a table without headings */
    int most;            /* widest, in screen columns; negative: right-aligned; 0: no limit */
} TableColumn;

typedef struct Table Table;

Table *table_new(Arena *arena, const TableColumn *columns, int n);
void table_cell(Table *table, Str text); /* kept as a view */
void table_printf(Table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_name(Table *table, int indent, Str name, int most); /* the name after `indent` blanks */

/* Appends one line per row, each after `indent`, without blanks at the end. */
void table_format(const Table *table, const char *indent, Buf *out);

#endif
