/* compile.h - compiles kernel texts for a device, each once.
 *
 * NVRTC compiles a text to machine code of one architecture (sm_90). Code is cached for the
 * process, and in $XDG_CACHE_HOME/dimscope/kernels (~/.cache by default): one file per text, which
 * also holds the text and the compiler version, so that a stale or truncated file is ignored. A
 * cache folder that cannot be written is no error. Thread-safe: a second request for a text waits
 * for the first.
 */
#ifndef CORE_RUN_CUDA_COMPILE_H
#define CORE_RUN_CUDA_COMPILE_H

#include "core/base/error.h"
#include "core/run/cuda/cuda_api.h"

typedef struct Kernels Kernels;

Kernels *kernels_new(void);
/* No kernel may be running; with `stuck` one never ends, and the code is not unloaded. NULL is
 * allowed. */
void kernels_free(Kernels *kernels, bool stuck);

/* The kernel `name` of a text for an architecture (90). ERROR_RUN when it does not compile, with
 * the compiler's first error and the line. */
bool kernels_get(Kernels *kernels, int arch, Str text, const char *name, cudaKernel_t *out,
                 Error *err);

#endif
