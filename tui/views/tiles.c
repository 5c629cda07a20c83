#include "tui/views/tiles.h"

enum { FULL_MOST = 26, SCREENS_MOST = 8 };

typedef struct {
    int width;
    bool framed;
} Size;

/* ORDER TILE_FORM */
static const Size sizes[] = {{12, true}, {8, true}, {5, false}, {3, false}, {1, false}};

Tiles tiles_in_form(TileForm form, int64_t n_rows, int64_t n_columns, int lines)
{
    return (Tiles){.form = form,
                   .width = sizes[form].width,
                   .lines = form == TILE_FULL ? lines : 1,
                   .framed = sizes[form].framed,
                   .ruled = form == TILE_FULL,
                   .rows = n_rows,
                   .columns = n_columns,
                   .block_h = 1,
                   .block_w = 1};
}

int64_t tiles_width(const Tiles *tiles)
{
    return tiles->columns * (tiles->width + tiles->framed) + tiles->framed;
}

int64_t tiles_height(const Tiles *tiles, int64_t rows)
{
    return rows * tiles->lines + (tiles->ruled ? rows + 1 : tiles->framed ? 2 : 0);
}

static int64_t divide_up(int64_t n, int64_t by)
{
    return (n + by - 1) / by;
}

/* A cell for a block of rows, and of columns where one column for each is too much. */
static void make_blocks(Tiles *tiles, int w, int h)
{
    if (tiles->columns > w / tiles->width) {
        tiles->block_w = divide_up(tiles->columns, w / tiles->width);
        tiles->columns = divide_up(tiles->columns, tiles->block_w);
    }
    if (tiles->rows / SCREENS_MOST > h) {
        tiles->block_h = divide_up(tiles->rows, h);
        tiles->rows = divide_up(tiles->rows, tiles->block_h);
    }
}

Tiles tiles_fit(int64_t n_rows, int64_t n_columns, int lines, int w, int h)
{
    Tiles tiles = {0};
    bool fits = false;

    w = w > 1 ? w : 1;
    h = h > 1 ? h : 1;
    for (TileForm form = TILE_FULL; form <= TILE_LETTER && !fits; form++) {
        tiles = tiles_in_form(form, n_rows, n_columns, lines);
        if (form == TILE_SHORT)
            tiles.ruled = tiles_width(&tiles) <= w && 2 * n_rows + 1 <= h;
        fits = tiles_width(&tiles) <= w && (!tiles.framed || tiles_height(&tiles, n_rows) <= h);
    }
    if (!fits || (!tiles.framed && n_rows / SCREENS_MOST > h))
        make_blocks(&tiles, w, h);
    if (tiles.form == TILE_FULL) {
        int64_t most = (w - 1) / tiles.columns - 1;
        tiles.width = (int)(most < FULL_MOST ? most : FULL_MOST);
    }
    tiles.shown = (int)(tiles.rows < h / tiles.lines ? tiles.rows : h / tiles.lines);
    return tiles;
}

/* ---- drawing ---- */

static void draw_rule(const Tiles *tiles, int label, const uint32_t *joint, bool border, Pen *pen)
{
    pen_to(pen, label, pen->y);
    for (int64_t c = 0; c < tiles->columns && pen->x < pen->area.w; c++) {
        pen_rune(pen, ROLE_FRAME, joint[c ? 1 : 0]);
        for (int i = 0; i < tiles->width; i++)
            pen_rune(pen, ROLE_FRAME, border ? 0x2550 : 0x2500);
    }
    pen_rune(pen, ROLE_FRAME, joint[2]);
    pen_line(pen);
}

static void draw_line(const Tiles *tiles, const TilesFill *fill, int label, int64_t row, int line,
                      Pen *pen)
{
    if (line == tiles->lines / 2 && label > 1)
        pen_right(pen, ROLE_DIM, fill->row_label(fill->context, row), label - 1);
    pen_to(pen, label, pen->y);
    for (int64_t c = 0; c < tiles->columns && pen->x < pen->area.w; c++) {
        bool border = fill->border && c > 0 && fill->border(fill->context, false, c);
        if (tiles->framed)
            pen_rune(pen, ROLE_FRAME, border ? 0x2551 : 0x2502);
        Pen cell = *pen;
        if (cell.area.w > pen->x + tiles->width)
            cell.area.w = pen->x + tiles->width;
        int end = pen->x + tiles->width;
        fill->cell(fill->context, row, c, line, &cell);
        pen_to(pen, end, pen->y);
        if (!tiles->framed && tiles->width > 1 && fill->border && c + 1 < tiles->columns &&
            fill->border(fill->context, false, c + 1)) {
            pen_to(pen, end - 1, pen->y);
            pen_rune(pen, ROLE_FRAME, 0x2502);
        }
    }
    if (tiles->framed)
        pen_rune(pen, ROLE_FRAME, 0x2502);
    pen_line(pen);
}

static void draw_column_labels(const Tiles *tiles, const TilesFill *fill, int label, Pen *pen)
{
    for (int64_t c = 0; c < tiles->columns && pen->x < pen->area.w; c++) {
        pen_to(pen, label + (int)c * (tiles->width + tiles->framed) + tiles->framed, pen->y);
        pen_fit(pen, ROLE_DIM, fill->column_label(fill->context, c), tiles->width);
    }
    pen_line(pen);
}

void tiles_draw(const Tiles *tiles, const TilesFill *fill, int label, int64_t first, Pen *pen)
{
    static const uint32_t top[] = {0x250c, 0x252c, 0x2510}, middle[] = {0x251c, 0x253c, 0x2524},
                          bottom[] = {0x2514, 0x2534, 0x2518};

    if (fill->column_label && tiles->width >= 5)
        draw_column_labels(tiles, fill, label, pen);
    for (int64_t row = first; row < tiles->rows && row < first + tiles->shown; row++) {
        bool border = fill->border && row > first && fill->border(fill->context, true, row);
        if (tiles->framed && (row == first || tiles->ruled))
            draw_rule(tiles, label, row == first ? top : middle, border, pen);
        for (int line = 0; line < tiles->lines; line++)
            draw_line(tiles, fill, label, row, line, pen);
    }
    if (tiles->framed)
        draw_rule(tiles, label, bottom, false, pen);
}
