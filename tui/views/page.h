/* page.h - views that are a text with a cursor: why, findings, help. */
#ifndef TUI_VIEWS_PAGE_H
#define TUI_VIEWS_PAGE_H

#include "tui/state/ui.h"

/* Draws a text, lines that begin with SPAN_HEAD as headings; marks the cursor's line where the view
 * has the focus. Remembers how many lines there are. */
void page_draw(Ui *ui, ShowId show, Text text, Pen *pen);

/* Moves the cursor; false for other actions. */
bool page_act(Ui *ui, ShowId show, ActId act);

void page_go(Ui *ui, int64_t row); /* the cursor of the focused page */

Text page_line(Text text, int64_t line); /* "" past the end */

/* Why what a place selects is as it is: chains back to the policy, or what stopped an axis. */
void why_text(Ui *ui, const Place *place, Buf *out);

/* The line of the policy that a finding of the selected tensor is about, which x tries to leave
 * out; 0: none. */
int why_fix_line(const Ui *ui);

/* What an op's index dim owes its cuts to, a line each; nothing when it is whole. */
void why_index_text(const Ui *ui, int32_t op, int index, Buf *out);

/* What the marks on the screen mean, a line each. */
extern const char help_marks[];
extern const char help_names[]; /* names and patterns of tensors and ops */

/* The place that a line names (SPAN_PLACE), to open an editor at. Returns false if there is none,
 * or it is not in the policy. */
bool page_find_place(const Ui *ui, Text line, Str *file, int *number);

/* Opens Help on names of tensors, "names", a word of the glossary, or on what scripts can call:
 * "lua", "lua.NAME". */
bool help_show(Ui *ui, Str name, Error *err);

#endif
