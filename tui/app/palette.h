/* palette.h - finds an action by a few letters of its name or, with lower rank, of its help.
 *
 * Letters match in order, with gaps; matches at the beginning of words and contiguous matches come
 * first. Enter runs the action, or opens the prompt if it needs an argument.
 */
#ifndef TUI_APP_PALETTE_H
#define TUI_APP_PALETTE_H

#include "tui/state/ui.h"

enum { PALETTE_TEXT_MAX = 60 };

typedef struct {
    bool open;
    char text[PALETTE_TEXT_MAX];
    int n, at;
    Rect items; /* the area of the matches on the screen, from match `top` on */
    int top;
    bool clicked; /* the cursor was placed by a click */
} Palette;

void palette_open(Palette *palette);

/* Handles a key while it is open; the choice is stored in Ui.run_next or Ui.ask_next. */
void palette_key(Ui *ui, Palette *palette, Key key);
/* The first click moves the cursor to a match, a click on the match under the cursor chooses it; a
 * click elsewhere closes the palette. */
void palette_click(Ui *ui, Palette *palette, int x, int y);
void palette_draw(Ui *ui, Palette *palette, Grid *grid, Rect area);

#endif
