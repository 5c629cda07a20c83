#include "core/search/search.h"

#include "core/base/units.h"
#include "core/cost/pipeline.h"
#include "core/plan/stage.h"
#include "core/search/choice_prices.h"
#include "core/search/decide.h"
#include "core/search/relax.h"
#include "core/search/result.h"
#include "core/search/rounds.h"
#include "core/search/searchable.h"
#include "core/search/settle.h"
#include "core/search/start.h"
#include "core/session/make.h"
#include "core/solve/clock.h"
#include "core/solve/left.h"

#include <math.h>

#define SIDE 1e-3               /* of the price of memory: what is not on its other side */
#define LEAST_GAIN 1e-4         /* for which another path is searched */
#define TOGETHER_MOST (1 << 21) /* more entries of tables take seconds */
#define PART_OF_CHOICES 0.3 /* of the time: to lay out and price all of them; else coarse ones */

/* ---- plans ---- */

static void tell_plan(const SearchRounds *s)
{
    if (s->request->report && s->paths && s->best_us < INFINITY)
        s->request->report(s->request->context, s->best_us, s->result->bound_us);
}

/* Takes the plan of these decisions if it is the best so far that keeps the limit. */
static void offer(SearchRounds *s, const Plan *plan, const Decision *decisions, int n,
                  double model_us, const int32_t *choice)
{
    SearchResult *result = s->result;
    int64_t most = s->request->max_peak_bytes, peak = plan->priced->totals.peak_bytes;
    double us = plan_step_us(plan);
    if ((most > 0 && peak > most) || us >= s->best_us)
        return;
    s->best_us = us;
    result->outcome = SEARCH_PLAN;
    result->decisions = decisions;
    result->n_decisions = n;
    result->cost_us = us;
    result->sum_us = plan->priced->totals.step_us;
    result->parts = schedule_parts(plan);
    if (!plan_schedule(plan))
        result->parts.model_us = s->instance && s->instance->apart ? result->sum_us : model_us;
    result->peak_bytes = peak;
    s->choice = choice;
    if (choice)
        start_keep(s->instance, choice);
    tell_plan(s);
}

static void offer_own_plan(SearchRounds *s)
{
    const Plan *own = s->session.plan;
    if (plan_is_legal(own))
        offer(s, own, s->lifted.at, s->lifted.n, own->priced->totals.step_us, NULL);
}

/* The moment at which a plan passes the limit becomes a point; takes the plan. */
static void feel(SearchRounds *s, Plan *plan)
{
    MemoryPoint point = memory_point(s->arena, s->instance, plan);
    double most = (double)s->request->max_peak_bytes;
    s->point[s->n_points] = point;
    s->felt[s->n_points] = plan;
    s->limit[s->n_points++] = most - (point.total - point.modelled);
}

static void forget_points(SearchRounds *s)
{
    while (s->n_points > 0)
        plan_free(s->felt[--s->n_points]);
}

/* The plan of an answer; its peak becomes a point if it passes the limit. *fits: it does not. */
static bool try_answer(SearchRounds *s, const SolveAnswer *answer, bool *fits, Error *err)
{
    Decisions decisions = {0};
    Journal all = {0};
    Plan *plan = NULL;
    int64_t most = s->request->max_peak_bytes;
    if (!decide(s->arena, s->instance, answer->choice, &decisions, &plan, err))
        return false;
    for (int i = 0; i < s->lifted.n; i++)
        result_keep_decision(s->arena, &all, &s->lifted.at[i]);
    for (int i = 0; i < decisions.n; i++)
        result_keep_decision(s->arena, &all, &decisions.at[i]);
    prices_take(s->memo->prices, plan);
    offer(s, plan, all.decisions.at, all.n_done, answer->objective, answer->choice);
    if (s->paths && plan_is_legal(plan))
        stage_weights_add(s->paths, plan);
    int64_t peak = plan->priced->totals.peak_bytes;
    *fits = most <= 0 || peak <= most;
    if (s->result->smallest_bytes == 0 || peak < s->result->smallest_bytes)
        s->result->smallest_bytes = peak;
    if (!*fits && s->n_points < POINTS_MAX) {
        feel(s, plan);
        return true;
    }
    plan_free(plan);
    return true;
}

/* ---- all of it ---- */

