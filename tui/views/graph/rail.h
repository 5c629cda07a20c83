/* rail.h - the left margin of the outline: a lane for each value that is alive between rows.
 *
 * A value is born in the row that makes it, on the leftmost free lane, and keeps the lane to the
 * last row that reads it; of a training step, the last in the pass that makes it, since what is
 * kept for the backward pass has a mark of its own. Parameters, constants and what follows from
 * them alone, and values with more than RAIL_USES_MAX readers have none; of these last, a row that
 * reads one can say its name. A fold shown by its first member is drawn as that: what its last
 * member hands on leaves from the first.
 *
 * Rows are laid out in pages of RAIL_PAGE rows, so that a jump costs at most one page, and from
 * checkpoints inside a page. A value that crosses a whole page unread has no lane there. A closed
 * group is looked at by its first and last RAIL_LOOK ops.
 */
#ifndef TUI_VIEWS_GRAPH_RAIL_H
#define TUI_VIEWS_GRAPH_RAIL_H

#include "core/rules/infer.h"
#include "tui/screen/grid.h"
#include "tui/state/outline.h"

enum { RAIL_LANES = 8, RAIL_USES_MAX = 8, RAIL_PAGE = 4096, RAIL_STEP = 256, RAIL_LOOK = 2048 };

/* One row as lanes: which are alive above it and below it, which it reads, which it makes. */
typedef struct {
    uint8_t above, below, reads, makes; /* bit i: lane i */
    uint8_t selected;                   /* the lane of the selected value, as a bit */
    int node;                           /* lane of the row itself; -1: it has no place */
    int hidden;                         /* values alive below it that found no lane */
    int32_t named;                      /* a value with too many readers that it reads; -1 */
} RailRow;

typedef struct Rail Rail;

Rail *rail_new(Arena *arena);

/* The value whose lane stands out; -1: none. */
void rail_select(Rail *rail, int32_t tensor);

/* Lanes of n rows of the outline from i on; there must be that many. They are found anew when the
 * outline has changed. */
void rail_rows(Rail *rail, const Inferred *inferred, Outline *outline, int64_t i, int n,
               RailRow *out);

/* A piece of a line by what it joins: 1 up, 2 down, 4 left, 8 right. */
uint32_t rail_piece(unsigned joins);

/* Draws one row in exactly `columns` columns: two a lane, an ellipsis where lanes do not fit. */
void rail_draw(const RailRow *row, uint32_t node_glyph, int columns, Pen *pen);

#endif
