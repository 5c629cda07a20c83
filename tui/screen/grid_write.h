/* grid_write.h - writes a screen to a file: text with terminal colours, a drawing, or a page.
 *
 * Each run of cells with the same style is written once, in the theme's colour for a dark terminal
 * (ansi) or for white paper (svg, html; html follows the reader's dark mode). All text is escaped,
 * so no name in a model is read as markup.
 */
#ifndef TUI_SCREEN_GRID_WRITE_H
#define TUI_SCREEN_GRID_WRITE_H

#include "tui/screen/grid.h"
#include "tui/screen/theme.h"

void grid_write_ansi(const Grid *grid, const Theme *theme, Buf *out);
void grid_write_svg(const Grid *grid, const Theme *theme, Str title, Buf *out);
void grid_write_html(const Grid *grid, const Theme *theme, Str title, Buf *out);

#endif
