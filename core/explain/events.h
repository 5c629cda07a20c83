/* events.h - what happened while axes flowed, one event after the other.
 *
 * An event is one visit of an op that changed one tensor, or the op's own cuts; or a pin. Their
 * order is total: earlier ones could be causes of later ones, never the other way. A turn is a run
 * of events of one kind: the pins, half a sweep of a pass, a pass by stack.
 */
#ifndef CORE_EXPLAIN_EVENTS_H
#define CORE_EXPLAIN_EVENTS_H

#include "core/plan/plan.h"

typedef struct {
    int32_t op;          /* whose visit; -1: a pin, or what a loop carries */
    int32_t tensor;      /* that changed; -1: the cuts of the op did */
    int32_t from, to;    /* of a tensor: Shardings ids */
    const OpCut *cut[2]; /* of an op: before and after */
    AtomSet added;       /* that were not there before */
    int turn;
} PlanEvent;

int plan_n_events(const Plan *plan); /* 0: the propagator keeps no log */

/* All of them, in order; in the arena. */
const PlanEvent *plan_events(Arena *arena, const Plan *plan);

/* "pins", "map dims, forward": what a turn was. */
void plan_turn_format(const Plan *plan, int turn, Buf *out);

/* "h.0.attn.c_attn  x 8,1024,768 -> 8/dp,1024,768" */
void plan_event_format(const Plan *plan, const PlanEvent *event, Buf *out);

#endif
