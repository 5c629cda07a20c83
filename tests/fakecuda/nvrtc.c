/* A fake NVRTC: the system's C compiler makes a shared object of the text, cached by hash. */
#include "tests/fakecuda/fake.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef FAKECUDA_ROOT /* project folder */
#define FAKECUDA_ROOT "."
#endif

extern char **environ;

typedef struct {
    Object object;
    char *text, *name;
    char *log;
    char *code;
    size_t n_code_bytes;
} Program;

nvrtcResult nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return NVRTC_SUCCESS;
}

const char *nvrtcGetErrorString(nvrtcResult result)
{
    static const char *const words[] = {
        [NVRTC_SUCCESS] = "NVRTC_SUCCESS",
        [NVRTC_ERROR_OUT_OF_MEMORY] = "NVRTC_ERROR_OUT_OF_MEMORY",
        [NVRTC_ERROR_PROGRAM_CREATION_FAILURE] = "NVRTC_ERROR_PROGRAM_CREATION_FAILURE",
        [NVRTC_ERROR_INVALID_INPUT] = "NVRTC_ERROR_INVALID_INPUT",
        [NVRTC_ERROR_INVALID_PROGRAM] = "NVRTC_ERROR_INVALID_PROGRAM",
        [NVRTC_ERROR_INVALID_OPTION] = "NVRTC_ERROR_INVALID_OPTION",
        [NVRTC_ERROR_COMPILATION] = "NVRTC_ERROR_COMPILATION",
    };
    return result < sizeof words / sizeof *words && words[result] ? words[result] : "NVRTC error";
}

static void program_empty(void *object)
{
    Program *program = object;
    free(program->text);
    free(program->name);
    free(program->log);
    free(program->code);
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *out, const char *text, const char *name, int n_headers,
                               const char *const *headers, const char *const *names)
{
    if (!out || !text || n_headers || headers || names)
        return NVRTC_ERROR_INVALID_INPUT;
    fake_lock();
    Program *program = object_new(OBJECT_PROGRAM, sizeof *program, program_empty);
    program->text = strdup(text);
    program->name = strdup(name ? name : "default_program");
    program->log = strdup("");
    fake_unlock();
    *out = (nvrtcProgram)(void *)program;
    return NVRTC_SUCCESS;
}

/* ---- the compiler */

static char *read_file(const char *path, size_t *n_bytes)
{
    FILE *file = fopen(path, "rb");
    struct stat about;
    if (!file || fstat(fileno(file), &about)) {
        if (file)
            fclose(file);
        return NULL;
    }
    char *bytes = malloc((size_t)about.st_size + 1);
    *n_bytes = fread(bytes, 1, (size_t)about.st_size, file);
    bytes[*n_bytes] = 0;
    fclose(file);
    return bytes;
}

static uint64_t hash(uint64_t h, const char *bytes)
{
    for (; *bytes; bytes++)
        h = (h ^ (unsigned char)*bytes) * 0x100000001b3u;
    return h;
}

/* Beside this library, unless FAKECUDA_CACHE says where. */
static void cache_folder(char out[400], const char *library)
{
    const char *chosen = getenv("FAKECUDA_CACHE");
    const char *slash = strrchr(library, '/');
    if (chosen && *chosen)
        snprintf(out, 400, "%s", chosen);
    else
        snprintf(out, 400, "%.*s/fakecuda-cache", slash ? (int)(slash - library) : 1,
                 slash ? library : ".");
    mkdir(out, 0777);
}

