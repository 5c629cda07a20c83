/* schedule_orders.h - the blocks of each schedule, unsorted and unchecked.
 *
 * Every function adds its blocks to making->schedule, which has room for a forward and a backward
 * of every stage and micro-batch. Returns false with an error that says what the schedule does not
 * fit and, as its hint, what would (schedule.h). Making lives in an arena that is freed when the
 * schedule is done.
 */
#ifndef CORE_PLAN_SCHEDULE_ORDERS_H
#define CORE_PLAN_SCHEDULE_ORDERS_H

#include "core/plan/schedule.h"

typedef struct {
    Arena *arena;
    Schedule *schedule;
    const Lanes *lanes;
    int n, m; /* stages, micro-batches */
    const char *name;
    Error *err;
} ScheduleMaking;

bool order_1f1b(ScheduleMaking *making);
bool order_1f1b_interleaved(ScheduleMaking *making);
bool order_1f1b_plus(ScheduleMaking *making);
bool order_gpipe(ScheduleMaking *making);
bool order_chimera_direct(ScheduleMaking *making);
bool order_infer_pipe(ScheduleMaking *making);
bool order_steps(ScheduleMaking *making, const Source *source); /* written out */

#endif
