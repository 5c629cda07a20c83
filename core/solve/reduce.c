#include "core/solve/reduce.h"

#include "core/solve/reduce_points.h"

#include <math.h>

/* The most work that one step may be: comparisons of values, entries of a new edge. */
enum { DOMINANCE_MOST = 1 << 22, JOIN_MOST = 1 << 26, MERGE_MOST = 1 << 16 };

/* ---- values ---- */

static bool has_partner(NetView view, int32_t x)
{
    for (int32_t y = 0; y < view.n_y; y++)
        if (view.at[x * view.step_x + y * view.step_y] < INFINITY)
            return true;
    return false;
}

static bool is_possible(const Network *net, int32_t at, int32_t x)
{
    const NetNode *node = &net->node[at];
    if (!(node->cost[x] < INFINITY))
        return false;
    for (int i = 0; i < node->edges.n; i++)
        if (!has_partner(network_view(net, node->edges.at[i], at), x))
            return false;
    return true;
}

/* How much dearer y can be than x over one edge; INFINITY if only x is possible beside some z. May
 * end early above `stop`. */
static double most_extra(NetView view, int32_t y, int32_t x, double stop)
{
    const double *of_x = view.at + x * view.step_x, *of_y = view.at + y * view.step_x;
    double most = -INFINITY;
    for (int64_t z = 0, at = 0; z < view.n_y && most <= stop; z++, at += view.step_y)
        if (of_x[at] < INFINITY && of_y[at] - of_x[at] > most)
            most = of_y[at] - of_x[at];
    return most;
}

/* `room` bounds what is gained by y instead of x from above: exact for the edges looked at, by the
 * least costs for the others. */
static bool dominates(const Network *net, int32_t at, int32_t y, int32_t x)
{
    const NetNode *node = &net->node[at];
    for (int u = 0; u < node->uses.n; u++)
        if (node->uses.at[u].amount[y] > node->uses.at[u].amount[x])
            return false;
    double gain = node->cost[x] - node->cost[y];
    double rounding = 1e-9 * fabs(net->least[x]), room = net->least[x] - net->least[y] + rounding;
    for (int i = 0; i < node->edges.n; i++) {
        const double *least = net->edge_least.at + (int64_t)i * node->n_values;
        double usual = least[y] - least[x];
        double extra = most_extra(network_view(net, node->edges.at[i], at), y, x, room + usual);
        if (extra > room + usual)
            return false;
        gain -= extra;
        room -= extra - usual;
    }
    return gain >= 0;
}

/* What each value costs at least over one edge; adds that and the most, INFINITY where a pair is
 * forbidden. */
static void add_range(NetView view, double *edge_least, double *least, double *most)
{
    for (int32_t x = 0; x < view.n_x; x++) {
        const double *row = view.at + x * view.step_x;
        double low = INFINITY, high = -INFINITY;
        for (int32_t y = 0; y < view.n_y; y++) {
            double cost = row[y * view.step_y];
            low = cost < low ? cost : low;
            high = cost > high ? cost : high;
        }
        edge_least[x] = low;
        least[x] += low;
        most[x] += high;
    }
}

static void find_ranges(Network *net, int32_t at)
{
    const NetNode *node = &net->node[at];
    for (int32_t x = 0; x < node->n_values; x++)
        net->least[x] = net->most_of[x] = node->cost[x];
    while (net->edge_least.room < node->edges.n * node->n_values)
        net->edge_least.at = vec_move(net->arena, net->edge_least.at, &net->edge_least.room,
                                      sizeof *net->edge_least.at);
    for (int i = 0; i < node->edges.n; i++)
        add_range(network_view(net, node->edges.at[i], at),
                  net->edge_least.at + (int64_t)i * node->n_values, net->least, net->most_of);
}

/* A value can be dominated only by one that costs no more at least, and at most. Sums of the same
 * terms in another order may differ by their rounding. */
static bool is_dominated(const Network *net, int32_t at, int32_t x)
{
    double room = 1e-9 * fabs(net->least[x]), room_most = 1e-9 * fabs(net->most_of[x]);
    for (int32_t y = 0; y < net->node[at].n_values; y++)
        if (y != x && net->keep[y] && net->least[y] <= net->least[x] + room &&
            net->most_of[y] <= net->most_of[x] + room_most && dominates(net, at, y, x))
            return true;
    return false;
}

static bool worth_comparing(const Network *net, int32_t at)
{
    const NetNode *node = &net->node[at];
    double work = 1;
    for (int i = 0; i < node->edges.n; i++)
        work += network_view(net, node->edges.at[i], at).n_y;
    return work * node->n_values * node->n_values <= DOMINANCE_MOST;
}

/* What no value of some neighbour goes with. Returns false if no value is left. */
static bool drop_impossible(Network *net, int32_t at)
{
    int32_t n_kept = 0, n = net->node[at].n_values;
    for (int32_t x = 0; x < n; x++)
        n_kept += net->keep[x] = is_possible(net, at, x);
    if (n_kept == n)
        return true;
    network_queue_neighbours(net, at);
    return network_keep(net, at, net->keep);
}

