/* reasons_job.h - why axes are where they are, found beside the screen in large models.
 *
 * A question about an axis takes one walk over the plan (core/explain/reason.h), again after
 * each change. Views ask reasons_ready() first, and show reasons_waiting where it says no.
 */
#ifndef TUI_STATE_JOBS_REASONS_JOB_H
#define TUI_STATE_JOBS_REASONS_JOB_H

#include "tui/state/ui.h"

extern const char reasons_waiting[];

/* Whether questions about the plan are answered within a frame: ui_plan(), or that beside it. */
bool reasons_ready(const Ui *ui, const Plan *plan);

/* Before a frame with a view that asks: begins what is not found yet. */
void reasons_follow(Ui *ui);

#endif
