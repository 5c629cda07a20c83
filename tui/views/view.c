#include "tui/views/view.h"

/* ORDER SHOW */
const View *const views[SHOW_COUNT] = {
    &view_graph, &view_op,       &view_tensor, &view_mesh, &view_comm,
    &view_why,   &view_findings, &view_events, &view_help,
};
