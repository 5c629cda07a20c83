/* left.h - which choices of the nodes are left beside a choice of all whose cost is known.
 */
#ifndef CORE_SOLVE_LEFT_H
#define CORE_SOLVE_LEFT_H

#include "core/solve/clock.h"
#include "core/solve/problem.h"

/* Marks, by a few passes of messages, what may be part of a choice that costs less than `below`:
 * (*left)[node][choice], in the arena. That stays so where costs rise. Returns false if nothing
 * costs less, or if the clock stopped it: nothing is marked then. */
bool solve_left(Arena *arena, const SolveProblem *problem, double below, SolveClock *clock,
                bool ***left);

#endif
