/* loss_curve.h - draws the losses of a run's training steps. */
#ifndef TUI_VIEWS_STEP_LOSS_CURVE_H
#define TUI_VIEWS_STEP_LOSS_CURVE_H

#include "core/run/run.h"
#include "tui/screen/grid.h"

/* A line in words, then h lines of curve over the whole width, scaled from the smallest to the
 * largest loss: `*` the plan's steps, `o` those of one device if they are in another row. If there
 * are more steps than columns, a column shows the mean of its steps. */
void loss_curve_draw(const RunReport *report, bool verified, int h, Pen *pen);

#endif
