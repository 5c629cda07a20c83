/* events.h - the events of propagation in order.
 *
 * An event is one visit of an op that changed one tensor or the op's own cuts, or it is a pin.
 * Events are totally ordered: earlier ones may be causes of later ones, never the reverse. A turn
 * is a run of events of one kind: the pins, half a sweep of a pass, or a pass by stack.
 */
#ifndef CORE_EXPLAIN_EVENTS_H
#define CORE_EXPLAIN_EVENTS_H

#include "core/plan/plan.h"

typedef struct {
    int32_t op;          /* the visited op; -1 for a pin, or a loop's carried value */
    int32_t tensor;      /* the tensor that changed; -1 if the op's cuts did */
    int32_t from, to;    /* of a tensor: Shardings ids */
    const OpCut *cut[2]; /* of an op: before and after */
    AtomSet added;       /* axes that were added */
    int turn;
} PlanEvent;

int plan_n_events(const Plan *plan); /* 0: the propagator keeps no log */

/* All of them, in order; in the arena. */
const PlanEvent *plan_events(Arena *arena, const Plan *plan);

/* The kind of a turn: "pins", "map dims, forward". */
void plan_turn_format(const Plan *plan, int turn, Buf *out);

/* "h.0.attn.c_attn  x 8,1024,768 -> 8/dp,1024,768" */
void plan_event_format(const Plan *plan, const PlanEvent *event, Buf *out);

#endif
