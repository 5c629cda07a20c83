/* native.h - a kernel out of a shared library (dimscope_kernel.h), loaded on request only.
 *
 * The library stays in the program until it ends: one that is built anew counts at the next start.
 */
#ifndef CORE_RUN_NATIVE_H
#define CORE_RUN_NATIVE_H

#include "core/run/kernel.h"

/* NULL: ERROR_UNREADABLE (no such library), ERROR_INVALID (no such symbol, another version). */
const Kernel *native_kernel(Arena *arena, const char *path, const char *symbol, Error *err);

/* A kernel that is not loaded, since nobody allowed it; asked before a run, so that it says why. */
const Kernel *native_refused(Arena *arena, const char *plugin);
/* False with ERROR_USAGE and a hint for such a kernel. */
bool native_allowed(const Kernel *kernel, Error *err);

#endif
