#include "core/base/arena.h"

#include "core/base/arena_child.h"
#include "core/base/arena_shrink.h"
#include "core/base/memory.h"
#include "core/base/poison.h"

#include <assert.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD_BYTES = MEMORY_IS_POISONED ? 16 : 0 }; /* poisoned room behind each piece */

/* Blocks double from the first size to the last; a piece larger than a quarter of the next block
 * gets a block of its own, so that the open one is not wasted. */
enum { BLOCK_FIRST_BYTES = 4 << 10, BLOCK_LAST_BYTES = 1 << 20 };

typedef struct ArenaBlock ArenaBlock;
struct ArenaBlock {
    ArenaBlock *next;
    size_t n_bytes;
    alignas(max_align_t) char bytes[];
};

struct Arena {
    ArenaBlock *blocks;
    char *at, *end; /* the room left in the open block */
    size_t block_bytes, total_bytes;
    Arena *child, *next; /* the first of its own; the next of its parent's */
};

static char *block_add(Arena *arena, size_t n_bytes)
{
    ArenaBlock *block = memory_take_zeros(
        n_bytes < SIZE_MAX - sizeof(ArenaBlock) ? sizeof(ArenaBlock) + n_bytes : SIZE_MAX);
    block->next = arena->blocks;
    block->n_bytes = n_bytes;
    arena->blocks = block;
    arena->total_bytes += sizeof(ArenaBlock) + n_bytes;
    ASAN_POISON_MEMORY_REGION(block->bytes, n_bytes);
    return block->bytes;
}

Arena *arena_new(void)
{
    Arena *arena = memory_take_zeros(sizeof *arena);
    arena->block_bytes = BLOCK_FIRST_BYTES;
    arena->total_bytes = sizeof *arena;
    return arena;
}

Arena *arena_child(Arena *parent)
{
    Arena *child = arena_new();
    child->next = parent->child;
    parent->child = child;
    return child;
}

void arena_free(Arena *arena)
{
    if (!arena)
        return;
    for (Arena *child = arena->child; child;) {
        Arena *next = child->next;
        arena_free(child);
        child = next;
    }
    for (ArenaBlock *block = arena->blocks; block;) {
        ArenaBlock *next = block->next;
        free(block);
        block = next;
    }
    free(arena);
}

/* Allocates a piece that does not fit into the open block. */
static char *alloc_in_new_block(Arena *arena, size_t n_bytes)
{
    if (n_bytes > arena->block_bytes / 4)
        return block_add(arena, n_bytes < SIZE_MAX - GUARD_BYTES ? n_bytes + GUARD_BYTES : n_bytes);

    char *at = block_add(arena, arena->block_bytes);
    arena->at = at + n_bytes + GUARD_BYTES;
    arena->end = at + arena->block_bytes;
    if (arena->block_bytes < BLOCK_LAST_BYTES)
        arena->block_bytes *= 2;
    return at;
}

static void *alloc(Arena *arena, size_t n_bytes, size_t alignment)
{
    size_t skip = -(uintptr_t)arena->at & (alignment - 1);
    size_t left = (size_t)(arena->end - arena->at);
    char *piece;
    if (left >= skip + GUARD_BYTES && n_bytes <= left - skip - GUARD_BYTES && arena->at) {
        piece = arena->at + skip;
        arena->at = piece + n_bytes + GUARD_BYTES;
    } else {
        piece = alloc_in_new_block(arena, n_bytes);
    }
    ASAN_UNPOISON_MEMORY_REGION(piece, n_bytes);
    return piece;
}

void *arena_alloc(Arena *arena, size_t n_bytes)
{
    return alloc(arena, n_bytes, alignof(max_align_t));
}

/* Where the block of a large piece is linked, which is alone in a block of more than
 * BLOCK_LAST_BYTES; NULL for others. */
static ArenaBlock **link_of(Arena *arena, const void *piece)
{
    ArenaBlock **link = &arena->blocks;
    while (*link && (*link)->bytes != (const char *)piece)
        link = &(*link)->next;
    return *link && (*link)->n_bytes > BLOCK_LAST_BYTES ? link : NULL;
}

void *arena_shrink(Arena *arena, void *piece, size_t n_bytes)
{
    ArenaBlock **link = link_of(arena, piece);
    size_t all_bytes = n_bytes + GUARD_BYTES;
    if (!link || all_bytes >= (*link)->n_bytes)
        return piece;
    ArenaBlock *block = memory_resize(*link, sizeof(ArenaBlock) + all_bytes);
    arena->total_bytes -= block->n_bytes - all_bytes;
    block->n_bytes = all_bytes;
    *link = block;
    ASAN_POISON_MEMORY_REGION(block->bytes + n_bytes, GUARD_BYTES);
    return block->bytes;
}

void arena_release(Arena *arena, void *piece)
{
    ArenaBlock **link = link_of(arena, piece);
    if (!link)
        return;
    ArenaBlock *block = *link;
    *link = block->next;
    arena->total_bytes -= sizeof(ArenaBlock) + block->n_bytes;
    free(block);
}

size_t arena_bytes(const Arena *arena)
{
    return arena->total_bytes;
}

const char *arena_str(Arena *arena, Str text)
{
    char *copy = alloc(arena, text.n + 1, 1);
    if (text.n > 0)
        memcpy(copy, text.s, text.n);
    return copy;
}

const char *arena_join(Arena *arena, const char *first, const char *second)
{
    size_t n = strlen(first), n_second = strlen(second) + 1;
    char *text = alloc(arena, n + n_second, 1);
    memcpy(text, first, n);
    memcpy(text + n, second, n_second);
    return text;
}

const char *arena_printf(Arena *arena, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    char first[256]; /* most are short, and are made once */
    int n = vsnprintf(first, sizeof first, format, args);
    assert(n >= 0);
    char *text = alloc(arena, (size_t)n + 1, 1);
    if ((size_t)n < sizeof first)
        memcpy(text, first, (size_t)n + 1);
    else
        vsnprintf(text, (size_t)n + 1, format, again);
    va_end(again);
    va_end(args);
    return text;
}
