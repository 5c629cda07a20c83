#include "tui/views/tiles.h"

enum { FULL_MOST = 26, SCREENS_MOST = 8 };

typedef struct {
    int width;
    bool framed;
} TileSize;

/* ORDER TILE_FORM */
static const TileSize sizes[] = {{12, true}, {8, true}, {5, false}, {3, false}, {1, false}};

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
    return rows * tiles->lines + (tiles->ruled ? rows + 1 : tiles->framed ? 2 + tiles->rules : 0);
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

/* A region ends between this row, or column, of cells and the one before it. */
static bool ends_above(const TilesFill *fill, int64_t row, int64_t column)
{
    return fill->region && row > 0 &&
           fill->region(fill->context, row, column) != fill->region(fill->context, row - 1, column);
}

static bool ends_before(const TilesFill *fill, int64_t row, int64_t column)
{
    return fill->region && column > 0 &&
           fill->region(fill->context, row, column) != fill->region(fill->context, row, column - 1);
}

static bool row_has_end(const Tiles *tiles, const TilesFill *fill, int64_t row)
{
    for (int64_t c = 0; c < tiles->columns; c++)
        if (ends_above(fill, row, c))
            return true;
    return false;
}

/* ORDER RULE: the line above the first row, between rows, below the last one. Then the joints: at
 * the left, in between, at the right, and in between where a region ends. */
typedef enum { RULE_TOP, RULE_MIDDLE, RULE_BOTTOM } Rule;

static const uint32_t joints[][4] = {{0x250c, 0x252c, 0x2510, 0x2565},
                                     {0x251c, 0x253c, 0x2524, 0x256b},
                                     {0x2514, 0x2534, 0x2518, 0x2568}};

/* The part of a line above a cell, with the name of the region that begins there. */
static void draw_segment(const Tiles *tiles, const TilesFill *fill, Rule rule, int64_t row,
                         int64_t column, Pen *pen)
{
    bool ends = rule == RULE_MIDDLE && ends_above(fill, row, column);
    bool named = fill->region_name && rule != RULE_BOTTOM && (ends || rule == RULE_TOP) &&
                 (column == 0 || ends_before(fill, row, column));
    int64_t region = named ? fill->region(fill->context, row, column) : -1;
    Str name = region < 0 ? STR("") : fill->region_name(fill->context, region);
    int end = pen->x + tiles->width;
    pen_fit(pen, ROLE_HEAD, name, (int)name.n < tiles->width ? (int)name.n : tiles->width);
    while (pen->x < end && pen->x < pen->area.w)
        pen_rune(pen, ROLE_FRAME, ends ? 0x2550 : 0x2500);
}

static void draw_rule(const Tiles *tiles, const TilesFill *fill, int label, Rule rule, int64_t row,
                      Pen *pen)
{
    pen_to(pen, label, pen->y);
    for (int64_t c = 0; c < tiles->columns && pen->x < pen->area.w; c++) {
        bool ends =
            ends_before(fill, row, c) || (rule == RULE_MIDDLE && ends_before(fill, row - 1, c));
        pen_rune(pen, ROLE_FRAME, joints[rule][c == 0 ? 0 : ends ? 3 : 1]);
        draw_segment(tiles, fill, rule, row, c, pen);
    }
    pen_rune(pen, ROLE_FRAME, joints[rule][2]);
    pen_line(pen);
}

static void draw_line(const Tiles *tiles, const TilesFill *fill, int label, int64_t row, int line,
                      Pen *pen)
{
    if (line == tiles->lines / 2 && label > 1)
        pen_right(pen, ROLE_DIM, fill->row_label(fill->context, row), label - 1);
    pen_to(pen, label, pen->y);
    for (int64_t c = 0; c < tiles->columns && pen->x < pen->area.w; c++) {
        if (tiles->framed)
            pen_rune(pen, ROLE_FRAME, ends_before(fill, row, c) ? 0x2551 : 0x2502);
        Pen cell = *pen;
        if (cell.area.w > pen->x + tiles->width)
            cell.area.w = pen->x + tiles->width;
        int end = pen->x + tiles->width;
        fill->cell(fill->context, row, c, line, &cell);
        pen_to(pen, end, pen->y);
        if (!tiles->framed && tiles->width > 1 && c + 1 < tiles->columns &&
            ends_before(fill, row, c + 1)) {
            pen_to(pen, end - 1, pen->y);
            pen_rune(pen, ROLE_FRAME, 0x2502);
        }
    }
    if (tiles->framed)
        pen_rune(pen, ROLE_FRAME, 0x2502);
    if (fill->row_tail && pen->area.w > pen->x + 1) {
        pen_rune(pen, ROLE_TEXT, ' ');
        pen_fit(pen, ROLE_HEAD, fill->row_tail(fill->context, row), pen->area.w - pen->x);
    }
    pen_line(pen);
}

static void draw_column_labels(const Tiles *tiles, const TilesFill *fill, int label, Pen *pen)
{
    for (int64_t c = 0; c < tiles->columns && pen->x < pen->area.w; c++) {
        Str text = fill->column_label(fill->context, c);
        if (text.n == 0)
            continue;
        pen_to(pen, label + (int)c * (tiles->width + tiles->framed) + tiles->framed, pen->y);
        pen_fit(pen, ROLE_DIM, text,
                (int)text.n > tiles->width ? 2 * tiles->width - 1 : tiles->width);
    }
    pen_line(pen);
}

void tiles_draw(const Tiles *tiles, const TilesFill *fill, int label, int64_t first, Pen *pen)
{
    if (fill->column_label && tiles->width >= 5)
        draw_column_labels(tiles, fill, label, pen);
    for (int64_t row = first; row < tiles->rows && row < first + tiles->shown; row++) {
        if (tiles->framed && row == first)
            draw_rule(tiles, fill, label, RULE_TOP, row, pen);
        else if (tiles->framed &&
                 (tiles->ruled || (tiles->rules > 0 && row_has_end(tiles, fill, row))))
            draw_rule(tiles, fill, label, RULE_MIDDLE, row, pen);
        for (int line = 0; line < tiles->lines; line++)
            draw_line(tiles, fill, label, row, line, pen);
    }
    if (tiles->framed)
        draw_rule(tiles, fill, label, RULE_BOTTOM, first + tiles->shown - 1, pen);
}
