/* grid_write.h - a screen as a file: text with terminal colours, a drawing, a page.
 *
 * Each run of cells that look alike is written once, with the theme's colour for a dark terminal
 * (ansi) or for white paper (svg, html; html follows the reader's dark mode). All text is escaped:
 * a name of a model is text, whatever is in it.
 */
#ifndef TUI_SCREEN_GRID_WRITE_H
#define TUI_SCREEN_GRID_WRITE_H

#include "tui/screen/grid.h"
#include "tui/screen/theme.h"

void grid_write_ansi(const Grid *grid, const Theme *theme, Buf *out);
void grid_write_svg(const Grid *grid, const Theme *theme, Str title, Buf *out);
void grid_write_html(const Grid *grid, const Theme *theme, Str title, Buf *out);

#endif
