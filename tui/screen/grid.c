#include "tui/screen/grid.h"

#include <stdio.h>

Grid *grid_new(Arena *arena, int w, int h, bool ascii)
{
    Grid *grid = arena_make(arena, Grid);
    *grid = (Grid){.w = w, .h = h, .ascii = ascii, .cells = arena_array(arena, Cell, w * h)};
    grid_clear(grid);
    return grid;
}

void grid_clear(Grid *grid)
{
    for (int i = 0; i < grid->w * grid->h; i++)
        grid->cells[i] = (Cell){' ', ROLE_TEXT, 1};
    grid->cursor_x = 0;
    grid->cursor_y = 0;
}

Rect rect_clip(Rect a, Rect b)
{
    int right = a.x + a.w < b.x + b.w ? a.x + a.w : b.x + b.w;
    int below = a.y + a.h < b.y + b.h ? a.y + a.h : b.y + b.h;
    Rect both = {a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y, 0, 0};

    both.w = right > both.x ? right - both.x : 0;
    both.h = below > both.y ? below - both.y : 0;
    return both;
}

/* In reverse a coloured blank after its text would be a block, and a block of a bar a blank. */
static Style marked(const Cell *cell, const Cell *next, Style marks)
{
    bool coloured = style_role(cell->style) != ROLE_TEXT;

    if (!(marks & STYLE_SELECTED) || !coloured)
        return cell->style | marks;
    if (cell->rune == ' ' && (!next || next->rune == ' ' || next->style != cell->style))
        return (Style)((cell->style & STYLE_MARKS) | ROLE_TEXT | marks);
    bool block = cell->rune >= 0x2580 && cell->rune <= 0x2593;
    return block ? cell->style : (Style)(cell->style | marks);
}

void grid_mark(Grid *grid, Rect area, Style marks)
{
    Rect clip = rect_clip(area, (Rect){0, 0, grid->w, grid->h});

    for (int y = clip.y; y < clip.y + clip.h; y++) {
        for (int x = clip.x; x < clip.x + clip.w; x++) {
            Cell *cell = &grid->cells[y * grid->w + x];
            cell->style = marked(cell, x + 1 < clip.x + clip.w ? cell + 1 : NULL, marks);
        }
    }
}

void grid_paint(Grid *grid, Rect area, Role role)
{
    Rect clip = rect_clip(area, (Rect){0, 0, grid->w, grid->h});

    for (int y = clip.y; y < clip.y + clip.h; y++) {
        for (int x = clip.x; x < clip.x + clip.w; x++) {
            Style *style = &grid->cells[y * grid->w + x].style;
            if (style_role(*style) == ROLE_TEXT)
                *style = (Style)((*style & STYLE_MARKS) | (unsigned)role);
        }
    }
}

/* Puts one code point of known width; the halves of wide ones it covers become blanks. */
static void put_cell(Grid *grid, int x, int y, Style style, uint32_t rune, int width)
{
    Cell *cell = &grid->cells[y * grid->w + x];

    if (cell->width == 0 && x > 0)
        cell[-1] = (Cell){' ', cell[-1].style, 1};
    if (x + width < grid->w && cell[width].width == 0)
        cell[width] = (Cell){' ', cell[width].style, 1};
    *cell = (Cell){rune, style, (uint8_t)width};
    if (width == 2)
        cell[1] = (Cell){0, style, 0};
}

void grid_box(Grid *grid, Rect area, bool focused, const char *title)
{
    static const uint32_t thin[] = {0x250c, 0x2510, 0x2514, 0x2518, 0x2500, 0x2502};
    static const uint32_t thick[] = {0x2554, 0x2557, 0x255a, 0x255d, 0x2550, 0x2551};
    const uint32_t *line = focused ? thick : thin;
    Style style = focused ? ROLE_FOCUS : ROLE_FRAME;
    Pen pen = pen_new(grid, area);

    for (int y = 0; y < area.h; y++) {
        bool edge = y == 0 || y == area.h - 1;
        pen_to(&pen, 0, y);
        pen_rune(&pen, style, edge ? line[y ? 2 : 0] : line[5]);
        for (int x = 1; edge && x < area.w - 1; x++)
            pen_rune(&pen, style, line[4]);
        pen_to(&pen, area.w - 1, y);
        pen_rune(&pen, style, edge ? line[y ? 3 : 1] : line[5]);
    }
    if (area.w < 6)
        return;
    Pen head = pen_new(grid, (Rect){area.x + 2, area.y, area.w - 4, 1});
    pen_puts(&head, focused ? ROLE_FOCUS : ROLE_HEAD, " ");
    pen_puts(&head, focused ? ROLE_FOCUS : ROLE_HEAD, title);
    pen_puts(&head, focused ? ROLE_FOCUS : ROLE_HEAD, " ");
}

