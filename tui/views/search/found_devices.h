/* found_devices.h - configurations found on N devices: how they were found, and what each costs. */
#ifndef TUI_VIEWS_SEARCH_FOUND_DEVICES_H
#define TUI_VIEWS_SEARCH_FOUND_DEVICES_H

#include "tui/state/jobs/search_devices.h"

/* The rows of the list SHOW_SEARCH are the result's. */
void found_devices_draw(Ui *ui, const DevicesFound *found, Pen *pen);
void found_devices_table(const DevicesFound *found, Sheet *out);

#endif
