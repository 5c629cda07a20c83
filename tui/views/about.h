/* about.h - what each view shows, in a few lines: under `?`, `dimscope help VIEW` and in the
 * manual. */
#ifndef TUI_VIEWS_ABOUT_H
#define TUI_VIEWS_ABOUT_H

#include "tui/state/view.h"

/* ORDER SHOW: lines of at most 74 columns. Shorter words of what a column means than its heading
 * would be guessed by; formulas are where the numbers are. */
extern const char *const view_about[SHOW_COUNT];

#endif
