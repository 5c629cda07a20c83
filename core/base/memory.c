#include "core/base/memory.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

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

void *memory_take_zeros(size_t n_bytes)
{
    return taken(calloc(1, checked(n_bytes)), n_bytes);
}

void *memory_resize(void *piece, size_t n_bytes)
{
    return taken(realloc(piece, checked(n_bytes)), n_bytes);
}
