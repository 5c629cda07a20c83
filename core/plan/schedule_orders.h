/* schedule_orders.h - the blocks of each schedule, unsorted and unchecked.
 *
 * Every function adds its blocks to making->schedule, which has room for a forward and a split
 * backward of every stage and micro-batch. A function returns false with an error that says what
 * the schedule does not fit; the hint says what would fit (schedule.h). ScheduleMaking is in an
 * arena that is freed when the schedule is done.
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

/* Adds a block; `pair` is the index of the block that runs with it, or -1. */
void schedule_add(ScheduleMaking *making, int stage, BlockPass pass, int micro_batch, int step,
                  int span, int pair);

bool schedule_same_lanes(const Lanes *lanes, int a, int b); /* of two stages */

/* Check how stages lie on lanes; each returns false with the error. own: no two stages share one.
 * turns: stage s is on the lane of stage s % *g. v: stage s is on the lane of stage n-1-s. */
bool schedule_need_own(ScheduleMaking *making);
bool schedule_need_turns(ScheduleMaking *making, int *g);
bool schedule_need_v(ScheduleMaking *making);

bool order_1f1b(ScheduleMaking *making);
bool order_1f1b_interleaved(ScheduleMaking *making);
bool order_1f1b_plus(ScheduleMaking *making);
bool order_gpipe(ScheduleMaking *making);
bool order_chimera_direct(ScheduleMaking *making);
bool order_infer_pipe(ScheduleMaking *making);
bool order_eager_1f1b(ScheduleMaking *making);
bool order_interleaved_zero_bubble(ScheduleMaking *making);
bool order_zb1p(ScheduleMaking *making);
bool order_zb2p(ScheduleMaking *making);
bool order_looped_bfs(ScheduleMaking *making);
bool order_zbv(ScheduleMaking *making);
bool order_dualpipev(ScheduleMaking *making);
bool order_dualpipe(ScheduleMaking *making);
bool order_steps(ScheduleMaking *making, const Source *source); /* written out */

#endif
