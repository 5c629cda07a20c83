#include "core/search/frontier.h"

#include "core/solve/clock.h"

#include <math.h>

bool search_frontier(Arena *arena, const SearchRequest *request, SearchFrontier *out, Error *err)
{
    enum { STEP = 30, SHARES = 12 };
    SearchRequest asked = *request;
    double end_s = clock_s() + request->seconds;
    *out = (SearchFrontier){.point = arena_array(arena, SearchResult, FRONTIER_POINTS_MAX)};
    progress_stage(request->progress, "walking the frontier", 0);
    while (out->n < FRONTIER_POINTS_MAX && !progress_stopped(request->progress)) {
        SearchResult *at = &out->point[out->n];
        if (request->seconds > 0) {
            asked.seconds = fmin(end_s - clock_s(), fmax(1, request->seconds / SHARES));
            out->stopped = asked.seconds <= 0;
        }
        if (out->stopped)
            break;
        if (!search_plan(arena, &asked, at, err))
            return false;
        out->smallest = at->outcome == SEARCH_INFEASIBLE;
        out->stopped =
            at->outcome == SEARCH_UNKNOWN && request->seconds > 0 && at->seconds >= asked.seconds;
        if (at->outcome != SEARCH_PLAN)
            break;
        asked.max_peak_bytes = at->peak_bytes - at->peak_bytes / STEP - 1;
        if (out->n > 0 && at->cost_us <= at[-1].cost_us)
            at[-1] = *at; /* the one before was not the best */
        else
            out->n++;
    }
    out->cancelled = progress_stopped(request->progress);
    out->stopped |= out->cancelled;
    return true;
}
