/* diff_cells.h - what the panes of the Diff view share: texts of one line on one side. */
#ifndef TUI_VIEWS_DIFF_CELLS_H
#define TUI_VIEWS_DIFF_CELLS_H

#include "tui/state/compare.h"

/* "transformer.h[0..11].mlp.c_fc/Gemm"; for a reshard the moved value. */
Str diff_line_label(const Ui *ui, const Compare *compare, const DiffLine *line);

/* The line under the cursor of the Diff view, held inside what is shown; NULL if there is none. */
const DiffLine *diff_line_at(Ui *ui, const Compare *compare);

/* The keys that all three panes take. */
bool diff_act(Ui *ui, ActId act);
void diff_note(Ui *ui, Buf *out);
extern const Hint diff_hints[];

#endif
