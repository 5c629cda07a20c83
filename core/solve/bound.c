#include "core/solve/bound.h"

#include <float.h>
#include <math.h>

/* A step aims at the best choice known, but not further than this above the bound: far targets make
 * steps that overshoot. */
#define NEAR_TARGET 0.1
#define FIRST_PRICE 0.01 /* of the bound, for as much memory as the limit */

static void lay_messages(Bound *bound)
{
    const Network *net = bound->net;
    size_t n = 0;
    for (int e = 0; e < net->edges.n; e++)
        if (!net->edges.at[e].gone)
            n += (size_t)net->node[net->edges.at[e].a].n_values +
                 (size_t)net->node[net->edges.at[e].b].n_values;
    bound->n_messages = n;
    bound->messages = arena_array(bound->arena, double, n);
    bound->best_messages = arena_array(bound->arena, double, n);
    bound->message_a = arena_array(bound->arena, double *, net->edges.n);
    bound->message_b = arena_array(bound->arena, double *, net->edges.n);
    double *at = bound->messages;
    for (int e = 0; e < net->edges.n; e++) {
        const NetEdge *edge = &net->edges.at[e];
        if (edge->gone)
            continue;
        bound->message_a[e] = at;
        bound->message_b[e] = at += net->node[edge->a].n_values;
        at += net->node[edge->b].n_values;
    }
}

/* The room of each point when every node takes its least amount. */
static void lay_room(Bound *bound)
{
    const Network *net = bound->net;
    double *load = arena_array(bound->arena, double, (size_t)net->n_points + 1), sum = 0;
    for (int32_t i = 0; i < bound->n; i++) {
        const NetNode *node = &net->node[bound->order[i]];
        for (int u = 0; u < node->uses.n; u++) {
            const NetUse *use = &node->uses.at[u];
            double least = use->amount[0];
            for (int32_t x = 1; x < node->n_values; x++)
                least = fmin(least, use->amount[x]);
            load[use->from] += least;
            load[use->to] -= least;
        }
    }
    for (int32_t p = 0; p < net->n_points; p++) {
        sum += load[p];
        load[p] = net->limit[p] + solve_slack(net->most[p]) - sum;
    }
    bound->left_at_first = load;
    slack_begin(&bound->left, bound->arena, net->n_points);
}

void bound_begin(Bound *bound, Arena *arena, Network *net)
{
    *bound = (Bound){.net = net,
                     .arena = arena,
                     .step = 1,
                     .bound = -INFINITY,
                     .best = -INFINITY,
                     .high = INFINITY};
    int32_t most_values = 1;
    bound->order = arena_array(arena, int32_t, net->n_left);
    for (int32_t n = 0; n < net->n_nodes; n++) {
        if (net->node[n].gone)
            continue;
        bound->order[bound->n++] = n;
        if (net->node[n].n_values > most_values)
            most_values = net->node[n].n_values;
    }
    lay_messages(bound);
    lay_room(bound);
    bound->price_sum = arena_array(arena, double, (size_t)net->n_points + 1);
    bound->load = arena_array(arena, double, (size_t)net->n_points + 1);
    bound->direction = arena_array(arena, double, net->n_points);
    bound->best_price = arena_array(arena, double, net->n_points);
    bound->cost = arena_array(arena, double, 2 * (size_t)most_values);
    bound->room = arena_array(arena, double, 2 * (size_t)most_values);
    bound->choice = arena_array(arena, int32_t, net->n_nodes);
    bound->regret = arena_array(arena, double, net->n_nodes);
}

/* ---- one node ---- */

static double *message(const Bound *bound, int32_t edge, int32_t node)
{
    return bound->net->edges.at[edge].a == node ? bound->message_a[edge] : bound->message_b[edge];
}

