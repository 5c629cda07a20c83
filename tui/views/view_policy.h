/* view_policy.h - what actions ask of the policy's view. */
#ifndef TUI_VIEWS_VIEW_POLICY_H
#define TUI_VIEWS_VIEW_POLICY_H

#include "tui/state/ui.h"

/* Where an editor is opened: at the line that failed, else at the cursor's. False: no policy. */
bool policy_place(Ui *ui, Str *file, int *line);

#endif
