#include "core/search/relax.h"

#include "core/base/clock.h"

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
    SolveOptions how = *relaxed->how;
    double left = relaxed->deadline_s > 0 ? relaxed->deadline_s - clock_s() : INFINITY;
    if (left <= 0)
        return false;
    if (left < INFINITY)
        how.seconds = how.seconds > 0 ? fmin(how.seconds, left) : left;
    SolveProblem problem = instance_problem(arena, relaxed->instance);
    const double **cost = arena_array(arena, const double *, problem.n_nodes);
    for (int32_t i = 0; i < problem.n_nodes; i++)
        cost[i] = priced(arena, relaxed, price, i);
    problem.cost = cost;
    return solve(arena, &problem, &how, answer, NULL) && answer->outcome == SOLVE_CHOICE;
}

const int32_t *relaxed_choice(Arena *arena, const RelaxedInstance *relaxed, const double *price)
{
    SolveAnswer answer;
    return solve_priced(arena, relaxed, price, &answer) ? answer.choice : NULL;
}

/* What a choice costs with prices is linear in each. */
typedef struct {
    double bound;      /* with all prices */
    double cost, over; /* of the choice: with the other prices; the slope in one price */
    double most_over;  /* at any point */
} Line;

static void keep_choice(const RelaxedInstance *relaxed, const int32_t *choice)
{
    RelaxedChoice *found = relaxed->found;
    double us = found ? instance_cost_us(relaxed->instance, choice) : INFINITY;
    size_t n = (size_t)relaxed->instance->nodes.n;
    if (!found || (found->choice && us >= found->us))
        return;
    int32_t *copy = arena_array(found->arena, int32_t, n);
    memcpy(copy, choice, sizeof *copy * n);
    found->choice = copy;
    found->us = us;
}

/* The choice at these prices, as a line of price p. */
static Line line_at(const RelaxedInstance *relaxed, const double *price, int p)
{
    Arena *scratch = arena_new();
    SolveAnswer answer;
    Line line = {.bound = 0};
    if (solve_priced(scratch, relaxed, price, &answer)) {
        line = (Line){answer.bound, answer.objective, 0, -INFINITY};
        for (int q = 0; q < relaxed->n; q++) {
            double over = amount_at(relaxed, q, answer.choice) - relaxed->limit[q];
            line.bound -= price[q] * relaxed->limit[q];
            line.cost -= price[q] * relaxed->limit[q];
            line.most_over = fmax(line.most_over, over);
            line.over = q == p ? over : line.over;
        }
        line.cost -= price[p] * line.over;
        if (line.most_over <= 0)
            keep_choice(relaxed, answer.choice);
    }
    arena_free(scratch);
    return line;
}

double relaxed_bound(const RelaxedInstance *relaxed, const double *price)
{
    return fmax(line_at(relaxed, price, 0).bound, 0);
}

#define MET 1e-6 /* of the bound: what the lines allow beyond it */

/* The bound is concave in a price: the least of the lines of all choices. Raises the price to one
 * at which the limit is kept, then goes to where the lines of both sides meet, until none is below.
 */
static double raise_price(const RelaxedInstance *relaxed, double *price, int p, double first)
{
    enum { CUTS = 24, DOUBLINGS = 30 };
    double best = 0, at;
    bool priced = price[p] > 0;
    Line low = line_at(relaxed, price, p), high = low;
    for (int i = 0; i < DOUBLINGS && high.over > 0; i++) {
        best = fmax(best, high.bound);
        low = high;
        price[p] = price[p] > 0 ? 2 * price[p] : first;
        high = line_at(relaxed, price, p);
    }
    best = fmax(best, high.bound);
    at = price[p];
    if (high.over > 0 || (low.over <= 0 && !priced))
        return best;
    if (low.over <= 0) { /* the price it came with was too high already */
        price[p] = 0;
        low = line_at(relaxed, price, p);
        best = fmax(best, low.bound);
        if (low.over <= 0)
            return best;
    }
    for (int i = 0; i < CUTS; i++) {
        price[p] = (high.cost - low.cost) / (low.over - high.over);
        if (!(price[p] > 0)) /* lines of answers that were cut short */
            break;
        Line cut = line_at(relaxed, price, p);
        double meet = low.cost + price[p] * low.over;
        at = cut.bound > best ? price[p] : at;
        best = fmax(best, cut.bound);
        if (best >= meet * (1 - MET) || cut.bound <= 0)
            break;
        *(cut.over > 0 ? &low : &high) = cut;
    }
    price[p] = at;
    return best;
}

double relaxed_prices(const RelaxedInstance *relaxed, double *price)
{
    Arena *scratch = arena_new();
    bool *raised = arena_array(scratch, bool, relaxed->n);
    double bound = 0;
    for (int round = 0; round < relaxed->n; round++) {
        Line line = {.bound = 0};
        int most = -1;
        for (int p = 0; p < relaxed->n; p++) {
            Line at = raised[p] ? line : line_at(relaxed, price, p);
            if (!raised[p] && (most < 0 || at.over > line.over)) {
                most = p;
                line = at;
            }
        }
        bound = fmax(bound, line.bound);
        if (round > 0 && line.over <= 0)
            break;
        raised[most] = true;
        bound = fmax(bound,
                     raise_price(relaxed, price, most, 1e-3 * line.bound / relaxed->limit[most]));
    }
    arena_free(scratch);
    return bound;
}
