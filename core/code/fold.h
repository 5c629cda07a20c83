/* fold.h - turns lines that differ in one number only into a loop over the numbers.
 *
 *     h.0.ln.weight .. h.11.ln.weight, all with one `rest`: one line in a loop over 0 to 11,
 *     which holds all lines with exactly these numbers
 *
 * Lines that are in no loop are in a first loop without numbers.
 */
#ifndef CORE_CODE_FOLD_H
#define CORE_CODE_FOLD_H

#include "core/base/str.h"

typedef struct {
    const char *name; /* contains the number */
    const char *rest; /* must be equal */
} FoldItem;

typedef struct {
    int32_t item; /* the first of the items that it stands for */
    size_t at, n; /* the place of the number in its name: n digits */
} FoldLine;

typedef struct {
    int n_numbers, n_lines;
    const int64_t *number; /* ascending */
    const FoldLine *line;
    const int32_t **item; /* per line: the item of each number */
} FoldLoop;

typedef struct {
    int n;
    const FoldLoop *loop;
} Folded;

Folded fold_items(Arena *arena, const FoldItem *item, int n);

/* Returns whether the numbers are first, first + 1, .. */
bool fold_is_range(const FoldLoop *loop);

#endif
