/* mouse.h - what the mouse does: the same as keys, at the place it points to.
 *
 *     press      focuses the pane, selects the row, goes to the tab or the group of the path,
 *                chooses from a menu (beside it: closes it); again within DOUBLE_MS: Enter
 *     wheel      three rows of the pane under the pointer, of a menu or the palette
 *     drag       of a border between panes moves it, until the explorer ends
 */
#ifndef TUI_APP_MOUSE_H
#define TUI_APP_MOUSE_H

#include "tui/app/app.h"

enum { DOUBLE_MS = 400 };

void mouse_event(App *app, MouseKind kind, int x, int y, int64_t now_ms);

#endif
