/* parts.h - the parts of a tensor as cells of a box: a picture of two of its dims, or a table.
 *
 * The picture lies as the tensor does: down the first dim that is cut, across the last one, a
 * column for every run, so that a part in pieces is seen in its pieces. A cell has the letter of
 * its part (slices.h), its marks, and the devices that hold it; a part has one ground.
 *
 *     A   d0 d4        the part, and who holds it
 *     A'               a part in pieces          A~   smaller than the first
 *     A=               several hold equal bytes  ·    nothing is left for them
 *     Σ1 d0 / Σ2 d1    they hold addends of it
 *     of A B, sum of A  before a step of a move it was those parts
 *
 * Index dims of an op are pictured the same way: their cuts are a sharding of what is computed.
 */
#ifndef VIZ_DRAW_PARTS_H
#define VIZ_DRAW_PARTS_H

#include "viz/draw/draw.h"

#include "core/summary/slices.h"

/* Cells of a table, row by row, while it grows. */
typedef struct {
    Arena *arena;
    int n_columns;
    Vec(DiagramCell) at;
} Cells;

Cells cells_new(Arena *arena, int n_columns);
void cells_put(Cells *cells, CellLook look, const char *text);
void cells_put_text(Cells *cells, Text text);
void cells_put_cell(Cells *cells, DiagramCell cell);
void cells_put_row(Cells *cells, CellLook look, Text text); /* over all columns */
void cells_give(const Cells *cells, DiagramBox *box);

typedef struct {
    Slices slices;
    const char *const *names; /* of its dims; NULL: "dim 0" .. */
    bool alone;               /* letters only, without devices */
    bool work;                /* index dims: a part is computed, not held */
    const Slices *before;     /* a cell says of which of these parts it is made; NULL */
} Parts;

/* Adds the cells to a box without any. */
void parts_picture(Arena *arena, const Parts *parts, DiagramBox *box);

/* "d0 d4 d8 +5": the devices at positions that differ in these atoms only. */
void parts_put_holders(const Slices *slices, AtomSet atoms, int64_t position, int most, Buf *out);

/* What has a row in a table of parts: each device, or each part where there are many devices. */
enum { PART_ROWS_MAX = 64 };

typedef struct {
    int64_t n;         /* rows */
    int64_t n_all;     /* that there would be without PART_ROWS_MAX */
    bool folded;       /* a row is a part with its holders, not a device */
    int64_t *position; /* of a row, or of its first holder */
} PartRows;

PartRows part_rows(Arena *arena, const Slices *slices);

/* The operands of an op that say something, at most so many: neither what is absent nor numbers
 * that all know and nothing cuts. How many there are. */
int parts_operands(const Draw *draw, int32_t op, int *operand, int most);

/* From the first to the last that the rank computes of each index dim. */
Box parts_index_box(Arena *arena, const OpSpace *space, const OpCut *cut, const Mesh *mesh,
                    int64_t position);

/* False where the request names nothing, with a hint that names an op or a tensor there is. */
bool parts_need(const Draw *draw, bool op, Error *err);

/* "dim 0", or its name. */
const char *parts_dim_name(Arena *arena, const Parts *parts, int d);

#endif
