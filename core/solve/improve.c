#include "core/solve/improve.h"

#include "core/solve/slack.h"

#include <math.h>
#include <stdlib.h>

/* Stands for INFINITY where costs are compared by difference. */
#define FORBIDDEN_COST 1e110

enum {
    WINDOW_LEAST = 8,
    WINDOW_MOST = 400,
    WINDOW_BRANCHES = 40,
    DEAR_PART = 100,
    DEAR_EVERY = 500
};

struct SolveImprove {
    SolveSearch *search;
    const SolveProblem *problem;
    int32_t *first_edge, *edge; /* edges of each node: edge[first_edge[n] .. first_edge[n + 1]) */
    int32_t *first_use, *use;
    int32_t *choice; /* [n_nodes] */
    Slack left;      /* beside `choice` */
    double *scratch; /* [points + 1] */
    double *cost;    /* [most choices] */
    int32_t *place;  /* [n_nodes]: in the window, or -1 */
    uint64_t random; /* state of a linear congruential generator */
    int32_t *dear;   /* [n_dear] nodes that cost most */
    int32_t n_dear;
    int64_t n_windows;
    double size;    /* of windows */
    int64_t n_vain; /* windows without improvement, one after another */
};

static double capped(double cost)
{
    return cost < FORBIDDEN_COST ? cost : FORBIDDEN_COST;
}

/* ---- what belongs to a node ---- */

static void lay_edges(SolveImprove *improve, Arena *arena)
{
    const SolveProblem *problem = improve->problem;
    int32_t *first = arena_array(arena, int32_t, (size_t)problem->n_nodes + 2);
    improve->edge = arena_array(arena, int32_t, 2 * (size_t)problem->n_edges);
    for (int32_t e = 0; e < problem->n_edges; e++) {
        first[problem->edge[e].a + 2]++;
        if (problem->edge[e].a != problem->edge[e].b)
            first[problem->edge[e].b + 2]++;
    }
    for (int32_t n = 0; n < problem->n_nodes; n++)
        first[n + 2] += first[n + 1];
    for (int32_t e = 0; e < problem->n_edges; e++) {
        improve->edge[first[problem->edge[e].a + 1]++] = e;
        if (problem->edge[e].a != problem->edge[e].b)
            improve->edge[first[problem->edge[e].b + 1]++] = e;
    }
    improve->first_edge = first;
}

static void lay_uses(SolveImprove *improve, Arena *arena)
{
    const SolveProblem *problem = improve->problem;
    int32_t *first = arena_array(arena, int32_t, (size_t)problem->n_nodes + 2);
    improve->use = arena_array(arena, int32_t, problem->n_uses);
    for (int32_t u = 0; u < problem->n_uses; u++)
        first[problem->use[u].node + 2]++;
    for (int32_t n = 0; n < problem->n_nodes; n++)
        first[n + 2] += first[n + 1];
    for (int32_t u = 0; u < problem->n_uses; u++)
        improve->use[first[problem->use[u].node + 1]++] = u;
    improve->first_use = first;
}

SolveImprove *solve_improve_new(Arena *arena, SolveSearch *search)
{
    const SolveProblem *problem = search->problem;
    SolveImprove *improve = arena_make(arena, SolveImprove);
    *improve = (SolveImprove){.search = search,
                              .problem = problem,
                              .choice = arena_array(arena, int32_t, problem->n_nodes),
                              .scratch = arena_array(arena, double, search->points->n + 1),
                              .place = arena_array(arena, int32_t, problem->n_nodes),
                              .dear = arena_array(arena, int32_t, problem->n_nodes + 1),
                              .random = 1,
                              .size = WINDOW_LEAST};
    int32_t most = 1;
    for (int32_t n = 0; n < problem->n_nodes; n++) {
        improve->place[n] = -1;
        if (problem->n_choices[n] > most)
            most = problem->n_choices[n];
    }
    improve->cost = arena_array(arena, double, most);
    lay_edges(improve, arena);
    lay_uses(improve, arena);
    slack_begin(&improve->left, arena, search->points->n);
    return improve;
}

