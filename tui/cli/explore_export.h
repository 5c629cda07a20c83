/* explore_export.h - the explorer's commands that write drawings, reports and code. */
#ifndef TUI_CLI_EXPLORE_EXPORT_H
#define TUI_CLI_EXPLORE_EXPORT_H

#include "tui/app/app.h"

extern const AppCommands explore_export;      /* `:draw`, `:report`, `:code` */
const AppOffer *explore_offers(Arena *arena); /* of the menu that E opens */

#endif
