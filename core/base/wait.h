/* wait.h - waits for a number that another thread changes, without keeping a core busy. */
#ifndef CORE_BASE_WAIT_H
#define CORE_BASE_WAIT_H

#include <stdatomic.h>

/* Returns when the number may have changed from `was`: soon after wait_wake(), at latest after a
 * few milliseconds. The caller looks again. *n_turns, 0 at first, counts the calls of one waiting:
 * the first ones only let other threads run, since most waits are short. */
void wait_change(atomic_uint *number, unsigned was, int *n_turns);

/* Wakes all that wait for the number. Call after it was changed. */
void wait_wake(atomic_uint *number);

#endif
