/* op_notations.h - an op in the notations of other systems, at the end of its page.
 *
 * If there is room, each notation is shown with what it cannot express and the command that shows
 * all of it; otherwise a line with their names, and a list while the cursor is in it.
 */
#ifndef TUI_VIEWS_OP_NOTATIONS_H
#define TUI_VIEWS_OP_NOTATIONS_H

#include "tui/state/ui.h"

/* The number of notations of an op: 0 if it is replicated, or ties values, since notations describe
 * an index space. */
int op_n_notations(const Ui *ui, int32_t op, const OpSpace *space);

/* first: the number of the first item; h: visible lines of the page. *selected becomes the line of
 * the cursor's item, if that is a notation. */
void op_draw_notations(const Ui *ui, int32_t op, int first, int h, Pen *pen, int *selected);

#endif
