#include "core/base/memory.h"

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Pieces of this size and larger are backed by huge pages, where the system has them: a column of a
 * million items is then touched for the first time in a few steps, and not page by page. */
#define HUGE_FROM_BYTES ((size_t)8 << 20)
#define HUGE_PAGE_BYTES ((size_t)2 << 20)

/* No piece is larger than a pointer difference can say; sizes that overflowed are SIZE_MAX. */
static size_t checked(size_t n_bytes)
{
    if (n_bytes < PTRDIFF_MAX)
        return n_bytes;
    errno = ENOMEM;
    abort();
}

static void *taken(void *piece, size_t n_bytes)
{
    if (!piece && n_bytes > 0)
        abort();
    return piece;
}

void *memory_take(size_t n_bytes)
{
    return taken(malloc(checked(n_bytes)), n_bytes);
}

/* A hint: without huge pages all is the same, but slower. */
static void ask_for_huge_pages(char *piece, size_t n_bytes)
{
    size_t skip = -(uintptr_t)piece & (HUGE_PAGE_BYTES - 1);
    (void)madvise(piece + skip, (n_bytes - skip) & ~(HUGE_PAGE_BYTES - 1), MADV_HUGEPAGE);
}

void *memory_take_zeros(size_t n_bytes)
{
    void *piece = taken(calloc(1, checked(n_bytes)), n_bytes);
    if (n_bytes >= HUGE_FROM_BYTES)
        ask_for_huge_pages(piece, n_bytes);
    return piece;
}

void *memory_resize(void *piece, size_t n_bytes)
{
    return taken(realloc(piece, checked(n_bytes)), n_bytes);
}

void memory_passed(const char *from, const char *to)
{
    const uintptr_t page = 4096;
    uintptr_t first = ((uintptr_t)from + page - 1) & ~(page - 1), end = (uintptr_t)to & ~(page - 1);
    int errno_before = errno;
    if (first < end)
        (void)madvise((void *)first, end - first, MADV_PAGEOUT);
    errno = errno_before;
}

void memory_give_back(void)
{
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 1 << 26);
}
