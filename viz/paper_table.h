/* paper_table.h - the cells of a box for a page that is so many characters wide. */
#ifndef VIZ_PAPER_TABLE_H
#define VIZ_PAPER_TABLE_H

#include "viz/diagram.h"

/* Folds texts into lines; where all columns are too wide side by side even so, some of them go
 * below the others, as further rows that begin with the same heads, or below a head that is too
 * wide itself. Cells that span the whole table stay where they are. */
void paper_fold_cells(Arena *arena, DiagramBox *box, int columns);

#endif
