/* palette.h - an action found by a few letters: of its name first, of its help then.
 *
 * Letters match in order, with others between; what begins words and what stands together comes
 * first. Enter does the action, or opens the prompt where it needs an argument.
 */
#ifndef TUI_APP_PALETTE_H
#define TUI_APP_PALETTE_H

#include "tui/state/ui.h"

enum { PALETTE_TEXT_MAX = 60 };

typedef struct {
    bool open;
    char text[PALETTE_TEXT_MAX];
    int n, at;
    Rect items; /* where matches are on the screen, from the one numbered `top` on */
    int top;
    bool clicked; /* the cursor is where it is by a click */
} Palette;

void palette_open(Palette *palette);

/* Takes a key while it is open; what is chosen goes to Ui.run_next or Ui.ask_next. */
void palette_key(Ui *ui, Palette *palette, Key key);
/* The first click puts the cursor on a match, one on the match under the cursor chooses it; one
 * beside them closes the palette. */
void palette_click(Ui *ui, Palette *palette, int x, int y);
void palette_draw(Ui *ui, Palette *palette, Grid *grid, Rect area);

#endif
