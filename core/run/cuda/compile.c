#include "core/run/cuda/compile.h"

#include "core/base/file.h"
#include "core/base/intern.h"
#include "core/base/vec.h"
#include "core/run/cuda/device.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>

typedef enum { KERNEL_BEING_MADE, KERNEL_READY, KERNEL_REFUSED } KernelState;

typedef struct {
    int arch;
    Str text;
    KernelState state;
    cudaLibrary_t library;
    Error err; /* KERNEL_REFUSED */
} Entry;

struct Kernels {
    Arena *arena;
    pthread_mutex_t lock;
    pthread_cond_t made;
    Vec(Entry *) entries;
    const char *folder; /* NULL: no cache on disk */
    int nvrtc_major, nvrtc_minor;
};

/* ---- the cache folder ---- */

static const char *cache_folder(Arena *arena)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *folder = NULL;
    if (cache && *cache == '/')
        folder = arena_printf(arena, "%s/dimscope/kernels", cache);
    else if (home && *home == '/')
        folder = arena_printf(arena, "%s/.cache/dimscope/kernels", home);
    for (const char *s = folder ? strchr(folder + 1, '/') : NULL; s; s = strchr(s + 1, '/'))
        mkdir(arena_str(arena, (Str){folder, (size_t)(s - folder)}), 0700);
    if (folder)
        mkdir(folder, 0700); /* if this fails, writing the file fails too */
    return folder;
}

/* The header of a cache file, which must match to the byte. */
static Str file_head(Arena *arena, const Kernels *kernels, const Entry *entry)
{
    Buf head = buf_new(arena);
    buf_printf(&head, "dimscope kernel 1 sm_%d nvrtc %d.%d text %zu\n", entry->arch,
               kernels->nvrtc_major, kernels->nvrtc_minor, entry->text.n);
    buf_add(&head, entry->text);
    return buf_str(&head);
}

static const char *file_name(Arena *arena, const Kernels *kernels, Str head)
{
    return arena_printf(arena, "%s/%016" PRIx64 ".cubin", kernels->folder,
                        hash_bytes(head.s, head.n));
}

static bool load_code(Entry *entry, Str code, Error *err)
{
    return CUDA_CALL(err, cudaLibraryLoadData, &entry->library, code.s, NULL, NULL, 0, NULL, NULL,
                     0);
}

/* Returns false if the file is missing or unusable. */
static bool read_kept(Kernels *kernels, Entry *entry, Arena *scratch)
{
    if (!kernels->folder)
        return false;
    Str head = file_head(scratch, kernels, entry);
    FileMap map;
    if (!file_map(file_name(scratch, kernels, head), &map, NULL))
        return false;
    bool ok = map.text.n > head.n && memcmp(map.text.s, head.s, head.n) == 0;
    if (ok) {
        size_t n = map.text.n - head.n;
        char *code = arena_alloc(scratch, n); /* aligned for the driver */
        memcpy(code, map.text.s + head.n, n);
        ok = load_code(entry, (Str){code, n}, NULL);
    }
    file_unmap(&map);
    return ok;
}

static void keep(const Kernels *kernels, const Entry *entry, Str code, Arena *scratch)
{
    if (!kernels->folder)
        return;
    Buf file = buf_new(scratch);
    Str head = file_head(scratch, kernels, entry);
    buf_add(&file, head);
    buf_add(&file, code);
    Error unwritten = {0}; /* it will be compiled again */
    file_write(file_name(scratch, kernels, head), buf_str(&file), &unwritten);
}

/* ---- compiling ---- */

static bool nvrtc_ok(nvrtcResult status, const char *call, Error *err)
{
    return status == NVRTC_SUCCESS ||
           error_kind(err, ERROR_RUN, "%s: %s", call, nvrtcGetErrorString(status));
}

static Str text_line(Str text, int64_t line)
{
    Str rest = text, at = {0};
    for (int64_t i = 0; i < line && rest.n > 0; i++)
        at = str_take(&rest, '\n');
    return str_trim(at);
}

/* Reads "kernel.cu(12): error: what" of the log and line 12 of the text. */
static bool report_compile_error(Arena *scratch, nvrtcProgram program, Str source, Error *err)
{
    size_t n = 0;
    if (nvrtcGetProgramLogSize(program, &n) != NVRTC_SUCCESS || n == 0)
        return error_kind(err, ERROR_RUN, "a kernel does not compile, and NVRTC does not say why");
    char *log = arena_alloc(scratch, n + 1);
    if (nvrtcGetProgramLog(program, log) != NVRTC_SUCCESS)
        return error_kind(err, ERROR_RUN, "a kernel does not compile: no log");
    Str rest = str_from(log), message = {log, 0};
    while (rest.n > 0 && str_find(message, STR("error")) < 0)
        message = str_take(&rest, '\n');
    int64_t line = 0, at = str_find(message, STR("kernel.cu"));
    const char *open = at >= 0 ? strpbrk(message.s + at, "(:") : NULL;
    if (open)
        line = strtol(open + 1, NULL, 10);
    Str about = text_line(source, line);
    error_kind(err, ERROR_RUN, "a kernel does not compile: %.*s", STR_ARG(message));
    if (about.n > 0)
        error_hint(err, "line %" PRId64 " of its text: %.*s", line, STR_ARG(about));
    return false;
}

