/* arena.h - memory that is freed all at once.
 *
 * Three roots own arenas: the model (graph, names), the plan (everything derived) and scratch (one
 * call). Nothing in an arena is freed by itself. Without memory the program ends (memory.h).
 */
#ifndef CORE_BASE_ARENA_H
#define CORE_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct Arena Arena;

Arena *arena_new(void);
void arena_free(Arena *arena); /* NULL is allowed */

/* Zeroed bytes aligned for any type. n_bytes == 0 gives a valid pointer. */
void *arena_alloc(Arena *arena, size_t n_bytes);

/* Frees a piece that its owner has replaced by a larger one, as growing tables do; no other pointer
 * to it may exist. Only large pieces are freed at once; others wait for arena_free(). */
void arena_release(Arena *arena, void *piece);

/* The bytes of n items; SIZE_MAX, which arena_alloc() refuses, when they do not fit a size_t. */
static inline size_t arena_array_bytes(size_t n, size_t item_bytes)
{
    size_t n_bytes;
    return __builtin_mul_overflow(n, item_bytes, &n_bytes) ? SIZE_MAX : n_bytes;
}

/* Bytes requested from the system so far: what `make bench` reports per op. */
size_t arena_bytes(const Arena *arena);

/* NUL-terminated copies. */
typedef struct {
    const char *s;
    size_t n;
} Str; /* a view: not NUL-terminated, not owned */

const char *arena_str(Arena *arena, Str text);
const char *arena_join(Arena *arena, const char *first,
                       const char *second); /* one after the other */
const char *arena_printf(Arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define arena_make(arena, Type) ((Type *)arena_alloc((arena), sizeof(Type)))
#define arena_array(arena, Type, n)                                                                \
    ((Type *)arena_alloc((arena), arena_array_bytes((size_t)(n), sizeof(Type))))

#endif
