/* run_steps.h - steps of training that were executed: the plan's loss beside one device's, and the
 * values of the next step that differ most from one device.
 */
#ifndef TUI_VIEWS_STEP_RUN_STEPS_H
#define TUI_VIEWS_STEP_RUN_STEPS_H

#include "core/run/run.h"
#include "tui/state/ui.h"

/* In h lines of the pen at most; nothing for a run of no training step, or one that compared
 * nothing. */
void run_steps_draw(const Ui *ui, const RunReport *report, int h, Pen *pen);

/* The same in two lines: the loss over the steps, and the value that differs most. */
void run_steps_draw_brief(const Ui *ui, const RunReport *report, Pen *pen);

#endif
