/* explore_export.h - what the explorer writes of a plan for others, by the drawings' own face. */
#ifndef TUI_CLI_EXPLORE_EXPORT_H
#define TUI_CLI_EXPLORE_EXPORT_H

#include "tui/app/app.h"

extern const AppCommands explore_export;      /* `:draw`, `:report`, `:code` */
const AppOffer *explore_offers(Arena *arena); /* of the menu that E opens */

#endif
