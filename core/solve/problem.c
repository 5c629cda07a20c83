#include "core/solve/problem.h"

#include <inttypes.h>
#include <math.h>

static bool cost_is_fine(double cost)
{
    return cost >= 0 && (cost <= SOLVE_COST_MOST || isinf(cost));
}

static const char *cost_fault(double cost)
{
    return isnan(cost) ? "not a number" : cost < 0 ? "negative" : "above 1e100";
}

static bool check_nodes(const SolveProblem *problem, Error *err)
{
    for (int32_t n = 0; n < problem->n_nodes; n++) {
        int32_t n_choices = problem->n_choices[n];
        if (n_choices < 1 || n_choices > SOLVE_CHOICES_MOST)
            return error_set(err, "node %" PRId32 " has %s choices", n,
                             n_choices < 1 ? "no" : "too many");
        for (int32_t x = 0; x < n_choices; x++)
            if (!cost_is_fine(problem->cost[n][x]))
                return error_set(err, "node %" PRId32 ", choice %" PRId32 ": the cost is %s", n, x,
                                 cost_fault(problem->cost[n][x]));
    }
    return true;
}

static bool check_edges(const SolveProblem *problem, Error *err)
{
    for (int32_t e = 0; e < problem->n_edges; e++) {
        const SolveEdge *edge = &problem->edge[e];
        if (edge->a < 0 || edge->b < 0 || edge->a >= problem->n_nodes ||
            edge->b >= problem->n_nodes)
            return error_kind(err, ERROR_OUT_OF_RANGE,
                              "edge %" PRId32 " joins nodes %" PRId32 " and %" PRId32
                              ", and there are %" PRId32 " nodes",
                              e, edge->a, edge->b, problem->n_nodes);
        int64_t n = (int64_t)problem->n_choices[edge->a] * problem->n_choices[edge->b];
        for (int64_t i = 0; i < n; i++)
            if (!cost_is_fine(edge->cost[i]))
                return error_set(err, "edge %" PRId32 ", cost %" PRId64 " is %s", e, i,
                                 cost_fault(edge->cost[i]));
    }
    return true;
}

static bool check_uses(const SolveProblem *problem, Error *err)
{
    for (int32_t u = 0; u < problem->n_uses; u++) {
        const SolveUse *use = &problem->use[u];
        if (use->node < 0 || use->node >= problem->n_nodes)
            return error_kind(err, ERROR_OUT_OF_RANGE,
                              "use %" PRId32 " is of node %" PRId32 ", and there are %" PRId32
                              " nodes",
                              u, use->node, problem->n_nodes);
        for (int32_t x = 0; x < problem->n_choices[use->node]; x++)
            if (!(use->amount[x] >= 0) || use->amount[x] > SOLVE_COST_MOST)
                return error_set(err, "node %" PRId32 ", choice %" PRId32 ": the usage is %s",
                                 use->node, x, cost_fault(use->amount[x]));
    }
    for (int32_t i = 0; i < problem->n_limits; i++)
        if (isnan(problem->limit[i].most))
            return error_set(err, "a limit of memory is not a number");
    return true;
}

bool solve_problem_check(const SolveProblem *problem, Error *err)
{
    return check_nodes(problem, err) && check_edges(problem, err) && check_uses(problem, err);
}

double solve_cost(const SolveProblem *problem, const int32_t *choice)
{
    double sum = 0;
    for (int32_t n = 0; n < problem->n_nodes; n++)
        sum += problem->cost[n][choice[n]];
    for (int32_t e = 0; e < problem->n_edges; e++) {
        const SolveEdge *edge = &problem->edge[e];
        sum += edge->cost[(int64_t)choice[edge->a] * problem->n_choices[edge->b] + choice[edge->b]];
    }
    return sum;
}

int32_t solve_best_beside(const SolveProblem *problem, int32_t node, const int32_t *choice)
{
    int32_t best = 0;
    double least = INFINITY;
    for (int32_t c = 0; c < problem->n_choices[node]; c++) {
        double cost = problem->cost[node][c];
        for (int32_t e = 0; e < problem->n_edges; e++) {
            const SolveEdge *edge = &problem->edge[e];
            int32_t a = edge->a == node ? c : choice[edge->a];
            int32_t b = edge->b == node ? c : choice[edge->b];
            if (edge->a == node || edge->b == node)
                cost += edge->cost[(int64_t)a * problem->n_choices[edge->b] + b];
        }
        if (cost < least) {
            least = cost;
            best = c;
        }
    }
    return best;
}
