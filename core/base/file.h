/* file.h - whole files: mapped for reading, written beside and renamed. */
#ifndef CORE_BASE_FILE_H
#define CORE_BASE_FILE_H

#include "core/base/error.h"

typedef struct {
    Str text;  /* mapped read-only; s is "" for an empty file */
    void *map; /* what file_unmap() needs */
    int fd;    /* of the mapped file; the next two fields: its time stamp when it was mapped */
    int64_t written_s, written_ns;
} FileMap;

bool file_map(const char *path, FileMap *out, Error *err); /* directories and devices are errors */
void file_unmap(FileMap *map);
/* Returns whether the file was written to since it was mapped. If so, its text has changed; if the
 * file has become shorter, reading the end of the map kills the program. Replacing the file with
 * rename() is harmless. */
bool file_map_is_stale(const FileMap *map);

/* Reads a small file of text (at most limit_bytes) into the arena, NUL-terminated, without the byte
 * order mark that some editors put before it. */
bool file_read(Arena *arena, const char *path, size_t limit_bytes, Source *out, Error *err);

/* Writes all bytes to a descriptor, in as many calls as needed; safe in signal handlers. Returns
 * false, with errno, if not all could be written. */
bool file_write_all(int fd, Str text);

/* Writes to a temporary name in the same folder, syncs and renames, so that the old file stays
 * intact on any failure. A read-only file is not replaced either. */
bool file_write(const char *path, Str text, Error *err);

bool file_is_yaml(Str path);
/* Returns whether the path names a script: a Lua file, or a YAML file of templates. */
bool file_is_script(Str path);
bool file_exists(const char *path);
/* Returns whether no file has that name: false also for a link to a missing file, and for a path
 * that may not be looked up. */
bool file_is_absent(const char *path);
/* Returns whether the file is in the folder or in one below it, after following links. */
bool path_is_below(const char *folder, const char *path);
const char *path_dir(Arena *arena, const char *path);                   /* "." if there is none */
const char *path_join(Arena *arena, const char *dir, const char *name); /* an absolute name is
                                                                           returned as it is */
const char *path_base(const char *path);                                /* after the last '/' */

#endif
