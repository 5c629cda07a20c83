#include "core/base/sheet.h"

#include <math.h>

void sheet_column(Sheet *sheet, const char *name, bool number)
{
    vec_push(sheet->arena, &sheet->columns, ((SheetColumn){name, number}));
}

void sheet_head(Sheet *sheet, const char *columns)
{
    for (Str rest = str_from(columns); rest.n > 0;) {
        Str name = str_take(&rest, ' ');
        bool number = str_ends(name, STR("#"));
        name.n -= number;
        sheet_column(sheet, arena_str(sheet->arena, name), number);
    }
}

void sheet_columns(Sheet *sheet, const SheetColumn *columns)
{
    for (; columns->name; columns++)
        sheet_column(sheet, columns->name, columns->number);
}

void sheet_put(Sheet *sheet, Str text)
{
    vec_push(sheet->arena, &sheet->cells, text);
}

/* Prints integers exactly, and other numbers without the last digits, which depend on the order of
 * a sum. */
void sheet_number(Sheet *sheet, double value)
{
    bool whole = value == floor(value) && fabs(value) < 0x1p63;

    sheet_put(sheet, str_from(whole ? arena_printf(sheet->arena, "%.0f", value)
                                    : arena_printf(sheet->arena, "%.12g", value)));
}

int sheet_rows(const Sheet *sheet)
{
    return sheet->columns.n > 0 ? sheet->cells.n / sheet->columns.n : 0;
}