/* What the edge costs at least for each value x of the node, given what its other end has taken. */
static void take_least(const Bound *bound, int32_t edge, int32_t at, NetView view)
{
    double *mine = message(bound, edge, at);
    const double *theirs = message(bound, edge, view.other);
    if (bound->classes) {
        edge_classes_least(&bound->classes[edge], bound->net->edges.at[edge].a == at, view.n_x,
                           view.n_y, theirs, bound->room, mine);
        return;
    }
    if (view.step_x == 1) {
        for (int32_t x = 0; x < view.n_x; x++)
            mine[x] = INFINITY;
        for (int32_t y = 0; y < view.n_y; y++) {
            const double *row = view.at + y * view.step_y;
            double less = theirs[y];
            for (int32_t x = 0; x < view.n_x; x++)
                mine[x] = row[x] - less < mine[x] ? row[x] - less : mine[x];
        }
        return;
    }
    for (int32_t x = 0; x < view.n_x; x++) {
        const double *row = view.at + x * view.step_x;
        double least = INFINITY;
        for (int32_t y = 0; y < view.n_y; y++)
            least = row[y] - theirs[y] < least ? row[y] - theirs[y] : least;
        mine[x] = least;
    }
}

static double use_price(const Bound *bound, const NetUse *use)
{
    return bound->price_sum[use->to] - bound->price_sum[use->from];
}

/* Cost of each value with prices, without edges. */
static void own_costs(const Bound *bound, const NetNode *node, double *cost)
{
    memcpy(cost, node->cost, (size_t)node->n_values * sizeof *cost);
    for (int u = 0; u < node->uses.n; u++) {
        double price = use_price(bound, &node->uses.at[u]);
        if (price > 0)
            for (int32_t x = 0; x < node->n_values; x++)
                cost[x] += price * node->uses.at[u].amount[x];
    }
}

static bool fits(const NetNode *node, const double *room, int32_t x)
{
    for (int u = 0; u < node->uses.n; u++)
        if (node->uses.at[u].amount[x] > room[u])
            return false;
    return true;
}

enum { USES_CHECKED = 64 }; /* of a node, when decoding; the whole is checked again later */

/* Chooses the value that is best beside the neighbours already chosen and fits. `cost` has the
 * node's own costs and what edges ahead cost at least. */
static void decode(Bound *bound, int32_t at, const double *cost)
{
    const NetNode *node = &bound->net->node[at];
    double room[USES_CHECKED], least[USES_CHECKED], best = INFINITY;
    int n_uses = node->uses.n < USES_CHECKED ? node->uses.n : USES_CHECKED;
    for (int u = 0; u < n_uses; u++) {
        const NetUse *use = &node->uses.at[u];
        least[u] = use->amount[0];
        for (int32_t x = 1; x < node->n_values; x++)
            least[u] = fmin(least[u], use->amount[x]);
        room[u] = slack_least(&bound->left, use->from, use->to) + least[u];
    }
    int32_t chosen = -1;
    for (int32_t x = 0; x < node->n_values; x++)
        if ((chosen < 0 || cost[x] < best) &&
            (node->uses.n > USES_CHECKED || fits(node, room, x))) {
            best = cost[x];
            chosen = x;
        }
    chosen = chosen < 0 ? 0 : chosen;
    bound->choice[at] = chosen;
    for (int u = 0; u < n_uses; u++) {
        const NetUse *use = &node->uses.at[u];
        slack_take(&bound->left, use->from, use->to, use->amount[chosen] - least[u]);
    }
}

static void add_loads(Bound *bound, const NetNode *node, int32_t x)
{
    for (int u = 0; u < node->uses.n; u++) {
        const NetUse *use = &node->uses.at[u];
        bound->load[use->from] += use->amount[x];
        bound->load[use->to] -= use->amount[x];
    }
}

