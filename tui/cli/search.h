/* search.h - what `dimscope search` prints of whole configurations. */
#ifndef TUI_CLI_SEARCH_H
#define TUI_CLI_SEARCH_H

#include "tui/cli/cli.h"

/* Whether configurations of the mesh that is given are searched: a step, an axis pp, and no policy
 * that says what its stages are. */
bool search_asks_stages(Cli *cli);

/* Whole configurations, with `--devices` or on the mesh: searches, prints, saves; the exit code.
 * seconds, max_peak: 0 without a limit. */
int search_devices(Cli *cli, Progress *watched, double seconds, int64_t max_peak);

/* search_mesh.c: plans on the mesh that is given. */
int search_mesh(Cli *cli, Progress *watched, double seconds, int64_t max_peak);

/* The share that `--gap` says; 0 without it. */
bool search_read_gap(Cli *cli, double *out);

#endif
