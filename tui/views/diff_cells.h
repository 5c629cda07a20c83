/* diff_cells.h - texts and keys that the panes of the Diff view share. */
#ifndef TUI_VIEWS_DIFF_CELLS_H
#define TUI_VIEWS_DIFF_CELLS_H

#include "tui/state/compare.h"

/* "transformer.h[0..11].mlp.c_fc/Gemm"; for a reshard the moved value. */
Str diff_line_label(const Ui *ui, const Compare *compare, const DiffLine *line);

/* The line under the cursor of the Diff view, clipped to the lines shown; NULL if there is none. */
const DiffLine *diff_line_at(Ui *ui, const Compare *compare);

/* Handles keys that all three panes share. */
bool diff_act(Ui *ui, ActId act);
void diff_note(Ui *ui, Buf *out);
extern const Hint diff_hints[];

#endif
