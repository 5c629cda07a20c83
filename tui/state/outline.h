/* outline.h - the rows of the graph view: groups that open and close, and one row for N equal
 * layers.
 *
 * Rows are not stored: they are counted per open group and enumerated, so that showing a graph of
 * 1e6 ops costs only as much as the rows on the screen. Listing rules:
 *   - graph inputs first, then the ops in outline order, then one row for all parameters, which
 *     opens to a row for each pattern of them;
 *   - a group that holds nothing but numbered groups (a list of layers) has no row of its own, its
 *     members stand in its place: "h[0..11]";
 *   - a group whose only member is a group is one row with it ("mlp.act"); a group of one op is an
 * op;
 *   - a fold of N equal groups is one row xN. Opened it shows its first member, which stands for
 * all; spread it lists its members. What is open is kept by path when the groups are made anew;
 *   - neighbouring folds that differ only in their shardings are one row too, `x12 (11+1)`;
 *     opened it lists the folds, so that what differs stands by itself.
 * With a filter (outline_filter()), only the ops that pass are listed, in the groups around them.
 */
#ifndef TUI_STATE_OUTLINE_H
#define TUI_STATE_OUTLINE_H

#include "core/model/group.h"

enum { OUTLINE_DEPTH_MAX = 100 }; /* deeper groups cannot be opened */

typedef enum { ROW_INPUT, ROW_GROUP, ROW_OP, ROW_PARAMETERS, ROW_PARAMETER } RowKind;

typedef struct {
    RowKind kind;
    int32_t id;    /* id of a tensor, group or op; -1 for all parameters */
    int32_t op;    /* its first op; -1 for inputs and parameters */
    int32_t head;  /* the group that the row begins with: the fold's first member; -1 for inputs,
                      and for ops directly in their group */
    int32_t base;  /* the open group that contains the row; names are relative to it */
    int32_t first; /* its ops: order[first .. first+n), including all members of its fold */
    int32_t n;
    int depth;
    int fold_n;    /* number of members of its fold: the xN it shows */
    int64_t times; /* number of ops or groups that this row stands for */
    bool open;
    bool mixed; /* its members have the same structure but different shardings */
} OutlineRow;

static inline bool row_has_ops(const OutlineRow *row)
{
    return row->kind == ROW_GROUP || row->kind == ROW_OP;
}

/* Equal parameters of repeated layers. */
typedef struct {
    Str name;      /* of a single one its name; of several their pattern */
    int32_t first; /* a tensor; rows are sorted by it */
    int32_t n;
} ParameterRow;

typedef struct Outline Outline;

Outline *outline_new(Arena *arena);
void outline_free(Outline *outline); /* frees what is outside that arena */

/* Sets the groups to list. Before they are freed, call outline_detach(), which notes what is open;
 * between the two calls no other function may be called. */
void outline_set(Outline *outline, const Graph *graph, const Groups *groups);
void outline_detach(Outline *outline);

/* Lists only what passes a filter. pass: how many ops of groups->order pass before each place,
 * n_order + 1 of them; inputs: the graph inputs that pass. Opens groups that contain such ops, and
 * lists members of folds that differ in them. pass NULL: lists everything again, opened as before.
 * Kept until the groups change. */
void outline_filter(Outline *outline, const int32_t *pass, const int32_t *inputs, int n_inputs);

/* Sets the number of parameters (0: they have no row) and the rows that they open to (NULL:
 * closed), which are kept as a view. Lost when the groups change. */
void outline_set_parameters(Outline *outline, int32_t n, const ParameterRow *rows, int n_rows);

/* Changes whenever the rows do. */
int outline_version(const Outline *outline);

/* Sets whether folds are shown as one row. Returns whether this is a change. */
bool outline_set_folds(Outline *outline, bool folds);

/* Sorts the rows of each group by descending key; equal ones stay in program order. NULL restores
 * program order. Groups with very many rows stay in program order. */
void outline_sort(Outline *outline, double (*key)(const void *context, const OutlineRow *row),
                  const void *context);

int64_t outline_n_rows(Outline *outline);
bool outline_at(Outline *outline, int64_t i, OutlineRow *row); /* false past the end */

/* Lists n rows from i on; returns how many there are. */
int outline_rows(Outline *outline, int64_t i, int n, OutlineRow *rows);

/* The row that stands for an op: its own, that of its equal in the first member of a fold, or that
 * of the closed group that contains it (*exact is then false; may be NULL). -1 for a host op. */
int64_t outline_find(Outline *outline, int32_t op, bool *exact);
int64_t outline_find_row(Outline *outline,
                         const OutlineRow *row); /* the same row, or the nearest, again */

/* Opens groups and folds so that the op has its own row. */
void outline_reveal(Outline *outline, int32_t op);
void outline_reveal_group(Outline *outline, int32_t group); /* shows its row, without opening it */
void outline_open(Outline *outline, const OutlineRow *row, bool open);
void outline_spread(Outline *outline, const OutlineRow *row, bool listed);
bool outline_is_spread(const Outline *outline,
                       const OutlineRow *row); /* or is inside a spread fold */
bool outline_is_first_of_spread(const Outline *outline, const OutlineRow *row);
/* Opens groups above that depth, closes the others. */
void outline_depth(Outline *outline, int depth);

/* For a mixed row: the number of members in each class of equal ones, the largest first; returns
 * the number of classes, at most n of them in `members`. *main: the first member of the largest
 * class. */
int outline_classes(const Outline *outline, int32_t head, int *members, int n, int32_t *main);

/* A copy of what is open, to restore it later; only for these groups. Without the effects of a
 * filter. */
uint8_t *outline_marks(const Outline *outline, Arena *arena);
uint8_t *outline_own_marks(const Outline *outline, Arena *arena);
void outline_set_marks(Outline *outline, const uint8_t *marks);

/* The row of the group that lists row i, or -1. */
int64_t outline_parent(Outline *outline, int64_t i);

const Groups *outline_groups(const Outline *outline);
int32_t outline_position(const Outline *outline, int32_t op); /* in groups->order; -1: not shown */

/* The op that represents this one if its fold is shown by the first member. */
int32_t outline_shown_op(const Outline *outline, int32_t op);
/* The corresponding op in the last member of every such fold that contains it; the op itself if
 * none does. */
int32_t outline_last_op(const Outline *outline, int32_t op);

/* The number of members that one row at this group stands for. */
int outline_fold_n(Outline *outline, int32_t group);

/* All ops that the row of this op stands for, including it: its equals in the members of the folds
 * it represents. */
int outline_equals(const Outline *outline, Arena *arena, int32_t op, int32_t **ops);

/* "h[0..11].mlp.act", "c_fc", "Softmax": the name of a row relative to the group that lists it. */
void outline_label(const Outline *outline, const OutlineRow *row, Buf *out);

#endif
