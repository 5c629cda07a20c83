/* fault.c - a library that is preloaded: the n-th call of one function fails, as if memory, the
 * disk or the system had run out.
 *
 *   FAULT=malloc:17     the 17th of malloc(), calloc() and realloc() returns NULL
 *   FAULT=write:3+      the third write() and all after it fail: a disk that stays full
 *   FAULT_IN=child      calls of the first process that it forks are counted, not its own
 *   FAULT_COUNTS=FILE   how often each function was called, as int64 in the order of `calls`; kept
 *                       up to date in the file, so that a process that dies has counted too
 *   FAULT_STACKS=FILE   which calls for memory were the first from where they stand, as int64:
 * those whose return addresses, STACK_MAX of them, no call before them had
 *
 * A program that is started by the one that is tested runs without faults. Calls before main() are
 * the loader's, and do not count. */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ORDER CALL */
enum { MALLOC, OPEN, WRITE, FSYNC, RENAME, FORK, THREAD, MMAP, PIPE, N_CALLS };
static const struct {
    const char *name;
    int cause;
} calls[N_CALLS] = {
    {"malloc", ENOMEM}, {"open", EMFILE},   {"write", ENOSPC}, {"fsync", EIO},   {"rename", EACCES},
    {"fork", EAGAIN},   {"thread", EAGAIN}, {"mmap", ENOMEM},  {"pipe", EMFILE},
};

static atomic_long own_counts[N_CALLS], *counts = own_counts;
static int fault_call = -1;
static long fault_n;
static bool fault_stays, in_child;
static pid_t counted; /* the process whose calls count; 0: none yet */

/* glibc's own, which dlsym() itself may call. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *at, size_t n);

static void parse_fault(const char *fault)
{
    const char *colon = strchr(fault, ':');
    for (int call = 0; colon && call < N_CALLS; call++)
        if (strlen(calls[call].name) == (size_t)(colon - fault) &&
            strncmp(fault, calls[call].name, (size_t)(colon - fault)) == 0)
            fault_call = call;
    fault_n = colon ? strtol(colon + 1, NULL, 10) : 0;
    fault_stays = fault[strlen(fault) - 1] == '+';
}

/* ---- stacks ---- */

enum { STACK_MAX = 24, SEEN_MAX = 1 << 20 };
static int stacks_fd = -1;
static uint64_t seen[SEEN_MAX]; /* hashes of stacks, open addressing; 0: free */
static pthread_mutex_t seen_lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_first(uint64_t hash)
{
    size_t at = hash % SEEN_MAX;
    while (seen[at] != 0 && seen[at] != hash)
        at = (at + 1) % SEEN_MAX;
    bool first = seen[at] == 0;
    seen[at] = hash;
    return first;
}

/* Who unwinds may ask for memory itself: that is not looked at. */
static void note_stack(int64_t n)
{
    static _Thread_local bool inside;
    void *from[STACK_MAX];
    if (inside)
        return;
    inside = true;
    uint64_t hash = 14695981039346656037u;
    int depth = backtrace(from, STACK_MAX);
    for (int i = 0; i < depth; i++)
        hash = (hash ^ (uint64_t)(uintptr_t)from[i]) * 1099511628211u;
    pthread_mutex_lock(&seen_lock);
    if (is_first(hash | 1))
        syscall(SYS_write, stacks_fd, &n, sizeof n);
    pthread_mutex_unlock(&seen_lock);
    inside = false;
}

static void open_stacks(const char *path)
{
    void *from[1];
    backtrace(from, 1); /* loads what it needs */
    stacks_fd =
        (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

static void map_counts(const char *path)
{
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_TRUNC, 0666);
    if (fd < 0 || ftruncate(fd, sizeof own_counts) != 0)
        _exit(99);
    counts = (atomic_long *)syscall(SYS_mmap, NULL, sizeof own_counts, PROT_READ | PROT_WRITE,
                                    MAP_SHARED, fd, 0);
    close(fd);
}

__attribute__((constructor)) static void begin(void)
{
    const char *fault = getenv("FAULT"), *in = getenv("FAULT_IN"), *path = getenv("FAULT_COUNTS"),
               *stacks = getenv("FAULT_STACKS");
    if (path)
        map_counts(path);
    if (stacks)
        open_stacks(stacks);
    if (fault)
        parse_fault(fault);
    in_child = in && strcmp(in, "child") == 0;
    unsetenv("LD_PRELOAD");
    counted = in_child ? 0 : getpid();
}

/* The dictionaries of cgraph and its writer do not check what they get; viz/dot.c asks for their
 * memory before, and gives cgraph its own functions for all other memory. */
static bool is_unchecked(const void *caller)
{
    Dl_info of;
    return dladdr(caller, &of) && of.dli_fname &&
           (strstr(of.dli_fname, "libcdt") || strstr(of.dli_fname, "libcgraph"));
}

/* Whether this call fails; errno is set then. */
static bool fails_for(int call, const void *caller)
{
    if (counted == 0 || getpid() != counted)
        return false;
    long n = atomic_fetch_add(&counts[call], 1) + 1;
    if (call == MALLOC && stacks_fd >= 0)
        note_stack(n);
    if (call != fault_call || !(n == fault_n || (fault_stays && n > fault_n)) ||
        (caller && is_unchecked(caller)))
        return false;
    errno = calls[call].cause;
    return true;
}

static bool fails(int call)
{
    return fails_for(call, NULL);
}

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

void *malloc(size_t n)
{
    return fails_for(MALLOC, __builtin_return_address(0)) ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return fails_for(MALLOC, __builtin_return_address(0)) ? NULL : __libc_calloc(n, size);
}

void *realloc(void *at, size_t n)
{
    return n > 0 && fails_for(MALLOC, __builtin_return_address(0)) ? NULL : __libc_realloc(at, n);
}

int open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
    va_end(args);
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))next("open");
    return fails(OPEN) ? -1 : real(path, flags, mode);
}

/* Every second write that does not fail is short, so that whoever writes goes on. */
ssize_t write(int fd, const void *from, size_t n)
{
    ssize_t (*real)(int, const void *, size_t) =
        (ssize_t(*)(int, const void *, size_t))next("write");
    if (fails(WRITE))
        return -1;
    return real(fd, from, n > 1 && atomic_load(&counts[WRITE]) % 2 == 1 ? n / 2 : n);
}

int fsync(int fd)
{
    int (*real)(int) = (int (*)(int))next("fsync");
    return fails(FSYNC) ? -1 : real(fd);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *) = (int (*)(const char *, const char *))next("rename");
    return fails(RENAME) ? -1 : real(from, to);
}

pid_t fork(void)
{
    pid_t (*real)(void) = (pid_t(*)(void))next("fork");
    pid_t pid = fails(FORK) ? -1 : real();
    if (pid == 0 && in_child && counted == 0)
        counted = getpid();
    return pid;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *of)
{
    typedef int Create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    Create *real = (Create *)next("pthread_create");
    return fails(THREAD) ? EAGAIN : real(thread, attributes, run, of);
}

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t from)
{
    typedef void *Map(void *, size_t, int, int, int, off_t);
    Map *real = (Map *)next("mmap");
    return fails(MMAP) ? MAP_FAILED : real(at, n, protection, flags, fd, from);
}

int pipe2(int ends[2], int flags)
{
    int (*real)(int[2], int) = (int (*)(int[2], int))next("pipe2");
    return fails(PIPE) ? -1 : real(ends, flags);
}
