/* export_view.h - writes the shown view to a file.
 *
 *     svg html txt ansi     as it looks: all its rows, at the width of the screen, with the first
 *                           lines of the screen above and the marks explained below
 *     csv json md           as data, all its rows: where the view is a list (view.h, table)
 *
 * Drawings of the plan are `:` commands of another layer; the menu lists both. A file is written
 * under a temporary name and renamed.
 */
#ifndef TUI_APP_EXPORT_VIEW_H
#define TUI_APP_EXPORT_VIEW_H

#include "tui/app/app.h"

/* "FILE [KIND]": a kind as above, by default that of the file's ending; or a drawing's. */
bool export_view(App *app, Str args, Error *err);
void export_menu(App *app); /* into MODEL-VIEW.KIND in the current folder */

const char *export_kinds(const Ui *ui); /* names, blanks between; frame's */

#endif
