/* wait.h - waits until another thread changes a number, without keeping a core busy. */
#ifndef CORE_BASE_WAIT_H
#define CORE_BASE_WAIT_H

#include <stdatomic.h>

/* Returns when the number may have changed from `was`: soon after wait_wake(), at latest after a
 * few milliseconds. The caller then checks the number. *n_turns, 0 at first, counts the calls of
 * one wait: the first ones only yield to other threads, since most waits are short. */
void wait_change(atomic_uint *number, unsigned was, int *n_turns);

/* Wakes all threads that wait for the number; call it after the change. */
void wait_wake(atomic_uint *number);

#endif
