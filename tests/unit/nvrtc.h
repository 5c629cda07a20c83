/* nvrtc.h - NVRTC, where it is: kernel texts as code for a GPU, and what they use of it. */
#ifndef TESTS_UNIT_NVRTC_H
#define TESTS_UNIT_NVRTC_H

#include "core/base/str.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    void *library; /* NULL: there is none */
    int (*create)(void **program, const char *text, const char *name, int n, const char *const *,
                  const char *const *);
    int (*compile)(void *program, int n, const char *const *options);
    int (*log_size)(void *program, size_t *n);
    int (*log)(void *program, char *text);
    int (*code_size)(void *program, size_t *n);
    int (*destroy)(void **program);
} Nvrtc;

typedef struct {
    int registers, spill_bytes, stack_bytes, shared_bytes;
    size_t code_bytes;
} Resources;

static inline Nvrtc nvrtc_open(void)
{
    static const char *const names[] = {"libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so",
                                        "libnvrtc.so.13", "libnvrtc.so.12"};
    Nvrtc nvrtc = {0};
    for (size_t i = 0; !nvrtc.library && i < sizeof names / sizeof *names; i++)
        nvrtc.library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!nvrtc.library)
        return nvrtc;
    *(void **)&nvrtc.create = dlsym(nvrtc.library, "nvrtcCreateProgram");
    *(void **)&nvrtc.compile = dlsym(nvrtc.library, "nvrtcCompileProgram");
    *(void **)&nvrtc.log_size = dlsym(nvrtc.library, "nvrtcGetProgramLogSize");
    *(void **)&nvrtc.log = dlsym(nvrtc.library, "nvrtcGetProgramLog");
    *(void **)&nvrtc.code_size = dlsym(nvrtc.library, "nvrtcGetCUBINSize");
    *(void **)&nvrtc.destroy = dlsym(nvrtc.library, "nvrtcDestroyProgram");
    return nvrtc;
}

/* The number that stands before the words; 0 without them. */
static inline int number_before(const char *log, const char *words)
{
    const char *at = strstr(log, words);
    while (at && at > log && (at[-1] == ' ' || (at[-1] >= '0' && at[-1] <= '9')))
        at--;
    return at ? atoi(at) : 0;
}

/* False: *log says why not. It lives in the arena. */
static inline bool nvrtc_compile(const Nvrtc *nvrtc, Arena *arena, const char *text,
                                 const char *architecture, Resources *out, const char **log)
{
    const char *const options[] = {arena_printf(arena, "--gpu-architecture=%s", architecture),
                                   "--ptxas-options=-v"};
    void *program = NULL;
    size_t n = 0;
    nvrtc->create(&program, text, "kernel.cu", 0, NULL, NULL);
    bool ok = nvrtc->compile(program, 2, options) == 0;
    nvrtc->log_size(program, &n);
    char *said = arena_alloc(arena, n + 1);
    nvrtc->log(program, said);
    *log = said;
    *out = (Resources){
        number_before(said, " registers"), number_before(said, " bytes spill stores"),
        number_before(said, " bytes stack frame"), number_before(said, " bytes smem"), 0};
    if (ok)
        nvrtc->code_size(program, &out->code_bytes);
    nvrtc->destroy(&program);
    return ok;
}

#endif
