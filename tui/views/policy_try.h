/* policy_try.h - the plan without a line of the policy. */
#ifndef TUI_VIEWS_POLICY_TRY_H
#define TUI_VIEWS_POLICY_TRY_H

#include "tui/state/ui.h"

/* Makes the plan without the decisions of a line, shows what changes and asks whether to drop the
 * line. line: from 1; 0: none is selected, which is reported. */
void policy_try_without(Ui *ui, int line);

#endif
