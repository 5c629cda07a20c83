#include "core/solve/solve.h"

#include "core/solve/improve.h"

#include <inttypes.h>
#include <math.h>

/* How far below the largest cost of a network a choice may be before sums in it are too coarse. */
#define COARSE 1e-6
#define NEAR 0.02         /* gap that another search may close */
#define FIRST_SLICE_S 2.0 /* of search, then of windows, in turn, each time longer */

typedef struct {
    SolveSearch search;
    SolveImprove *improve;
    SolvePoints points;
    const SolveOptions *options;
    SolveClock clock; /* of the whole */
    SolveClock slice; /* of one search or one run of windows */
    double coarse;    /* a choice below this ends the search, which begins anew */
    double never;     /* costs from here on are only looked at if nothing costs less */
    double bound;
} Solving;

/* What is known while a search runs; it says nothing about choices it leaves for later. */
static double bound_now(const Solving *s)
{
    return s->search.best < s->never ? fmax(s->bound, s->search.bound) : s->bound;
}

/* Good enough: ends all of it. */
static void stop_if_near(Solving *s)
{
    double gap = s->search.best - bound_now(s);
    if (s->options->gap > 0 && s->search.best < INFINITY && gap <= s->options->gap * s->search.best)
        s->clock.stopped = s->slice.stopped = true;
}

static void found(void *context, const SolveSearch *search)
{
    Solving *s = context;
    if (search->best < s->coarse)
        s->slice.stopped = true;
    if (s->options->report)
        s->options->report(s->options->context, search->best, bound_now(s));
    stop_if_near(s);
}

static void polish(void *context, const int32_t *choice)
{
    Solving *s = context;
    solve_improve_choice(s->improve, choice);
}

static bool is_integer(const double *cost, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (cost[i] != floor(cost[i]))
            return false;
    return true;
}

static bool all_integers(const SolveProblem *problem)
{
    for (int32_t n = 0; n < problem->n_nodes; n++)
        if (!is_integer(problem->cost[n], problem->n_choices[n]))
            return false;
    for (int32_t e = 0; e < problem->n_edges; e++)
        if (!is_integer(problem->edge[e].cost, (int64_t)problem->n_choices[problem->edge[e].a] *
                                                   problem->n_choices[problem->edge[e].b]))
            return false;
    return true;
}

static const char *why_not(Arena *arena, const NetConflict *conflict)
{
    if (!conflict->set)
        return "no choice keeps every limit and takes no forbidden pair";
    if (conflict->node >= 0)
        return arena_printf(arena,
                            "node %" PRId32 " has no choice left: each is forbidden, forbidden "
                            "beside every choice of a neighbour, or does not fit",
                            conflict->node);
    return arena_printf(arena,
                        "at time %" PRId64 " the smallest usages of the nodes alive add up to "
                        "%.15g, and the limit is %.15g",
                        conflict->time, conflict->need, conflict->most);
}

static void begin_slice(Solving *s, double seconds)
{
    double end = clock_s() + seconds;
    s->slice = s->clock;
    if (seconds > 0 && (s->clock.deadline_s <= 0 || end < s->clock.deadline_s))
        s->slice.deadline_s = end;
    s->search.clock = &s->slice;
}

/* Costs of node t, or of edge t - n_nodes. */
static const double *term_costs(const SolveProblem *problem, int32_t t, int64_t *n)
{
    const SolveEdge *edge = t < problem->n_nodes ? NULL : &problem->edge[t - problem->n_nodes];
    *n = edge ? (int64_t)problem->n_choices[edge->a] * problem->n_choices[edge->b]
              : problem->n_choices[t];
    return edge ? edge->cost : problem->cost[t];
}

/* The largest finite cost below `limit` of each node and edge: their sum and the largest. INFINITY
 * if one has no such cost. */
static double sum_of_largest(const SolveProblem *problem, double limit, double *largest)
{
    double sum = 0;
    *largest = 0;
    for (int32_t t = 0; t < problem->n_nodes + problem->n_edges; t++) {
        int64_t n;
        const double *cost = term_costs(problem, t, &n);
        double most = -1;
        for (int64_t i = 0; i < n; i++)
            most = cost[i] < limit && cost[i] > most ? cost[i] : most;
        sum += most < 0 ? INFINITY : most;
        *largest = fmax(*largest, most);
    }
    return sum;
}

/* Costs such as 1e18 that stand for "never": each is more than all others together. Returns a cost
 * between the two kinds, or INFINITY. */
