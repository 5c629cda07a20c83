/* comm_table.h - the table of reshards as it is sorted and filtered, made beside the screen. */
#ifndef TUI_STATE_COMM_TABLE_H
#define TUI_STATE_COMM_TABLE_H

#include "tui/state/ui.h"

/* The table; the cursor is on one of its rows. n_rows is below 0 while it is being made. */
Comm *comm_arranged(Ui *ui);

extern const char comm_waiting[]; /* what views show meanwhile */
void comm_follow(Ui *ui);         /* where a frame shows or lacks it: begins to make it */

#endif