/* Solves, makes the plan unless one is known that takes no more, and again with the moment at which
 * it needs too much. */
static bool find_plan(SearchRounds *s, SolveAnswer *answer, Error *err)
{
    for (bool fits = false; !fits && !rounds_are_over(s);) {
        int n = s->n_points;
        if (!rounds_solve(s, true, COST_OF_PLAN, answer, err))
            return false;
        if (answer->outcome != SOLVE_CHOICE ||
            (!s->paths && !s->result->coarse && answer->objective >= s->best_us * (1 - SAME)))
            return true;
        if (!try_answer(s, answer, &fits, err))
            return false;
        if (!fits && s->n_points == n)
            return true;
    }
    return true;
}

/* Settles the moves of the best plan so far: what they add up to is what the plan costs. */
static void add_up_plan(SearchRounds *s)
{
    if (s->choice)
        instance_settle(s->instance, s->choice);
    instance_weigh(s->instance, COST_OF_PLAN);
    if (s->choice && !s->paths && !s->instance->apart)
        s->result->parts.model_us = instance_cost_us(s->instance, s->choice);
}

/* What no plan within the limit is below: the limit counts only what every plan holds, under a
 * schedule the cost too. */
static bool find_bound(SearchRounds *s, SolveAnswer *answer, Error *err)
{
    if (rounds_are_proven(s) || s->result->coarse || progress_stopped(s->request->progress))
        return true;
    add_up_plan(s);
    if (!rounds_solve(s, false, s->paths ? COST_ON_PATHS : COST_OF_PLAN, answer, err))
        return false;
    if (answer->outcome != SOLVE_INFEASIBLE)
        tell_plan(s);
    else if (s->result->outcome != SEARCH_PLAN)
        result_say_conflict(s->result, s->arena, s->instance, s->point, s->n_points,
                            s->request->max_peak_bytes, answer->why);
    return true;
}

/* Those with which plans may cost less than some, and the most entries for what is shared. */
typedef struct {
    const bool *const *may;
    int64_t together_most;
} ChoicesLeft;

/* False if that takes too long, or with *err. */
static bool lay_within(SearchRounds *s, bool unfold, const ChoicesLeft *left, double deadline_s,
                       Error *err)
{
    const SearchRequest *request = s->request;
    int64_t most = request->together_most > 0 ? request->together_most : TOGETHER_MOST;
    const Plan *plans[2] = {s->session.plan, request->session->plan};
    InstanceOptions options = {.unfold = unfold,
                               .coarse = s->result->coarse,
                               .store = request->max_peak_bytes > 0,
                               .plans = plans,
                               .n_plans = plans[0] == plans[1] ? 1 : 2,
                               .weights = s->paths,
                               .memo = s->memo,
                               .left = left ? left->may : NULL,
                               .together_most = left ? left->together_most : most,
                               .deadline_s = deadline_s,
                               .progress = request->progress};
    double began_s = clock_s();
    s->instance = instance_make(s->arena, &s->session, &options, err);
    s->result->build_seconds += clock_s() - began_s;
    return s->instance != NULL;
}

/* The choices of all nodes, and what they cost, of those left at least (InstanceOptions); coarse
 * ones if all take too long. *over: its time was over before. */
static bool lay_choices(SearchRounds *s, bool unfold, const ChoicesLeft *left, bool *over,
                        Error *err)
{
    const SearchRequest *request = s->request;
    bool first = !s->instance;
    double rest_s = first ? (1 - PART_OF_CHOICES) * request->seconds : 0;
    Error why = {0};
    if (!lay_within(s, unfold, left, s->deadline_s - rest_s, &why) && first &&
        why.kind == ERROR_CANCELLED && !rounds_are_over(s)) {
        s->result->coarse = true;
        if (s->memo != request->memo)
            search_memo_free(s->memo);
        s->memo = search_memo_new(); /* what is told of all choices is not told of these */
        why = (Error){0};
        lay_within(s, unfold, NULL, s->deadline_s, &why);
    }
    forget_points(s);
    s->choice = s->near = NULL;
    s->knows_all = false;
    s->tightened = 0;
    s->unfolded = unfold;
    s->relaxed_us = 0;
    s->below_us = INFINITY;
    *over = !s->instance && why.kind == ERROR_CANCELLED;
    if (!s->instance) {
        if (err && !*over)
            *err = why;
        return *over;
    }
    prices_take(s->memo->prices, s->session.plan);
    if (request->holes) {
        s->allowed = arena_array(s->arena, const bool *, s->instance->nodes.n);
        choices_of_holes(s->arena, s->instance, s->session.plan, request->holes, s->allowed);
    }
    return true;
}