static double never_from(const SolveProblem *problem)
{
    double largest, rest;
    sum_of_largest(problem, INFINITY, &largest);
    double limit = 0.1 * largest, sum = sum_of_largest(problem, limit, &rest);
    return largest > 0 && sum < limit ? limit : INFINITY;
}

/* One search from the start with what is known. Returns whether it was whole. */
static bool run_search(Solving *s, double seconds)
{
    Arena *arena = arena_new();
    begin_slice(s, seconds);
    bool without = s->never < s->search.best;
    Network *net =
        network_new(arena, s->search.problem, &s->points, without ? s->never : s->search.best);
    s->coarse = COARSE * network_largest(net);
    s->search.gave_up = false;
    double bound = solve_search(&s->search, net);
    bool coarse = s->search.best < s->coarse;
    s->coarse = 0;
    arena_free(arena);
    if (without && s->search.best >= s->never) { /* says nothing about dearer choices */
        s->never = s->search.gave_up ? s->never : INFINITY;
        s->search.conflict = (NetConflict){.node = -1};
        return false;
    }
    if (!coarse)
        s->bound = fmax(s->bound, fmin(bound, s->search.best));
    s->search.bound = s->bound;
    return !s->search.gave_up && !coarse;
}

static double simple_bound(const SolveProblem *problem)
{
    double sum = 0;
    for (int32_t n = 0; n < problem->n_nodes; n++) {
        double least = INFINITY;
        for (int32_t x = 0; x < problem->n_choices[n]; x++)
            least = fmin(least, problem->cost[n][x]);
        sum += least < INFINITY ? least : 0;
    }
    return sum;
}

/* A search, then windows for as long as they find something; searches again when the gap is small
 * or windows are at their end. True if proven. */
static bool run(Solving *s, Arena *arena)
{
    SolveImprove *improve = s->improve = solve_improve_new(arena, &s->search);
    double slice_s = s->options->seconds > 0 ? s->options->seconds / 3 : FIRST_SLICE_S;
    begin_slice(s, 0);
    if (s->options->start)
        solve_improve_choice(improve, s->options->start);
    if (!(s->search.best < INFINITY))
        solve_improve_first(improve);
    bool windows = true;
    for (bool first = true; !solve_stopped(&s->clock); first = false, slice_s *= 1.5) {
        stop_if_near(s);
        if (s->bound >= solve_worth(&s->search))
            return true;
        bool near = s->search.best - s->bound <= NEAR * fabs(s->search.best);
        if ((first || !windows || near) && run_search(s, windows ? slice_s : 0))
            return true;
        if (s->search.best < INFINITY && windows) {
            begin_slice(s, slice_s);
            windows = solve_improve_windows(improve, &s->slice);
        }
    }
    return false;
}

bool solve(Arena *arena, const SolveProblem *problem, const SolveOptions *options,
           SolveAnswer *answer, Error *err)
{
    if (!solve_problem_check(problem, err))
        return false;
    Solving s = {.options = options,
                 .points = solve_points(arena, problem),
                 .clock = {.progress = options->progress},
                 .never = never_from(problem),
                 .bound = fmax(simple_bound(problem), options->bound)};
    if (options->seconds > 0)
        s.clock.deadline_s = clock_s() + options->seconds;
    s.search = (SolveSearch){.problem = problem,
                             .points = &s.points,
                             .best = INFINITY,
                             .choice = arena_array(arena, int32_t, problem->n_nodes),
                             .unit = all_integers(problem) ? 1 : 0,
                             .bound = s.bound,
                             .scratch = arena_array(arena, double, s.points.n + 1),
                             .found = found,
                             .polish = polish,
                             .context = &s,
                             .conflict = {.node = -1}};
    bool whole = run(&s, arena);
    bool has_choice = s.search.best < INFINITY;
    whole = whole || (has_choice && s.bound >= solve_worth(&s.search));
    *answer = (SolveAnswer){.outcome = has_choice ? SOLVE_CHOICE
                                       : whole    ? SOLVE_INFEASIBLE
                                                  : SOLVE_UNKNOWN,
                            .objective = s.search.best,
                            .bound = whole ? s.search.best : bound_now(&s),
                            .proven = whole,
                            .choice = s.search.choice,
                            .n_branches = s.search.n_branches};
    if (answer->outcome == SOLVE_INFEASIBLE)
        answer->why = why_not(arena, &s.search.conflict);
    return true;
}
