/* search.h - runs and prints `dimscope search`. */
#ifndef TUI_CLI_SEARCH_H
#define TUI_CLI_SEARCH_H

#include "tui/cli/cli.h"

/* Whether to search configurations on the given mesh: there is a training step, an axis pp, and no
 * policy that sets the stages. */
bool search_asks_stages(Cli *cli);

/* Whole configurations, with `--devices` or on the given mesh: searches, prints and saves; returns
 * the exit code. seconds, max_peak: 0 without a limit. */
int search_devices(Cli *cli, Progress *watched, double seconds, int64_t max_peak);

/* search_mesh.c: plans on the given mesh. */
int search_mesh(Cli *cli, Progress *watched, double seconds, int64_t max_peak);

/* The fraction given by `--gap`; 0 without it. */
bool search_read_gap(Cli *cli, double *out);

#endif
