#include "core/solve/reduce_points.h"

#include "core/solve/slack.h"

#include <math.h>

static double least_amount(const NetNode *node, const NetUse *use)
{
    double least = use->amount[0];
    for (int32_t x = 1; x < node->n_values; x++)
        least = fmin(least, use->amount[x]);
    return least;
}

static double most_amount(const NetNode *node, const NetUse *use)
{
    double most = use->amount[0];
    for (int32_t x = 1; x < node->n_values; x++)
        most = fmax(most, use->amount[x]);
    return most;
}

void network_use_fixed(Network *net, const NetUse *use)
{
    for (int32_t p = use->from; p < use->to; p++)
        net->limit[p] -= use->amount[0];
    net->points_changed = true;
}

static void fix_constant_uses(Network *net, int32_t at)
{
    NetNode *node = &net->node[at];
    int before = node->uses.n;
    for (int u = 0; u < node->uses.n;) {
        NetUse *use = &node->uses.at[u];
        bool constant = least_amount(node, use) == most_amount(node, use);
        if (constant)
            network_use_fixed(net, use);
        if (constant || use->from >= use->to)
            *use = node->uses.at[--node->uses.n];
        else
            u++;
    }
    if (node->uses.n < before)
        network_queue(net, at);
}

/* Sums over points: the smallest (or largest) amounts of all nodes. [n_points + 1] */
static double *loads(const Network *net, Arena *arena,
                     double (*of)(const NetNode *node, const NetUse *use))
{
    double *load = arena_array(arena, double, (size_t)net->n_points + 1), sum = 0;
    for (int32_t n = 0; n < net->n_nodes; n++) {
        const NetNode *node = &net->node[n];
        for (int u = 0; !node->gone && u < node->uses.n; u++) {
            double amount = of(node, &node->uses.at[u]);
            load[node->uses.at[u].from] += amount;
            load[node->uses.at[u].to] -= amount;
        }
    }
    for (int32_t p = 0; p < net->n_points; p++) {
        sum += load[p];
        load[p] = sum;
    }
    return load;
}

/* False if the smallest amounts pass a limit: the one passed by most is told. */
static bool check_least(Network *net, const double *least)
{
    double worst = 0;
    for (int32_t p = 0; p < net->n_points; p++) {
        double excess = least[p] - net->limit[p];
        if (excess > solve_slack(net->most[p]) && excess > worst) {
            worst = excess;
            net->conflict = (NetConflict){.node = -1,
                                          .time = net->time[p],
                                          .need = net->most[p] + excess,
                                          .most = net->most[p],
                                          .set = true};
        }
    }
    return worst <= 0;
}

static void drop_large_values(Network *net, int32_t at, const Slack *left)
{
    NetNode *node = &net->node[at];
    bool all = true;
    for (int32_t x = 0; x < node->n_values; x++)
        net->keep[x] = true;
    for (int u = 0; u < node->uses.n; u++) {
        const NetUse *use = &node->uses.at[u];
        double room = slack_least(left, use->from, use->to) + least_amount(node, use);
        for (int32_t x = 0; x < node->n_values; x++)
            if (use->amount[x] > room) {
                net->keep[x] = false;
                all = false;
            }
    }
    if (all)
        return;
    network_queue_neighbours(net, at);
    network_keep(net, at, net->keep);
}

/* Points that the largest amounts can pass stay. */
static void drop_points(Network *net, const double *most, Arena *scratch)
{
    int32_t *moved = arena_array(scratch, int32_t, net->n_points + 1), n = 0;
    for (int32_t p = 0; p < net->n_points; p++) {
        moved[p] = n;
        if (most[p] <= net->limit[p] + solve_slack(net->most[p]))
            continue;
        net->limit[n] = net->limit[p];
        net->price[n] = net->price[p];
        net->most[n] = net->most[p];
        net->time[n] = net->time[p];
        n++;
    }
    moved[net->n_points] = n;
    if (n == net->n_points)
        return;
    net->n_points = n;
    for (int32_t i = 0; i < net->n_nodes; i++) {
        NetNode *node = &net->node[i];
        int before = node->uses.n;
        for (int u = 0; !node->gone && u < node->uses.n;) {
            NetUse *use = &node->uses.at[u];
            use->from = moved[use->from];
            use->to = moved[use->to];
            if (use->from >= use->to)
                *use = node->uses.at[--node->uses.n];
            else
                u++;
        }
        if (node->uses.n < before)
            network_queue(net, i);
    }
}

bool network_tighten_points(Network *net)
{
    net->points_changed = false;
    if (net->n_points == 0)
        return true;
    for (int32_t n = 0; n < net->n_nodes; n++)
        if (!net->node[n].gone)
            fix_constant_uses(net, n);
    net->points_changed = false;
    Arena *scratch = arena_new();
    double *left = loads(net, scratch, least_amount);
    bool fits = check_least(net, left);
    if (fits) {
        for (int32_t p = 0; p < net->n_points; p++)
            left[p] = net->limit[p] - left[p] + solve_slack(net->most[p]);
        Slack slack;
        slack_begin(&slack, scratch, net->n_points);
        slack_set(&slack, left);
        for (int32_t n = 0; n < net->n_nodes && fits; n++)
            if (!net->node[n].gone && net->node[n].uses.n > 0) {
                drop_large_values(net, n, &slack);
                fits = net->node[n].n_values > 0;
            }
    }
    if (fits)
        drop_points(net, loads(net, scratch, most_amount), scratch);
    arena_free(scratch);
    return fits;
}
