/* outline_state.h - private to outline.c, which lists the rows, and outline_fold.c, which folds and
 * filters them. Only these two include it.
 */
#ifndef TUI_STATE_OUTLINE_STATE_H
#define TUI_STATE_OUTLINE_STATE_H

#include "core/base/intern.h"
#include "tui/state/outline.h"

enum {
    MARK_OPEN = 1,
    MARK_SPREAD = 2,  /* on the first of a fold: its members are listed */
    MARK_CLASSES = 4, /* on the first of a stretch of alike groups: its folds are listed */
    MARKS = 7,
    MARK_KEPT = 63, /* these, and their values before a filter */
    BEFORE_FILTER = 3,
    MARK_LIST_KNOWN = 64,
    MARK_LIST = 128
};

enum { SORTED_CHILD = INT32_MIN, SORT_MAX = 20000 };

struct Outline {
    Arena *arena; /* of everything derived from the groups */
    Arena *kept_arena;
    Intern *kept;        /* paths of marked groups, while there are no groups */
    uint8_t *kept_marks; /* by id */
    const Graph *graph;
    const Groups *groups;
    const int32_t *pass;   /* outline_filter(); NULL: all */
    const int32_t *inputs; /* those that are listed */
    int n_inputs;
    double (*key)(const void *context, const OutlineRow *row); /* NULL: program order */
    const void *key_context;
    Arena *sort_arena;
    int32_t **sorted; /* per group: its rows in listed order, SORTED_CHILD + a group or an index
                         in the order; NULL: not sorted yet */
    int32_t n_parameters;
    const ParameterRow *parameter; /* their rows; NULL: they are closed */
    int n_parameter_rows;
    bool filtered;    /* a filter was active before the groups changed */
    bool unfolded;    /* no row stands for several groups */
    uint8_t *marks;   /* per group */
    int version;      /* number of changes of the rows */
    int32_t *content; /* per group: rows listed in it if open; -1: not counted yet */
    int32_t *place;   /* per op: index in groups->order, -1 */
};

/* The number of ops in a range of the order that pass the filter. */
static inline int32_t passing(const Outline *outline, int32_t from, int32_t to)
{
    return outline->pass ? outline->pass[to] - outline->pass[from] : to - from;
}

/* Whether the members that a group stands for are listed, given MARK_SPREAD or MARK_CLASSES. */
static inline bool is_listed(const Outline *outline, int32_t group, int mark)
{
    return outline->unfolded || outline->marks[group] & mark;
}

static inline int32_t skip_fold(const Outline *outline, int32_t group, int fold_n)
{
    const Groups *groups = outline->groups;
    return groups->groups[groups_member(groups, group, fold_n - 1)].next;
}

static inline void forget_counts(Outline *outline)
{
    memset(outline->content, 0xff, sizeof(int32_t) * (size_t)outline->groups->n_groups);
    outline->version++;
    arena_free(outline->sort_arena);
    outline->sort_arena = NULL;
    outline->sorted = NULL;
}

/* The number of rows below the ops: 0 if a filter lists only ops. */
static inline int64_t parameter_rows(const Outline *outline)
{
    return outline->n_parameters == 0 || outline->pass ? 0 : 1 + outline->n_parameter_rows;
}

/* The i-th of these rows. */
OutlineRow outline_parameter_row(const Outline *outline, int64_t i);
int64_t outline_find_parameter(Outline *outline, const OutlineRow *row); /* or the nearest */

/* The group whose content a row at this one shows: it skips groups whose only member is a group. */
int32_t outline_inner(Outline *outline, int32_t group);
void outline_list_members(Outline *outline, int32_t head); /* of a fold, all closed */

#endif