/* Other choices, or these with other costs: the plans that passed the limit tell where they do. */
static bool lay_again(SearchRounds *s, bool unfold, const ChoicesLeft *left, bool *over, Error *err)
{
    Plan *felt[POINTS_MAX];
    int n = s->n_points;
    memcpy(felt, s->felt, sizeof felt);
    s->n_points = 0;
    bool ok = lay_choices(s, unfold, left, over, err);
    for (int i = 0; i < n; i++)
        if (ok && !*over)
            feel(s, felt[i]);
        else
            plan_free(felt[i]);
    return ok;
}

/* The best plan is near enough to the bound of unfolded layers. */
static bool is_near(const SearchRounds *s)
{
    return s->relaxed_us > 0 && s->best_us - s->relaxed_us <= s->request->gap * s->best_us;
}

/* The choices with prices in place of limits, until the search is over. */
static RelaxedInstance priced_instance(SearchRounds *s, bool rest, const SolveOptions *how)
{
    return (RelaxedInstance){.instance = s->instance,
                             .point = rounds_points(s, rest),
                             .n = s->n_points,
                             .limit = rounds_limits(s, rest),
                             .how = how,
                             .deadline_s = s->deadline_s};
}

/* Folded choices on both sides of the prices of memory: a few layers take one, the others the
 * other. */
typedef struct {
    Instance *folded;
    const int32_t *choice[3]; /* at less, at more, of the best plan; NULL: none */
} Sides;

static Sides sides_of(SearchRounds *s, const RelaxedInstance *relaxed, const double *price)
{
    Sides sides = {s->instance, {NULL, NULL, s->choice}};
    double near[POINTS_MAX];
    for (int i = 0; i < 2; i++) {
        for (int p = 0; p < relaxed->n; p++)
            near[p] = price[p] * (i == 0 ? 1 - SIDE : 1 + SIDE);
        sides.choice[i] = relaxed_choice(s->arena, relaxed, near);
    }
    return sides;
}

/* Searches plans in which every layer takes a choice of one of the sides. */
static bool find_mixed(SearchRounds *s, const Sides *sides, SolveAnswer *answer, Error *err)
{
    int32_t n_nodes = s->instance->nodes.n;
    bool **may = arena_array(s->arena, bool *, n_nodes);
    const bool **allowed = arena_array(s->arena, const bool *, n_nodes);
    for (int32_t n = 0; n < n_nodes; n++) {
        may[n] = arena_array(s->arena, bool, s->instance->nodes.at[n].n);
        allowed[n] = s->instance->nodes.at[n].kind == NODE_SHARED ? NULL : may[n];
    }
    for (int i = 0; i < 3; i++) {
        if (!sides->choice[i])
            continue;
        start_keep(sides->folded, sides->choice[i]);
        const int32_t *choice = start_of(s->arena, s->instance);
        for (int32_t n = 0; choice && n < n_nodes; n++)
            may[n][choice[n]] = true;
    }
    s->allowed = allowed;
    s->mixes = true;
    bool ok = find_plan(s, answer, err);
    s->mixes = false;
    s->allowed = NULL;
    return ok;
}

/* Lays out unfolded choices behind folded ones. Where those felt the limit, their plans tell where
 * these do, and the prices of memory under which they are bounded. */
static bool unfold_choices(SearchRounds *s, SolveAnswer *answer, bool *over, Error *err)
{
    Sides sides = {0};
    double price[POINTS_MAX] = {0};
    SolveOptions how = {.progress = s->request->progress};
    RelaxedInstance relaxed = priced_instance(s, false, &how);
    bool relax = s->n_points > 0 && !s->paths && !s->allowed;
    if (relax) {
        relaxed_prices(&relaxed, price);
        sides = sides_of(s, &relaxed, price);
    }
    if (!lay_again(s, true, NULL, over, err))
        return false;
    if (!relax || *over)
        return true;
    relaxed = priced_instance(s, false, &how);
    s->relaxed_us = relaxed_bound(&relaxed, price);
    return is_near(s) || find_mixed(s, &sides, answer, err);
}

