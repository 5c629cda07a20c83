#include "core/solve/search.h"

#include "core/solve/bound.h"
#include "core/solve/eliminate.h"
#include "core/solve/reduce.h"

#include <math.h>

#define ELIMINATION_AT_ROOT 4e8 /* additions: about a second */
#define ELIMINATION_BELOW 2e6
#define CLONES_MOST ((size_t)1 << 31) /* bytes of all networks on the way down */
#define PROBED_MOST 3e7               /* entries of all edges */
enum { POLISHED_EVERY = 10 };
#define NEAR 0.02  /* gap at which bounds forbid so much that few passes are worth a reduction */
#define SHRUNK 0.5 /* share of the entries that is left then */

/* How long messages are passed: at the root before and after reductions, there between reductions
 * that still help, at a part, before a split. */
typedef enum { PROBE, ROOT, BRIEF, PART, LAST } Effort;
static const struct {
    int passes, stuck; /* at most; as many that do not raise the bound end it */
} efforts[] = {
    [PROBE] = {40, 4}, [ROOT] = {2000, 30}, [BRIEF] = {30, 30}, [PART] = {40, 6}, [LAST] = {2, 6}};

double solve_worth(const SolveSearch *search)
{
    if (!(search->best < INFINITY))
        return INFINITY;
    double rounding = 1e-9 * fabs(search->best);
    double unit = search->unit > 0 ? 0.999 * search->unit : 0;
    return search->best - (unit > rounding ? unit : rounding);
}

bool solve_offer(SolveSearch *search, const int32_t *choice)
{
    double cost = solve_cost(search->problem, choice);
    if (!(cost < search->best))
        return false;
    solve_points_left(search->points, search->problem, choice, search->scratch);
    if (!solve_points_fit(search->points, search->scratch))
        return false;
    search->best = cost;
    memcpy(search->choice, choice, (size_t)search->problem->n_nodes * sizeof *choice);
    if (search->found)
        search->found(search->context, search);
    return true;
}

/* The choice of the problem that these values of the nodes left are. */
static const int32_t *whole_choice(Arena *arena, const Network *net, const int32_t *values)
{
    int32_t *choice = arena_array(arena, int32_t, net->n_nodes);
    for (int32_t n = 0; n < net->n_nodes; n++)
        if (!net->node[n].gone)
            choice[n] = net->node[n].id[values[n]];
    network_recover(net, choice);
    return choice;
}

typedef struct {
    double bound;
    int32_t node, value; /* to split on */
} Bounded;

/* The node to split on: the one whose next best value costs most more, which then fails soon. */
static void choose_split(const Network *net, const Bound *bound, Bounded *out)
{
    double best = -1;
    for (int32_t i = 0; i < bound->n; i++) {
        int32_t at = bound->order[i];
        const NetNode *node = &net->node[at];
        double regret = bound->regret[at] < INFINITY ? bound->regret[at] : 0;
        double score = (regret + 1e-9 * fabs(bound->best)) * (node->edges.n + node->uses.n + 1);
        if (node->n_values > 1 && score > best) {
            best = score;
            out->node = at;
            out->value = bound->choice[at];
        }
    }
}

/* Passes messages until the bound proves the network worthless or stops rising. */
static void run_passes(SolveSearch *search, Arena *arena, Network *net, Bound *bound, Effort effort)
{
    double last = -INFINITY;
    int stuck = 0;
    bool root = effort <= BRIEF;
    for (int pass = 0; pass < efforts[effort].passes && stuck < efforts[effort].stuck; pass++) {
        if (!bound_pass(bound, pass % 2 == 0, search->best, search->clock))
            return;
        double cost = bound_decoded_cost(bound);
        if (cost < search->best)
            solve_offer(search, whole_choice(arena, net, bound->choice));
        if (root && search->polish && pass % POLISHED_EVERY == POLISHED_EVERY - 1 &&
            cost < INFINITY)
            search->polish(search->context, whole_choice(arena, net, bound->choice));
        if (root && bound->best > search->bound)
            search->bound = fmin(bound->best, search->best);
        if (bound->best >= solve_worth(search))
            return;
        double gap = fmin(search->best - bound->best, fabs(bound->best));
        stuck = bound->best - last > 1e-3 * gap ? 0 : stuck + 1;
        if (stuck == 0)
            last = bound->best;
    }
}

/* Splits until the network is solved. `below` is the least bound of the parts already left. */
static double search_at(SolveSearch *search, Network *net, size_t bytes_above, int depth);

static double search_part(SolveSearch *search, const Network *net, const Bounded *split,
                          size_t bytes_above, int depth)
{
    Arena *arena = arena_new();
    Network *part = network_clone(arena, net);
    for (int32_t x = 0; x < part->node[split->node].n_values; x++)
        part->keep[x] = x == split->value;
    network_queue_neighbours(part, split->node);
    network_keep(part, split->node, part->keep);
    double bound = search_at(search, part, bytes_above + arena_bytes(arena), depth + 1);
    arena_free(arena);
    return bound > split->bound ? bound : split->bound;
}

static bool may_split(SolveSearch *search, size_t bytes_above)
{
    bool may = !solve_stopped(search->clock) && bytes_above < CLONES_MOST &&
               (search->branches_most == 0 || search->n_branches < search->branches_most);
    search->gave_up = search->gave_up || !may;
    search->n_branches++;
    return may;
}

