/* diff.h - plans side by side: their requests, their decisions and their results.
 *
 * Two or more plans, called sides. Things are matched by name, so the models may differ:
 *     op        its operator, and the cut of each index dim
 *     tensor    the shardings it is made, stored and read with; constants are left out
 *     reshard   of which tensor, from what to what, by which steps
 *     finding   level, code and text
 * Cuts are compared as text, without the size of a dim that is in one piece: 8/dp and 16/dp are
 * equal; 8/dp and 8/tp are not, nor are (3)(64/tp) and (3)(32/tp).
 *
 * An entry is a thing that differs between sides; reshards and findings are entries if a side
 * lacks them. Entries at the same position of repeated layers that differ in the same way are one
 * row (group.h defines which layers repeat, ignoring their cuts). The order is that of the
 * program, and does not depend on which side is first. Matching is by hash: the time is that of
 * one sort of the entries.
 */
#ifndef CORE_SUMMARY_DIFF_H
#define CORE_SUMMARY_DIFF_H

#include "core/session/session.h"

enum { DIFF_SIDES_MAX = 8 };

typedef struct {
    int32_t id[DIFF_SIDES_MAX]; /* per side: op, tensor, reshard or finding; -1 if there is none */
} DiffEntry;

/* The first side that has it. */
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

/* The parts of the plans' requests that may differ: model, dims, mesh, machine, propagate, profile,
 * no_redistribute, train. */
typedef struct {
    const char *what;
    const char *text[DIFF_SIDES_MAX];
} DiffRequest;

enum { DIFF_REQUESTS_MAX = 8 };

typedef struct {
    const Session *side[DIFF_SIDES_MAX];
    int n_sides;
    DiffRequest request[DIFF_REQUESTS_MAX];
    int n_requests;
    double n_steps[DIFF_SIDES_MAX][STEP_KIND_COUNT]; /* of reshards; each counts as often as it
                                                        runs */
    int fork; /* the first decision in which the journals differ; -1 if they are equal */
    DiffList list[DIFF_LIST_COUNT];
    bool same_result; /* totals and lists are equal; the request and the journals may differ */
    bool same;        /* there is no difference at all */
} PlanDiff;

/* The sessions must outlive it. 2 <= n <= DIFF_SIDES_MAX. */
PlanDiff *plan_diff_sides(Arena *arena, const Session *const *sides, int n);
PlanDiff *plan_diff(Arena *arena, const Session *a, const Session *b);

/* Adds to each kind how often a step of that kind runs in one step of the plan. */
void plan_count_steps(const Plan *plan, double n_steps[STEP_KIND_COUNT]);

/* The decision at the fork, or NULL if that journal has ended. */
const Decision *diff_fork(const PlanDiff *diff, int side);

/* The first op in program order that differs, or NULL. */
const DiffEntry *diff_first_op(const PlanDiff *diff);

/* ---- as text ---- */

/* A cut in the form in which it is compared: "/dp", "(3)(64/tp)"; nothing if it is whole. */
void diff_format_layout(const Cut *cut, const Mesh *mesh, Buf *out);

/* "pin wte.weight dim 0 50257/tp, open"; without its author. */
void decision_format(const Session *session, const Decision *decision, Buf *out);

/* "b/dp n/tp", "qkv (3)(64/tp)", "whole". */
void diff_format_op(const Session *session, int32_t op, Buf *out);

/* "8/dp,1024,768/tp", followed by "made .." and "read as .." if those differ. */
void diff_format_tensor(const Session *session, int32_t tensor, Buf *out);

/* "8/dp,768 +tp -> 8/dp,768: AR tp" */
void diff_format_reshard(const Session *session, int32_t reshard, Buf *out);

/* "h[0..11].mlp" for "h.0.mlp" and "h.11.mlp"; only the first name if they differ in more than
 * numbers. */
void diff_format_range(const char *first, const char *last, Buf *out);

/* The subject of a row: "h[0..11].mlp.c_fc" for 12 equal entries. Findings have no name. */
void diff_format_row(const PlanDiff *diff, DiffListKind kind, int row, Buf *out);

/* Why the first differing op is sharded as it is on that side: the chains of the index dims that
 * differ, as lines after `indent`. Nothing for an index dim that is whole. */
void diff_format_why(const PlanDiff *diff, int side, const char *indent, Buf *out);

/* The answer of `dimscope diff --json`; `names` are the names of the sides. The caller frees it. */
Json *diff_json(const PlanDiff *diff, const char *const *names);

#endif
