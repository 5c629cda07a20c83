/* draw_panes.h - draws the body of the screen: its panes, and the lines that each gets.
 *
 * While it is drawn, a view says how many lines it can use (List.wants). If its pane has more, and
 * the one above or below has fewer than its view wants, the border between them moves
 * (tui/app/panes.h) and both are drawn again.
 */
#ifndef TUI_APP_DRAW_PANES_H
#define TUI_APP_DRAW_PANES_H

#include "tui/app/app.h"

bool panes_show(const PaneLayout *layout, ShowId show);
void panes_lay_out(App *app, int h); /* sets app->layout from what is known of its views; h: rows */
void panes_draw(App *app, int h);

/* The shown rows of the view's list, as "12-30/486"; "" if all are shown. */
Str panes_position(const Ui *ui, ShowId show);

#endif
