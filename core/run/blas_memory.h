/* blas_memory.h - the work space of a serial build of OpenBLAS, for ranks that are threads.
 *
 * Every product takes its work space by blas_memory_alloc(), which in a serial build finds a free
 * one without a lock (0.3.21 gave 7 wrong products in 48,000 from 8 threads); all else of a product
 * is its own. The library calls that function by name, so that one of the same name in the program
 * is called instead: here is one that is safe. Where a build does not call it so, products take
 * turns.
 */
#ifndef CORE_RUN_BLAS_MEMORY_H
#define CORE_RUN_BLAS_MEMORY_H

#include <stdbool.h>

/* Whether products may be made by several threads at a time. Asked under a lock, by anybody who is
 * about to make one. */
bool blas_memory_is_safe(void);

#endif
