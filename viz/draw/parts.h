/* parts.h - the shards of a tensor as cells of a box: a picture of two of its dims, or a table.
 *
 * The picture is oriented like the tensor: down the first sharded dim, across the last one, with a
 * column for every contiguous run, so an interleaved shard appears in its pieces. A cell has the
 * letter of its shard (slices.h), its marks, and the devices that hold it; each shard has one fill.
 *
 *     A   d0 d4        the shard, and its holders
 *     A'               a shard in pieces          A~   smaller than the first
 *     A=               several hold equal bytes   ·    an empty shard
 *     Σ1 d0 / Σ2 d1    the holders have addends of it
 *     of A B, sum of A  the shards it was made from by a step of a reshard
 *
 * Index dims of an op are pictured the same way: their cuts are a sharding of the work.
 */
#ifndef VIZ_DRAW_PARTS_H
#define VIZ_DRAW_PARTS_H

#include "viz/draw/draw.h"

#include "core/summary/slices.h"

/* Cells of a table under construction, row by row. */
typedef struct {
    Arena *arena;
    int n_columns;
    Vec(DiagramCell) at;
} Cells;

Cells cells_new(Arena *arena, int n_columns);
void cells_put(Cells *cells, CellLook look, const char *text);
void cells_put_text(Cells *cells, Text text);
void cells_put_cell(Cells *cells, DiagramCell cell);
void cells_put_row(Cells *cells, CellLook look, Text text); /* one cell that spans all columns */
void cells_give(const Cells *cells, DiagramBox *box);

typedef struct {
    Slices slices;
    const char *const *names; /* names of its dims; NULL: "dim 0" .. */
    bool alone;               /* cells have letters only, without devices */
    bool work;                /* index dims of an op: a part is computed, not held */
    const Slices
        *before; /* shards from which the cells are made, to be named in them; NULL: none */
} Parts;

/* Adds the cells to a box that has none. */
void parts_picture(Arena *arena, const Parts *parts, DiagramBox *box);

/* "d0 d4 d8 +5": the devices whose positions differ from this one in these atoms only. */
void parts_put_holders(const Slices *slices, AtomSet atoms, int64_t position, int most, Buf *out);

/* The rows of a table of shards: one per device, or one per shard if there are many devices. */
enum { PART_ROWS_MAX = 64 };

typedef struct {
    int64_t n;         /* number of rows */
    int64_t n_all;     /* number without the limit PART_ROWS_MAX */
    bool folded;       /* a row is a shard with its holders, not a device */
    int64_t *position; /* per row: the position of the device, or of its first holder */
} PartRows;

PartRows part_rows(Arena *arena, const Slices *slices);

/* Selects at most `most` operands of an op, without absent ones and unsharded constants. Returns
 * how many there are. */
int parts_operands(const Draw *draw, int32_t op, int *operand, int most);

/* The range of each index dim that the rank computes. */
Box parts_index_box(Arena *arena, const OpSpace *space, const OpCut *cut, const Mesh *mesh,
                    int64_t position);

/* Returns false if the request names nothing; the hint names an existing op or tensor. */
bool parts_need(const Draw *draw, bool op, Error *err);

/* "dim 0", or its name. */
const char *parts_dim_name(Arena *arena, const Parts *parts, int d);

#endif