/* Returns false if no value is left. */
static bool drop_values(Network *net, int32_t at)
{
    NetNode *node = &net->node[at];
    int32_t n_kept = 0, n = node->n_values;
    for (int32_t x = 0; x < n; x++)
        net->keep[x] = is_possible(net, at, x);
    bool compare = n > 1 && worth_comparing(net, at);
    if (compare)
        find_ranges(net, at);
    for (int32_t x = 0; x < n; x++) {
        net->keep[x] = net->keep[x] && !(compare && is_dominated(net, at, x));
        n_kept += net->keep[x];
    }
    if (n_kept == n)
        return true;
    network_queue_neighbours(net, at);
    return network_keep(net, at, net->keep);
}

/* ---- nodes ---- */

static void drop_edges(Network *net, int32_t at)
{
    network_queue_neighbours(net, at);
    while (net->node[at].edges.n > 0)
        network_drop_edge(net, net->node[at].edges.at[0]);
}

/* One value: its costs go to the neighbours, its amounts off the limits. */
static void fix(Network *net, int32_t at)
{
    NetNode *node = &net->node[at];
    for (int i = 0; i < node->edges.n; i++) {
        NetView view = network_view(net, node->edges.at[i], at);
        for (int32_t y = 0; y < view.n_y; y++)
            net->node[view.other].cost[y] += view.at[y * view.step_y];
    }
    net->constant += node->cost[0];
    for (int u = 0; u < node->uses.n; u++)
        network_use_fixed(net, &node->uses.at[u]);
    drop_edges(net, at);
    network_record(net, (NetRecord){.node = at, .id = node->id});
}

/* The best value of the node given y of the only neighbour; its cost. */
static double best_given(const NetNode *node, NetView view, int32_t y, int32_t *best)
{
    double least = INFINITY;
    *best = 0;
    for (int32_t x = 0; x < node->n_values; x++) {
        double cost = node->cost[x] + view.at[x * view.step_x + y * view.step_y];
        if (cost < least) {
            least = cost;
            *best = x;
        }
    }
    return least;
}

static void eliminate_one(Network *net, int32_t at)
{
    NetNode *node = &net->node[at];
    NetView view = network_view(net, node->edges.at[0], at);
    int32_t *id = arena_array(net->arena, int32_t, view.n_y), best;
    for (int32_t y = 0; y < view.n_y; y++) {
        net->node[view.other].cost[y] += best_given(node, view, y, &best);
        id[y] = node->id[best];
    }
    NetRecord record = {
        .node = at, .n_of = 1, .of = {view.other}, .n_values = {view.n_y}, .id = id};
    record.row[0] = network_rows(net, view.other);
    drop_edges(net, at);
    network_record(net, record);
}

static void eliminate_none(Network *net, int32_t at)
{
    NetNode *node = &net->node[at];
    int32_t best = 0;
    for (int32_t x = 1; x < node->n_values; x++)
        if (node->cost[x] < node->cost[best])
            best = x;
    net->constant += node->cost[best];
    network_record(net, (NetRecord){.node = at, .id = &node->id[best]});
}

static void least_of_pairs(const NetNode *node, NetView a, NetView b, double *cost, int32_t *id)
{
    for (int32_t y = 0; y < a.n_y; y++)
        for (int32_t z = 0; z < b.n_y; z++) {
            double least = INFINITY;
            int32_t best = 0;
            for (int32_t x = 0; x < node->n_values; x++) {
                double sum = node->cost[x] + a.at[x * a.step_x + y * a.step_y] +
                             b.at[x * b.step_x + z * b.step_y];
                if (sum < least) {
                    least = sum;
                    best = x;
                }
            }
            *cost++ = least;
            *id++ = node->id[best];
        }
}

static void eliminate_two(Network *net, int32_t at)
{
    NetNode *node = &net->node[at];
    NetView a = network_view(net, node->edges.at[0], at);
    NetView b = network_view(net, node->edges.at[1], at);
    size_t n = (size_t)a.n_y * (size_t)b.n_y;
    double *cost = arena_array(net->arena, double, n);
    int32_t *id = arena_array(net->arena, int32_t, n);
    least_of_pairs(node, a, b, cost, id);
    NetRecord record = {
        .node = at, .n_of = 2, .of = {a.other, b.other}, .n_values = {a.n_y, b.n_y}, .id = id};
    record.row[0] = network_rows(net, a.other);
    record.row[1] = network_rows(net, b.other);
    drop_edges(net, at);
    network_record(net, record);
    network_add_edge(net, a.other, b.other, cost);
}

/* ---- a node that follows from a neighbour ---- */

