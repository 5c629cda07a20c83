/* heap.h - a priority queue for searches: the smallest key first; among equal keys the smallest
 * order.
 */
#ifndef CORE_BASE_HEAP_H
#define CORE_BASE_HEAP_H

#include "core/base/vec.h"

typedef struct {
    double key;
    int32_t order, item;
} HeapEntry;

typedef Vec(HeapEntry) Heap;

void heap_push(Arena *arena, Heap *heap, HeapEntry entry);
HeapEntry heap_pop(Heap *heap); /* n >= 1 */

#endif