/* Takes the amounts of a node's choice, times sign, off what is left. */
static void take_uses(SolveImprove *improve, int32_t node, int32_t choice, double sign)
{
    const SolvePoints *points = improve->search->points;
    for (int32_t i = improve->first_use[node]; i < improve->first_use[node + 1]; i++) {
        int32_t u = improve->use[i];
        slack_take(&improve->left, points->from[u], points->to[u],
                   sign * improve->problem->use[u].amount[choice]);
    }
}

static bool fits(const SolveImprove *improve, int32_t node, int32_t choice)
{
    const SolvePoints *points = improve->search->points;
    for (int32_t i = improve->first_use[node]; i < improve->first_use[node + 1]; i++) {
        int32_t u = improve->use[i];
        if (improve->problem->use[u].amount[choice] >
            slack_least(&improve->left, points->from[u], points->to[u]))
            return false;
    }
    return true;
}

/* improve->cost: each choice of the node beside those of its neighbours; of neighbours from
 * `unknown` on, the least. */
static void costs_beside(SolveImprove *improve, int32_t node, int32_t unknown)
{
    const SolveProblem *problem = improve->problem;
    int32_t n = problem->n_choices[node];
    for (int32_t x = 0; x < n; x++)
        improve->cost[x] = capped(problem->cost[node][x]);
    for (int32_t i = improve->first_edge[node]; i < improve->first_edge[node + 1]; i++) {
        const SolveEdge *edge = &problem->edge[improve->edge[i]];
        bool is_a = edge->a == node;
        int32_t other = is_a ? edge->b : edge->a, n_other = problem->n_choices[other];
        int64_t step_x = is_a ? n_other : 1, step_y = is_a ? 1 : n;
        for (int32_t x = 0; x < n; x++) {
            const double *row = edge->cost + x * step_x;
            double add = other == node      ? row[x * (int64_t)step_y]
                         : other >= unknown ? INFINITY
                                            : row[improve->choice[other] * step_y];
            for (int32_t y = 0; other != node && other >= unknown && y < n_other; y++)
                add = fmin(add, row[y * step_y]);
            improve->cost[x] += capped(add);
        }
    }
}

/* The cheapest choice that fits, unless `now` costs as little; -1 if none fits. */
static int32_t cheapest(const SolveImprove *improve, int32_t node, int32_t now)
{
    int32_t best = now;
    for (int32_t x = 0; x < improve->problem->n_choices[node]; x++)
        if ((best < 0 || improve->cost[x] < improve->cost[best]) && fits(improve, node, x))
            best = x;
    return best;
}

/* ---- the first choice ---- */

/* Reserves the smallest amounts of all nodes (sign 1), or returns those of one. */
static void reserve(SolveImprove *improve, int32_t node, double sign)
{
    const SolvePoints *points = improve->search->points;
    for (int32_t i = improve->first_use[node]; i < improve->first_use[node + 1]; i++) {
        const SolveUse *use = &improve->problem->use[improve->use[i]];
        double least = INFINITY;
        for (int32_t x = 0; x < improve->problem->n_choices[node]; x++)
            least = fmin(least, use->amount[x]);
        slack_take(&improve->left, points->from[improve->use[i]], points->to[improve->use[i]],
                   sign * least);
    }
}

static void begin_left(SolveImprove *improve)
{
    const SolvePoints *points = improve->search->points;
    for (int32_t p = 0; p < points->n; p++)
        improve->scratch[p] = points->limit[p] + solve_slack(points->limit[p]);
    slack_set(&improve->left, improve->scratch);
}

