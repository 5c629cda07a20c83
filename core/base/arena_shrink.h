/* arena_shrink.h - what a growing array in an arena has reserved too much, given back in place. */
#ifndef CORE_BASE_ARENA_SHRINK_H
#define CORE_BASE_ARENA_SHRINK_H

#include "core/base/arena.h"

/* Gives back what is behind the first bytes of a piece to which no other pointer exists, if it is
 * large; returns where it is now. */
void *arena_shrink(Arena *arena, void *piece, size_t n_bytes);

#endif
