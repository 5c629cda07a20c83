#include "core/solve/points.h"

#include "core/base/sorted.h"
#include "core/base/vec.h"

#include <math.h>
#include <stdlib.h>

/* What happens at a time: uses end and begin, limits begin and end. */
typedef struct {
    int64_t time;
    int32_t use, limit; /* -1 if it is of the other kind */
    bool ends;
} Event;

static int event_order(const void *p, const void *q)
{
    const Event *a = p, *b = q;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    return (b->ends ? 1 : 0) - (a->ends ? 1 : 0);
}

static Event *events_of(Arena *arena, const SolveProblem *problem, int32_t *n)
{
    int32_t room = 2 * (problem->n_uses + problem->n_limits), at = 0;
    Event *event = arena_array(arena, Event, room);
    for (int32_t u = 0; u < problem->n_uses; u++)
        if (problem->use[u].from < problem->use[u].to) {
            event[at++] = (Event){problem->use[u].from, u, -1, false};
            event[at++] = (Event){problem->use[u].to, u, -1, true};
        }
    for (int32_t l = 0; l < problem->n_limits; l++)
        if (problem->limit[l].from < problem->limit[l].to) {
            event[at++] = (Event){problem->limit[l].from, -1, l, false};
            event[at++] = (Event){problem->limit[l].to, -1, l, true};
        }
    qsort(event, (size_t)at, sizeof *event, event_order);
    *n = at;
    return event;
}

/* Limits that hold at present; few overlap. */
typedef Vec(int32_t) Holding;

static double least_limit(const SolveProblem *problem, const Holding *holding)
{
    double least = INFINITY;
    for (int i = 0; i < holding->n; i++)
        least = fmin(least, problem->limit[holding->at[i]].most);
    return least;
}

static void change_limits(Arena *arena, const Event *event, Holding *holding)
{
    if (!event->ends) {
        vec_push(arena, holding, event->limit);
        return;
    }
    for (int i = 0; i < holding->n; i++)
        if (holding->at[i] == event->limit) {
            holding->at[i] = holding->at[--holding->n];
            return;
        }
}

/* The stretch after the events of one time: it replaces the last point, is a new one, or is implied
 * by the last one (returns false). */
static bool add_stretch(SolvePoints *points, int64_t time, double limit, bool began, bool ended)
{
    int32_t last = points->n - 1;
    bool replaces = last >= 0 && !ended && limit <= points->limit[last];
    bool implied = last >= 0 && !began && limit >= points->limit[last];
    if (implied && !replaces)
        return false;
    if (!replaces)
        points->n++;
    points->limit[points->n - 1] = limit;
    points->time[points->n - 1] = time;
    return true;
}

SolvePoints solve_points(Arena *arena, const SolveProblem *problem)
{
    int32_t n_events;
    const Event *event = events_of(arena, problem, &n_events);
    SolvePoints points = {.limit = arena_array(arena, double, n_events),
                          .time = arena_array(arena, int64_t, n_events),
                          .from = arena_array(arena, int32_t, problem->n_uses),
                          .to = arena_array(arena, int32_t, problem->n_uses)};
    Holding holding = {0};
    bool began = false, ended = false; /* since the last point */
    for (int32_t i = 0; i < n_events; i++) {
        if (event[i].limit >= 0)
            change_limits(arena, &event[i], &holding);
        else
            *(event[i].ends ? &ended : &began) = true;
        if (i + 1 < n_events && event[i + 1].time == event[i].time)
            continue;
        if (add_stretch(&points, event[i].time, least_limit(problem, &holding), began, ended))
            began = ended = false;
    }
    for (int32_t u = 0; u < problem->n_uses; u++) {
        const SolveUse *use = &problem->use[u];
        points.from[u] = sorted_place(points.time, points.n, use->from);
        points.to[u] =
            use->from < use->to ? sorted_place(points.time, points.n, use->to) : points.from[u];
    }
    return points;
}

void solve_points_left(const SolvePoints *points, const SolveProblem *problem,
                       const int32_t *choice, double *left)
{
    for (int32_t p = 0; p <= points->n; p++)
        left[p] = 0;
    for (int32_t u = 0; u < problem->n_uses; u++) {
        double amount = problem->use[u].amount[choice[problem->use[u].node]];
        left[points->from[u]] += amount;
        left[points->to[u]] -= amount;
    }
    double sum = 0;
    for (int32_t p = 0; p < points->n; p++) {
        sum += left[p];
        left[p] = points->limit[p] - sum;
    }
}

bool solve_points_fit(const SolvePoints *points, const double *left)
{
    for (int32_t p = 0; p < points->n; p++)
        if (left[p] < -solve_slack(points->limit[p]))
            return false;
    return true;
}