void grid_rule(Grid *grid, Rect line, bool focused, const char *title)
{
    Style style = focused ? ROLE_FOCUS : ROLE_FRAME;
    Pen pen = pen_new(grid, line);

    pen_puts(&pen, style, focused ? "══ " : "── ");
    pen_puts(&pen, focused ? ROLE_FOCUS : ROLE_HEAD, title);
    pen_rune(&pen, style, ' ');
    while (pen.x < line.w)
        pen_rune(&pen, style, focused ? 0x2550 : 0x2500);
}

void grid_blank(Grid *grid, Rect area)
{
    Pen pen = pen_new(grid, area);

    for (int y = 0; y < pen.area.h; y++) {
        pen_to(&pen, 0, y);
        pen_tab(&pen, pen.area.w);
    }
}

/* Columns down to the last one that is not blank. */
static int used_columns(const Grid *grid, int y)
{
    const Cell *row = grid->cells + (ptrdiff_t)y * grid->w;
    int n = grid->w;

    while (n > 0 && row[n - 1].rune == ' ')
        n--;
    return n;
}

bool grid_row_is_blank(const Grid *grid, int y)
{
    return used_columns(grid, y) == 0;
}

void grid_format(const Grid *grid, Buf *out)
{
    grid_format_rows(grid, 0, grid->h, out);
}

void grid_format_rows(const Grid *grid, int first, int n_rows, Buf *out)
{
    for (int y = first; y < first + n_rows && y < grid->h; y++) {
        const Cell *row = grid->cells + (ptrdiff_t)y * grid->w;
        int n = used_columns(grid, y);
        for (int x = 0; x < n; x++)
            if (row[x].width > 0)
                buf_put_rune(out, row[x].rune);
        buf_putc(out, '\n');
    }
}

Pen pen_new(Grid *grid, Rect area)
{
    return (Pen){grid, rect_clip(area, (Rect){0, 0, grid->w, grid->h}), 0, 0};
}

void pen_to(Pen *pen, int x, int y)
{
    pen->x = x;
    pen->y = y;
}

void pen_tab(Pen *pen, int x)
{
    while (pen->x < x)
        pen_rune(pen, ROLE_TEXT, ' ');
}

void pen_line(Pen *pen)
{
    pen->x = 0;
    pen->y++;
}

bool pen_full(const Pen *pen)
{
    return pen->y >= pen->area.h;
}

void pen_cursor(const Pen *pen)
{
    int x = pen->x < pen->area.w ? pen->x : pen->area.w - 1;

    if (pen->area.w <= 0 || pen->y < 0 || pen->y >= pen->area.h)
        return;
    pen->grid->cursor_x = pen->area.x + (x < 0 ? 0 : x);
    pen->grid->cursor_y = pen->area.y + pen->y;
}

/* The last cell of the line says that there was more. */
static void mark_cut(const Pen *pen)
{
    int x = pen->area.x + pen->area.w - 1, y = pen->area.y + pen->y;
    uint32_t mark = 0x2026; /* … */

    if (pen->area.w > 0)
        put_cell(pen->grid, x, y, pen->grid->cells[y * pen->grid->w + x].style,
                 pen->grid->ascii ? (unsigned char)style_ascii(mark) : mark, 1);
}

