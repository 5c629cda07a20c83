/* menu.h - a choice among things, which views/menu_box.h draws over the lower part of the screen.
 *
 * Items have columns, which are aligned; where there is no room the last ones are left out. More
 * items than lines scroll. Every item with a key is chosen by it, the others by moving and Enter.
 */
#ifndef TUI_STATE_MENU_H
#define TUI_STATE_MENU_H

#include "tui/state/ui.h"

/* Empties the menu and opens it. */
void menu_open(Ui *ui, const char *title, void (*chosen)(Ui *ui, int value));

/* The headings of the columns of texts: "TO\t STEP\t COMM". */
void menu_head(Ui *ui, const char *head);

/* The first letter of an axis where only it has it and it is not among `taken`; else 0. */
char menu_axis_key(const Mesh *mesh, int axis, const char *taken);

/* key 0: the place's digit, from 1, then letters as long as there are any. */
void menu_add(Ui *ui, char key, Str text, int value);
void menu_note(Ui *ui, Str note); /* of the item that was added last */

/* Takes a key while the menu is open: an item's, moves, Enter; all else closes it. */
void menu_key(Ui *ui, Key key);

#endif
