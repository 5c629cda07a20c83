/* list.h - a list of rows on the screen: its cursor and which part of it is shown. */
#ifndef TUI_STATE_LIST_H
#define TUI_STATE_LIST_H

#include "core/base/span.h"
#include "tui/state/act.h"

typedef struct {
    int64_t at;  /* row of the cursor, where the view keeps no better one */
    int64_t top; /* first row shown */
    int64_t n;   /* rows when it was last drawn */
    int height;  /* rows that fitted then */
    int lead;    /* lines between the view's list_at and its first row then */
    int column;  /* of a page in columns beside each other: how wide one is; 0: in one */
    int wants;   /* lines that the view has a use for, of those of its pane; 0: any number */
    Text text;   /* of a page: what was last drawn; in the frame's arena */
} List;

/* Moves a cursor among n rows by an action of the "move" group. Returns false for other actions. */
bool list_move(int64_t *at, int64_t n, int page, ActId act);

/* The row of the cursor, which moves to the last one where there are n; 0 where there is none. */
int64_t list_cursor(List *list, int64_t n);

/* The first of `h` rows to show so that row `at` of n is among them: `top` where it already is. */
int64_t list_scroll(int64_t top, int64_t at, int64_t n, int h);

/* "12-30/486" where rows do not fit: those that are shown, and how many there are; else "". */
Str list_range(Arena *arena, int64_t top, int height, int64_t n);

/* Remembers that n rows are drawn in `h` lines, and scrolls to row `at`. */
void list_show(List *list, int64_t at, int64_t n, int h);

#endif
