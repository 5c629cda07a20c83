#include "core/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static bool fail(Error *err, const char *path, const char *what)
{
    error_kind(err, ERROR_UNREADABLE, "%s: %s", what, strerror(errno));
    error_in_file(err, path);
    return false;
}

/* A descriptor of a regular file, or -1. O_NONBLOCK: opening a pipe without a writer must not wait
 * for one. */
static int open_regular(const char *path, struct stat *info, Error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        fail(err, path, "cannot open");
        return -1;
    }
    if (fstat(fd, info) == 0 && S_ISREG(info->st_mode))
        return fd;
    error_kind(err, ERROR_UNREADABLE,
               S_ISDIR(info->st_mode) ? "is a directory" : "is not a regular file");
    error_in_file(err, path);
    close(fd);
    return -1;
}

bool file_map(const char *path, FileMap *out, Error *err)
{
    *out = (FileMap){.text = STR("")};
    struct stat info = {0};
    int fd = open_regular(path, &info, err);
    if (fd < 0)
        return false;
    if (info.st_size > 0) {
        void *map = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED) {
            fail(err, path, "cannot map");
            close(fd);
            return false;
        }
        *out = (FileMap){.text = {map, (size_t)info.st_size},
                         .map = map,
                         .fd = fd,
                         .written_s = info.st_mtim.tv_sec,
                         .written_ns = info.st_mtim.tv_nsec};
        return true;
    }
    close(fd);
    return true;
}

void file_unmap(FileMap *map)
{
    if (map->map) {
        munmap(map->map, map->text.n);
        close(map->fd);
    }
    *map = (FileMap){.text = STR("")};
}

bool file_map_is_stale(const FileMap *map)
{
    struct stat now;
    return map->map && fstat(map->fd, &now) == 0 &&
           ((size_t)now.st_size != map->text.n || now.st_mtim.tv_sec != map->written_s ||
            now.st_mtim.tv_nsec != map->written_ns);
}

static ssize_t read_some(int fd, char *into, size_t n)
{
    ssize_t got;
    do
        got = read(fd, into, n);
    while (got < 0 && errno == EINTR);
    return got;
}

/* Reads to the end of fd, since files of /proc report a size of 0. */
static bool read_all(int fd, const char *path, size_t limit_bytes, Buf *out, Error *err)
{
    char chunk[1 << 14];
    for (;;) {
        ssize_t got = read_some(fd, chunk, sizeof chunk);
        if (got < 0)
            return fail(err, path, "cannot read");
        if (got == 0)
            return true;
        if ((size_t)got > limit_bytes - out->n) {
            error_kind(err, ERROR_UNREADABLE, "is larger than the %zu bytes allowed here",
                       limit_bytes);
            error_in_file(err, path);
            return false;
        }
        buf_add(out, (Str){chunk, (size_t)got});
    }
}

bool file_read(Arena *arena, const char *path, size_t limit_bytes, Source *out, Error *err)
{
    struct stat info = {0};
    int fd = open_regular(path, &info, err);
    if (fd < 0)
        return false;
    Buf text = buf_new(arena);
    bool ok = read_all(fd, path, limit_bytes, &text, err);
    close(fd);
    Str whole = buf_str(&text);
    size_t mark = str_starts(whole, STR("\xEF\xBB\xBF")) ? 3 : 0;
    if (ok)
        *out = (Source){.name = arena_str(arena, str_from(path)),
                        .text = {whole.s + mark, whole.n - mark}};
    return ok;
}

bool file_write_all(int fd, Str text)
{
    while (text.n > 0) {
        ssize_t n = write(fd, text.s, text.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        text = (Str){text.s + n, text.n - (size_t)n};
    }
    return true;
}

/* Writes to a pipe, a terminal or /dev/null, which have no old content to keep. A pipe without a
 * reader is an error (O_NONBLOCK); a slow reader is waited for. */
static bool write_device(const char *path, Str text, Error *err)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return fail(err, path, "cannot open");
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    bool ok = file_write_all(fd, text) || fail(err, path, "cannot write");
    if (close(fd) != 0 && ok)
        ok = fail(err, path, "cannot write");
    return ok;
}

/* Some file systems cannot sync; that is no failure. */
static bool sync_file(int fd)
{
    return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP;
}

/* A new file for what is to become `temp`: without a name where the file system has such files, so
 * that a killed process leaves nothing behind. */
