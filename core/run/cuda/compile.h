/* compile.h - kernel texts made into something a device can launch, each once.
 *
 * A text is compiled by NVRTC to the machine code of one architecture (sm_90). What was compiled is
 * kept for the process, and in $XDG_CACHE_HOME/dimscope/kernels (~/.cache by default), one file a
 * text, which holds the text too: so a file of another text, of another compiler or half a file is
 * none. A folder that cannot be written is no error. Safe to call from several threads: who asks
 * for what another compiles waits for it.
 */
#ifndef CORE_RUN_CUDA_COMPILE_H
#define CORE_RUN_CUDA_COMPILE_H

#include "core/base/error.h"
#include "core/run/cuda/cuda_api.h"

typedef struct Kernels Kernels;

Kernels *kernels_new(void);
/* No kernel of it may be running, or, `stuck`, one does for ever and the code stays. NULL is
 * allowed. */
void kernels_free(Kernels *kernels, bool stuck);

/* The kernel `name` of a text, for devices of that architecture (90). ERROR_RUN: it does not
 * compile; the error has the compiler's first complaint and the line it is about. */
bool kernels_get(Kernels *kernels, int arch, Str text, const char *name, cudaKernel_t *out,
                 Error *err);

#endif
