/* search_chart.h - plans by time and memory, time upwards; and how a search went. */
#ifndef TUI_VIEWS_SEARCH_SEARCH_CHART_H
#define TUI_VIEWS_SEARCH_SEARCH_CHART_H

#include "tui/state/jobs/plan_search.h"

typedef struct {
    double us;
    int64_t bytes;
    uint32_t mark; /* a letter or a dot; of several in one place the last is seen */
    Style style;
    bool outside; /* the chart is not made larger for it: it may lie on its edge */
} ChartPoint;

/* In `h` lines with the axis below; a bar where the limit is, if that is within the chart. */
void search_chart(const Ui *ui, const ChartPoint *point, int n, int64_t limit_bytes, int h,
                  Pen *pen);

/* "AFTER  BEST  BOUND": the last steps of the search, in at most `h` lines. */
void search_steps(const Ui *ui, const SearchWatch *watch, int h, Pen *pen);

/* The letter of a plan: 'a', .. 'z', then capital letters in turn. */
char search_letter(int i);

#endif
