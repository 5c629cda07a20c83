/* menu_box.h - draws the open menu as a box at the lower end of the body. */
#ifndef TUI_VIEWS_MENU_BOX_H
#define TUI_VIEWS_MENU_BOX_H

#include "tui/state/ui.h"

void menu_draw(Ui *ui, Grid *grid, Rect body);

#endif
