/* step_account.h - draws where the time of a step goes: its parts, which sum to it, and its most
 * expensive reshards. The numbers come from core/cost/step_parts.h and core/summary/comm.h.
 */
#ifndef TUI_VIEWS_STEP_STEP_ACCOUNT_H
#define TUI_VIEWS_STEP_STEP_ACCOUNT_H

#include "tui/state/ui.h"

enum { STEP_ACCOUNT_LEAST = 4 }; /* lines */

/* In the remaining lines; side by side if the area is wide. */
void step_account_draw(Ui *ui, Pen *pen);

/* Only the parts. */
void step_parts_draw(const Ui *ui, Pen *pen);

#endif
