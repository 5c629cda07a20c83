/* search_chart.h - draws plans by time and memory, with time upwards, and the course of a search.
 */
#ifndef TUI_VIEWS_SEARCH_SEARCH_CHART_H
#define TUI_VIEWS_SEARCH_SEARCH_CHART_H

#include "tui/state/jobs/plan_search.h"

typedef struct {
    double us;
    int64_t bytes;
    uint32_t mark; /* a letter or a dot; of several in one cell the last one is visible */
    Style style;
    bool outside; /* does not enlarge the chart: it may be on its edge */
} ChartPoint;

/* Draws `h` lines including the axis; a bar marks the limit if it is inside the chart. */
void search_chart(const Ui *ui, const ChartPoint *point, int n, int64_t limit_bytes, int h,
                  Pen *pen);

/* "AFTER  BEST  BOUND": the last steps of the search, in at most `h` lines. */
void search_steps(const Ui *ui, const SearchWatch *watch, int h, Pen *pen);

/* The letter of a plan: 'a', .. 'z', then capital letters in turn. */
char search_letter(int i);

#endif