static int run_compiler(const char *source, const char *object, const char *log,
                        const char *library)
{
    const char *argv[] = {"cc",
                          "-std=c11",
                          "-O1",
                          "-fPIC",
                          "-shared",
                          "-D_GNU_SOURCE",
                          "-DDEVICE_LOCAL=",
                          "-w",
                          "-I" FAKECUDA_ROOT "/tests/fakecuda",
                          "-x",
                          "c",
                          source,
                          "-x",
                          "none",
                          library,
                          "-o",
                          object,
                          "-lm",
                          NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child;
    int status = -1;
    if (!posix_spawnp(&child, "cc", &actions, NULL, (char *const *)(uintptr_t)argv, environ))
        waitpid(child, &status, 0);
    posix_spawn_file_actions_destroy(&actions);
    return status;
}

/* Stores the object in the cache; concurrent writers write the same. */
static bool compile(Program *program, const char *path, const char *library)
{
    char source[500], object[500], log[500];
    snprintf(source, sizeof source, "%s.%d.c", path, (int)getpid());
    snprintf(object, sizeof object, "%s.%d.o", path, (int)getpid());
    snprintf(log, sizeof log, "%s.%d.log", path, (int)getpid());
    FILE *file = fopen(source, "w");
    if (!file)
        return false;
    fprintf(file, "#line 1 \"%s\"\n%s", program->name, program->text);
    fclose(file);
    int status = run_compiler(source, object, log, library);
    size_t n_log;
    free(program->log);
    program->log = read_file(log, &n_log);
    if (!program->log)
        program->log = strdup("cc did not run");
    unlink(source);
    unlink(log);
    if (status || rename(object, path))
        return unlink(object), false;
    return true;
}

static const char *library_path(void)
{
    Dl_info about;
    return dladdr((void *)(uintptr_t)&library_path, &about) ? about.dli_fname : "libfakecuda.so";
}

/* The hash covers the prelude and the compiler. */
static uint64_t program_hash(const Program *program)
{
    size_t n_bytes;
    char *prelude = read_file(FAKECUDA_ROOT "/tests/fakecuda/device_prelude.h", &n_bytes);
    uint64_t h = hash(0xcbf29ce484222325u, library_path());
    h = hash(h, prelude ? prelude : "");
    free(prelude);
    return hash(hash(h, program->name), program->text);
}

static bool fetch_code(Program *program)
{
    char folder[400], path[450], library[450];
    char *real = realpath(library_path(), NULL);
    snprintf(library, sizeof library, "%s", real ? real : library_path());
    free(real);
    cache_folder(folder, library);
    snprintf(path, sizeof path, "%s/%016llx.so", folder, (unsigned long long)program_hash(program));
    program->code = read_file(path, &program->n_code_bytes);
    if (program->code)
        return true;
    if (!compile(program, path, library))
        return false;
    fake.count.compiled_new++;
    program->code = read_file(path, &program->n_code_bytes);
    return program->code != NULL;
}

/* Rejects options that NVRTC would reject. */
static bool option_known(const char *option)
{
    static const char *const known[] = {
        "--gpu-architecture=",
        "-arch=",
        "--std=",
        "-std=",
        "--use_fast_math",
        "-use_fast_math",
        "--fmad=",
        "-fmad=",
        "--ftz=",
        "--prec-div=",
        "--prec-sqrt=",
        "--extra-device-vectorization",
        "-D",
        "--define-macro=",
        "--maxrregcount=",
        "-lineinfo",
        "--generate-line-info",
        "-w",
        "--disable-warnings",
        "-default-device",
        "--device-as-default-execution-space",
        "--ptxas-options=",
        "-I",
        "--include-path=",
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!strncmp(option, known[i], strlen(known[i])))
            return true;
    }
    return false;
}

/* C constructs that CUDA kernels must not use. */
static const char *forbidden(const char *text)
{
    static const char *const words[] = {"__asm", "asm(", "asm volatile", "#include <cuda"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strstr(text, words[i]))
            return words[i];
    }
    return NULL;
}

static void set_log(Program *program, const char *what, const char *word)
{
    size_t room = strlen(program->name) + strlen(what) + strlen(word) + 20;
    free(program->log);
    program->log = malloc(room);
    snprintf(program->log, room, "%s(1): error: %s %s\n", program->name, what, word);
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int n_options, const char *const *options)
{
    fake_lock();
    Program *program = handle && object_is(handle, OBJECT_PROGRAM) ? (void *)handle : NULL;
    nvrtcResult result = program ? NVRTC_SUCCESS : NVRTC_ERROR_INVALID_PROGRAM;
    for (int i = 0; program && i < n_options; i++) {
        if (!option_known(options[i])) {
            set_log(program, "no such option:", options[i]);
            result = NVRTC_ERROR_INVALID_OPTION;
        }
    }
    if (!result) {
        const char *word = forbidden(program->text);
        if (++fake.count.compilations == fake.fault.compile) {
            set_log(program, "asked for:", "it was to fail");
            result = NVRTC_ERROR_COMPILATION;
        } else if (word) {
            set_log(program, "the text has", word);
            result = NVRTC_ERROR_COMPILATION;
        } else if (!fetch_code(program)) {
            result = NVRTC_ERROR_COMPILATION;
        }
    }
    fake_unlock();
    return result;
}

/* ---- results ---- */

static Program *compiled(nvrtcProgram handle)
{
    fake_lock();
    bool known = handle && object_is(handle, OBJECT_PROGRAM);
    fake_unlock();
    return known ? (Program *)(void *)handle : NULL;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t *n_bytes)
{
    const Program *program = compiled(handle);
    if (!program)
        return NVRTC_ERROR_INVALID_PROGRAM;
    *n_bytes = strlen(program->log) + 1;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char *log)
{
    const Program *program = compiled(handle);
    if (!program)
        return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(log, program->log, strlen(program->log) + 1);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t *n_bytes)
{
    const Program *program = compiled(handle);
    if (!program)
        return NVRTC_ERROR_INVALID_PROGRAM;
    *n_bytes = program->n_code_bytes;
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char *code)
{
    const Program *program = compiled(handle);
    if (!program || !program->code)
        return NVRTC_ERROR_INVALID_PROGRAM;
    memcpy(code, program->code, program->n_code_bytes);
    return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *handle)
{
    if (!handle || !compiled(*handle))
        return NVRTC_ERROR_INVALID_PROGRAM;
    fake_lock();
    object_free(*handle);
    fake_unlock();
    *handle = NULL;
    return NVRTC_SUCCESS;
}