void pen_rune(Pen *pen, Style style, uint32_t rune)
{
    int width = rune_width(rune);

    if (width == 0) {
        rune = '?';
        width = 1;
    }
    if (pen->grid->ascii) {
        uint32_t plain = (unsigned char)style_ascii(rune);
        if (width == 2)
            pen_rune(pen, style, plain);
        rune = plain;
        width = 1;
    }
    int x = pen->x;
    pen->x += width;
    if (pen->y < 0 || pen->y >= pen->area.h || x < 0)
        return;
    if (x + width > pen->area.w) {
        if (rune != ' ')
            mark_cut(pen);
        return;
    }
    put_cell(pen->grid, pen->area.x + x, pen->area.y + pen->y, style, rune, width);
}

void pen_put(Pen *pen, Style style, Str text)
{
    for (size_t at = 0, n; at < text.n; at += n) {
        uint32_t rune;
        if (text_rune((Str){text.s + at, text.n - at}, &rune, &n)) {
            pen_rune(pen, style, rune);
            continue;
        }
        char code[8];
        int n_code = snprintf(code, sizeof code, "\\x%02x", (unsigned char)text.s[at]);
        for (int i = 0; i < n_code; i++)
            pen_rune(pen, style, (unsigned char)code[i]);
    }
}

void pen_puts(Pen *pen, Style style, const char *text)
{
    pen_put(pen, style, str_from(text));
}

void pen_printf(Pen *pen, Style style, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pen_puts(pen, style, text);
}

void pen_fit(Pen *pen, Style style, Str text, int columns)
{
    int end = pen->x + columns;

    if (columns <= 0)
        return;
    if (text_columns(text) <= columns) {
        pen_put(pen, style, text);
    } else {
        pen_put(pen, style, text_head(text, columns - 1));
        pen_rune(pen, style, 0x2026);
    }
    pen_tab(pen, end);
}

void pen_fit_tail(Pen *pen, Style style, Str text, int columns)
{
    int end = pen->x + columns;

    if (columns <= 0)
        return;
    if (text_columns(text) > columns) {
        pen_rune(pen, style, 0x2026);
        text = text_tail(text, columns - 1);
    }
    pen_put(pen, style, text);
    pen_tab(pen, end);
}

void pen_fit_name(Pen *pen, Style style, Str name, int columns)
{
    int end = pen->x + columns;
    Str head, tail;

    if (columns <= 0)
        return;
    bool cut = text_cut_name(name, columns, &head, &tail);
    pen_put(pen, style, head);
    if (cut)
        pen_rune(pen, style, 0x2026);
    pen_put(pen, style, tail);
    pen_tab(pen, end);
}

void pen_right(Pen *pen, Style style, Str text, int columns)
{
    int room = columns - text_columns(text);

    if (room < 0) {
        pen_fit(pen, style, text, columns);
        return;
    }
    pen_tab(pen, pen->x + room);
    pen_put(pen, style, text);
}

static void put_runs(Pen *pen, Text text, int dim)
{
    TextRun run;

    while (text_take_run(&text, &run)) {
        Style style = run.axis < 0 ? ROLE_TEXT : style_axis(run.axis);
        if (dim >= 0 && run.dim == dim)
            style |= STYLE_UNDERLINE;
        pen_put(pen, style, run.str);
    }
}

void pen_text(Pen *pen, Text text, int dim, int columns)
{
    int end = pen->x + columns;

    if (columns < 0) {
        put_runs(pen, text, dim);
        return;
    }
    Pen inner = *pen;
    if (inner.area.w > end)
        inner.area.w = end;
    put_runs(&inner, text, dim);
    pen->x = inner.x < end ? inner.x : end;
    if (inner.x > end && columns > 0) {
        pen->x = end - 1;
        pen_rune(pen, ROLE_TEXT, 0x2026);
    }
    pen_tab(pen, end);
}

void pen_bar(Pen *pen, Style style, double part, double whole, int columns)
{
    static const uint32_t eighth[] = {' ', 0x258f, 0x258e, 0x258d, 0x258c, 0x258b, 0x258a, 0x2589};
    double share = whole > 0 && part > 0 ? part / whole : 0;
    int eighths = (int)((share > 1 ? 1 : share) * columns * 8 + 0.5);

    for (int i = 0; i < columns; i++, eighths -= 8)
        pen_rune(pen, style, eighths >= 8 ? 0x2588 : eighth[eighths < 0 ? 0 : eighths]);
}
