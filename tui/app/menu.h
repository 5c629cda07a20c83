/* menu.h - a choice among a few things, drawn as a box over the lower part of the screen. */
#ifndef TUI_APP_MENU_H
#define TUI_APP_MENU_H

#include "tui/app/ui.h"

/* Empties the menu and opens it. */
void menu_open(Ui *ui, const char *title, void (*chosen)(Ui *ui, int value));

/* key 0: the place's digit, from 1. */
void menu_add(Ui *ui, char key, Str text, int value);

/* Takes a key while the menu is open: an item's, moves, Enter; all else closes it. */
void menu_key(Ui *ui, Key key);
void menu_draw(const Ui *ui, Grid *grid, Rect body);

#endif
