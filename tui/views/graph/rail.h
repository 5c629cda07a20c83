/* rail.h - the left margin of the outline: a lane for each value that is alive between rows.
 *
 * A value starts in the row that makes it, on the leftmost free lane, and keeps the lane to the
 * last row that reads it; in a training step to the last row of the pass that makes it, since
 * values saved for the backward pass have a mark of their own. Parameters, constants and values
 * computed only from them, and values with more than RAIL_USES_MAX readers, have no lane; a row
 * that reads one of the latter may show its name. A fold shown by its first member is drawn as a
 * whole: outputs of its last member leave from the first.
 *
 * Rows are laid out in pages of RAIL_PAGE rows, so that a jump costs at most one page, and from
 * checkpoints inside a page. A value that crosses a whole page unread has no lane there. For a
 * closed group only its first and last RAIL_LOOK ops are examined.
 */
#ifndef TUI_VIEWS_GRAPH_RAIL_H
#define TUI_VIEWS_GRAPH_RAIL_H

#include "core/rules/infer.h"
#include "tui/screen/grid.h"
#include "tui/state/outline.h"

enum { RAIL_LANES = 8, RAIL_USES_MAX = 8, RAIL_PAGE = 4096, RAIL_STEP = 256, RAIL_LOOK = 2048 };

/* The lanes of one row: which are alive above and below it, which it reads, which it makes. */
typedef struct {
    uint8_t above, below, reads, makes; /* bit i: lane i */
    uint8_t selected;                   /* the lane of the selected value, as a bit */
    int node;                           /* lane of the row itself; -1: there is none */
    int hidden;                         /* number of values alive below it without a lane */
    int32_t named;                      /* a value with too many readers that the row reads; -1 */
} RailRow;

typedef struct Rail Rail;

Rail *rail_new(Arena *arena);

/* Highlights the lane of a value; -1: none. */
void rail_select(Rail *rail, int32_t tensor);

/* The lanes of n rows of the outline from i on; that many rows must exist. They are computed again
 * if the outline has changed. */
void rail_rows(Rail *rail, const Inferred *inferred, Outline *outline, int64_t i, int n,
               RailRow *out);

/* The line-drawing character that joins these directions: 1 up, 2 down, 4 left, 8 right. */
uint32_t rail_piece(unsigned joins);

/* Draws one row in exactly `columns` columns: two a lane, an ellipsis where lanes do not fit. */
void rail_draw(const RailRow *row, uint32_t node_glyph, int columns, Pen *pen);

#endif
