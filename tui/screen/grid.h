/* grid.h - a screen as data: cells with a code point and a style, and a pen that is clipped.
 *
 * Views draw into a grid and nothing else, so a test prints what a user sees. A cell holds one code
 * point; one of width 2 is followed by a cell of width 0. Everything put into a cell is safe on a
 * terminal: control bytes and broken UTF-8 show as \xNN, characters without width as '?'. With
 * `ascii` each glyph is replaced by one of the same width (style.h), so the layout does not change.
 *
 * A pen draws only inside its area; text that would cross the right edge ends in an ellipsis, so
 * that a cut text never looks complete. Coordinates of a pen are relative to its area.
 */
#ifndef TUI_SCREEN_GRID_H
#define TUI_SCREEN_GRID_H

#include "core/base/span.h"
#include "tui/screen/style.h"
#include "core/base/text.h"

typedef struct {
    int x, y, w, h;
} Rect;

typedef struct {
    uint32_t rune;
    Style style;
    uint8_t width; /* 0: the right half of the cell before */
} Cell;

typedef struct {
    int w, h;
    bool ascii;
    int cursor_x, cursor_y; /* the hardware cursor: on the selected row or in the prompt */
    Cell *cells;            /* row-major, w*h */
} Grid;

typedef struct {
    Grid *grid;
    Rect area;
    int x, y;
} Pen;

Grid *grid_new(Arena *arena, int w, int h, bool ascii);
void grid_clear(Grid *grid);
void grid_blank(Grid *grid, Rect area);
void grid_mark(Grid *grid, Rect area, Style marks); /* adds marks to what is already drawn there */
/* Gives text of role ROLE_TEXT in the area another role; axes keep their colours. */
void grid_paint(Grid *grid, Rect area, Role role);
void grid_box(Grid *grid, Rect area, bool focused, const char *title);
void grid_rule(Grid *grid, Rect line, bool focused, const char *title); /* "── TITLE ────" */
void grid_format(const Grid *grid, Buf *out); /* lines without blanks at their end */
void grid_format_rows(const Grid *grid, int first, int n, Buf *out);
bool grid_row_is_blank(const Grid *grid, int y);

Rect rect_clip(Rect a, Rect b);
static inline bool rect_has(Rect area, int x, int y)
{
    return x >= area.x && x < area.x + area.w && y >= area.y && y < area.y + area.h;
}

Pen pen_new(Grid *grid, Rect area); /* at the area's corner, clipped to the grid */
void pen_to(Pen *pen, int x, int y);
void pen_tab(Pen *pen, int x);   /* to that column: blanks in between, never back */
void pen_line(Pen *pen);         /* to the start of the next line */
bool pen_full(const Pen *pen);   /* below its area */
void pen_cursor(const Pen *pen); /* the hardware cursor goes here */

void pen_rune(Pen *pen, Style style, uint32_t rune);
void pen_put(Pen *pen, Style style, Str text);
void pen_puts(Pen *pen, Style style, const char *text);
void pen_printf(Pen *pen, Style style, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Draws exactly that many columns: the text is cut at the right with an ellipsis, or padded.
 * pen_fit_tail keeps the end of the text; pen_fit_name cuts the name of a tensor or an op
 * (text_cut_name); pen_right aligns at the right. */
void pen_fit(Pen *pen, Style style, Str text, int columns);
void pen_fit_tail(Pen *pen, Style style, Str text, int columns);
void pen_fit_name(Pen *pen, Style style, Str name, int columns);
void pen_right(Pen *pen, Style style, Str text, int columns);

/* Draws a text with the names of mesh axes in their colours, as its marks say, and dim `dim`
 * underlined (-1: none). columns: as for pen_fit(); negative: as many as needed. */
void pen_text(Pen *pen, Text text, int dim, int columns);

/* A bar of `of` columns filled to part/whole in eighths. */
void pen_bar(Pen *pen, Style style, double part, double whole, int columns);

#endif
