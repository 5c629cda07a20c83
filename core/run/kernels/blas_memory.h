/* blas_memory.h - makes a serial build of OpenBLAS safe for ranks that are threads.
 *
 * Every product gets its workspace from blas_memory_alloc(). In a serial build that function picks
 * a free one without a lock (0.3.21 gave 7 wrong products in 48,000 from 8 threads); the rest of a
 * product is thread-safe. The library calls the function by name, so the thread-safe one defined
 * here replaces it. Where a build does not call it, a lock serializes the products.
 */
#ifndef CORE_RUN_KERNELS_BLAS_MEMORY_H
#define CORE_RUN_KERNELS_BLAS_MEMORY_H

#include <stdbool.h>

/* Whether several threads may compute products at a time. Call it with the lock held. */
bool blas_memory_is_safe(void);

#endif
