/* schedule.h - the communication of a stage in the schedule of a step, summed by axes. */
#ifndef VIZ_DRAW_SCHEDULE_H
#define VIZ_DRAW_SCHEDULE_H

#include "core/base/vec.h"
#include "core/cost/pipeline.h"

typedef struct {
    AtomSet atoms; /* that it goes over; 0: inside an op */
    bool beside;   /* it runs beside ops; else they wait for it */
    bool gathers;  /* of what is once a step: before the first forward, not behind the last
                      backward */
    double us;
} CommTime;

typedef Vec(CommTime) CommTimes;

typedef struct {
    CommTimes pass[N_BLOCK_PASSES]; /* in one block, what ops wait for first */
    CommTimes once;                 /* once a step */
    AtomSet received, returned; /* sent to it for its forward, from it for a backward; 0: none */
} StageComm;

/* Per stage, of plans with plan_schedule(); in the arena. */
StageComm *schedule_comm(Arena *arena, const Plan *plan);

#endif
