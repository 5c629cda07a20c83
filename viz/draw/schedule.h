/* schedule.h - the communication of a stage under the schedule of a step, summed by axes. */
#ifndef VIZ_DRAW_SCHEDULE_H
#define VIZ_DRAW_SCHEDULE_H

#include "core/base/vec.h"
#include "core/cost/pipeline.h"

typedef struct {
    AtomSet atoms; /* its axes; 0: inside an op */
    bool beside;   /* it overlaps with ops; else they wait for it */
    bool gathers;  /* for what happens once a step: before the first forward, not after the last
                      backward */
    double us;
} CommTime;

typedef Vec(CommTime) CommTimes;

typedef struct {
    CommTimes pass[N_BLOCK_PASSES]; /* in one block; the first is what ops wait for */
    CommTimes once;                 /* once a step */
    AtomSet received, returned;     /* axes of sends to it for its forward, and from it for a
                                       backward; 0: none */
} StageComm;

/* Per stage, for plans with plan_schedule(); in the arena. */
StageComm *schedule_comm(Arena *arena, const Plan *plan);

#endif
