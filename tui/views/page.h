/* page.h - views that are a text with a cursor: why, findings, help. */
#ifndef TUI_VIEWS_PAGE_H
#define TUI_VIEWS_PAGE_H

#include "tui/state/ui.h"

/* From two of these columns on, a page that is longer than its area stands in columns. */
enum { PAGE_COLUMN_W = 80 };

/* Draws a text, with lines that begin with SPAN_HEAD as headings; marks the cursor's line if the
 * view has the focus. Records the number of lines. */
void page_draw(Ui *ui, ShowId show, Text text, Pen *pen);

/* Moves the cursor; false for other actions. */
bool page_act(Ui *ui, ShowId show, ActId act);

void page_go(Ui *ui, int64_t row); /* the cursor of the focused page */

Text page_line(Text text, int64_t line); /* "" past the end */

/* Explains a place's selection: chains back to the policy, or what stopped an axis. */
void why_text(Ui *ui, const Place *place, Buf *out);

/* The line of the policy that a finding about the selected tensor names, and that x tries to leave
 * out; 0: none. */
int why_fix_line(const Ui *ui);

/* Why the op's index dim is cut, one reason per line; nothing if it is whole. */
void why_index_text(const Ui *ui, int32_t op, int index, Buf *out);

/* The meaning of the marks on the screen, one per line. */
extern const char help_marks[];
extern const char help_names[]; /* names and patterns of tensors and ops */

/* The place that a line names (SPAN_PLACE), to open an editor there. Returns false if there is
 * none, or it is not in the policy. */
bool page_find_place(const Ui *ui, Text line, Str *file, int *number);

/* Opens Help on names of tensors, "names", on a word of the glossary, or on script functions:
 * "lua", "lua.NAME". */
bool help_show(Ui *ui, Str name, Error *err);

#endif
