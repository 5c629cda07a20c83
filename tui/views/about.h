/* about.h - what each view shows, in a few lines: for `?`, `dimscope help VIEW` and the manual. */
#ifndef TUI_VIEWS_ABOUT_H
#define TUI_VIEWS_ABOUT_H

#include "tui/state/view.h"

/* ORDER SHOW: lines of at most 74 columns. Columns are explained only if their heading is not
 * enough; formulas are shown with the numbers. */
extern const char *const view_about[SHOW_COUNT];

#endif
