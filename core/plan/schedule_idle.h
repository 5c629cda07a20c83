/* schedule_idle.h - why the lanes of a timed schedule wait: its bubble by cause.
 *
 * A lane waits between its blocks, before the first and after the last. A block that starts later
 * than its lane is free waits for another (Block.after), which in turn waited for one: a chain back
 * in time, of blocks and of transfers between them. Behind the last block of a lane the chain is
 * that of the block which ends the schedule. Each moment of waiting falls on a block or on a
 * transfer of its chain, and so has one cause:
 *
 *     sends          on a transfer
 *     warm-up        on a block, before the lane's first backward, while the pipeline fills
 *     drain          on a block, behind that and the lane's last forward, while it empties
 *     uneven stages  on a block, between: another stage takes longer than this one
 *     order          the same, but as much of it as there is where every stage takes the mean time
 *                    and nothing is sent: the schedule itself leaves it
 *
 * Where nothing is backward, warm-up is before the first block and drain after the last. In 1f1b,
 * gpipe, eager_1f1b and 1f1b_interleaved with rounds of equal stages all is warm-up and drain.
 */
#ifndef CORE_PLAN_SCHEDULE_IDLE_H
#define CORE_PLAN_SCHEDULE_IDLE_H

#include "core/plan/schedule.h"

/* ORDER IDLE */
typedef enum {
    IDLE_WARM_UP,
    IDLE_DRAIN,
    IDLE_SENDS,
    IDLE_UNEVEN,
    IDLE_ORDER,
    N_IDLE_CAUSES
} IdleCause;

/* A cause with a smaller share of a step is not worth a column. */
static const double IDLE_SHOWN = 0.0005;

/* A stretch of waiting of one cause; none is IDLE_ORDER: what lies between and is no transfer is
 * IDLE_UNEVEN here. */
typedef struct {
    int32_t lane;
    IdleCause cause;
    double start_us, end_us;
} IdleGap;

typedef struct {
    int n;
    const IdleGap *gap; /* by lane, then time; neighbours differ in cause or do not touch */
    double (*lane_us)[N_IDLE_CAUSES]; /* per lane; they add up to the schedule's us without
                                               the lane's blocks */
    double share[N_IDLE_CAUSES];      /* of the time of all devices; they add up to Schedule.idle */
} ScheduleIdle;

/* Of a timed schedule, and the times it was timed with; in the arena. */
ScheduleIdle schedule_idle(Arena *arena, const Schedule *schedule, const StageTime *stage);

/* "uneven stages"; "uneven_stages". */
const char *idle_cause_name(IdleCause cause);
const char *idle_cause_key(IdleCause cause);

#endif
