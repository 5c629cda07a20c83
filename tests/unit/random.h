/* random.h - numbers that are the same on every machine and in every run. */
#ifndef TESTS_UNIT_RANDOM_H
#define TESTS_UNIT_RANDOM_H

#include <stdint.h>

static uint32_t seed; /* set by each test before its first pick() */

/* One of 0 .. n - 1. */
static inline int pick(int n)
{
    seed = seed * 1664525u + 1013904223u;
    return (int)((seed >> 8) % (uint32_t)n);
}

#endif
