/* found_stages.h - draws the stages of the current plan: what each holds, and how busy it is. */
#ifndef TUI_VIEWS_SEARCH_FOUND_STAGES_H
#define TUI_VIEWS_SEARCH_FOUND_STAGES_H

#include "tui/state/ui.h"

/* At most `h` lines, the slowest stage marked; nothing without a schedule. */
void found_stages_draw(const Ui *ui, int h, Pen *pen);

#endif
