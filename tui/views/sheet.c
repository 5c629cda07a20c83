#include "tui/views/sheet.h"

void sheet_column(Sheet *sheet, const char *name, bool number)
{
    vec_push(sheet->arena, &sheet->columns, ((SheetColumn){name, number}));
}

void sheet_put(Sheet *sheet, Str text)
{
    vec_push(sheet->arena, &sheet->cells, text);
}

void sheet_number(Sheet *sheet, double value)
{
    sheet_put(sheet, str_from(arena_printf(sheet->arena, "%.17g", value)));
}

int sheet_rows(const Sheet *sheet)
{
    return sheet->columns.n > 0 ? sheet->cells.n / sheet->columns.n : 0;
}