/* Tries the plan to which one price of memory at all points leads. */
static bool try_price(SearchRounds *s, double price_us, bool *fits, Error *err)
{
    double price[POINTS_MAX];
    SolveOptions how = {.progress = s->request->progress};
    RelaxedInstance relaxed = priced_instance(s, true, &how);
    for (int p = 0; p < s->n_points; p++)
        price[p] = price_us;
    SolveAnswer answer = {.outcome = SOLVE_CHOICE, .objective = INFINITY};
    answer.choice = relaxed_choice(s->arena, &relaxed, price);
    *fits = false;
    return !answer.choice || try_answer(s, &answer, fits, err);
}

/* No plan within the limit was found in the time for that. Greater and greater prices of memory
 * lead to plans that need less and less, whatever they cost; then to cheaper ones that fit. */
static bool find_small(SearchRounds *s, Error *err)
{
    enum { TIMES = 4, TRIES = 12, NARROWER = 6 };
    double low = 0, price = s->result->before_us / (double)s->request->max_peak_bytes / TIMES;
    instance_weigh(s->instance, COST_OF_PLAN);
    bool fits = false, less = true;
    for (int i = 0; i < TRIES && !fits && less && !rounds_are_over(s); i++) {
        int64_t before = s->result->smallest_bytes;
        low = i > 0 ? price : 0;
        price *= i > 0 ? TIMES : 1;
        if (!try_price(s, price, &fits, err))
            return false;
        less = i < TRIES / 2 || s->result->smallest_bytes < before;
    }
    for (int i = 0; i < NARROWER && s->result->outcome == SEARCH_PLAN && !rounds_are_over(s); i++) {
        double between = low > 0 ? sqrt(low * price) : price / TIMES;
        if (!try_price(s, between, &fits, err))
            return false;
        *(fits ? &price : &low) = between;
    }
    return true;
}

/* The choices with which a plan may cost less than that; NULL: none is known to cost more. */
static const bool *const *choices_below(SearchRounds *s, double us)
{
    Arena *scratch = arena_new();
    SolveClock clock = {.deadline_s = s->deadline_s, .progress = s->request->progress};
    bool **left;
    instance_weigh(s->instance, COST_OF_PLAN);
    SolveProblem problem = instance_problem(scratch, s->instance);
    bool known = solve_left(s->arena, &problem, us, &clock, &left);
    const bool **out = arena_array(s->arena, const bool *, problem.n_nodes);
    for (int32_t n = 0; known && n < problem.n_nodes; n++)
        out[n] = left[n];
    arena_free(scratch);
    return known ? out : NULL;
}

/* Where readers paid their parts of moves that they may share, plans may cost more than was added
 * up. The choices near the best plan, by what they cost at least, are laid out again: those are few
 * enough for the readers to pay in full. */
static bool pay_in_full(SearchRounds *s, SolveAnswer *answer, Error *err)
{
    static const struct {
        double more;
        int64_t together_most;
    } steps[] = {{1e-2, TOGETHER_MOST}, {1e-6, 0}};
    for (size_t i = 0; i < sizeof steps / sizeof *steps && s->instance->apart; i++) {
        if (s->paths || s->result->coarse || !(s->best_us < INFINITY) || rounds_are_proven(s) ||
            rounds_are_over(s))
            break;
        bool over, own = !s->choice;
        double below_us = s->best_us * (1 + steps[i].more);
        ChoicesLeft left = {choices_below(s, below_us), steps[i].together_most};
        if (!left.may)
            break;
        if (!lay_again(s, s->unfolded, &left, &over, err))
            return false;
        if (over)
            break;
        s->below_us = below_us;
        instance_weigh(s->instance, COST_OF_PLAN);
        s->choice = own ? NULL : start_of(s->arena, s->instance);
        if (!find_plan(s, answer, err) || !find_bound(s, answer, err))
            return false;
    }
    return true;
}

/* Where layers are searched each by itself, the plan of equal ones comes first: it is a start from
 * which little is to be gained, and costs a fraction of the time. */
