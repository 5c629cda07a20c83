#include "tui/state/view.h"

/* ORDER SHOW */
const View *const views[SHOW_COUNT] = {
    &view_graph,   &view_op,      &view_tensor,   &view_mesh,     &view_comm,
    &view_mem,     &view_diff,    &view_policy,   &view_run,      &view_comm_detail,
    &view_links,   &view_live,    &view_saved,    &view_try,      &view_diff_totals,
    &view_fork,    &view_console, &view_check,    &view_schedule, &view_search,
    &view_near,    &view_why,     &view_findings, &view_events,   &view_errors,
    &view_journal, &view_help,
};
