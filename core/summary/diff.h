/* diff.h - plans side by side: what they were asked, what was decided, what came of it.
 *
 * Two plans or more, the sides. Things are matched by name, so that the models may differ:
 *     op        its operator, and the cut of each index dim
 *     tensor    how it is made, how it lies, and how its readers take it; constants are left out
 *     reshard   of which tensor, from what to what, by which steps
 *     finding   level, code and text
 * Cuts are compared as they are written, less the size of a dim that is in one piece: 8/dp and
 * 16/dp are alike, 8/dp and 8/tp are not, nor are (3)(64/tp) and (3)(32/tp).
 *
 * An entry is a thing that is not alike on all sides; reshards and findings are entries where a
 * side has none such. Entries that stand at the same place of repeated layers and differ alike are
 * one row (group.h says which layers repeat, their cuts left aside). The order is that of the
 * program, and does not depend on which side is first. Everything is found by hash: the time is
 * that of one sort of the entries.
 */
#ifndef CORE_SUMMARY_DIFF_H
#define CORE_SUMMARY_DIFF_H

#include "core/session/session.h"

enum { DIFF_SIDES_MAX = 8 };

typedef struct {
    int32_t id[DIFF_SIDES_MAX]; /* per side: op, tensor, reshard, finding; -1: there is none */
} DiffEntry;

/* The first that has it. */
static inline int diff_first_side(const DiffEntry *entry)
{
    int side = 0;
    while (entry->id[side] < 0)
        side++;
    return side;
}

typedef struct {
    int first, n; /* run of entries */
} DiffRow;

typedef struct {
    int n_compared, n_entries, n_rows;
    const DiffEntry *entries; /* row by row */
    const DiffRow *rows;
} DiffList;

/* ORDER DIFF_LIST */
typedef enum { DIFF_OPS, DIFF_TENSORS, DIFF_RESHARDS, DIFF_FINDINGS, DIFF_LIST_COUNT } DiffListKind;

/* What the plans were asked that is not alike: model, dims, mesh, machine, propagate, profile,
 * no_redistribute. */
typedef struct {
    const char *what;
    const char *text[DIFF_SIDES_MAX];
} DiffRequest;

enum { DIFF_REQUESTS_MAX = 7 };

typedef struct {
    const Session *side[DIFF_SIDES_MAX];
    int n_sides;
    DiffRequest request[DIFF_REQUESTS_MAX];
    int n_requests;
    double n_steps[DIFF_SIDES_MAX][STEP_KIND_COUNT]; /* of reshards, as often as they are done */
    int fork; /* the first decision in which the journals differ; -1: they are alike */
    DiffList list[DIFF_LIST_COUNT];
    bool same_result; /* totals and lists; the request and the journals may differ */
    bool same;        /* nothing differs */
} PlanDiff;

/* The sessions must outlive it. 2 <= n <= DIFF_SIDES_MAX. */
PlanDiff *plan_diff_sides(Arena *arena, const Session *const *sides, int n);
PlanDiff *plan_diff(Arena *arena, const Session *a, const Session *b);

/* The decision at the fork, or NULL where that journal has ended. */
const Decision *diff_fork(const PlanDiff *diff, int side);

/* The first op in program order that is not alike, or NULL. */
const DiffEntry *diff_first_op(const PlanDiff *diff);

/* ---- as text ---- */

/* A cut as it is compared: "/dp", "(3)(64/tp)"; nothing when it is whole. */
void diff_format_layout(const Cut *cut, const Mesh *mesh, Buf *out);

/* "pin wte.weight dim 0 50257/tp, open"; without who made it. */
void decision_format(const Session *session, const Decision *decision, Buf *out);

/* "b/dp n/tp", "qkv (3)(64/tp)", "whole". */
void diff_format_op(const Session *session, int32_t op, Buf *out);

/* "8/dp,1024,768/tp", and where they are others "made .." and "read as ..". */
void diff_format_tensor(const Session *session, int32_t tensor, Buf *out);

/* "8/dp,768 +tp -> 8/dp,768: AR tp" */
void diff_format_reshard(const Session *session, int32_t reshard, Buf *out);

/* "h[0..11].mlp" of "h.0.mlp" and "h.11.mlp"; the first alone where more than numbers differs. */
void diff_format_range(const char *first, const char *last, Buf *out);

/* What a row is about: "h[0..11].mlp.c_fc" of 12 alike. Findings have no name. */
void diff_format_row(const PlanDiff *diff, DiffListKind kind, int row, Buf *out);

/* Why the first op is cut so on that side: the chains of the index dims that are not alike, as
 * lines behind `indent`. Nothing for one that is whole. */
void diff_format_why(const PlanDiff *diff, int side, const char *indent, Buf *out);

/* The answer of `dimscope diff --json`; `names` of the sides. The caller frees it. */
Json *diff_json(const PlanDiff *diff, const char *const *names);

#endif
