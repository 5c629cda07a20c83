/* native.h - a kernel from a shared library (dimscope_kernel.h), loaded on request only.
 *
 * The library stays loaded until the program ends; a rebuilt one is used from the next start.
 */
#ifndef CORE_RUN_NATIVE_H
#define CORE_RUN_NATIVE_H

#include "core/run/kernel.h"

/* NULL: ERROR_UNREADABLE (no such library), ERROR_INVALID (no such symbol, another version). */
const Kernel *native_kernel(Arena *arena, const char *path, const char *symbol, Error *err);

/* A stand-in for a kernel that may not be loaded without --allow-native; running it fails with that
 * reason. */
const Kernel *native_refused(Arena *arena, const char *plugin);
/* Returns false, with ERROR_USAGE and a hint, for a kernel from native_refused(). */
bool native_allowed(const Kernel *kernel, Error *err);

#endif
