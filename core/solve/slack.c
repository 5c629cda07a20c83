#include "core/solve/slack.h"

#include <math.h>

void slack_begin(Slack *slack, Arena *arena, int32_t n)
{
    slack->n = n;
    slack->leaves = 1;
    while (slack->leaves < n)
        slack->leaves *= 2;
    slack->least = arena_array(arena, double, 2 * (size_t)slack->leaves);
    slack->add = arena_array(arena, double, 2 * (size_t)slack->leaves);
}

void slack_set(Slack *slack, const double *left)
{
    for (int32_t i = 0; i < slack->leaves; i++)
        slack->least[slack->leaves + i] = i < slack->n ? left[i] : INFINITY;
    for (int32_t i = 0; i < 2 * slack->leaves; i++)
        slack->add[i] = 0;
    for (int32_t i = slack->leaves - 1; i >= 1; i--)
        slack->least[i] = fmin(slack->least[2 * i], slack->least[2 * i + 1]);
}

static void take(Slack *slack, int32_t at, double amount)
{
    slack->least[at] -= amount;
    slack->add[at] -= amount;
}

/* The nodes that cover the range are visited from the leaves up, then what is above is renewed. */
void slack_take(Slack *slack, int32_t from, int32_t to, double amount)
{
    if (from >= to)
        return;
    int32_t low = from + slack->leaves, high = to + slack->leaves;
    for (; low < high; low /= 2, high /= 2) {
        if (low & 1)
            take(slack, low++, amount);
        if (high & 1)
            take(slack, --high, amount);
    }
    for (int side = 0; side < 2; side++)
        for (int32_t at = (side ? to - 1 : from) + slack->leaves; at > 1;) {
            at /= 2;
            slack->least[at] =
                fmin(slack->least[2 * at], slack->least[2 * at + 1]) + slack->add[at];
        }
}

/* The adds above a node count; they are walked up once for each covering node. */
static double least_at(const Slack *slack, int32_t at)
{
    double least = slack->least[at];
    while ((at /= 2) >= 1)
        least += slack->add[at];
    return least;
}

double slack_least(const Slack *slack, int32_t from, int32_t to)
{
    double least = INFINITY;
    int32_t low = from + slack->leaves, high = to + slack->leaves;
    for (; low < high; low /= 2, high /= 2) {
        if (low & 1)
            least = fmin(least, least_at(slack, low++));
        if (high & 1)
            least = fmin(least, least_at(slack, --high));
    }
    return least;
}
