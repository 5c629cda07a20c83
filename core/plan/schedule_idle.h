/* schedule_idle.h - why the lanes of a timed schedule wait: its bubble by cause.
 *
 * A lane waits between its blocks, before the first and after the last. A block that starts after
 * its lane is free waits for another block (Block.after), which in turn waited for one: a chain
 * back in time, of blocks and of transfers between them. After the last block of a lane, the chain
 * is that of the block which ends the schedule. Each moment of waiting coincides with a block or a
 * transfer of its chain, and so has one cause:
 *
 *     sends          on a transfer
 *     warm-up        on a block, before the lane's first backward, while the pipeline fills
 *     drain          on a block, behind that and the lane's last forward, while it empties
 *     uneven stages  on a block, between: another stage takes longer than this one
 *     order          the same, but as much of it as there is where every stage takes the mean time
 *                    and nothing is sent: the schedule itself leaves it
 *
 * In a schedule without backward blocks, warm-up is before the first block and drain after the
 * last. In 1f1b, gpipe, eager_1f1b and 1f1b_interleaved with rounds of equal stages, all waiting is
 * warm-up and drain.
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

/* Causes with a smaller share of a step get no column. */
static const double IDLE_SHOWN = 0.0005;

/* A stretch of waiting with one cause. IDLE_ORDER does not occur here: waiting between blocks that
 * is no transfer counts as IDLE_UNEVEN. */
typedef struct {
    int32_t lane;
    IdleCause cause;
    double start_us, end_us;
} IdleGap;

typedef struct {
    int n;
    const IdleGap *gap; /* by lane, then time; neighbours differ in cause or do not touch */
    /* Per lane; together they are the schedule's us minus the time of the lane's blocks. */
    double (*lane_us)[N_IDLE_CAUSES];
    double share[N_IDLE_CAUSES]; /* of the time of all devices; they sum to Schedule.idle */
} ScheduleIdle;

/* For a timed schedule and the stage times it was timed with; in the arena. */
ScheduleIdle schedule_idle(Arena *arena, const Schedule *schedule, const StageTime *stage);

/* "uneven stages"; "uneven_stages". */
const char *idle_cause_name(IdleCause cause);
const char *idle_cause_key(IdleCause cause);

#endif
