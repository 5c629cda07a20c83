/* vec.h - one growing array, typed by its user, in an arena or (arena NULL) in the heap.
 *
 *     struct { int32_t *at; int n, room; } ids = {0};
 *     vec_push(arena, &ids, 7);
 *
 * When an arena array grows, its old blocks stay in the arena: together at most as large as the
 * array.
 */
#ifndef CORE_BASE_VEC_H
#define CORE_BASE_VEC_H

#include "core/base/arena.h"

#define Vec(Type)                                                                                  \
    struct {                                                                                       \
        Type *at;                                                                                  \
        int n, room;                                                                               \
    }

#define vec_push(arena, vec, ...)                                                                  \
    do {                                                                                           \
        if ((vec)->n == (vec)->room)                                                               \
            (vec)->at = vec_grow((arena), (vec)->at, &(vec)->room, sizeof *(vec)->at);             \
        (vec)->at[(vec)->n++] = __VA_ARGS__;                                                       \
    } while (0)

/* The same for an array to which no other pointer exists: a large old block is freed. */
#define vec_push_own(arena, vec, ...)                                                              \
    do {                                                                                           \
        if ((vec)->n == (vec)->room)                                                               \
            (vec)->at = vec_move((arena), (vec)->at, &(vec)->room, sizeof *(vec)->at);             \
        (vec)->at[(vec)->n++] = __VA_ARGS__;                                                       \
    } while (0)

/* Trims such an array to its final size if it is large and much of its room is unused. */
#define vec_trim(arena, vec)                                                                       \
    do {                                                                                           \
        (vec)->at = vec_cut((arena), (vec)->at, (vec)->n, &(vec)->room, sizeof *(vec)->at);        \
    } while (0)

/* Doubles *room (at least 16) and returns the moved block. */
void *vec_grow(Arena *arena, void *at, int *room, size_t item_bytes);
void *vec_move(Arena *arena, void *at, int *room, size_t item_bytes); /* gives the old one back */
void *vec_cut(Arena *arena, void *at, int n, int *room, size_t item_bytes);

#endif