static void change_single_nodes(SolveImprove *improve)
{
    const SolveProblem *problem = improve->problem;
    bool changed = true;
    while (changed && !solve_stopped(improve->search->clock)) {
        changed = false;
        for (int32_t n = 0; n < problem->n_nodes; n++) {
            int32_t now = improve->choice[n];
            costs_beside(improve, n, problem->n_nodes);
            take_uses(improve, n, now, -1);
            int32_t best = cheapest(improve, n, now);
            take_uses(improve, n, best, 1);
            improve->choice[n] = best;
            changed = changed || best != now;
        }
    }
}

void solve_improve_first(SolveImprove *improve)
{
    const SolveProblem *problem = improve->problem;
    begin_left(improve);
    for (int32_t n = 0; n < problem->n_nodes; n++)
        reserve(improve, n, 1);
    for (int32_t n = 0; n < problem->n_nodes; n++) {
        if (n % 64 == 0 && solve_stopped(improve->search->clock))
            return;
        costs_beside(improve, n, n);
        reserve(improve, n, -1);
        int32_t best = cheapest(improve, n, -1);
        improve->choice[n] = best < 0 ? 0 : best;
        take_uses(improve, n, improve->choice[n], 1);
    }
    change_single_nodes(improve);
    solve_offer(improve->search, improve->choice);
}

static void begin_from(SolveImprove *improve, const int32_t *choice)
{
    int32_t n_nodes = improve->problem->n_nodes;
    memcpy(improve->choice, choice, (size_t)n_nodes * sizeof *choice);
    begin_left(improve);
    for (int32_t n = 0; n < n_nodes; n++)
        take_uses(improve, n, choice[n], 1);
}

void solve_improve_choice(SolveImprove *improve, const int32_t *choice)
{
    begin_from(improve, choice);
    change_single_nodes(improve);
    solve_offer(improve->search, improve->choice);
}

/* ---- windows ---- */

typedef struct {
    Arena *arena;
    int32_t n;
    int32_t *node; /* [n] */
    SolveProblem problem;
} ImproveWindow;

static int32_t random_below(SolveImprove *improve, int32_t n)
{
    improve->random = improve->random * 6364136223846793005u + 1442695040888963407u;
    return (int32_t)((improve->random >> 33) % (uint64_t)n);
}

static void put_in_window(SolveImprove *improve, ImproveWindow *window, int32_t node, int32_t most)
{
    if (improve->place[node] >= 0 || window->n == most)
        return;
    improve->place[node] = window->n;
    window->node[window->n++] = node;
}

/* Random nodes that are alive at one point, which can give each other memory. */
static void seed_at_point(SolveImprove *improve, ImproveWindow *window, int32_t most)
{
    const SolvePoints *points = improve->search->points;
    const SolveProblem *problem = improve->problem;
    int32_t u = random_below(improve, problem->n_uses), seen = 0, n_seeds = most / 4 + 2;
    if (points->from[u] >= points->to[u])
        return;
    int32_t point = points->from[u] + random_below(improve, points->to[u] - points->from[u]);
    int32_t *seed = arena_array(window->arena, int32_t, n_seeds);
    for (int32_t i = 0; i < problem->n_uses; i++) {
        if (points->from[i] > point || points->to[i] <= point ||
            problem->n_choices[problem->use[i].node] == 1)
            continue;
        int32_t at = seen < n_seeds ? seen : random_below(improve, seen + 1);
        if (at < n_seeds)
            seed[at] = problem->use[i].node;
        seen++;
    }
    for (int32_t i = 0; i < n_seeds && i < seen; i++)
        put_in_window(improve, window, seed[i], most);
}

/* Half of the windows are around a node that costs much, or around nodes alive at one time; the
 * others around a random node. Nearest neighbours first. */
