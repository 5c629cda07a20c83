/* data_dirs.h - finds the files that come with the program, below its folder scripts/.
 *
 * "megatron" among the policies is scripts/policies/megatron.lua. Models stand in several folders:
 * "llama" is scripts/models/llama.lua, "mamba" is scripts/models/states/mamba.lua.
 */
#ifndef SCRIPTS_DATA_DIRS_H
#define SCRIPTS_DATA_DIRS_H

#include "core/base/arena.h"
#include "core/base/error.h"

enum { DATA_DIRS_MAX = 5 };

typedef struct {
    Arena *arena;                   /* of the paths that are found */
    const char *dir[DATA_DIRS_MAX]; /* folders that may contain scripts/; ended by NULL */
} DataDirs;

/* given: the folder that contains scripts/; NULL: beside the running program, or installed. The
 * arena must outlive what is made. */
DataDirs data_dirs_make(Arena *arena, const char *given);

/* The file of that name: kind is "machines", "policies" or "models". NULL with ERROR_UNREADABLE,
 * which lists what there is. */
const char *data_dirs_find(const DataDirs *dirs, const char *kind, const char *name, Error *err);
/* The same, or the path that the name is: one with '/', or of a script. */
const char *data_dirs_find_or_path(const DataDirs *dirs, const char *kind, const char *name,
                                   Error *err);
/* The same for an include, "lib/layers": the error lists the files of lib. */
const char *data_dirs_find_included(const DataDirs *dirs, const char *kind, const char *name,
                                    Error *err);

/* Names of all files of a kind, sorted, separated by blanks; "" if there are none. */
const char *data_dirs_names(const DataDirs *dirs, Arena *arena, const char *kind);
/* A file by its path, "samples/models/gpt2.onnx"; NULL if there is none. */
const char *data_dirs_file(const DataDirs *dirs, Arena *arena, const char *path);

#endif
