/* run.h - shared by the files of `dimscope run`, and by `calibrate`. */
#ifndef TUI_CLI_RUN_H
#define TUI_CLI_RUN_H

#include "core/run/data_shapes.h"
#include "core/run/run.h"
#include "core/run/world.h"
#include "tui/cli/cli.h"

bool cli_run_options(Cli *cli, RunOptions *out); /* ERROR_USAGE in cli->err */

/* Returns false with cli->err unless every process has a session. */
bool cli_all_have(Cli *cli, World *world, const Session *session);

/* Opens the session of a model with the inputs and weights of a run: free dims get their sizes from
 * the inputs; sizes that depend on data are resolved into *data_shapes, which must outlive the
 * session. NULL with *err. */
Session *cli_open_resolved(Cli *cli, Arena *arena, SessionOptions options, const RunOptions *run,
                           DataShapes *data_shapes, Error *err);

Json *run_report_json(const Session *session, const RunReport *report);
/* A number for printing: NaN loses the sign that the machine may give it. */
double run_shown(double x);
void run_report_text(const Session *session, const RunReport *report, Buf *out);

/* `run --onnx-test DIR...`: compares every data set of every folder with its outputs, one line
 * each; exit code 1 if one differs, else that of the first one that could not run. */
int cli_run_tests(Cli *cli);

/* `run MODEL --grad-vectors DIR`: compares gradients with those of the folder; exit code 1 if one
 * differs, or none could be compared. */
int cli_run_gradients(Cli *cli);

/* Checks that --cuts is "all" and comes with a mesh; else sets cli->err. */
bool cli_check_cuts(Cli *cli);

#endif
