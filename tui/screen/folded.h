/* folded.h - draws a text in lines that break at blanks. */
#ifndef TUI_SCREEN_FOLDED_H
#define TUI_SCREEN_FOLDED_H

#include "tui/screen/grid.h"

/* Starts at the pen; later lines begin in column `indent`. A word that is wider than the pen is cut
 * off. The pen stays on the last line. */
void pen_put_folded(Pen *pen, Style style, Str text, int indent);

#endif
