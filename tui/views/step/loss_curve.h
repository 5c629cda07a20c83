/* loss_curve.h - the losses of a run's training steps, drawn. */
#ifndef TUI_VIEWS_STEP_LOSS_CURVE_H
#define TUI_VIEWS_STEP_LOSS_CURVE_H

#include "core/run/run.h"
#include "tui/screen/grid.h"

/* A line in words, then h lines of curve over the whole width, whose scale is from the least to the
 * greatest loss: `*` the plan's steps, `o` those of one device where they stand in another row.
 * Where columns are fewer than steps a column has the mean of its steps. */
void loss_curve_draw(const RunReport *report, bool verified, int h, Pen *pen);

#endif