/* Solves a network with nothing left or small tables; false if it is neither. */
static bool solve_whole(SolveSearch *search, Arena *arena, const Network *net, double work_most,
                        double *cost)
{
    int32_t *values = arena_array(arena, int32_t, net->n_nodes);
    double least = net->constant;
    if (net->n_left > 0 && !network_eliminate(arena, net, work_most, search->clock, values, &least))
        return false;
    if (least < search->best)
        solve_offer(search, whole_choice(arena, net, values));
    *cost = least;
    return true;
}

/* Entries of all edges. */
static double entries_of(const Network *net)
{
    double n = 0;
    for (int e = 0; e < net->edges.n; e++)
        if (!net->edges.at[e].gone)
            n += (double)net->node[net->edges.at[e].a].n_values *
                 net->node[net->edges.at[e].b].n_values;
    return n;
}

/* Reductions compare values, which takes far longer than a few passes of messages: where a good
 * choice is known, most values go by the bound alone, or the choice is proven at once. Returns
 * false if nothing better is left. */
static bool probe(SolveSearch *search, Network *net, Bounded *out)
{
    if (!(search->best < INFINITY) || entries_of(net) > PROBED_MOST)
        return true;
    if (!network_drop_impossible(net, search->clock)) {
        out->bound = INFINITY;
        return false;
    }
    if (solve_stopped(search->clock))
        return true;
    Arena *arena = arena_new();
    Bound bound;
    bool ok = true;
    bound_begin(&bound, arena, net);
    run_passes(search, arena, net, &bound, PROBE);
    out->bound = fmax(out->bound, bound.best);
    bool left = out->bound < solve_worth(search) && !solve_stopped(search->clock);
    if (left)
        bound_apply(&bound, solve_worth(search), &ok);
    if (!ok)
        out->bound = fmax(out->bound, solve_worth(search));
    arena_free(arena);
    return ok && (left || solve_stopped(search->clock));
}

enum { ROUNDS_MOST = 4 };

typedef struct {
    bool root, thorough; /* thorough: messages were passed as long as they rose */
    int round;           /* without brief ones */
    double entries;      /* of the round before */
} Rounds;

static Effort next_effort(const SolveSearch *search, const Network *net, Rounds *rounds)
{
    double entries = entries_of(net);
    bool shrunk = entries < SHRUNK * rounds->entries;
    bool near = search->best - search->bound <= NEAR * fabs(search->best);
    rounds->entries = entries;
    if (rounds->root && !rounds->thorough && shrunk && near)
        return BRIEF;
    if (rounds->round == ROUNDS_MOST)
        return LAST;
    bool first = rounds->root && !rounds->thorough;
    rounds->thorough = true;
    return first ? ROOT : PART;
}

/* Reduces and bounds until nothing changes, or some times. Returns true if the network needs no
 * split: its bound is then final. */
static bool settle(SolveSearch *search, Network *net, int depth, Bounded *out)
{
    Rounds rounds = {.root = depth == 0 && search->branches_most == 0, .entries = INFINITY};
    if (rounds.root && !probe(search, net, out))
        return true;
    for (rounds.round = 1;;) {
        bool ok = network_reduce(net, search->clock), any = false;
        if (depth == 0 && !ok && !search->conflict.set)
            search->conflict = net->conflict;
        if (!ok) {
            out->bound = INFINITY;
            return true;
        }
        if (solve_stopped(search->clock)) {
            search->gave_up = true;
            return true;
        }
        Arena *arena = arena_new();
        double work_most = depth == 0 && (rounds.round > 1 || rounds.entries < INFINITY)
                               ? ELIMINATION_AT_ROOT
                               : ELIMINATION_BELOW;
        bool solved = solve_whole(search, arena, net, work_most, &out->bound);
        if (!solved) {
            Bound bound;
            Effort effort = next_effort(search, net, &rounds);
            bound_begin(&bound, arena, net);
            run_passes(search, arena, net, &bound, effort);
            out->bound = fmax(out->bound, bound.best);
            solved = out->bound >= solve_worth(search);
            choose_split(net, &bound, out);
            if (!solved && effort != LAST)
                any = bound_apply(&bound, solve_worth(search), &ok) || effort == BRIEF ||
                      (depth == 0 && rounds.round == 1);
            rounds.round += effort != BRIEF;
        }
        arena_free(arena);
        if (!ok)
            out->bound = fmax(out->bound, solve_worth(search));
        if (solved || !ok)
            return true;
        if (!any)
            return false;
    }
}

static double search_at(SolveSearch *search, Network *net, size_t bytes_above, int depth)
{
    double below = INFINITY;
    Bounded split = {.bound = -INFINITY};
    for (;;) {
        if (settle(search, net, depth, &split) || !may_split(search, bytes_above))
            return fmin(below, split.bound);
        below = fmin(below, search_part(search, net, &split, bytes_above, depth));
        for (int32_t x = 0; x < net->node[split.node].n_values; x++)
            net->keep[x] = x != split.value;
        network_queue_neighbours(net, split.node);
        if (!network_keep(net, split.node, net->keep))
            return below;
    }
}

double solve_search(SolveSearch *search, Network *net)
{
    return search_at(search, net, 0, 0);
}