/* The only x that goes with y; -1 if there are several. */
static int32_t only_partner(NetView view, int32_t y)
{
    int32_t only = -1;
    for (int32_t x = 0; x < view.n_x; x++)
        if (view.at[x * view.step_x + y * view.step_y] < INFINITY) {
            if (only >= 0)
                return -1;
            only = x;
        }
    return only;
}

static bool follows(const Network *net, int32_t at, NetView view)
{
    const NetNode *node = &net->node[at];
    int64_t n_new = 0;
    for (int i = 0; i < node->edges.n; i++)
        n_new += (int64_t)view.n_y * network_view(net, node->edges.at[i], at).n_y;
    if (view.n_y > 2 * view.n_x && n_new > MERGE_MOST)
        return false;
    for (int32_t y = 0; y < view.n_y; y++)
        if (only_partner(view, y) < 0)
            return false;
    return true;
}

/* Edges and uses of `at` become those of the node it follows, by x = of[y]. */
static void move_terms(Network *net, int32_t at, NetView view, const int32_t *of)
{
    NetNode *node = &net->node[at], *leader = &net->node[view.other];
    for (int u = 0; u < node->uses.n; u++) {
        NetUse use = node->uses.at[u];
        double *amount = arena_array(net->arena, double, view.n_y);
        for (int32_t y = 0; y < view.n_y; y++)
            amount[y] = use.amount[of[y]];
        vec_push(net->arena, &leader->uses, (NetUse){use.from, use.to, amount});
    }
    for (int i = 0; i < node->edges.n; i++) {
        NetView old = network_view(net, node->edges.at[i], at);
        if (old.other == view.other)
            continue;
        double *cost = arena_array(net->arena, double, (int64_t)view.n_y *old.n_y), *to = cost;
        for (int32_t y = 0; y < view.n_y; y++)
            for (int32_t z = 0; z < old.n_y; z++)
                *to++ = old.at[of[y] * old.step_x + z * old.step_y];
        network_add_edge(net, view.other, old.other, cost);
    }
}

static void merge(Network *net, int32_t at, NetView view)
{
    NetNode *node = &net->node[at];
    int32_t *of = arena_array(net->arena, int32_t, view.n_y);
    int32_t *id = arena_array(net->arena, int32_t, view.n_y);
    for (int32_t y = 0; y < view.n_y; y++) {
        of[y] = only_partner(view, y);
        id[y] = node->id[of[y]];
        net->node[view.other].cost[y] +=
            node->cost[of[y]] + view.at[of[y] * view.step_x + y * view.step_y];
    }
    move_terms(net, at, view, of);
    NetRecord record = {
        .node = at, .n_of = 1, .of = {view.other}, .n_values = {view.n_y}, .id = id};
    record.row[0] = network_rows(net, view.other);
    net->points_changed = net->points_changed || node->uses.n > 0;
    drop_edges(net, at);
    network_record(net, record);
}

static bool merge_if_follows(Network *net, int32_t at)
{
    for (int i = 0; i < net->node[at].edges.n; i++) {
        NetView view = network_view(net, net->node[at].edges.at[i], at);
        if (follows(net, at, view)) {
            merge(net, at, view);
            return true;
        }
    }
    return false;
}

/* ---- the whole ---- */

static bool can_join(const Network *net, int32_t at)
{
    double work = net->node[at].n_values;
    for (int i = 0; i < 2; i++)
        work *= network_view(net, net->node[at].edges.at[i], at).n_y;
    return work <= JOIN_MOST;
}

static bool reduce_node(Network *net, int32_t at)
{
    const NetNode *node = &net->node[at];
    if (!drop_values(net, at))
        return false;
    bool is_free = node->uses.n == 0;
    if (node->n_values == 1)
        fix(net, at);
    else if (is_free && node->edges.n == 0)
        eliminate_none(net, at);
    else if (is_free && node->edges.n == 1)
        eliminate_one(net, at);
    else if (merge_if_follows(net, at))
        return true;
    else if (is_free && node->edges.n == 2 && can_join(net, at))
        eliminate_two(net, at);
    return true;
}

/* Visits what is queued until nothing changes. */
static bool settle(Network *net, SolveClock *clock, bool (*visit)(Network *net, int32_t at))
{
    do {
        while (net->queue.n > 0) {
            int32_t at = net->queue.at[--net->queue.n];
            net->node[at].queued = false;
            if (solve_stopped(clock))
                return true;
            if (!net->node[at].gone && !visit(net, at))
                return false;
        }
        if (net->points_changed && !network_tighten_points(net))
            return false;
    } while (net->queue.n > 0);
    return true;
}

bool network_reduce(Network *net, SolveClock *clock)
{
    return settle(net, clock, reduce_node);
}

bool network_drop_impossible(Network *net, SolveClock *clock)
{
    bool any = settle(net, clock, drop_impossible);
    for (int32_t n = 0; n < net->n_nodes; n++)
        if (!net->node[n].gone)
            network_queue(net, n);
    return any;
}
