/* clock.h - when a search has to stop: at a deadline, or when the user asks. */
#ifndef CORE_SOLVE_CLOCK_H
#define CORE_SOLVE_CLOCK_H

#include "core/base/clock.h"
#include "core/base/progress.h"

typedef struct {
    double deadline_s; /* of the monotonic clock; 0: none */
    const Progress *progress;
    bool stopped; /* stays true */
} SolveClock;

static inline bool solve_stopped(SolveClock *clock)
{
    if (!clock->stopped)
        clock->stopped = progress_stopped(clock->progress) ||
                         (clock->deadline_s > 0 && clock_s() >= clock->deadline_s);
    return clock->stopped;
}

#endif
