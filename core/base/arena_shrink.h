/* arena_shrink.h - returns the unused room at the end of a growing array to its arena, in place. */
#ifndef CORE_BASE_ARENA_SHRINK_H
#define CORE_BASE_ARENA_SHRINK_H

#include "core/base/arena.h"

/* Frees what follows the first n_bytes of a large piece to which no other pointer exists; returns
 * the piece's address, which may be a new one. */
void *arena_shrink(Arena *arena, void *piece, size_t n_bytes);

#endif
