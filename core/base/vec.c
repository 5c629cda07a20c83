#include "core/base/vec.h"

#include "core/base/arena_shrink.h"
#include "core/base/memory.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM_FIRST = 16 };

void *vec_grow(Arena *arena, void *at, int *room, size_t item_bytes)
{
    assert(*room <= INT_MAX / 2);
    int old_room = *room;
    *room = old_room < ROOM_FIRST ? ROOM_FIRST : 2 * old_room;
    size_t n_bytes = arena_array_bytes((size_t)*room, item_bytes);
    if (!arena)
        return memory_resize(at, n_bytes);
    void *moved = arena_alloc(arena, n_bytes);
    if (old_room > 0)
        memcpy(moved, at, (size_t)old_room * item_bytes);
    return moved;
}

void *vec_move(Arena *arena, void *at, int *room, size_t item_bytes)
{
    void *moved = vec_grow(arena, at, room, item_bytes);
    if (arena && at)
        arena_release(arena, at);
    return moved;
}

void *vec_cut(Arena *arena, void *at, int n, int *room, size_t item_bytes)
{
    enum { SMALL_BYTES = 1 << 20 };
    if (!at || *room - n <= n / 8 || (size_t)*room * item_bytes <= SMALL_BYTES)
        return at;
    *room = n;
    return arena_shrink(arena, at, (size_t)n * item_bytes);
}
