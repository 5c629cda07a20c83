/* table.h - rows of cells as text: columns as wide as they must be, at most as wide as they may.
 *
 *     Table *table = table_new(arena, (const TableColumn[]){{"NAME", 30}, {"TIME", -9}}, 2);
 *     table_cell(table, STR("c_fc")); table_cell(table, STR("12.0 us"));
 *     table_format(table, "  ", out);
 *
 * Cells are given row by row. A cell that is too wide is cut and ends in an ellipsis; of a name,
 * whose end says more, table_name() keeps the end.
 */
#ifndef CORE_BASE_TABLE_H
#define CORE_BASE_TABLE_H

#include "core/base/str.h"

typedef struct {
    const char *heading; /* NULL in all columns: a table without headings */
    int most;            /* columns of the screen; negative: to the right; 0: no limit */
} TableColumn;

typedef struct Table Table;

Table *table_new(Arena *arena, const TableColumn *columns, int n);
void table_cell(Table *table, Str text); /* kept as a view */
void table_printf(Table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_name(Table *table, int indent, Str name, int most); /* behind so many blanks */

/* One line a row, each after `indent`; blanks at the end of a line are left out. */
void table_format(const Table *table, const char *indent, Buf *out);

#endif
