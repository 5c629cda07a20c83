/* comm_job.h - the reshards' table of a large plan is made beside the screen (view_comm.c). */
#ifndef TUI_VIEWS_COMM_JOB_H
#define TUI_VIEWS_COMM_JOB_H

#include "tui/state/ui.h"

extern const char comm_waiting[]; /* what views show that wait for it */
void comm_follow(Ui *ui);         /* before a frame: begins it */

#endif