static bool compile_program(Arena *scratch, nvrtcProgram program, int arch, Str source, Str *code,
                            Error *err)
{
    const char *options[] = {arena_printf(scratch, "--gpu-architecture=sm_%d", arch),
                             "--std=c++17"};
    nvrtcResult status = nvrtcCompileProgram(program, 2, options);
    if (status == NVRTC_ERROR_COMPILATION)
        return report_compile_error(scratch, program, source, err);
    if (!nvrtc_ok(status, "nvrtcCompileProgram", err) ||
        !nvrtc_ok(nvrtcGetCUBINSize(program, &code->n), "nvrtcGetCUBINSize", err))
        return false;
    char *bytes = arena_alloc(scratch, code->n);
    code->s = bytes;
    return nvrtc_ok(nvrtcGetCUBIN(program, bytes), "nvrtcGetCUBIN", err);
}

static bool compile(Kernels *kernels, Entry *entry, Arena *scratch, Error *err)
{
    nvrtcProgram program = NULL;
    if (!nvrtc_ok(nvrtcCreateProgram(&program, entry->text.s, "kernel.cu", 0, NULL, NULL),
                  "nvrtcCreateProgram", err))
        return false;
    Str code = {0};
    bool ok = compile_program(scratch, program, entry->arch, entry->text, &code, err);
    nvrtcDestroyProgram(&program);
    if (!ok || !load_code(entry, code, err))
        return false;
    keep(kernels, entry, code, scratch);
    return true;
}

/* Called without the lock: only the creator uses an entry before it is ready. */
static void make(Kernels *kernels, Entry *entry)
{
    Arena *scratch = arena_new();
    bool ok = read_kept(kernels, entry, scratch) || compile(kernels, entry, scratch, &entry->err);
    arena_free(scratch);
    pthread_mutex_lock(&kernels->lock);
    entry->state = ok ? KERNEL_READY : KERNEL_REFUSED;
    pthread_cond_broadcast(&kernels->made);
    pthread_mutex_unlock(&kernels->lock);
}

/* ---- interface ---- */

Kernels *kernels_new(void)
{
    Arena *arena = arena_new();
    Kernels *kernels = arena_make(arena, Kernels);
    *kernels = (Kernels){.arena = arena, .folder = cache_folder(arena)};
    pthread_mutex_init(&kernels->lock, NULL);
    pthread_cond_init(&kernels->made, NULL);
    if (nvrtcVersion(&kernels->nvrtc_major, &kernels->nvrtc_minor) != NVRTC_SUCCESS)
        kernels->folder = NULL; /* version of the compiler unknown */
    return kernels;
}

void kernels_free(Kernels *kernels, bool stuck)
{
    if (!kernels)
        return;
    for (int i = 0; i < kernels->entries.n; i++)
        if (!stuck && kernels->entries.at[i]->state == KERNEL_READY)
            cuda_give_up(cudaLibraryUnload(kernels->entries.at[i]->library));
    pthread_cond_destroy(&kernels->made);
    pthread_mutex_destroy(&kernels->lock);
    arena_free(kernels->arena);
}

/* The entry for a kernel text. *mine is set when the entry is new, and the caller must make it.
 * Called with the lock held. */
static Entry *find_entry(Kernels *kernels, int arch, Str text, bool *mine)
{
    *mine = false;
    for (int i = 0; i < kernels->entries.n; i++) {
        Entry *entry = kernels->entries.at[i];
        if (entry->arch == arch && str_eq(entry->text, text))
            return entry;
    }
    Entry *entry = arena_make(kernels->arena, Entry);
    *entry = (Entry){.arch = arch};
    entry->text = (Str){arena_str(kernels->arena, text), text.n};
    vec_push(kernels->arena, &kernels->entries, entry);
    *mine = true;
    return entry;
}

bool kernels_get(Kernels *kernels, int arch, Str text, const char *name, cudaKernel_t *out,
                 Error *err)
{
    bool mine;
    pthread_mutex_lock(&kernels->lock);
    Entry *entry = find_entry(kernels, arch, text, &mine);
    pthread_mutex_unlock(&kernels->lock);
    if (mine)
        make(kernels, entry);
    pthread_mutex_lock(&kernels->lock);
    while (entry->state == KERNEL_BEING_MADE)
        pthread_cond_wait(&kernels->made, &kernels->lock);
    pthread_mutex_unlock(&kernels->lock);
    if (entry->state == KERNEL_READY)
        return CUDA_CALL(err, cudaLibraryGetKernel, out, entry->library, name);
    if (err && !error_is_set(err))
        *err = entry->err;
    return false;
}
