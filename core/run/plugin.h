/* plugin.h - runners in shared libraries: dimscope_mpi.so and dimscope_cuda.so.
 *
 * They are loaded on demand, so that the program starts without MPI or CUDA. A plugin calls
 * functions that the program exports, and has one symbol:
 *
 *     const Plugin dimscope_plugin = {PLUGIN_VERSION, ..};
 *
 * It is searched in $DIMSCOPE_PLUGINS, beside the program, and in ../lib/dimscope from there. Once
 * loaded it stays.
 */
#ifndef CORE_RUN_PLUGIN_H
#define CORE_RUN_PLUGIN_H

#include "core/run/runner.h"

enum { PLUGIN_VERSION = 1 };

typedef struct {
    int version;
    const Runner *runner;
    /* Whether this machine has the device and driver; *err says what is missing. */
    bool (*usable)(Error *err);
    bool (*world_open)(World *out, Error *err); /* NULL: it has no processes of its own */
} Plugin;

/* A library that the program looks for: what runs with it, and how one gets it. */
typedef struct {
    const char *name, *file, *needs; /* "mpi", "dimscope_mpi.so", a sentence */
    bool installed;
} PluginFile;

/* The i-th library; false after the last. */
bool plugin_file(int i, PluginFile *out);

/* The runner of a backend: "host", "mpi", "cuda"; "auto" or NULL means cuda if it is usable, else
 * host. ERROR_USAGE for an unknown backend, a missing plugin, or one that is not usable on this
 * machine. */
const Runner *runner_find(const char *backend, Error *err);

/* The processes of this run: those that mpirun started, else this one alone. End with
 * out->close(). */
bool world_open(const char *backend, World *out, Error *err);

#endif
