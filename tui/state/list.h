/* list.h - a list of rows on the screen: its cursor, and which rows are shown. */
#ifndef TUI_STATE_LIST_H
#define TUI_STATE_LIST_H

#include "core/base/span.h"
#include "tui/state/act.h"

typedef struct {
    int64_t at;  /* row of the cursor, unless the view keeps the cursor elsewhere */
    int64_t top; /* first row shown */
    int64_t n;   /* rows when it was last drawn */
    int height;  /* rows that fitted at that time */
    int lead;    /* lines between the view's list_at and its first row at that time */
    int column;  /* of a page in several columns: the width of one; 0: one column */
    int wants;   /* number of lines of its pane that the view can use; 0: any */
    Text text;   /* of a page: the text last drawn; in the frame's arena */
} List;

/* Moves a cursor among n rows, for an action of the "move" group. Returns false for other actions.
 */
bool list_move(int64_t *at, int64_t n, int page, ActId act);

/* The row of the cursor, which is moved to the last row if it is beyond n; 0 if there are no rows.
 */
int64_t list_cursor(List *list, int64_t n);

/* The first of `h` rows to show so that row `at` of n is visible: `top` if it is already. */
int64_t list_scroll(int64_t top, int64_t at, int64_t n, int h);

/* "12-30/486" if not all rows fit: the rows shown, and their number; else "". */
Str list_range(Arena *arena, int64_t top, int height, int64_t n);

/* Records that n rows are drawn in `h` lines, and scrolls to row `at`. */
void list_show(List *list, int64_t at, int64_t n, int h);

#endif
