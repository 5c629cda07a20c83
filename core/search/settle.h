/* settle.h - which moves of an instance have to be settled (prices.h), so that a bound by the least
 * costs of moves reaches the best plan.
 */
#ifndef CORE_SEARCH_SETTLE_H
#define CORE_SEARCH_SETTLE_H

#include "core/search/instance.h"
#include "core/solve/clock.h"

/* Settles the moves that a choice of all nodes makes; returns in how many steps, 0 if all were.
 * Costs stay until they are weighed again. */
int instance_settle(Instance *instance, const int32_t *choice);

/* Tightens the bounds of the moves of the choice, and of cheaper ones near it: of one node after
 * another the choice is changed for one that costs less, until none does; it becomes the last of
 * them. kind: COST_OF_PLAN or COST_ON_PATHS. allowed[node]: choices that may be taken; NULL: all.
 * Returns the number of bounds tightened. */
int instance_tighten_near(Instance *instance, InstanceCost kind, int32_t *choice,
                          const bool *const *allowed);

/* Tightens the bounds of all moves of allowed choices (NULL: of all), in the order of the tables
 * from *table on, until the clock stops it; *table is then where to go on. */
void instance_tighten_all(Instance *instance, const bool *const *allowed, SolveClock *clock,
                          int *table);

#endif
