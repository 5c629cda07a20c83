/* op_notations.h - an op in the notations of other systems, below its page.
 *
 * Where the lines that are seen have room, each notation is shown with what it does not express,
 * and the command that shows all of it; else a line of their names, and a list when the cursor is
 * in it.
 */
#ifndef TUI_VIEWS_OP_NOTATIONS_H
#define TUI_VIEWS_OP_NOTATIONS_H

#include "tui/state/ui.h"

/* Notations say an index space: an op that is replicated, or ties values, has nothing to say in
 * them: 0. */
int op_n_notations(const Ui *ui, int32_t op, const OpSpace *space);

/* first: the number of the first item; h: lines of the page that are seen. *selected becomes the
 * line of the cursor's item, if it is a notation. */
void op_draw_notations(const Ui *ui, int32_t op, int first, int h, Pen *pen, int *selected);

#endif
