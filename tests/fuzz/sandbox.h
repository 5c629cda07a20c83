/* sandbox.h - where a fuzzed explorer may write: an empty folder, and nowhere else. It is the
 * working directory from LLVMFuzzerInitialize() on; `root` is where the fuzzer was started.
 *
 * open() and fork() stand here for those of libc: a file outside is as if it could not be written,
 * and no process can be started.
 */
#ifndef TESTS_FUZZ_SANDBOX_H
#define TESTS_FUZZ_SANDBOX_H

#include "core/base/str.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define fail_msg(...) (fprintf(stderr, __VA_ARGS__), abort())

int LLVMFuzzerInitialize(int *argc, char ***argv);

static char root[PATH_MAX], folder[] = "/tmp/dimscope-fuzz-XXXXXX";
static bool wrote; /* a file since the folder was emptied */

pid_t fork(void)
{
    errno = EAGAIN;
    return -1;
}

int open(const char *path, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, unsigned) : 0;
    va_end(more);
    bool outside = path[0] == '/' || strstr(path, "..");
    if ((flags & O_ACCMODE) != O_RDONLY && outside && strcmp(path, "/dev/null") != 0) {
        errno = EACCES;
        return -1;
    }
    wrote = wrote || flags & (O_CREAT | O_TMPFILE);
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static const char *absolute(const char *path)
{
    enum { PATHS_MAX = 64 };
    static char whole[PATHS_MAX][PATH_MAX]; /* as long as the program */
    static int n;
    if (n == PATHS_MAX || !realpath(path, whole[n]))
        fail_msg("%s: %s\n", path, strerror(errno));
    return whole[n++];
}

static void remove_folder(void)
{
    if (chdir(root) == 0)
        rmdir(folder);
}

/* The folder is where it works; what the fuzzer was told to use stays where it is. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static const char prefix[] = "-artifact_prefix=";
    static char artifacts[2 * PATH_MAX + sizeof prefix + 1];
    if (!getcwd(root, sizeof root) || !mkdtemp(folder))
        fail_msg("no folder: %s\n", strerror(errno));
    for (int i = 1; i < *argc; i++) {
        char *arg = (*argv)[i];
        if (strncmp(arg, prefix, sizeof prefix - 1) == 0) {
            const char *begin = arg + sizeof prefix - 1; /* of names of files, or a folder */
            snprintf(artifacts, sizeof artifacts, "%s%s%s%s", prefix, *begin == '/' ? "" : root,
                     *begin == '/' ? "" : "/", begin);
            (*argv)[i] = artifacts;
        } else if (arg[0] != '-') {
            (*argv)[i] = (char *)(uintptr_t)absolute(arg);
        }
    }
    if (chdir(folder) != 0)
        fail_msg("%s: %s\n", folder, strerror(errno));
    return atexit(remove_folder);
}

static inline void empty_folder(void)
{
    DIR *dir = opendir(".");
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        if (entry->d_name[0] != '.' || strlen(entry->d_name) > 2)
            unlink(entry->d_name);
    if (dir)
        closedir(dir);
}

/* The file of that name, the only one so written: a link to memory. */
static inline void write_in_memory(const char *name, Str text)
{
    static int file = -1;
    char path[64];
    if (file < 0) {
        file = memfd_create(name, 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        if (file < 0 || symlink(path, name) != 0)
            fail_msg("no file: %s\n", strerror(errno));
    }
    if (ftruncate(file, 0) != 0 || pwrite(file, text.s, text.n, 0) != (ssize_t)text.n)
        fail_msg("not written: %s\n", strerror(errno));
}

#endif