static bool find_all(SearchRounds *s, Error *err)
{
    SolveAnswer answer = {.outcome = SOLVE_UNKNOWN};
    bool over;
    if (!lay_choices(s, false, NULL, &over, err) || (!over && !find_plan(s, &answer, err)))
        return false;
    if (!over && s->n_points > 0 && s->result->outcome != SEARCH_PLAN && !s->allowed &&
        !find_small(s, err))
        return false;
    if (!over && s->request->unfold && s->instance->folded && !s->result->coarse &&
        answer.outcome != SOLVE_INFEASIBLE) {
        if (s->n_points > 0 && !s->paths)
            add_up_plan(s);
        answer = (SolveAnswer){.outcome = SOLVE_UNKNOWN};
        if (!unfold_choices(s, &answer, &over, err))
            return false;
        if (!over && is_near(s)) {
            s->result->bound_us = s->relaxed_us;
            result_count(s->result, s->instance);
            return true;
        }
        if (!over && !find_plan(s, &answer, err))
            return false;
    }
    if (over)
        return true;
    result_count(s->result, s->instance);
    return find_bound(s, &answer, err) && pay_in_full(s, &answer, err);
}

/* Under a schedule the weights of the stages are those of the longest paths of the plans so far: a
 * plan is made for them, its path is one more, and every such problem has a bound. Ends when a path
 * adds nothing. */
static bool find_on_paths(SearchRounds *s, Error *err)
{
    enum { ROUNDS = 8 };
    s->paths = stage_weights_new(s->arena, s->session.plan);
    if (s->paths)
        stage_weights_add(s->paths, s->session.plan);
    for (int round = 0; round < (s->paths ? ROUNDS : 1) && !rounds_are_over(s); round++) {
        double best = s->best_us, bound = s->result->bound_us;
        if (!find_all(s, err))
            return false;
        if (s->result->outcome == SEARCH_INFEASIBLE ||
            (round > 0 && s->best_us >= best * (1 - LEAST_GAIN) &&
             s->result->bound_us <= bound * (1 + LEAST_GAIN)))
            break;
    }
    return true;
}

static bool search_all(SearchRounds *s, Error *err)
{
    const SearchRequest *request = s->request;
    SearchResult *result = s->result;
    if (!search_takes(&s->session, err))
        return false;
    result->before_us = plan_step_us(s->session.plan);
    result->before_bytes = s->session.plan->priced->totals.peak_bytes;
    offer_own_plan(s);
    if (!find_on_paths(s, err))
        return false;
    result->n_lifted = s->lifted.n;
    result->time_over = rounds_are_over(s) || (request->seconds > 0 && s->cut_short);
    result->proven = result->outcome == SEARCH_PLAN &&
                     fabs(result->cost_us - result->bound_us) <= 1e-6 * result->cost_us;
    if (result->proven && s->choice && s->n_points == 0 && !s->allowed && !s->paths) {
        instance_weigh(s->instance, COST_OF_PLAN);
        result->pricing = arena_make(s->arena, struct SearchPricing);
        *result->pricing = (struct SearchPricing){s->instance, s->choice, s->below_us};
    }
    if (request->price_choices)
        search_price_choices(s->arena, result, request->progress);
    result->seconds = clock_s() - s->began_s;
    return true;
}

bool search_plan(Arena *arena, const SearchRequest *request, SearchResult *result, Error *err)
{
    Arena *own = request->price_later ? arena : arena_new();
    SearchRounds s = {.arena = own,
                      .request = request,
                      .result = result,
                      .best_us = INFINITY,
                      .below_us = INFINITY};
    *result = (SearchResult){.outcome = SEARCH_UNKNOWN};
    s.began_s = clock_s();
    s.deadline_s = request->seconds > 0 ? s.began_s + request->seconds : 0;
    bool ok = lift_decisions(own, request->session, request->lifted, &s.session, err);
    if (ok) {
        lift_searched(own, request->session, &s.lifted);
        s.memo = request->memo ? request->memo : search_memo_new();
        ok = search_all(&s, err);
        forget_points(&s);
        if (s.memo != request->memo)
            search_memo_free(s.memo);
        lift_end(request->session, &s.session);
    }
    if (own != arena) {
        result_hand_out(arena, result);
        arena_free(own);
    }
    return ok;
}