static void gather(SolveImprove *improve, ImproveWindow *window)
{
    const SolveProblem *problem = improve->problem;
    int32_t most = (int32_t)improve->size;
    most = most < problem->n_nodes ? most : problem->n_nodes;
    window->node = arena_array(window->arena, int32_t, most);
    int32_t kind = random_below(improve, 4);
    if (kind == 0 && problem->n_limits > 0 && problem->n_uses > 0)
        seed_at_point(improve, window, most);
    else if (kind == 1)
        put_in_window(improve, window, improve->dear[random_below(improve, improve->n_dear)], most);
    if (window->n == 0)
        put_in_window(improve, window, random_below(improve, problem->n_nodes), most);
    for (int32_t at = 0; at < window->n && window->n < most; at++) {
        int32_t node = window->node[at];
        for (int32_t i = improve->first_edge[node]; i < improve->first_edge[node + 1]; i++) {
            const SolveEdge *edge = &problem->edge[improve->edge[i]];
            put_in_window(improve, window, edge->a == node ? edge->b : edge->a, most);
        }
    }
}

typedef struct {
    double cost;
    int32_t node;
} NodeCost;

static int dearer_first(const void *p, const void *q)
{
    const NodeCost *a = p, *b = q;
    if (a->cost != b->cost)
        return a->cost > b->cost ? -1 : 1;
    return a->node - b->node;
}

/* The nodes that cost most at present, with their edges. */
static void find_dear(SolveImprove *improve)
{
    const SolveProblem *problem = improve->problem;
    Arena *scratch = arena_new();
    NodeCost *all = arena_array(scratch, NodeCost, problem->n_nodes);
    for (int32_t n = 0; n < problem->n_nodes; n++)
        all[n] = (NodeCost){problem->cost[n][improve->choice[n]], n};
    for (int32_t e = 0; e < problem->n_edges; e++) {
        const SolveEdge *edge = &problem->edge[e];
        double cost = edge->cost[(int64_t)improve->choice[edge->a] * problem->n_choices[edge->b] +
                                 improve->choice[edge->b]];
        all[edge->a].cost += cost;
        all[edge->b].cost += cost;
    }
    qsort(all, (size_t)problem->n_nodes, sizeof *all, dearer_first);
    improve->n_dear = problem->n_nodes / DEAR_PART + 1;
    for (int32_t i = 0; i < improve->n_dear; i++)
        improve->dear[i] = all[i].node;
    arena_free(scratch);
}

/* Nodes with the costs of edges that leave the window. */
static void lay_window_nodes(SolveImprove *improve, ImproveWindow *window)
{
    const SolveProblem *problem = improve->problem;
    int32_t *n_choices = arena_array(window->arena, int32_t, window->n);
    const double **cost = arena_array(window->arena, const double *, window->n);
    Vec(SolveEdge) edges = {0};
    for (int32_t w = 0; w < window->n; w++) {
        int32_t node = window->node[w], n = problem->n_choices[node];
        double *own = arena_array(window->arena, double, n);
        memcpy(own, problem->cost[node], (size_t)n * sizeof *own);
        for (int32_t i = improve->first_edge[node]; i < improve->first_edge[node + 1]; i++) {
            const SolveEdge *edge = &problem->edge[improve->edge[i]];
            bool is_a = edge->a == node;
            int32_t other = is_a ? edge->b : edge->a, n_other = problem->n_choices[other];
            if (improve->place[other] >= 0) {
                if (is_a)
                    vec_push(window->arena, &edges,
                             (SolveEdge){w, improve->place[other], edge->cost});
                continue;
            }
            const double *at = edge->cost + improve->choice[other] * (int64_t)(is_a ? 1 : n);
            for (int32_t x = 0; x < n; x++)
                own[x] += at[x * (int64_t)(is_a ? n_other : 1)];
        }
        n_choices[w] = n;
        cost[w] = own;
    }
    window->problem.n_nodes = window->n;
    window->problem.n_choices = n_choices;
    window->problem.cost = cost;
    window->problem.n_edges = edges.n;
    window->problem.edge = edges.at;
}

static int time_order(const void *p, const void *q)
{
    const int64_t *a = p, *b = q;
    return *a < *b ? -1 : *a > *b;
}

