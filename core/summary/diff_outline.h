/* diff_outline.h - two plans side by side as one list of lines, in program order.
 *
 * A line is a parameter or input before its first reader, an op, or a reshard: below the op that
 * makes its value, or before the first reader of a parameter or input. Each is beside its
 * counterpart of the same name in the other plan. Findings on one side only come last. What both
 * plans repeat in each layer is one line xN. Marks:
 *
 *     =  equal (DIFF_OPS, DIFF_TENSORS, DIFF_RESHARDS of diff.h)    ~  on both sides, but
 *     different
 *     -  only in the first                                          +  only in the second
 *
 * Ops are equal if their cuts and the shardings in which their outputs are made, stored and read
 * are equal. Both programs are walked once, with look-ups by hash.
 */
#ifndef CORE_SUMMARY_DIFF_OUTLINE_H
#define CORE_SUMMARY_DIFF_OUTLINE_H

#include "core/summary/diff.h"

typedef enum { DIFF_LINE_GIVEN, DIFF_LINE_OP, DIFF_LINE_RESHARD, DIFF_LINE_FINDING } DiffLineKind;

typedef struct {
    DiffLineKind kind;
    char mark;
    int32_t id[2];   /* per side: tensor, op, reshard or finding; -1 */
    int32_t last[2]; /* the last of the equal lines that this one stands for */
    int n;
} DiffLine;

typedef struct {
    int n_lines, n_changes; /* changes: number of lines whose mark is not '=' */
    const DiffLine *line;
    const int32_t *of_op[2];      /* per side, per op: its line; -1: a host op */
    const int32_t *of_reshard[2]; /* the same for reshards */
} DiffOutline;

/* For a diff of two sides. */
DiffOutline diff_outline(Arena *arena, const PlanDiff *diff);

/* The op at which a reshard is shown: the maker of its value, else the first reader; -1 if there is
 * neither. */
int32_t reshard_op(const Plan *plan, const Reshard *reshard);

#endif
