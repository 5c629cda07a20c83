#include "core/solve/network.h"

#include <math.h>

static double *copy_costs(Arena *arena, const double *cost, size_t n, double most)
{
    double *out = arena_array(arena, double, n);
    for (size_t i = 0; i < n; i++)
        out[i] = cost[i] > most ? INFINITY : cost[i];
    return out;
}

static void add_node(Network *net, int32_t n, double most)
{
    NetNode *node = &net->node[n];
    node->n_values = net->problem->n_choices[n];
    node->cost = copy_costs(net->arena, net->problem->cost[n], (size_t)node->n_values, most);
    node->id = arena_array(net->arena, int32_t, node->n_values);
    for (int32_t x = 0; x < node->n_values; x++)
        node->id[x] = x;
    network_queue(net, n);
}

static void add_problem_edge(Network *net, const SolveEdge *edge, double most)
{
    NetNode *a = &net->node[edge->a], *b = &net->node[edge->b];
    if (edge->a == edge->b) {
        for (int32_t x = 0; x < a->n_values; x++)
            a->cost[x] += edge->cost[(int64_t)x * a->n_values + x] > most
                              ? INFINITY
                              : edge->cost[(int64_t)x * a->n_values + x];
        return;
    }
    size_t n = (size_t)a->n_values * (size_t)b->n_values;
    network_add_edge(net, edge->a, edge->b, copy_costs(net->arena, edge->cost, n, most));
}

Network *network_new(Arena *arena, const SolveProblem *problem, const SolvePoints *points,
                     double most)
{
    Network *net = arena_make(arena, Network);
    *net = (Network){.arena = arena,
                     .problem = problem,
                     .n_nodes = problem->n_nodes,
                     .n_left = problem->n_nodes,
                     .node = arena_array(arena, NetNode, problem->n_nodes),
                     .n_points = points->n,
                     .limit = arena_array(arena, double, points->n),
                     .price = arena_array(arena, double, points->n),
                     .most = copy_costs(arena, points->limit, (size_t)points->n, INFINITY),
                     .time = arena_array(arena, int64_t, points->n),
                     .points_changed = true,
                     .conflict = {.node = -1}};
    int32_t most_choices = 1;
    for (int32_t n = 0; n < problem->n_nodes; n++) {
        add_node(net, n, most);
        if (problem->n_choices[n] > most_choices)
            most_choices = problem->n_choices[n];
    }
    net->keep = arena_array(arena, bool, most_choices);
    net->least = arena_array(arena, double, most_choices);
    net->most_of = arena_array(arena, double, most_choices);
    for (int32_t e = 0; e < problem->n_edges; e++)
        add_problem_edge(net, &problem->edge[e], most);
    for (int32_t p = 0; p < points->n; p++) {
        net->limit[p] = points->limit[p];
        net->time[p] = points->time[p];
    }
    for (int32_t u = 0; u < problem->n_uses; u++) {
        const SolveUse *use = &problem->use[u];
        NetNode *node = &net->node[use->node];
        if (points->from[u] < points->to[u])
            vec_push(arena, &node->uses,
                     (NetUse){points->from[u], points->to[u],
                              copy_costs(arena, use->amount, (size_t)node->n_values, INFINITY)});
    }
    return net;
}

static void clone_node(Arena *arena, const NetNode *from, NetNode *to)
{
    size_t n = (size_t)from->n_values;
    *to = (NetNode){.n_values = from->n_values,
                    .cost = copy_costs(arena, from->cost, n, INFINITY),
                    .id = arena_array(arena, int32_t, n)};
    memcpy(to->id, from->id, n * sizeof *to->id);
    for (int u = 0; u < from->uses.n; u++) {
        const NetUse *use = &from->uses.at[u];
        vec_push(arena, &to->uses,
                 (NetUse){use->from, use->to, copy_costs(arena, use->amount, n, INFINITY)});
    }
}

