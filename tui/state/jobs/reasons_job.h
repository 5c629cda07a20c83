/* reasons_job.h - finds why axes are where they are, in a job for large models.
 *
 * The first question about an axis takes one walk over the plan (core/explain/reason.h), again
 * after each change. Views call reasons_ready() first, and show reasons_waiting if it returns
 * false.
 */
#ifndef TUI_STATE_JOBS_REASONS_JOB_H
#define TUI_STATE_JOBS_REASONS_JOB_H

#include "tui/state/ui.h"

extern const char reasons_waiting[];

/* Whether questions about the plan can be answered within a frame; for ui_plan(), or the plan
 * compared with it. */
bool reasons_ready(const Ui *ui, const Plan *plan);

/* Call it before a frame with a view that asks: starts the search for missing reasons. */
void reasons_follow(Ui *ui);

#endif
