/* step_account.h - where the time of a step goes: its parts, which add up to it, and the reshards
 * that it pays most for. Core has the numbers: core/cost/step_parts.h, core/summary/comm.h.
 */
#ifndef TUI_VIEWS_STEP_STEP_ACCOUNT_H
#define TUI_VIEWS_STEP_STEP_ACCOUNT_H

#include "tui/state/ui.h"

enum { STEP_ACCOUNT_LEAST = 4 }; /* lines */

/* In the lines that are left; both beside each other where the area is wide. */
void step_account_draw(Ui *ui, Pen *pen);

/* The parts alone. */
void step_parts_draw(const Ui *ui, Pen *pen);

#endif