Network *network_clone(Arena *arena, const Network *net)
{
    Network *out = arena_make(arena, Network);
    *out = *net;
    out->arena = arena;
    out->node = arena_array(arena, NetNode, net->n_nodes);
    out->limit = copy_costs(arena, net->limit, (size_t)net->n_points, INFINITY);
    out->price = copy_costs(arena, net->price, (size_t)net->n_points, INFINITY);
    out->most = copy_costs(arena, net->most, (size_t)net->n_points, INFINITY);
    out->time = arena_array(arena, int64_t, net->n_points);
    memcpy(out->time, net->time, (size_t)net->n_points * sizeof *out->time);
    memset(&out->edges, 0, sizeof out->edges);
    memset(&out->queue, 0, sizeof out->queue);
    memset(&out->edge_least, 0, sizeof out->edge_least);
    for (int32_t n = 0; n < net->n_nodes; n++) {
        out->node[n].gone = true;
        if (!net->node[n].gone)
            clone_node(arena, &net->node[n], &out->node[n]);
    }
    for (int e = 0; e < net->edges.n; e++) {
        const NetEdge *edge = &net->edges.at[e];
        if (edge->gone)
            continue;
        size_t n = (size_t)net->node[edge->a].n_values * (size_t)net->node[edge->b].n_values;
        vec_push(arena, &out->node[edge->a].edges, out->edges.n);
        vec_push(arena, &out->node[edge->b].edges, out->edges.n);
        vec_push(arena, &out->edges,
                 (NetEdge){edge->a, edge->b, copy_costs(arena, edge->cost, n, INFINITY), false});
    }
    return out;
}

NetView network_view(const Network *net, int32_t edge, int32_t from)
{
    const NetEdge *e = &net->edges.at[edge];
    int32_t n_a = net->node[e->a].n_values, n_b = net->node[e->b].n_values;
    return e->a == from ? (NetView){e->cost, n_b, 1, e->b, n_a, n_b}
                        : (NetView){e->cost, 1, n_b, e->a, n_b, n_a};
}

static int32_t edge_between(const Network *net, int32_t a, int32_t b)
{
    if (net->node[b].edges.n < net->node[a].edges.n) {
        int32_t swapped = a;
        a = b;
        b = swapped;
    }
    for (int i = 0; i < net->node[a].edges.n; i++) {
        const NetEdge *edge = &net->edges.at[net->node[a].edges.at[i]];
        if (edge->a == b || edge->b == b)
            return net->node[a].edges.at[i];
    }
    return -1;
}

enum { RELEASED_LEAST = 1 << 16 }; /* costs: looking for a small piece takes too long */

static void release(Network *net, double *cost, int64_t n)
{
    if (n >= RELEASED_LEAST)
        arena_release(net->arena, cost);
}

void network_add_edge(Network *net, int32_t a, int32_t b, double *cost)
{
    int32_t old = edge_between(net, a, b);
    if (old < 0) {
        vec_push(net->arena, &net->node[a].edges, net->edges.n);
        vec_push(net->arena, &net->node[b].edges, net->edges.n);
        vec_push(net->arena, &net->edges, (NetEdge){a, b, cost, false});
        return;
    }
    NetView view = network_view(net, old, a);
    for (int32_t x = 0; x < view.n_x; x++)
        for (int32_t y = 0; y < view.n_y; y++)
            view.at[x * view.step_x + y * view.step_y] += cost[(int64_t)x * view.n_y + y];
    release(net, cost, (int64_t)view.n_x * view.n_y);
}

static void forget_edge(NetNode *node, int32_t edge)
{
    for (int i = 0; i < node->edges.n; i++)
        if (node->edges.at[i] == edge) {
            node->edges.at[i] = node->edges.at[--node->edges.n];
            return;
        }
}

