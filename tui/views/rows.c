#include "tui/views/rows.h"

void rows_mark(const Ui *ui, ShowId show, const Pen *pen, int y)
{
    Pen at = *pen;

    pen_to(&at, 0, y);
    if (ui->at.show == show && !ui->menu.open) {
        grid_mark(pen->grid, (Rect){pen->area.x, pen->area.y + y, pen->area.w, y < pen->area.h},
                  STYLE_SELECTED);
        pen_cursor(&at);
    }
    pen_rune(&at, (Style)(ROLE_TEXT | (ui->at.show == show ? STYLE_SELECTED : 0)), '>');
}

void rows_end(const Ui *ui, ShowId show, bool at_cursor, Pen *pen)
{
    if (at_cursor)
        rows_mark(ui, show, pen, pen->y);
    pen_line(pen);
}
