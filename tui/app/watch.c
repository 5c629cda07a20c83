#include "tui/app/watch.h"

#include "core/base/intern.h"
#include "core/base/vec.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { SETTLED_MS = 100 };

typedef struct {
    const char *(*path)(void *context);
    void (*changed)(void *context);
    void *context;
    uint64_t name, seen; /* hashes: of the path, of the file as it was last read; 0: none */
} WatchedFile;

struct Watch {
    Arena *arena;
    Vec(WatchedFile) files;
};

Watch *watch_new(Arena *arena)
{
    Watch *watch = arena_make(arena, Watch);

    watch->arena = arena;
    return watch;
}

/* A number that changes with the file; 0 if it does not exist. */
static uint64_t stamp(const char *path, bool *settled)
{
    struct stat status;
    struct timespec now;

    if (!path || stat(path, &status) != 0)
        return 0;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age_ms = (int64_t)(now.tv_sec - status.st_mtim.tv_sec) * 1000 +
                     (now.tv_nsec - status.st_mtim.tv_nsec) / 1000000;
    *settled = age_ms < 0 || age_ms >= SETTLED_MS;
    int64_t parts[] = {status.st_mtim.tv_sec, status.st_mtim.tv_nsec, status.st_size,
                       (int64_t)status.st_ino};
    return hash_bytes(parts, sizeof parts) | 1;
}

/* True when it is to be read again. A file that was not looked at before is as it was read. */
static bool is_written(WatchedFile *file)
{
    const char *path = file->path(file->context);
    uint64_t name = path ? hash_bytes(path, strlen(path)) | 1 : 0;
    bool settled = false;
    uint64_t now = stamp(path, &settled);

    if (name != file->name) {
        file->name = name;
        file->seen = now;
        return false;
    }
    if (now == 0 || now == file->seen || !settled)
        return false;
    file->seen = now;
    return true;
}

void watch_add(Watch *watch, const char *(*path)(void *context), void (*changed)(void *context),
               void *context)
{
    WatchedFile file = {path, changed, context, 0, 0};

    is_written(&file);
    vec_push(watch->arena, &watch->files, file);
}

bool watch_poll(Watch *watch)
{
    bool any = false;

    for (int i = 0; i < watch->files.n; i++) {
        if (!is_written(&watch->files.at[i]))
            continue;
        watch->files.at[i].changed(watch->files.at[i].context);
        any = true;
    }
    return any;
}