void network_drop_edge(Network *net, int32_t edge)
{
    NetEdge *e = &net->edges.at[edge];
    e->gone = true;
    forget_edge(&net->node[e->a], edge);
    forget_edge(&net->node[e->b], edge);
    release(net, e->cost, (int64_t)net->node[e->a].n_values * net->node[e->b].n_values);
    e->cost = NULL;
}

void network_queue(Network *net, int32_t node)
{
    if (net->node[node].queued || net->node[node].gone)
        return;
    net->node[node].queued = true;
    vec_push(net->arena, &net->queue, node);
}

void network_queue_neighbours(Network *net, int32_t node)
{
    network_queue(net, node);
    for (int i = 0; i < net->node[node].edges.n; i++)
        network_queue(net, network_view(net, net->node[node].edges.at[i], node).other);
}

/* Rows move up and columns left, in place. */
static void keep_in_edge(NetView view, bool is_a, const bool *keep)
{
    double *to = view.at;
    int64_t n_rows = is_a ? view.n_x : view.n_y, n_columns = is_a ? view.n_y : view.n_x;
    for (int64_t r = 0; r < n_rows; r++) {
        if (is_a && !keep[r])
            continue;
        const double *row = view.at + r * n_columns;
        for (int64_t c = 0; c < n_columns; c++)
            if (is_a || keep[c])
                *to++ = row[c];
    }
}

bool network_keep(Network *net, int32_t at, const bool *keep)
{
    NetNode *node = &net->node[at];
    int32_t n = 0;
    for (int i = 0; i < node->edges.n; i++)
        keep_in_edge(network_view(net, node->edges.at[i], at),
                     net->edges.at[node->edges.at[i]].a == at, keep);
    for (int32_t x = 0; x < node->n_values; x++) {
        if (!keep[x])
            continue;
        node->cost[n] = node->cost[x];
        node->id[n] = node->id[x];
        for (int u = 0; u < node->uses.n; u++)
            node->uses.at[u].amount[n] = node->uses.at[u].amount[x];
        n++;
    }
    if (node->uses.n > 0 && n < node->n_values)
        net->points_changed = true;
    node->n_values = n;
    if (n == 0 && !net->conflict.set)
        net->conflict = (NetConflict){.node = at, .set = true};
    return n > 0;
}

const int32_t *network_rows(Network *net, int32_t at)
{
    const NetNode *node = &net->node[at];
    int32_t *row = arena_array(net->arena, int32_t, net->problem->n_choices[at]);
    for (int32_t x = 0; x < node->n_values; x++)
        row[node->id[x]] = x;
    return row;
}

void network_record(Network *net, NetRecord record)
{
    NetRecord *kept = arena_make(net->arena, NetRecord);
    *kept = record;
    kept->before = net->last;
    net->last = kept;
    net->node[record.node].gone = true;
    net->n_left--;
}

void network_recover(const Network *net, int32_t *choice)
{
    for (const NetRecord *record = net->last; record; record = record->before) {
        int64_t at = 0;
        for (int i = 0; i < record->n_of; i++)
            at = at * record->n_values[i] + record->row[i][choice[record->of[i]]];
        choice[record->node] = record->id[at];
    }
}

double network_largest(const Network *net)
{
    double largest = 0;
    for (int32_t n = 0; n < net->n_nodes; n++)
        for (int32_t x = 0; !net->node[n].gone && x < net->node[n].n_values; x++)
            if (isfinite(net->node[n].cost[x]))
                largest = fmax(largest, net->node[n].cost[x]);
    for (int e = 0; e < net->edges.n; e++) {
        const NetEdge *edge = &net->edges.at[e];
        int64_t n =
            edge->gone ? 0 : (int64_t)net->node[edge->a].n_values * net->node[edge->b].n_values;
        for (int64_t i = 0; i < n; i++)
            if (isfinite(edge->cost[i]))
                largest = fmax(largest, edge->cost[i]);
    }
    return largest;
}
