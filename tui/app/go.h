/* go.h - jumps from the cursor: to the readers or the maker of a value, to its reshard, to search
 * hits. If several ops qualify, a menu asks which. Backspace undoes each jump.
 */
#ifndef TUI_APP_GO_H
#define TUI_APP_GO_H

#include "tui/state/ui.h"

void go_consumer(Ui *ui); /* of the selected tensor */
/* The maker of the selected tensor; in the graph view, the makers of the op's inputs. */
void go_producer(Ui *ui);
void go_reshard(Ui *ui); /* the Comm row of the selected tensor, or of the op */
/* In a training step: moves between an op and its backward ops, a value and its gradient, a
 * parameter and its update. */
void go_gradient(Ui *ui);
void go_other_end(Ui *ui);           /* of the reshard at the op: its readers, or its maker */
void go_next_tensor(Ui *ui, int by); /* among the operands of the op */
void go_pick_tensor(Ui *ui);         /* the same by a menu */
void go_next_dim(Ui *ui, int by);    /* of the tensor */
void go_next_change(Ui *ui, int by); /* the next row that the last change of the plan changed */
bool go_tensor(Ui *ui, Str name, int *dim, Error *err); /* dim: -2 when none was named */
void go_group(Ui *ui, int32_t group);                   /* its row */
void go_select_group(Ui *ui, int32_t group);            /* the same without recording a jump */
bool go_op(Ui *ui, Str name, Error *err);               /* by name or path */

void go_search(Ui *ui, Str pattern);
void go_search_again(Ui *ui, int by);

#endif
