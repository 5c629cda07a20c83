/* draw_panes.h - the body of the screen: its panes, and what lines each of them gets.
 *
 * A view says while it is drawn how many lines it has a use for (List.wants). Where its pane has
 * more, and the one above or below it fewer than that one wants, the border between them moves
 * (tui/app/panes.h) and both are drawn again.
 */
#ifndef TUI_APP_DRAW_PANES_H
#define TUI_APP_DRAW_PANES_H

#include "tui/app/app.h"

bool panes_show(const PaneLayout *layout, ShowId show);
void panes_lay_out(App *app, int h); /* app->layout, by what is known of its views; h: rows */
void panes_draw(App *app, int h);

/* Rows of the view's list that are shown, as "12-30/486"; "" where all are. */
Str panes_position(const Ui *ui, ShowId show);

#endif
