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
} Palette;

void palette_open(Palette *palette);

/* Takes a key while it is open; what is chosen goes to Ui.run_next or Ui.ask_next. */
void palette_key(Ui *ui, Palette *palette, Key key);
void palette_draw(Ui *ui, const Palette *palette, Grid *grid, Rect area);

#endif
