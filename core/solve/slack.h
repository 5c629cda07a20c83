/* slack.h - the room left under each limit: subtract an amount over a range of points, ask for the
 * least room in a range.
 *
 * A tree of sums over points 0 .. n-1; both operations take time logarithmic in n.
 */
#ifndef CORE_SOLVE_SLACK_H
#define CORE_SOLVE_SLACK_H

#include "core/base/arena.h"

typedef struct {
    int32_t n, leaves;   /* leaves: a power of two, at least n */
    double *least, *add; /* [2 * leaves]: of the subtree, with and without what is above */
} Slack;

void slack_begin(Slack *slack, Arena *arena, int32_t n);
void slack_set(Slack *slack, const double *left); /* [n] */
void slack_take(Slack *slack, int32_t from, int32_t to, double amount);
double slack_least(const Slack *slack, int32_t from, int32_t to); /* INFINITY for no points */

#endif
