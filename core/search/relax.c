#include "core/search/relax.h"

#include <math.h>

static const double *priced(Arena *scratch, const RelaxedInstance *relaxed, const double *price,
                            int32_t node)
{
    const SearchNode *at = &relaxed->instance->nodes.at[node];
    double *cost = NULL;
    for (int p = 0; p < relaxed->n; p++) {
        const double *amount = relaxed->point[p].amount[node];
        if (!amount || price[p] <= 0)
            continue;
        if (!cost) {
            cost = arena_array(scratch, double, at->n);
            memcpy(cost, at->cost, sizeof *cost * (size_t)at->n);
        }
        for (int32_t c = 0; c < at->n; c++)
            cost[c] += price[p] * amount[c];
    }
    return cost ? cost : at->cost;
}

static double amount_at(const RelaxedInstance *relaxed, int point, const int32_t *choice)
{
    double sum = 0;
    for (int32_t i = 0; i < relaxed->instance->nodes.n; i++) {
        const double *amount = relaxed->point[point].amount[i];
        sum += amount ? amount[choice[i]] : 0;
    }
    return sum;
}

/* Solves without limits, with prices. */
static bool solve_priced(Arena *arena, const RelaxedInstance *relaxed, const double *price,
                         SolveAnswer *answer)
{
    SolveProblem problem = instance_problem(arena, relaxed->instance);
    const double **cost = arena_array(arena, const double *, problem.n_nodes);
    for (int32_t i = 0; i < problem.n_nodes; i++)
        cost[i] = priced(arena, relaxed, price, i);
    problem.cost = cost;
    return solve(arena, &problem, relaxed->how, answer, NULL) && answer->outcome == SOLVE_CHOICE;
}

const int32_t *relaxed_choice(Arena *arena, const RelaxedInstance *relaxed, const double *price)
{
    SolveAnswer answer;
    return solve_priced(arena, relaxed, price, &answer) ? answer.choice : NULL;
}

double relaxed_bound(const RelaxedInstance *relaxed, const double *price, double *over)
{
    Arena *scratch = arena_new();
    SolveAnswer answer;
    bool found = solve_priced(scratch, relaxed, price, &answer);
    double bound = found ? answer.bound : 0;
    for (int p = 0; p < relaxed->n; p++) {
        bound -= price[p] * relaxed->limit;
        if (over)
            over[p] = found ? amount_at(relaxed, p, answer.choice) - relaxed->limit : 0;
    }
    arena_free(scratch);
    return fmax(bound, 0);
}

/* The bound is concave in a price, and `over` is its slope. */
static void raise_price(const RelaxedInstance *relaxed, double *price, int p, double first,
                        double *over)
{
    enum { HALVINGS = 14, DOUBLINGS = 24 };
    double low = 0, high = first;
    for (int i = 0; i < DOUBLINGS; i++, low = high, high *= 2) {
        price[p] = high;
        relaxed_bound(relaxed, price, over);
        if (over[p] <= 0)
            break;
    }
    double at[2] = {low, high}, bound[2];
    for (int i = 0; i < HALVINGS; i++) {
        price[p] = (at[0] + at[1]) / 2;
        relaxed_bound(relaxed, price, over);
        at[over[p] <= 0] = price[p];
    }
    for (int i = 0; i < 2; i++) {
        price[p] = at[i];
        bound[i] = relaxed_bound(relaxed, price, over);
    }
    price[p] = at[bound[1] > bound[0]];
}

void relaxed_prices(const RelaxedInstance *relaxed, double *price)
{
    Arena *scratch = arena_new();
    double *over = arena_array(scratch, double, relaxed->n);
    double free_us = relaxed_bound(relaxed, price, over);
    for (int round = 0; round < relaxed->n; round++) {
        int most = 0;
        for (int p = 1; p < relaxed->n; p++)
            most = over[p] > over[most] ? p : most;
        if (over[most] <= 0 || price[most] > 0)
            break;
        raise_price(relaxed, price, most, 1e-3 * free_us / relaxed->limit, over);
    }
    arena_free(scratch);
}
