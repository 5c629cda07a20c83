/* search.h - what `dimscope search` prints of whole configurations. */
#ifndef TUI_CLI_SEARCH_H
#define TUI_CLI_SEARCH_H

#include "tui/cli/cli.h"

/* `--devices`: searches, prints, saves; the exit code. seconds, max_peak: 0 without a limit. */
int search_devices(Cli *cli, Progress *watched, double seconds, int64_t max_peak);

/* search_mesh.c: plans on the mesh that is given. */
int search_mesh(Cli *cli, Progress *watched, double seconds, int64_t max_peak);

#endif
