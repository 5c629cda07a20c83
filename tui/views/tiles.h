/* tiles.h - a grid of cells fitted into the available room: parts of a tensor, devices of a mesh.
 *
 * Cells are as large as possible: framed with several lines, framed with one, then 5, 3 and 1
 * columns without frames. If there are too many rows for one screen they scroll; if even one column
 * per cell is too much, or the rows are very many, a cell stands for a block of them. tiles_fit()
 * is pure; the caller draws the cells' contents.
 */
#ifndef TUI_VIEWS_TILES_H
#define TUI_VIEWS_TILES_H

#include "tui/screen/grid.h"

/* ORDER TILE_FORM: the largest first. */
typedef enum { TILE_FULL, TILE_SHORT, TILE_NUMBER, TILE_MARK, TILE_LETTER } TileForm;

typedef struct {
    TileForm form;
    int width, lines;         /* of a cell, without its frame */
    bool framed, ruled;       /* ruled: lines between rows as well */
    int64_t rows, columns;    /* of cells */
    int64_t block_h, block_w; /* what one cell stands for: 1 x 1, or a block */
    int shown;                /* rows that fit */
    int rules; /* framed but not ruled: number of lines between rows where a region ends; 0: none */
} Tiles;

/* Cells for n_rows x n_columns items in w columns and h lines; `lines`: of a full cell. */
Tiles tiles_fit(int64_t n_rows, int64_t n_columns, int lines, int w, int h);

/* The same in a given form, as if there were room for all. */
Tiles tiles_in_form(TileForm form, int64_t n_rows, int64_t n_columns, int lines);

int64_t tiles_width(const Tiles *tiles); /* with frames */
int64_t tiles_height(const Tiles *tiles, int64_t rows);

/* The contents of a grid. Rows and columns are of cells. */
typedef struct {
    const void *context;
    void (*cell)(const void *context, int64_t row, int64_t column, int line, Pen *pen);
    Str (*row_label)(const void *context, int64_t row);
    Str (*column_label)(const void *context, int64_t column); /* NULL: no line for them */
    /* Cells of one region belong together, and lines separate regions; -1: several regions. NULL:
     * there are no regions. */
    int64_t (*region)(const void *context, int64_t row, int64_t column);
    Str (*region_name)(const void *context, int64_t region); /* stands in the lines of frames */
    Str (*row_tail)(const void *context, int64_t row); /* after rows without frames; or NULL */
} TilesFill;

/* Draws from the pen's line on: row labels in `label` columns, then the cells; starting with row
 * `first`. */
void tiles_draw(const Tiles *tiles, const TilesFill *fill, int label, int64_t first, Pen *pen);

#endif