/* The least of the node's costs; its place, and how far the next is. */
static double least_cost(const double *cost, int32_t n, int32_t *place, double *regret)
{
    double least = INFINITY, next = INFINITY;
    *place = 0;
    for (int32_t x = 0; x < n; x++) {
        if (cost[x] < least) {
            next = least;
            least = cost[x];
            *place = x;
        } else if (cost[x] < next) {
            next = cost[x];
        }
    }
    *regret = next - least;
    return least;
}

/* Takes from the edges behind, decodes, gives to the edges ahead; the node's least cost. */
static double visit(Bound *bound, int32_t at, bool forward)
{
    const NetNode *node = &bound->net->node[at];
    double *cost = bound->cost, *chosen_cost = cost + node->n_values;
    int n_behind = 0, n_ahead = 0;
    own_costs(bound, node, cost);
    memcpy(chosen_cost, cost, (size_t)node->n_values * sizeof *cost);
    for (int i = 0; i < node->edges.n; i++) {
        int32_t edge = node->edges.at[i];
        NetView view = network_view(bound->net, edge, at);
        bool behind = forward == (view.other < at);
        const double *mine = message(bound, edge, at);
        if (behind) {
            take_least(bound, edge, at, view);
            const double *row = view.at + bound->choice[view.other] * view.step_y;
            for (int32_t x = 0; x < node->n_values; x++)
                chosen_cost[x] += row[x * view.step_x];
        }
        *(behind ? &n_behind : &n_ahead) += 1;
        for (int32_t x = 0; x < node->n_values; x++) {
            cost[x] += mine[x];
            chosen_cost[x] += behind ? 0 : mine[x];
        }
    }
    decode(bound, at, chosen_cost);
    int32_t place;
    double least = least_cost(cost, node->n_values, &place, &bound->regret[at]);
    add_loads(bound, node, place);
    double share = 1.0 / (n_behind > n_ahead ? n_behind : n_ahead > 0 ? n_ahead : 1);
    for (int i = 0; i < node->edges.n; i++) {
        int32_t edge = node->edges.at[i];
        if (forward == (network_view(bound->net, edge, at).other < at))
            continue;
        double *mine = message(bound, edge, at);
        for (int32_t x = 0; x < node->n_values; x++)
            mine[x] -= share * (cost[x] - least);
    }
    return least;
}

/* ---- prices ---- */

static void sum_prices(Bound *bound)
{
    double sum = 0;
    for (int32_t p = 0; p < bound->net->n_points; p++) {
        bound->price_sum[p] = sum;
        sum += bound->net->price[p];
    }
    bound->price_sum[bound->net->n_points] = sum;
}

enum { PASSES_HELD = 6, POINTS_TOGETHER = 16 };
#define NARROW 1e-6 /* of the price: what is left between low and high */

/* By how much the least values pass the limits, all points together. */
static double excess_of_all(const Bound *bound)
{
    const Network *net = bound->net;
    double load = 0, excess = 0;
    for (int32_t p = 0; p < net->n_points; p++) {
        load += bound->load[p];
        excess += load - net->limit[p];
    }
    return excess;
}

static double next_price(const Bound *bound, double price)
{
    double most = 1;
    if (bound->high < INFINITY)
        return (bound->low + bound->high) / 2;
    if (price > 0)
        return 2 * price;
    for (int32_t p = 0; p < bound->net->n_points; p++)
        most = fmax(most, fabs(bound->net->limit[p]));
    return FIRST_PRICE * fabs(bound->best) / most;
}

/* One price for few points, between the two at which their limits are passed and kept. Returns
 * false once they meet. */
static bool halve_in(Bound *bound)
{
    Network *net = bound->net;
    if (net->n_points < 1 || net->n_points > POINTS_TOGETHER ||
        bound->high - bound->low <= NARROW * bound->high)
        return false;
    if (++bound->n_held < PASSES_HELD)
        return true;
    bound->n_held = 0;
    *(excess_of_all(bound) > 0 ? &bound->low : &bound->high) = net->price[0];
    double price = next_price(bound, net->price[0]);
    for (int32_t p = 0; p < net->n_points; p++)
        net->price[p] = price;
    return true;
}

