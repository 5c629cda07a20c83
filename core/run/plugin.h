/* plugin.h - runners that are not in the program: dimscope_mpi.so and dimscope_cuda.so.
 *
 * They are loaded when they are asked for, so that the program starts where MPI and CUDA are not.
 * A plugin calls the functions of this program, which is linked so that it can, and has one symbol:
 *
 *     const Plugin dimscope_plugin = {PLUGIN_VERSION, ..};
 *
 * It is looked for in the folder $DIMSCOPE_PLUGINS names, beside the program, and in
 * ../lib/dimscope from there. Once loaded it stays.
 */
#ifndef CORE_RUN_PLUGIN_H
#define CORE_RUN_PLUGIN_H

#include "core/run/runner.h"

enum { PLUGIN_VERSION = 1 };

typedef struct {
    int version;
    const Runner *runner;
    /* Whether this machine has what it takes: a device, a driver. *err says what is missing. */
    bool (*usable)(Error *err);
    bool (*world_open)(World *out, Error *err); /* NULL: it makes no world */
} Plugin;

/* The runner of a backend: "host", "mpi", "cuda"; "auto" or NULL: cuda where it is usable, else the
 * host. ERROR_USAGE: no such backend, no plugin, or it is not usable here. */
const Runner *runner_find(const char *backend, Error *err);

/* The processes this one was started with: those of mpirun, else it is alone. Ends with
 * out->close(). */
bool world_open(const char *backend, World *out, Error *err);

#endif
