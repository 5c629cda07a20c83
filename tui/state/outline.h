/* outline.h - the rows of the graph view: groups that open and close, one row for N equal layers.
 *
 * Rows are never stored: they are counted per open group and walked to, so that opening a graph of
 * 1e6 ops costs what is on the screen. Listing rules:
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
 * With a filter (outline_filter()) only the ops that pass are listed, in the groups around them.
 */
#ifndef TUI_STATE_OUTLINE_H
#define TUI_STATE_OUTLINE_H

#include "core/model/group.h"

enum { OUTLINE_DEPTH_MAX = 100 }; /* groups below that cannot be opened */

typedef enum { ROW_INPUT, ROW_GROUP, ROW_OP, ROW_PARAMETERS, ROW_PARAMETER } RowKind;

typedef struct {
    RowKind kind;
    int32_t id;    /* tensor, group or op; of all parameters -1 */
    int32_t op;    /* its first op; -1 for inputs and parameters */
    int32_t head;  /* the group a row begins with: the fold's first member; -1 for inputs and ops
                      that stand in their group directly */
    int32_t base;  /* the open group the row is listed in; names are relative to it */
    int32_t first; /* its ops: order[first .. first+n), all members of its fold included */
    int32_t n;
    int depth;
    int fold_n;    /* members of its own fold: the xN it shows */
    int64_t times; /* ops or groups that this row stands for */
    bool open;
    bool mixed; /* its members have the same structure and different shardings */
} OutlineRow;

static inline bool row_has_ops(const OutlineRow *row)
{
    return row->kind == ROW_GROUP || row->kind == ROW_OP;
}

/* Equal parameters of repeated layers. */
typedef struct {
    Str name;      /* of one; the pattern of several */
    int32_t first; /* tensor; rows are in the order of these */
    int32_t n;
} ParameterRow;

typedef struct Outline Outline;

Outline *outline_new(Arena *arena);
void outline_free(Outline *outline); /* what it holds beside that arena */

/* The groups to list. Before they are freed, outline_detach() notes what is open; between the two
 * calls nothing else may be asked. */
void outline_set(Outline *outline, const Graph *graph, const Groups *groups);
void outline_detach(Outline *outline);

/* Lists only what passes. pass: how many ops of groups->order pass before each place, n_order + 1
 * of them; inputs: the graph inputs that pass. Opens what holds such ops, and lists members of
 * folds that differ in them. pass NULL: lists all again, open as it was. Kept until the groups
 * change. */
void outline_filter(Outline *outline, const int32_t *pass, const int32_t *inputs, int n_inputs);

/* How many parameters there are (0: they have no row), and the rows that they open to (NULL: they
 * are closed), which are kept as a view. Forgotten with the groups. */
void outline_set_parameters(Outline *outline, int32_t n, const ParameterRow *rows, int n_rows);

/* Changes whenever the rows do. */
int outline_version(const Outline *outline);

/* Whether folds are one row at all. True when they were not so before. */
bool outline_set_folds(Outline *outline, bool folds);

/* Rows of a group by falling key; those with equal ones stay in program order, which NULL gives
 * back. Groups of very many rows stay in it too. */
void outline_sort(Outline *outline, double (*key)(const void *context, const OutlineRow *row),
                  const void *context);

int64_t outline_n_rows(Outline *outline);
bool outline_at(Outline *outline, int64_t i, OutlineRow *row); /* false past the end */

/* n rows from i on; returns how many there are. */
int outline_rows(Outline *outline, int64_t i, int n, OutlineRow *rows);

/* The row that stands for an op: its own, its equal's in the first member of a fold, or that of the
 * closed group it is in (*exact is then false; may be NULL). -1 for a host op. */
int64_t outline_find(Outline *outline, int32_t op, bool *exact);
int64_t outline_find_row(Outline *outline,
                         const OutlineRow *row); /* the same row, or the nearest, again */

/* Opens and spreads what hides the op. */
void outline_reveal(Outline *outline, int32_t op);
void outline_reveal_group(Outline *outline, int32_t group); /* its row, not its inside */
void outline_open(Outline *outline, const OutlineRow *row, bool open);
void outline_spread(Outline *outline, const OutlineRow *row, bool listed);
bool outline_is_spread(const Outline *outline,
                       const OutlineRow *row); /* or lies in a spread fold */
bool outline_is_first_of_spread(const Outline *outline, const OutlineRow *row);
void outline_depth(Outline *outline, int depth); /* opens groups above that depth, closes others */

/* Of a mixed row: members of each class of equal ones, the largest first; returns how many classes,
 * at most n of them in `members`. *main: the first member of the largest class. */
int outline_classes(const Outline *outline, int32_t head, int *members, int n, int32_t *main);

/* What is open, to come back to; for these groups only. Own: as it is without the filter. */
uint8_t *outline_marks(const Outline *outline, Arena *arena);
uint8_t *outline_own_marks(const Outline *outline, Arena *arena);
void outline_set_marks(Outline *outline, const uint8_t *marks);

/* Row of the group that row i is listed in, or -1. */
int64_t outline_parent(Outline *outline, int64_t i);

const Groups *outline_groups(const Outline *outline);
int32_t outline_position(const Outline *outline, int32_t op); /* in groups->order; -1: not shown */

/* The op that stands for this one where its fold is shown by the first member. */
int32_t outline_shown_op(const Outline *outline, int32_t op);
/* The same op of the last member of every such fold it is in; itself when in none. */
int32_t outline_last_op(const Outline *outline, int32_t op);

/* Members that one row at this group stands for. */
int outline_fold_n(Outline *outline, int32_t group);

/* All ops that the row of this op stands for, the op among them: its equals in the members of the
 * folds it is shown for. */
int outline_equals(const Outline *outline, Arena *arena, int32_t op, int32_t **ops);

/* "h[0..11].mlp.act", "c_fc", "Softmax": the name of a row inside the group it is listed in. */
void outline_label(const Outline *outline, const OutlineRow *row, Buf *out);

#endif
