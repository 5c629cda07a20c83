/* settings.h - the settings while the explorer runs: `:set`, and the menu that switches them. */
#ifndef TUI_APP_SETTINGS_H
#define TUI_APP_SETTINGS_H

#include "tui/state/ui.h"

bool settings_set(Ui *ui, Str args, Error *err); /* "NAME=VALUE"; "NAME" says its value */
void settings_menu(Ui *ui);

#endif
