/* run_steps.h - draws the executed training steps: the plan's loss and that of one device, and the
 * values after the steps that differ most from one device.
 */
#ifndef TUI_VIEWS_STEP_RUN_STEPS_H
#define TUI_VIEWS_STEP_RUN_STEPS_H

#include "core/run/run.h"
#include "tui/state/ui.h"

/* In at most h lines; nothing if the run has no training steps, or compared nothing. */
void run_steps_draw(const Ui *ui, const RunReport *report, int h, Pen *pen);

/* The same in two lines: the losses, and the value that differs most. */
void run_steps_draw_brief(const Ui *ui, const RunReport *report, Pen *pen);

#endif
