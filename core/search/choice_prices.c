/* What other choices than those of a plan would cost at least. */
#include "core/search/choice_prices.h"

#include "core/base/units.h"
#include "core/search/search.h"
#include "core/solve/solve.h"

#include <math.h>

#define ONE_S 1.0 /* at most, for a decision: what it leaves unknown is not said */
#define ALL_S 5.0 /* for all of them */

/* Whether two choices of a node are about the same decision. */
static bool same_choice(const SearchNode *node, int32_t a, int32_t b)
{
    if (node->kind == NODE_OP || node->kind == NODE_SUM)
        return op_cut_equal(node->cut[a], node->cut[b]);
    if (node->kind == NODE_INPUT)
        return node->sharding[a] == node->sharding[b];
    const ParameterChoice *x = &node->stored[a], *y = &node->stored[b];
    return x->stored == y->stored && x->updated == y->updated;
}

/* The plan's choice with the best other one at the node beside it: a good plan is near, so that
 * most choices are soon known to be worse. */
static const int32_t *start_beside(Arena *arena, const struct SearchPricing *pricing,
                                   const SolveProblem *problem, int32_t node)
{
    int32_t *start = arena_array(arena, int32_t, problem->n_nodes);
    memcpy(start, pricing->choice, (size_t)problem->n_nodes * sizeof *start);
    start[node] = solve_best_beside(problem, node, start);
    return start;
}

/* How much more a plan takes at least in which the node's choice is another; -1: the time ended
 * before anything was known. */
static double price_of_other(const struct SearchPricing *pricing, int32_t node, double model_us,
                             double seconds, Progress *progress)
{
    Arena *scratch = arena_new();
    const SearchNode *at = &pricing->instance->nodes.at[node];
    const bool **allowed = arena_array(scratch, const bool *, pricing->instance->nodes.n);
    bool *others = arena_array(scratch, bool, at->n), any = false;
    for (int32_t c = 0; c < at->n; c++)
        any |= others[c] = !same_choice(at, c, pricing->choice[node]);
    allowed[node] = others;
    SolveAnswer answer = {.bound = INFINITY};
    int32_t **kept;
    if (any) {
        SolveProblem problem = instance_restricted(scratch, pricing->instance, allowed, &kept);
        SolveOptions how = {.seconds = seconds,
                            .progress = progress,
                            .bound = model_us,
                            .start = start_beside(scratch, pricing, &problem, node)};
        solve(scratch, &problem, &how, &answer, NULL);
    }
    bool none = !any || answer.outcome == SOLVE_INFEASIBLE;
    arena_free(scratch);
    double least_us = none ? INFINITY : answer.bound;
    bool known = none || answer.proven || least_us > model_us;
    return known ? fmax(0, fmin(least_us, pricing->below_us) - model_us) : -1;
}

/* The node that a decision was made for; -1. */
static int32_t node_of(const Instance *instance, const Decision *decision)
{
    if (decision->kind == PIN_INDEX_DIM)
        return instance->node_of_op[decision->place];
    return decision->kind == PIN_TENSOR_DIM ? instance->node_of_tensor[decision->place] : -1;
}

void search_put_price(const SearchDecision *price, Buf *out)
{
    if (price->next_us < INFINITY) {
        buf_puts(out, "otherwise at least +");
        units_format_us(price->next_us, out);
    } else {
        buf_puts(out, "otherwise no plan");
    }
}

/* The decisions, each with its price as a comment of its line. */
static const Decision *with_prices(Arena *arena, const SearchResult *result)
{
    Decision *out = arena_array(arena, Decision, result->n_decisions);
    for (int i = 0; i < result->n_decisions; i++) {
        out[i] = result->decisions[i];
        if (result->price_of[i] < 0)
            continue;
        Buf text = buf_new(arena);
        buf_printf(&text, "%s  -- ", out[i].origin.text);
        search_put_price(&result->by_op[result->price_of[i]], &text);
        out[i].origin.text = text.s;
    }
    return out;
}

void search_price_choices(Arena *arena, SearchResult *result, Progress *progress)
{
    const struct SearchPricing *pricing = result->pricing;
    if (!pricing)
        return;
    Instance *instance = pricing->instance;
    int32_t *asked = arena_array(arena, int32_t, instance->nodes.n);
    int32_t *price_of = arena_array(arena, int32_t, result->n_decisions);
    Vec(SearchDecision) found = {0};
    int n_asked = 0;
    for (int i = result->n_lifted; i < result->n_decisions; i++) {
        int32_t node = node_of(instance, &result->decisions[i]);
        n_asked += node >= 0 && !asked[node];
        if (node >= 0)
            asked[node] = 1;
    }
    progress_stage(progress, "pricing decisions", n_asked);
    double end_s = clock_s() + ALL_S;
    for (int32_t n = 0; n < instance->nodes.n && !progress_stopped(progress); n++) {
        const SearchNode *at = &instance->nodes.at[n];
        double seconds = fmin(ONE_S, end_s - clock_s());
        if (!asked[n] || seconds <= 0)
            continue;
        double us = price_of_other(pricing, n, result->parts.model_us, seconds, progress);
        if (us < 0)
            continue;
        bool op = at->kind == NODE_OP || at->kind == NODE_SUM;
        SearchDecision priced = {op ? at->place : -1, op ? -1 : at->place,
                                 at->n_ops > 0 ? at->n_ops : 1, us};
        vec_push(arena, &found, priced);
        asked[n] = 1 + found.n;
        if (progress)
            atomic_store(&progress->done, found.n);
    }
    for (int i = 0; i < result->n_decisions; i++) {
        int32_t node = i < result->n_lifted ? -1 : node_of(instance, &result->decisions[i]);
        price_of[i] = node >= 0 && asked[node] > 1 ? asked[node] - 2 : -1;
    }
    result->by_op = found.at;
    result->n_by_op = found.n;
    result->price_of = price_of;
    result->decisions = with_prices(arena, result);
}
