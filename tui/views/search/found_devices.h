/* found_devices.h - draws the configurations found on N devices: the course of the search, and the
 * cost of each. */
#ifndef TUI_VIEWS_SEARCH_FOUND_DEVICES_H
#define TUI_VIEWS_SEARCH_FOUND_DEVICES_H

#include "tui/state/jobs/search_devices.h"

/* The rows of the list SHOW_SEARCH are those of the result. */
void found_devices_draw(Ui *ui, const DevicesFound *found, Pen *pen);
void found_devices_table(const DevicesFound *found, Sheet *out);

#endif
