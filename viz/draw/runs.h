/* runs.h - what devices run, one item behind the other: groups of ops, equal layers as one xN.
 *
 * An item is a group all of whose ops are run there, or a run of ops that stand between groups.
 * Layers of a fold that lie there in a row are one item.
 */
#ifndef VIZ_DRAW_RUNS_H
#define VIZ_DRAW_RUNS_H

#include "viz/draw/draw.h"

typedef struct {
    int32_t group;     /* the first; -1: ops between groups */
    int32_t first, n;  /* ops of one: groups->order[first ..) */
    int repeats;       /* 1, or equal layers behind each other */
    bool layer;        /* there are others of its structure beside it */
    const char *title; /* "h[0..2] x3", "wte" */
} RunItem;

typedef struct {
    int n;
    const RunItem *at;
} RunList;

/* Of the ops that are members. */
RunList runs_of(const Draw *draw, const bool *member);

/* As many layers, of one structure, whatever their shardings. */
bool runs_alike(const Draw *draw, const RunList *a, const RunList *b);

/* The op at place i of member m of an item. */
static inline int32_t run_op(const Draw *draw, const RunItem *item, int m, int i)
{
    return draw->groups->order[item->first + m * item->n + i];
}

/* "wte, wpe and 2 more", then a line "h[0..2] x3": the titles of items from..to, a line for layers
 * and one for what is between them. */
void runs_format(const RunList *runs, int from, int to, Buf *out);

#endif
