/* rows.h - drawing that views with a list of rows share. */
#ifndef TUI_VIEWS_ROWS_H
#define TUI_VIEWS_ROWS_H

#include "tui/state/ui.h"

/* Marks the cursor's row of the list in view `show`: reversed if the view has the focus. y is in
 * the pen's area. */
void rows_mark(const Ui *ui, ShowId show, const Pen *pen, int y);
/* Ends the pen's row: marks it if the cursor is on it, and goes to the next one. */
void rows_end(const Ui *ui, ShowId show, bool at_cursor, Pen *pen);

#endif
