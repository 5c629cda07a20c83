/* runs.h - what devices run, as a list of items: groups of ops, with equal layers as one xN.
 *
 * An item is a group that runs there completely, or a run of ops between groups. Consecutive layers
 * of one fold are one item.
 */
#ifndef VIZ_DRAW_RUNS_H
#define VIZ_DRAW_RUNS_H

#include "viz/draw/draw.h"

typedef struct {
    int32_t group;     /* the first group; -1: ops between groups */
    int32_t first, n;  /* ops of one of them: groups->order[first ..) */
    int repeats;       /* number of consecutive equal layers, or 1 */
    bool layer;        /* it is a member of a fold */
    const char *title; /* "h[0..2] x3", "wte" */
} RunItem;

typedef struct {
    int n;
    const RunItem *at;
} RunList;

/* The items of the ops that are members. */
RunList runs_of(const Draw *draw, const bool *member);

/* Returns whether both have the same number of layers with the same structure, whatever their
 * shardings. */
bool runs_alike(const Draw *draw, const RunList *a, const RunList *b);

/* Op i of member m of an item. */
static inline int32_t run_op(const Draw *draw, const RunItem *item, int m, int i)
{
    return draw->groups->order[item->first + m * item->n + i];
}

/* "wte, wpe and 2 more", then a line "h[0..2] x3": the titles of items from..to, a line for layers
 * and one for the items between them. */
void runs_format(const RunList *runs, int from, int to, Buf *out);

#endif