/* Uses in times of points, with what the nodes outside leave as limits between their ends. */
static void lay_window_uses(SolveImprove *improve, ImproveWindow *window)
{
    const SolvePoints *points = improve->search->points;
    Vec(SolveUse) uses = {0};
    Vec(int64_t) times = {0};
    Vec(SolveLimit) limits = {0};
    for (int32_t w = 0; w < window->n; w++) {
        int32_t node = window->node[w];
        for (int32_t i = improve->first_use[node]; i < improve->first_use[node + 1]; i++) {
            int32_t u = improve->use[i];
            if (points->from[u] >= points->to[u])
                continue;
            vec_push(
                window->arena, &uses,
                (SolveUse){w, points->from[u], points->to[u], improve->problem->use[u].amount});
            vec_push(window->arena, &times, points->from[u]);
            vec_push(window->arena, &times, points->to[u]);
        }
    }
    if (times.n > 0)
        qsort(times.at, (size_t)times.n, sizeof *times.at, time_order);
    for (int i = 0; i + 1 < times.n; i++)
        if (times.at[i] < times.at[i + 1]) {
            double left =
                slack_least(&improve->left, (int32_t)times.at[i], (int32_t)times.at[i + 1]);
            vec_push(window->arena, &limits, (SolveLimit){times.at[i], times.at[i + 1], left});
        }
    window->problem.n_uses = uses.n;
    window->problem.use = uses.at;
    window->problem.n_limits = limits.n;
    window->problem.limit = limits.at;
}

/* Solves the window; returns whether its choice became better. Amounts of its nodes are off
 * improve->left meanwhile. */
static bool solve_window(SolveImprove *improve, ImproveWindow *window, SolveClock *clock,
                         bool *whole)
{
    SolvePoints points = solve_points(window->arena, &window->problem);
    SolveSearch search = {.problem = &window->problem,
                          .points = &points,
                          .clock = clock,
                          .choice = arena_array(window->arena, int32_t, window->n),
                          .scratch = arena_array(window->arena, double, points.n + 1),
                          .unit = improve->search->unit,
                          .branches_most = WINDOW_BRANCHES};
    for (int32_t w = 0; w < window->n; w++)
        search.choice[w] = improve->choice[window->node[w]];
    double before = solve_cost(&window->problem, search.choice);
    search.best = before;
    solve_search(&search, network_new(window->arena, &window->problem, &points, before));
    *whole = !search.gave_up;
    if (!(search.best < before))
        return false;
    for (int32_t w = 0; w < window->n; w++)
        improve->choice[window->node[w]] = search.choice[w];
    return true;
}

static void improve_window(SolveImprove *improve, SolveClock *clock)
{
    ImproveWindow window = {.arena = arena_new()};
    gather(improve, &window);
    for (int32_t w = 0; w < window.n; w++)
        take_uses(improve, window.node[w], improve->choice[window.node[w]], -1);
    lay_window_nodes(improve, &window);
    lay_window_uses(improve, &window);
    bool whole, better = solve_window(improve, &window, clock, &whole);
    for (int32_t w = 0; w < window.n; w++) {
        take_uses(improve, window.node[w], improve->choice[window.node[w]], 1);
        improve->place[window.node[w]] = -1;
    }
    arena_free(window.arena);
    improve->n_vain = better ? 0 : improve->n_vain + 1;
    if (better)
        solve_offer(improve->search, improve->choice);
    if (!whole && !better)
        improve->size = fmax(WINDOW_LEAST, improve->size * 0.99);
    else if (!better)
        improve->size = fmin(WINDOW_MOST, improve->size * 1.01);
}

bool solve_improve_windows(SolveImprove *improve, SolveClock *clock)
{
    const SolveProblem *problem = improve->problem;
    begin_from(improve, improve->search->choice);
    improve->n_vain = 0;
    while (!solve_stopped(clock)) {
        if (improve->n_vain > 50 + 4 * (int64_t)problem->n_nodes)
            return false;
        if (improve->n_windows++ % DEAR_EVERY == 0)
            find_dear(improve);
        improve_window(improve, clock);
    }
    return true;
}
