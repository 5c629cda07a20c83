/* paper_table.h - the cells of a box for a page of so many characters. */
#ifndef VIZ_PAPER_TABLE_H
#define VIZ_PAPER_TABLE_H

#include "viz/diagram.h"

/* Wraps texts; if all columns side by side are still too wide, some are placed below the others as
 * further rows that begin with the same heads, or below a head that is itself too wide. Cells that
 * span the whole table stay in place. */
void paper_fold_cells(Arena *arena, DiagramBox *box, int columns);

#endif