/* Raises prices where the least values pass the limit, lowers the others: Polyak's step on a
 * smoothed direction. */
static void step_prices(Bound *bound, double target)
{
    Network *net = bound->net;
    double sum = 0, norm = 0;
    if (halve_in(bound))
        return;
    for (int32_t p = 0; p < net->n_points; p++) {
        sum += bound->load[p];
        double excess = sum - net->limit[p];
        double *d = &bound->direction[p];
        *d = 0.6 * *d + 0.4 * excess;
        if (net->price[p] <= 0 && *d < 0)
            continue;
        norm += *d * *d;
    }
    double near = bound->best + NEAR_TARGET * fabs(bound->best);
    if (!(target < INFINITY))
        target = near + 1;
    else if (bound->best > 0 && target > near)
        target = near;
    if (!(norm > 0) || !(target > bound->bound))
        return;
    double step = bound->step * (target - bound->bound) / norm;
    for (int32_t p = 0; p < net->n_points; p++)
        net->price[p] = fmax(0, net->price[p] + step * bound->direction[p]);
}

static void keep_best(Bound *bound)
{
    if (bound->bound <= bound->best) {
        bound->step = fmax(bound->step * 0.95, 1e-4);
        return;
    }
    bound->step = fmin(bound->step * 1.05, 2);
    bound->best = bound->bound;
    memcpy(bound->best_messages, bound->messages, bound->n_messages * sizeof(double));
    if (bound->net->n_points > 0)
        memcpy(bound->best_price, bound->net->price, (size_t)bound->net->n_points * sizeof(double));
}

enum { PASSES_BEFORE_CLASSES = 2 }; /* to find them takes as long as about two passes */

/* Returns false if the clock stopped it. */
static bool find_classes(Bound *bound, SolveClock *clock)
{
    const Network *net = bound->net;
    EdgeClasses *classes = arena_array(bound->arena, EdgeClasses, net->edges.n);
    for (int e = 0; e < net->edges.n; e++) {
        if (solve_stopped(clock))
            return false;
        if (!net->edges.at[e].gone)
            classes[e] = edge_classes(bound->arena, net->edges.at[e].cost,
                                      net->node[net->edges.at[e].a].n_values,
                                      net->node[net->edges.at[e].b].n_values);
    }
    bound->classes = classes;
    return true;
}

bool bound_pass(Bound *bound, bool forward, double target, SolveClock *clock)
{
    Network *net = bound->net;
    double sum = net->constant;
    if (bound->n_passes++ == PASSES_BEFORE_CLASSES && !find_classes(bound, clock))
        return false;
    sum_prices(bound);
    for (int32_t p = 0; p <= net->n_points; p++)
        bound->load[p] = 0;
    if (net->n_points > 0)
        slack_set(&bound->left, bound->left_at_first);
    for (int32_t i = 0; i < bound->n; i++) {
        if (i % 8 == 0 && solve_stopped(clock))
            return false;
        sum += visit(bound, bound->order[forward ? i : bound->n - 1 - i], forward);
    }
    for (int32_t p = 0; p < net->n_points; p++)
        sum -= net->price[p] * net->limit[p];
    bound->bound = sum;
    keep_best(bound);
    step_prices(bound, target);
    return true;
}

