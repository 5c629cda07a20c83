/* tied.h - finds weights with the elements of an embedding, such as the head of a language model.
 *
 * Exporters store a tied head as a copy of the embedding, often transposed, so that a training step
 * would have two parameters. A copy is another initializer of two dims with the same elements.
 */
#ifndef CORE_FUSE_TIED_H
#define CORE_FUSE_TIED_H

#include "core/base/progress.h"
#include "core/rules/infer.h"

typedef struct {
    int32_t table, copy; /* the table that a Gather reads, and the other tensor */
    bool transposed;
    bool unknown; /* the shapes fit, but the elements are in a file that is missing */
    int64_t n_compared, n_elements;
} TiedPair;

/* Finds copies; a copy is in one pair. most: the number of elements of each that are compared, in
 * evenly spaced rows. A table of one repeated number has no copies. Returns their number; -1:
 * progress was asked to stop. */
int tied_find(Arena *arena, const Inferred *inferred, int64_t most, Progress *progress,
              TiedPair **out);

/* "'lm_head.weight' has the elements of 'wte.weight', transposed"; also how many were compared,
 * unless all were. */
void tied_format(const TiedPair *pair, const char *table, const char *copy, Buf *out);

#endif
