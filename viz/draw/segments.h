/* segments.h - the ops of a device, split where it waits for other devices, and the moves between
 * them.
 *
 * A segment is consecutive ops of one pass; of equal layers only the ops of the first. A segment
 * ends at a value that other devices add to or contribute to, but not at a parameter that is
 * gathered for it, which arrives independently.
 */
#ifndef VIZ_DRAW_SEGMENTS_H
#define VIZ_DRAW_SEGMENTS_H

#include "viz/draw/moves.h"
#include "viz/draw/runs.h"

/* The finest first: split at every item and wait; at waits and layers; at layers only. */
typedef enum { CUT_ITEMS, CUT_WAITS, CUT_LAYERS, SEGMENT_CUT_COUNT } SegmentCut;

typedef struct {
    int item;     /* its first item; a segment of a layer has no other item */
    int first, n; /* ops: Segments.op[first ..) */
} DrawnSegment;

typedef struct {
    RunList runs;
    const int32_t *op; /* ops of the first members */
    const int *item;   /* per index of `op` */
    int n;
    const DrawnSegment *at;
} Segments;

/* Per op: whether the device waits before it, or after it. */
typedef struct {
    const bool *before, *after;
} Waits;

/* Returns whether it moves a parameter, an input, or a value computed from parameters only. */
bool reshard_is_given(const Plan *plan, const Reshard *reshard);
Waits waits_of(Arena *arena, const Plan *plan);
Segments segments_of(const Draw *draw, RunList runs, const Waits *waits, SegmentCut cut);

/* "ln_1, attn": the modules of its ops, below the layer. */
const char *segment_title(const Draw *draw, const Segments *segments, int i);

#endif
