#include "scripts/data_dirs.h"

#include "core/base/file.h"
#include "core/base/text.h"
#include "core/base/vec.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where scripts/ may be, seen from the executable: beside it, installed, above build/debug. */
static const char *const places[] = {"", "../share/dimscope", "../.."};

enum { N_PLACES = sizeof places / sizeof *places };
_Static_assert(N_PLACES + 2 <= DATA_DIRS_MAX, "room for the places, the installed one and NULL");

/* Folders below scripts/KIND whose files are named as those of the kind itself: models with a state
 * that is carried along the sequence, encoders, and what stands in models of images. */
static const char *const shelves[] = {"", "/states", "/encoders", "/images"};

enum { N_SHELVES = sizeof shelves / sizeof *shelves };

/* The folder of the running program; NULL when the system does not say. */
static const char *executable_dir(Arena *arena)
{
    enum { PATH_ROOM = 4096 };
    char *path = arena_alloc(arena, PATH_ROOM);
    ssize_t n = readlink("/proc/self/exe", path, PATH_ROOM - 1);
    return n > 0 ? path_dir(arena, path) : NULL;
}

DataDirs data_dirs_make(Arena *arena, const char *given)
{
    DataDirs dirs = {.arena = arena};
    int n = 0;
    if (given) {
        dirs.dir[n++] = arena_str(arena, str_from(given));
        return dirs;
    }
    const char *beside = executable_dir(arena);
    for (size_t i = 0; beside && i < N_PLACES; i++)
        dirs.dir[n++] = path_join(arena, beside, places[i]);
#ifdef DIMSCOPE_DATADIR
    dirs.dir[n++] = DIMSCOPE_DATADIR;
#endif
    return dirs;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

typedef Vec(const char *) FileNames;

/* Adds the names of the files NAME.lua in a folder, without the ending. */
static void read_folder(Arena *arena, const char *folder, FileNames *names)
{
    DIR *dir = opendir(folder);
    for (struct dirent *it; dir && (it = readdir(dir));) {
        Str name = str_from(it->d_name);
        if (str_ends(name, STR(".lua")))
            vec_push(arena, names, arena_str(arena, (Str){name.s, name.n - 4}));
    }
    if (dir)
        closedir(dir);
}

/* "a, b, c", sorted, with `between` between; "" when there are none. */
static const char *list_names(Arena *arena, FileNames names, const char *between)
{
    Buf text = buf_new(arena);
    if (names.n > 0)
        qsort(names.at, (size_t)names.n, sizeof *names.at, compare_texts);
    for (int i = 0; i < names.n; i++)
        buf_printf(&text, "%s%s", i > 0 ? between : "", names.at[i]);
    return text.n > 0 ? text.s : "";
}

static const char *shelf_path(Arena *arena, const char *dir, const char *kind, int shelf)
{
    return path_join(arena, dir, arena_printf(arena, "scripts/%s%s", kind, shelves[shelf]));
}

/* Names of the files of a kind in the first place that has any. */
static const char *names_of(const DataDirs *dirs, Arena *arena, const char *kind,
                            const char *between)
{
    FileNames names = {0};
    for (const char *const *dir = dirs->dir; *dir && names.n == 0; dir++)
        for (int i = 0; i < N_SHELVES; i++)
            read_folder(arena, shelf_path(arena, *dir, kind, i), &names);
    return list_names(arena, names, between);
}

const char *data_dirs_find(const DataDirs *dirs, const char *kind, const char *name, Error *err)
{
    const char *file = arena_printf(dirs->arena, "%s.lua", name);
    for (const char *const *dir = dirs->dir; *dir; dir++)
        for (int i = 0; i < N_SHELVES; i++) {
            const char *path = path_join(dirs->arena, shelf_path(dirs->arena, *dir, kind, i), file);
            if (file_exists(path))
                return path;
        }
    error_kind(err, ERROR_UNREADABLE, "there is no '%s' among the %s", name, kind);
    const char *listed = err ? names_of(dirs, dirs->arena, kind, ", ") : "";
    if (listed[0] != '\0')
        error_hint(err, "shipped: %s; or give the path of a file", listed);
    return NULL;
}

const char *data_dirs_find_or_path(const DataDirs *dirs, const char *kind, const char *name,
                                   Error *err)
{
    if (strchr(name, '/') || file_is_script(str_from(name)))
        return arena_str(dirs->arena, str_from(name));
    return data_dirs_find(dirs, kind, name, err);
}

const char *data_dirs_find_included(const DataDirs *dirs, const char *kind, const char *name,
                                    Error *err)
{
    const char *path = data_dirs_find(dirs, kind, name, NULL);
    if (path)
        return path;
    FileNames names = {0};
    for (const char *const *dir = dirs->dir; *dir && names.n == 0; dir++)
        read_folder(dirs->arena,
                    path_join(dirs->arena, *dir, arena_printf(dirs->arena, "scripts/%s/lib", kind)),
                    &names);
    error_kind(err, ERROR_UNREADABLE, "there is no '%s' among the %s", name, kind);
    if (names.n > 0)
        error_hint(err, "there are: lib/%s", list_names(dirs->arena, names, ", lib/"));
    return NULL;
}

const char *data_dirs_names(const DataDirs *dirs, Arena *arena, const char *kind)
{
    return names_of(dirs, arena, kind, " ");
}

const char *data_dirs_file(const DataDirs *dirs, Arena *arena, const char *path)
{
    for (const char *const *dir = dirs->dir; *dir; dir++) {
        const char *found = path_join(arena, *dir, path);
        if (file_exists(found))
            return found;
    }
    return NULL;
}
