/* diff_cells.h - what the panes of the Diff view share: texts of one line on one side. */
#ifndef TUI_VIEWS_DIFF_CELLS_H
#define TUI_VIEWS_DIFF_CELLS_H

#include "tui/state/compare.h"

/* "transformer.h[0..11].mlp.c_fc/Gemm"; of a reshard what is moved. */
Str diff_line_label(const Ui *ui, const Compare *compare, const DiffLine *line);

/* What the line is on that side: a sharding; where that does not tell the sides apart the cuts, or
 * what readers take if there is room for it; the steps of a reshard; "" where the side has none. */
Str diff_line_cell(const Ui *ui, const Compare *compare, const DiffLine *line, int side,
                   int columns);

/* Time of one op, or reshard; negative: none. */
double diff_line_us(const Compare *compare, const DiffLine *line, int side);

/* The line under the cursor of the Diff view, held inside what is shown; NULL: there is none. */
const DiffLine *diff_line_at(Ui *ui, const Compare *compare);

/* Says what to do where there is no second plan, or that one is being compared. */
void diff_draw_none(const Ui *ui, Pen *pen);

/* The keys that all three panes take. */
bool diff_act(Ui *ui, ActId act);
void diff_note(Ui *ui, Buf *out);
extern const Hint diff_hints[];

#endif
