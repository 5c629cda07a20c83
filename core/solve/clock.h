/* clock.h - when to stop: a deadline, and the flag of whoever watches. */
#ifndef CORE_SOLVE_CLOCK_H
#define CORE_SOLVE_CLOCK_H

#include "core/base/progress.h"

#include <time.h>

typedef struct {
    double deadline_s; /* of the monotonic clock; 0: none */
    const Progress *progress;
    bool stopped; /* stays true */
} SolveClock;

static inline double solve_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline bool solve_stopped(SolveClock *clock)
{
    if (!clock->stopped)
        clock->stopped = progress_stopped(clock->progress) ||
                         (clock->deadline_s > 0 && solve_now_s() >= clock->deadline_s);
    return clock->stopped;
}

#endif
