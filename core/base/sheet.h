/* sheet.h - a view's table of values, for csv, json and md: all rows, not only those on the
 * screen.
 *
 *     sheet_head(sheet, "tensor total_us#");
 *     sheet_put(sheet, name); sheet_number(sheet, us);      row by row
 *
 * Columns have the names used in the JSON schema, where it has them; a column of numbers has its
 * unit in its name. Texts are complete, not shortened as on the screen.
 */
#ifndef CORE_BASE_SHEET_H
#define CORE_BASE_SHEET_H

#include "core/base/str.h"
#include "core/base/vec.h"

typedef struct {
    const char *name;
    bool number; /* its cells are JSON numbers */
} SheetColumn;

typedef struct {
    Arena *arena;
    Vec(SheetColumn) columns;
    Vec(Str) cells; /* row by row */
} Sheet;

void sheet_column(Sheet *sheet, const char *name, bool number);
void sheet_head(Sheet *sheet,
                const char *columns); /* "tensor total_us#": # marks a column of numbers */
void sheet_columns(Sheet *sheet, const SheetColumn *columns); /* ended by one without a name */
void sheet_put(Sheet *sheet, Str text);                       /* kept as a view */
void sheet_number(Sheet *sheet, double value);
int sheet_rows(const Sheet *sheet);

#endif
