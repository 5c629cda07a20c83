/* comm_table.h - the sorted and filtered table of reshards, made on a worker thread. */
#ifndef TUI_STATE_COMM_TABLE_H
#define TUI_STATE_COMM_TABLE_H

#include "tui/state/ui.h"

/* The table; the cursor is on one of its rows. n_rows is below 0 while it is being made. */
Comm *comm_arranged(Ui *ui);

extern const char comm_waiting[]; /* shown meanwhile */
/* Before a frame that shows the table or waits for it: starts making it if needed. */
void comm_follow(Ui *ui);

#endif
