#include "core/base/heap.h"

static bool sooner(const HeapEntry *a, const HeapEntry *b)
{
    return a->key < b->key || (a->key <= b->key && a->order < b->order);
}

void heap_push(Arena *arena, Heap *heap, HeapEntry entry)
{
    vec_push(arena, heap, entry);
    int i = heap->n - 1;
    for (; i > 0 && sooner(&entry, &heap->at[(i - 1) / 2]); i = (i - 1) / 2)
        heap->at[i] = heap->at[(i - 1) / 2];
    heap->at[i] = entry;
}

HeapEntry heap_pop(Heap *heap)
{
    HeapEntry *at = heap->at, first = at[0], last = at[--heap->n];
    int i = 0, child;
    while ((child = 2 * i + 1) < heap->n) {
        child += child + 1 < heap->n && sooner(&at[child + 1], &at[child]);
        if (!sooner(&at[child], &last))
            break;
        at[i] = at[child];
        i = child;
    }
    at[i] = last;
    return first;
}
