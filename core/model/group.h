/* group.h - the outline: ops in nested groups, repeated neighbours folded into one row "xN".
 *
 * Groups come from op paths ("transformer.h.0.mlp" is inside "transformer.h.0"; an op without a
 * path belongs to the innermost group that contains both its makers and its readers). Where a graph
 * has no paths, groups come from the longest repeated run of op signatures ("block[0]", "block[1]"
 * ..). Neighbouring sibling groups form one fold of N members if they have names that are equal but
 * for digits, one kind, the same groups inside, equal signatures in the same order and the same
 * wiring. Two operands are wired alike if the same op of each member makes them, or if an op
 * outside the member (or no op) does. Equality is verified exactly. Neighbours with equal structure
 * but different shardings are a stretch of alike groups: one fold, or several next to each other.
 * Where different neighbours repeat, "local global local global", each repetition becomes a group
 * of its own, a cycle, and the cycles fold (group_fold.h).
 *
 * A row is an op or a group. Rows are in program order: a group is listed at its first op and its
 * ops are contiguous in `order`. If an op of a group reads what is made after the group's row, it
 * starts a further piece of the group, a Group of its own with the same path, so that `order` is
 * also an order of data flow. An exporter may leave an op in the first of several groups that read
 * its result ("layers.0" holds the attention mask of all layers); such an op is listed before the
 * groups, in the group that contains them.
 */
#ifndef CORE_MODEL_GROUP_H
#define CORE_MODEL_GROUP_H

#include "core/model/graph.h"

typedef struct {
    int32_t parent;      /* group; -1 only for the root, group 0 */
    int32_t first, n;    /* its ops: order[first .. first+n) */
    int32_t child, next; /* first child group, next sibling; -1 */
    int32_t fold;        /* first group of its fold; itself if it is that or is alone */
    int32_t fold_n;      /* members of the fold, set on its first group; 1 if it is alone */
    int32_t alike;       /* first group of its stretch */
    int32_t alike_n;     /* members of the stretch, on its first group: fold_n or more */
    int16_t depth;       /* 0 for the root */
    const char *name;    /* last part of the path: "mlp", "0"; of a cycle "0..1" */
    const char *path;
    const char *kind;  /* of a layer: the model's name for its kind, "local"; else NULL */
    const char *cycle; /* of a cycle: the kinds of its layers, "local, global", or ""; else NULL */
} Group;

enum { GROUP_DEPTH_MAX = 32 }; /* the rest of a deeper path is one name */

typedef struct {
    int n_groups, n_order;
    Group *groups;            /* those inside a group follow it */
    int32_t *order;           /* the shown ops, in outline order */
    int32_t *group_of;        /* per op of the graph: its innermost group; -1 if not shown */
    const int32_t *signature; /* the caller's */
} Groups;

/* Builds the outline. shown: n_shown ops in program order (without host ops). signature: one int
 * per op of the graph; ops with equal signatures are equal (callers include op space and
 * shardings). structure: the same without shardings; it is equal where signatures are. The
 * signatures must outlive the groups. */
Groups *groups_build(Arena *arena, const Graph *graph, const int32_t *shown, int n_shown,
                     const int32_t *signature, const int32_t *structure);

/* For two members of a stretch: the number of leading ops with equal signatures; -1 if all are
 * equal. */
int32_t groups_difference(const Groups *groups, int32_t a, int32_t b);

/* Member i of the fold or stretch that begins at `head`: all members contain equally many groups,
 * so their numbers rise evenly. */
static inline int32_t groups_member(const Groups *groups, int32_t head, int i)
{
    return i == 0 ? head : head + i * (groups->groups[head].next - head);
}

/* Returns whether the group contains a fold, at any depth. */
bool groups_have_fold(const Groups *groups, int32_t group);

/* Per op of the graph, the corresponding op in the first member of every fold that it is in; the op
 * itself if it is in none. */
int32_t *groups_first_members(Arena *arena, const Groups *groups, int n_ops);

/* The common prefix of the paths of all ops in the group: its path, or the path of the group around
 * a cycle. */
static inline const char *group_prefix(const Groups *groups, int32_t group)
{
    const Group *at = &groups->groups[group];
    return at->cycle ? groups->groups[at->parent].path : at->path;
}

/* The path without the prefix "base.". */
Str group_relative(const char *path, const char *base);

/* The number in which two names first differ: where it starts, and its digits in each. */
size_t group_differing_number(Str a, Str b, Str *first, Str *last);

/* The name of a fold, below group `base`: "h[0..11]" for members "h.0" .. "h.11", "layer_[0..3]"
 * for "layer_0" .., "h[local, global]" for cycles whose layers have names, else "h.0..1"; of a
 * single group (fold_n 1) its own name. */
void group_format_fold(const Groups *groups, int32_t head, int fold_n, int32_t base, Buf *out);

#endif
