/* search_compare.h - a found plan against the others: what it costs, what it saves. */
#ifndef TUI_VIEWS_SEARCH_SEARCH_COMPARE_H
#define TUI_VIEWS_SEARCH_SEARCH_COMPARE_H

#include "tui/state/jobs/plan_search.h"

/* Time and memory of point `at` against the plan before the search, the fastest and the smallest
 * plan found, the limit and the bound. Draws at most h lines. */
void search_compare_draw(const Ui *ui, const PlanSearch *search, int at, int h, Pen *pen);

#endif