double bound_decoded_cost(const Bound *bound)
{
    const Network *net = bound->net;
    double sum = net->constant, load = 0;
    double *loads = bound->load; /* free after a pass */
    for (int32_t p = 0; p <= net->n_points; p++)
        loads[p] = 0;
    for (int32_t i = 0; i < bound->n; i++) {
        const NetNode *node = &net->node[bound->order[i]];
        int32_t x = bound->choice[bound->order[i]];
        sum += node->cost[x];
        for (int u = 0; u < node->uses.n; u++) {
            loads[node->uses.at[u].from] += node->uses.at[u].amount[x];
            loads[node->uses.at[u].to] -= node->uses.at[u].amount[x];
        }
    }
    for (int32_t p = 0; p < net->n_points; p++) {
        load += loads[p];
        if (load > net->limit[p] + solve_slack(net->most[p]))
            return INFINITY;
    }
    for (int e = 0; e < net->edges.n; e++) {
        const NetEdge *edge = &net->edges.at[e];
        if (!edge->gone)
            sum += edge->cost[(int64_t)bound->choice[edge->a] * net->node[edge->b].n_values +
                              bound->choice[edge->b]];
    }
    return sum;
}

/* ---- what the bound says about single values ---- */

static void move_costs(Bound *bound)
{
    Network *net = bound->net;
    for (int e = 0; e < net->edges.n; e++) {
        NetEdge *edge = &net->edges.at[e];
        if (edge->gone)
            continue;
        NetNode *a = &net->node[edge->a], *b = &net->node[edge->b];
        const double *of_a = bound->message_a[e], *of_b = bound->message_b[e];
        double *cost = edge->cost;
        for (int32_t x = 0; x < a->n_values; x++) {
            a->cost[x] += of_a[x];
            for (int32_t y = 0; y < b->n_values; y++)
                *cost++ -= of_a[x] + of_b[y];
        }
        for (int32_t y = 0; y < b->n_values; y++)
            b->cost[y] += of_b[y];
    }
}

/* Forbids pairs that with the least of all else cost `most` or more. extra: each node's costs above
 * its least, [values] a node. */
static bool forbid_pairs(Bound *bound, double *const *extra, double room)
{
    Network *net = bound->net;
    bool any = false;
    for (int e = 0; e < net->edges.n; e++) {
        NetEdge *edge = &net->edges.at[e];
        if (edge->gone)
            continue;
        double *cost = edge->cost;
        for (int32_t x = 0; x < net->node[edge->a].n_values; x++)
            for (int32_t y = 0; y < net->node[edge->b].n_values; y++, cost++)
                if (*cost < INFINITY && *cost + extra[edge->a][x] + extra[edge->b][y] >= room) {
                    *cost = INFINITY;
                    network_queue(net, edge->a);
                    network_queue(net, edge->b);
                    any = true;
                }
    }
    return any;
}

bool bound_apply(Bound *bound, double most, bool *ok)
{
    Network *net = bound->net;
    double **extra = arena_array(bound->arena, double *, net->n_nodes);
    memcpy(bound->messages, bound->best_messages, bound->n_messages * sizeof(double));
    if (net->n_points > 0)
        memcpy(net->price, bound->best_price, (size_t)net->n_points * sizeof(double));
    sum_prices(bound);
    move_costs(bound);
    double sum = net->constant;
    for (int32_t p = 0; p < net->n_points; p++)
        sum -= net->price[p] * net->limit[p];
    for (int32_t i = 0; i < bound->n; i++) {
        const NetNode *node = &net->node[bound->order[i]];
        double *cost = arena_array(bound->arena, double, node->n_values), regret;
        int32_t place;
        own_costs(bound, node, cost);
        double least = least_cost(cost, node->n_values, &place, &regret);
        for (int32_t x = 0; x < node->n_values; x++)
            cost[x] -= least;
        extra[bound->order[i]] = cost;
        sum += least;
    }
    *ok = true;
    bool any = forbid_pairs(bound, extra, most - sum);
    for (int32_t i = 0; i < bound->n && *ok; i++) {
        int32_t at = bound->order[i], n = net->node[at].n_values, n_kept = 0;
        for (int32_t x = 0; x < n; x++)
            n_kept += net->keep[x] = extra[at][x] + sum < most;
        if (n_kept == n)
            continue;
        any = true;
        network_queue_neighbours(net, at);
        *ok = network_keep(net, at, net->keep);
    }
    return any;
}
