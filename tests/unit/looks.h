/* looks.h - a clock of looks: from looks_from_now() on it goes on by LOOK_S each time it is read,
 * so that a limit of k times LOOK_S is over at the k-th look, on every machine. The test's own
 * clock_gettime() stands in for the library's: one source file of a test includes this.
 */
#ifndef TESTS_UNIT_LOOKS_H
#define TESTS_UNIT_LOOKS_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_S 1e-3

static bool counts_looks;
static int64_t n_looks;

static inline void looks_from_now(bool counts)
{
    counts_looks = counts;
    n_looks = 0;
}

int clock_gettime(clockid_t id, struct timespec *now)
{
    if (!counts_looks || id != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, id, now);
    double now_s = 1 + (double)n_looks++ * LOOK_S;
    *now =
        (struct timespec){.tv_sec = (time_t)now_s, .tv_nsec = (long)((now_s - floor(now_s)) * 1e9)};
    return 0;
}

#endif
