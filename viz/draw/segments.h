/* segments.h - what a device runs, cut where it waits for others, and what is moved between.
 *
 * A segment is ops of one pass in a row; of equal layers those of the first. Values that other
 * devices must add to or take part in end one; parameters that are gathered for it do not, they
 * arrive beside it.
 */
#ifndef VIZ_DRAW_SEGMENTS_H
#define VIZ_DRAW_SEGMENTS_H

#include "viz/draw/moves.h"
#include "viz/draw/runs.h"

/* The finest first: at every item and wait; at waits and layers; at layers alone. */
typedef enum { CUT_ITEMS, CUT_WAITS, CUT_LAYERS, SEGMENT_CUT_COUNT } SegmentCut;

typedef struct {
    int item;     /* the first that it is of; layers are alone in theirs */
    int first, n; /* ops: Segments.op[first ..) */
} Segment;

typedef struct {
    RunList runs;
    const int32_t *op; /* of first members */
    const int *item;   /* per place in `op` */
    int n;
    const Segment *at;
} Segments;

/* Per op: a wait before or behind it. */
typedef struct {
    const bool *before, *after;
} Waits;

/* It is of a parameter, an input, or what is made of parameters alone. */
bool reshard_is_given(const Plan *plan, const Reshard *reshard);
Waits waits_of(Arena *arena, const Plan *plan);
Segments segments_of(const Draw *draw, RunList runs, const Waits *waits, SegmentCut cut);

/* "ln_1, attn": the modules that its ops are of, below the layer. */
const char *segment_title(const Draw *draw, const Segments *segments, int i);

#endif
