#include "core/run/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

enum { PATH_ROOM = 4096 };

/* The folder of the program; "." when unknown. */
static const char *program_folder(Arena *arena)
{
    char path[PATH_ROOM];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return ".";
    path[n] = '\0';
    return path_dir(arena, path);
}

static const char *find_file(Arena *arena, const char *name)
{
    const char *folder = getenv("DIMSCOPE_PLUGINS"), *beside = program_folder(arena);
    const char *folders[] = {folder && *folder ? folder : NULL, beside,
                             path_join(arena, beside, "../lib/dimscope")};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *path = folders[i] ? path_join(arena, folders[i], name) : NULL;
        if (path && file_exists(path))
            return path;
    }
    return NULL;
}

static bool load(const char *path, const Plugin **out, Error *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return error_kind(err, ERROR_USAGE, "%s", dlerror());
    *out = dlsym(library, "dimscope_plugin");
    dlclose(library); /* it stays mapped */
    if (!*out)
        return error_kind(err, ERROR_USAGE, "'%s' is not a runner of dimscope", path);
    if ((*out)->version == PLUGIN_VERSION)
        return true;
    error_kind(err, ERROR_USAGE, "'%s' is of another version of dimscope", path);
    error_hint(err, "$DIMSCOPE_PLUGINS names the folder where plugins are looked for first");
    return false;
}

static const PluginFile known[] = {
    {"mpi", "dimscope_mpi.so", "`make mpi` builds it where Open MPI is", false},
    {"cuda", "dimscope_cuda.so", "`make cuda` builds it where the CUDA toolkit is", false}};
enum { N_KNOWN = sizeof known / sizeof *known };

bool plugin_file(int i, PluginFile *out)
{
    if (i >= N_KNOWN)
        return false;
    Arena *arena = arena_new();
    *out = known[i];
    out->installed = find_file(arena, out->file) != NULL;
    arena_free(arena);
    return true;
}

static const Plugin *plugin_find(const char *backend, Error *err)
{
    const Plugin *plugin = NULL;
    int i = 0;
    while (i < N_KNOWN && strcmp(known[i].name, backend) != 0)
        i++;
    if (i == N_KNOWN) {
        error_kind(err, ERROR_USAGE, "unknown backend '%s'", backend);
        error_hint(err, "host, mpi, cuda or auto");
        return NULL;
    }
    Arena *arena = arena_new();
    const char *path = find_file(arena, known[i].file);
    if (path && !load(path, &plugin, err))
        plugin = NULL;
    if (!path) {
        error_kind(err, ERROR_USAGE, "%s is not installed", known[i].file);
        error_hint(err, "%s", known[i].needs);
    }
    arena_free(arena);
    return plugin;
}

const Runner *runner_find(const char *backend, Error *err)
{
    if (!backend || strcmp(backend, "host") == 0)
        return &host_runner;
    bool any = strcmp(backend, "auto") == 0;
    const Plugin *plugin = plugin_find(any ? "cuda" : backend, any ? NULL : err);
    if (plugin && (!plugin->usable || plugin->usable(any ? NULL : err)))
        return plugin->runner;
    return any ? &host_runner : NULL;
}

/* Whether Open MPI, MPICH or Slurm started this process. */
static bool is_one_of_many(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i]))
            return true;
    return false;
}

bool world_open(const char *backend, World *out, Error *err)
{
    *out = world_alone();
    bool mpi = backend && strcmp(backend, "mpi") == 0;
    if (!mpi && !is_one_of_many())
        return true;
    const Plugin *plugin = plugin_find("mpi", err);
    return plugin && plugin->world_open(out, err);
}
