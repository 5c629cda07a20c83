#include "core/base/wait.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SHORT_TURNS = 64, SLEEP_NS = 2000000 };

void wait_change(atomic_uint *number, unsigned was, int *n_turns)
{
    if ((*n_turns)++ < SHORT_TURNS) {
        sched_yield();
        return;
    }
    struct timespec most = {.tv_nsec = SLEEP_NS};
    syscall(SYS_futex, number, FUTEX_WAIT_PRIVATE, was, &most, NULL, 0);
}

void wait_wake(atomic_uint *number)
{
    syscall(SYS_futex, number, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}