static int open_temp(const char *temp, bool *named)
{
    char folder[PATH_MAX + 32];
    const char *slash = strrchr(temp, '/');
    int n = slash ? (int)(slash - temp) + 1 : 2;
    snprintf(folder, sizeof folder, "%.*s", n, slash ? temp : "./");

    /* it gets its name by way of /proc */
    int fd = access("/proc/self/fd", X_OK) == 0
                 ? open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666)
                 : -1;
    *named = fd < 0;
    return *named ? open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666) : fd;
}

/* Gives a file without a name its name, which must be free. */
static bool name_temp(int fd, const char *temp)
{
    char own[64];
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    return linkat(AT_FDCWD, own, AT_FDCWD, temp, AT_SYMLINK_FOLLOW) == 0;
}

/* Writes the temporary file `temp` completely to disk; mode 0 means the default that the umask
 * gives. */
static bool write_temp(const char *temp, mode_t mode, Str text)
{
    bool named;
    int fd = open_temp(temp, &named);
    if (fd < 0)
        return false;
    bool ok = (mode == 0 || fchmod(fd, mode) == 0) && file_write_all(fd, text) && sync_file(fd) &&
              (named || name_temp(fd, temp));
    int cause = errno;
    named = named || ok;
    if (close(fd) != 0 && ok) {
        cause = errno;
        ok = false;
    }
    if (!ok && named)
        unlink(temp);
    errno = cause;
    return ok;
}

/* A killed process with our process id may have left temporary files. */
enum { TEMPS_MAX = 100 };

static bool write_temp_and_rename(const char *target, mode_t mode, Str text)
{
    char temp[PATH_MAX + 32];
    bool ok = false;

    for (int i = 0; !ok && i < TEMPS_MAX && (i == 0 || errno == EEXIST); i++) {
        snprintf(temp, sizeof temp, "%s.%ld.tmp", target, (long)getpid() + (long)i * 10000000);
        ok = write_temp(temp, mode, text);
    }
    if (!ok || rename(temp, target) == 0)
        return ok;
    int cause = errno;
    unlink(temp);
    errno = cause;
    return false;
}

/* Blocks signals that would end the program until the write is complete. */
static bool write_over(const char *target, mode_t mode, Str text)
{
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    sigaddset(&ends, SIGQUIT);
    pthread_sigmask(SIG_BLOCK, &ends, &before);
    bool ok = write_temp_and_rename(target, mode, text);
    int cause = errno;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = cause;
    return ok;
}

bool file_write(const char *path, Str text, Error *err)
{
    struct stat info = {0};
    bool exists = stat(path, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        errno = EISDIR;
        return fail(err, path, "cannot write");
    }
    if (exists && !S_ISREG(info.st_mode))
        return write_device(path, text, err);
    if (exists && access(path, W_OK) != 0)
        return fail(err, path, "cannot write");

    char target[PATH_MAX]; /* a link stays a link: what it points to is replaced */
    if (!exists || !realpath(path, target))
        snprintf(target, sizeof target, "%s", path);
    return write_over(target, info.st_mode & 07777, text) || fail(err, path, "cannot write");
}

bool file_is_yaml(Str path)
{
    return str_ends(path, STR(".yaml")) || str_ends(path, STR(".yml"));
}

bool file_is_script(Str path)
{
    return str_ends(path, STR(".lua")) || file_is_yaml(path);
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

bool file_is_absent(const char *path)
{
    struct stat info;
    return lstat(path, &info) != 0 && (errno == ENOENT || errno == ENOTDIR);
}

bool path_is_below(const char *folder, const char *path)
{
    char *real_folder = realpath(*folder ? folder : ".", NULL), *real_path = realpath(path, NULL);
    size_t n = real_folder ? strlen(real_folder) : 0;
    bool below = real_folder && real_path && strncmp(real_folder, real_path, n) == 0 &&
                 (real_path[n] == '/' || (n > 0 && real_folder[n - 1] == '/'));
    free(real_folder);
    free(real_path);
    return below;
}

const char *path_dir(Arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (!slash)
        return ".";
    size_t n = slash == path ? 1 : (size_t)(slash - path);
    return arena_str(arena, (Str){path, n});
}

const char *path_join(Arena *arena, const char *dir, const char *name)
{
    if (name[0] == '/')
        return arena_str(arena, str_from(name));
    const char *slash = dir[0] == '\0' || str_ends(str_from(dir), STR("/")) ? "" : "/";
    return arena_printf(arena, "%s%s%s", dir, slash, name);
}

const char *path_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
