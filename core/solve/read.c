#include "core/solve/read.h"

#include <inttypes.h>
#include <math.h>

/* A list of numbers; `what` and `at` name it in errors. */
static double *read_numbers(Arena *arena, const Json *list, const char *what, int at, Error *err)
{
    int n = json_size(list);
    double *out = arena_array(arena, double, n);
    if (!json_is_array(list)) {
        error_set(err, "%s %d: a list of numbers is needed", what, at);
        return NULL;
    }
    for (int i = 0; i < n; i++) {
        if (!json_is_number(json_at(list, i))) {
            error_set(err, "%s %d: item %d is not a number", what, at, i);
            return NULL;
        }
        out[i] = json_real(json_at(list, i), 0);
    }
    return out;
}

static bool read_pair(const Json *pair, int64_t *a, int64_t *b)
{
    *a = json_int(json_at(pair, 0), -1);
    *b = json_int(json_at(pair, 1), -1);
    return json_is_array(pair) && json_size(pair) == 2 && json_is_int(json_at(pair, 0)) &&
           json_is_int(json_at(pair, 1));
}

static bool read_nodes(Arena *arena, const Json *nodes, SolveProblem *out, Error *err)
{
    const Json *costs = json_get(nodes, "costs");
    if (!json_is_array(costs))
        return error_set(err, "\"nodes\" needs \"costs\", a list of lists of numbers");
    out->n_nodes = json_size(costs);
    int32_t *n_choices = arena_array(arena, int32_t, out->n_nodes);
    const double **cost = arena_array(arena, const double *, out->n_nodes);
    for (int n = 0; n < out->n_nodes; n++) {
        n_choices[n] = json_size(json_at(costs, n));
        cost[n] = read_numbers(arena, json_at(costs, n), "costs of node", n, err);
        if (!cost[n])
            return false;
    }
    out->n_choices = n_choices;
    out->cost = cost;
    return true;
}

static bool read_uses(Arena *arena, const Json *nodes, SolveProblem *out, Error *err)
{
    const Json *intervals = json_get(nodes, "intervals"), *usages = json_get(nodes, "usages");
    if (!intervals && !usages)
        return true;
    if (json_size(intervals) != out->n_nodes || json_size(usages) != out->n_nodes)
        return error_set(err, "there are %d nodes, %d intervals and %d usages", out->n_nodes,
                         json_size(intervals), json_size(usages));
    SolveUse *use = arena_array(arena, SolveUse, out->n_nodes);
    for (int n = 0; n < out->n_nodes; n++) {
        use[n].node = n;
        if (!read_pair(json_at(intervals, n), &use[n].from, &use[n].to))
            return error_set(err, "the interval of node %d is not two integers", n);
        use[n].amount = read_numbers(arena, json_at(usages, n), "usages of node", n, err);
        if (!use[n].amount)
            return false;
        if (json_size(json_at(usages, n)) != out->n_choices[n])
            return error_set(err, "node %d has %d choices and %d usages", n, out->n_choices[n],
                             json_size(json_at(usages, n)));
    }
    out->n_uses = out->n_nodes;
    out->use = use;
    return true;
}

static bool read_edge(Arena *arena, const Json *pair, const Json *costs, int e,
                      const SolveProblem *problem, SolveEdge *out, Error *err)
{
    int64_t a, b;
    if (!read_pair(pair, &a, &b))
        return error_set(err, "edge %d does not join two nodes", e);
    if (a < 0 || b < 0 || a >= problem->n_nodes || b >= problem->n_nodes)
        return error_kind(err, ERROR_OUT_OF_RANGE,
                          "edge %d joins nodes %" PRId64 " and %" PRId64 ", and there are %d nodes",
                          e, a, b, problem->n_nodes);
    int64_t n = (int64_t)problem->n_choices[a] * problem->n_choices[b];
    if (json_size(costs) != n)
        return error_set(err, "edge %d has %d costs, and its nodes have %d x %d choices", e,
                         json_size(costs), problem->n_choices[a], problem->n_choices[b]);
    *out = (SolveEdge){(int32_t)a, (int32_t)b, read_numbers(arena, costs, "costs of edge", e, err)};
    return out->cost != NULL;
}

static bool read_edges(Arena *arena, const Json *edges, SolveProblem *out, Error *err)
{
    const Json *nodes = json_get(edges, "nodes"), *costs = json_get(edges, "costs");
    if (json_size(nodes) != json_size(costs))
        return error_set(err, "there are %d edges and costs of %d", json_size(nodes),
                         json_size(costs));
    SolveEdge *edge = arena_array(arena, SolveEdge, json_size(nodes));
    for (int e = 0; e < json_size(nodes); e++)
        if (!read_edge(arena, json_at(nodes, e), json_at(costs, e), e, out, &edge[e], err))
            return false;
    out->n_edges = json_size(nodes);
    out->edge = edge;
    return true;
}

static bool read_limit(Arena *arena, const Json *value, SolveProblem *out, Error *err)
{
    if (!value || json_is_null(value))
        return true;
    if (!json_is_number(value))
        return error_set(err, "\"usage_limit\" is not a number");
    SolveLimit *limit = arena_make(arena, SolveLimit);
    *limit = (SolveLimit){INT64_MIN, INT64_MAX, json_real(value, 0)};
    out->n_limits = 1;
    out->limit = limit;
    return true;
}

bool solve_problem_read(Arena *arena, const Json *root, SolveProblem *out, Error *err)
{
    const Json *problem = json_get(root, "problem");
    *out = (SolveProblem){0};
    if (!json_is_object(problem))
        return error_set(err, "there is no \"problem\", an object of nodes and edges");
    if (!json_is_object(json_get(problem, "nodes")))
        return error_set(err, "the problem has no \"nodes\"");
    return read_nodes(arena, json_get(problem, "nodes"), out, err) &&
           read_uses(arena, json_get(problem, "nodes"), out, err) &&
           read_edges(arena, json_get(problem, "edges"), out, err) &&
           read_limit(arena, json_get(problem, "usage_limit"), out, err) &&
           solve_problem_check(out, err);
}
