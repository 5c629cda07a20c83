/* run.h - what the forms of `dimscope run` share, and `calibrate`. */
#ifndef TUI_CLI_RUN_H
#define TUI_CLI_RUN_H

#include "core/run/data_shapes.h"
#include "core/run/run.h"
#include "core/run/world.h"
#include "tui/cli/cli.h"

bool cli_run_options(Cli *cli, RunOptions *out); /* ERROR_USAGE in cli->err */

/* Returns false with cli->err unless every process has a session. */
bool cli_all_have(Cli *cli, World *world, const Session *session);

/* The session of a model, and of the inputs and weights that a run is given: free dims are those of
 * the inputs; what only data decide is learnt, and in *learned, which outlives the session. NULL
 * with *err. */
Session *cli_open_resolved(Cli *cli, Arena *arena, SessionOptions options, const RunOptions *run,
                           DataShapes *data_shapes, Error *err);

Json *run_report_json(const Session *session, const RunReport *report);
/* A number of a report as it is printed: without the sign that the machine gives a result that is
 * no number. */
double run_shown(double x);
void run_report_text(const Session *session, const RunReport *report, Buf *out);

/* `run --onnx-test DIR...`: every data set of every folder against its outputs, a line each; exit
 * code 1 when one differs, else that of the first one that could not be run. */
int cli_run_tests(Cli *cli);

/* `run MODEL --grad-vectors DIR`: gradients against those of the folder; exit code 1 when one
 * differs, or none could be compared. */
int cli_run_gradients(Cli *cli);

/* --cuts is "all" and comes with the mesh whose axes cut, or cli->err. */
bool cli_check_cuts(Cli *cli);

#endif
