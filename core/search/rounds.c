#include "core/search/rounds.h"

#include "core/search/relax.h"
#include "core/search/settle.h"
#include "core/search/start.h"
#include "core/solve/left.h"

#include <math.h>

#define GAP_UNFOLDED 1e-3 /* exactly how many of equal layers save memory is hardly ever proven */
#define GAP_FIRST .05     /* of answers whose moves are to be settled, then smaller ones */
#define GAP_LAST 1e-5
#define GAP_LIMITED 1e-3 /* by which settled moves may raise an answer under limits of memory */
#define GAP_LEFT .03     /* of a settled choice beside which others are left out; again if it is: */
#define FEWER 4          /* times nearer */
#define MUCH_LEFT 0.8    /* of the choices: to leave out the others is not worth it */
#define ITSELF 1e-6      /* what is left beside an answer includes it */
#define PART_OF_MIXED 0.2 /* of the time left: to mix the choices of equal layers; or: */
#define MIXED_S 5.0
#define SLOW_S 0.1     /* where a problem takes longer, other moves are learnt, for: */
#define TIMES_SOLVED 4 /* as long as it took */
#define EASY_S 1.0     /* in which a problem under limits is solved; else it is hard, and takes: */
#define HARD_S 2.0
#define PART_OF_HARD 0.03 /* of the time left, if that is more */
#define GAP_HARD 1e-4
#define PART_OF_PLANS 0.6 /* of the time left: to find a plan, before the bound is sought */

bool rounds_are_over(const SearchRounds *s)
{
    return progress_stopped(s->request->progress) ||
           (s->deadline_s > 0 && clock_s() >= s->deadline_s);
}

/* 0: as many as it takes. */
static double seconds_left(const SearchRounds *s)
{
    return s->deadline_s > 0 ? fmax(s->deadline_s - clock_s(), 1e-3) : 0;
}

static int32_t *copy_choice(const SearchRounds *s, const int32_t *choice)
{
    int32_t *out = arena_array(s->arena, int32_t, s->instance->nodes.n);
    memcpy(out, choice, sizeof *out * (size_t)s->instance->nodes.n);
    return out;
}

static double **amounts_of(const SearchRounds *s, int point, bool rest)
{
    return rest ? s->point[point].amount : s->point[point].least;
}

const MemoryPoint *rounds_points(const SearchRounds *s, bool rest)
{
    MemoryPoint *out = arena_array(s->arena, MemoryPoint, s->n_points);
    for (int p = 0; p < s->n_points; p++) {
        out[p] = s->point[p];
        out[p].amount = amounts_of(s, p, rest);
    }
    return out;
}

static const bool **searched(const SearchRounds *s)
{
    return s->left ? s->left : s->allowed;
}

/* Bytes of a node by choice of the problem. */
static const double *amount_of(const SearchRounds *s, Arena *arena, const double *all, int32_t node,
                               int32_t n)
{
    if (!searched(s))
        return all;
    double *out = arena_array(arena, double, n);
    for (int32_t c = 0; c < n; c++)
        out[c] = all[s->kept[node][c]];
    return out;
}

const double *rounds_limits(const SearchRounds *s, bool rest)
{
    double *whole = arena_array(s->arena, double, POINTS_MAX);
    for (int p = 0; p < POINTS_MAX; p++)
        whole[p] = (double)s->request->max_peak_bytes;
    return rest ? s->limit : whole;
}

/* The instance under the limits at the points so far; rest: as of amounts_of(). */
static SolveProblem problem_of(SearchRounds *s, Arena *arena, bool rest)
{
    SolveProblem problem = searched(s)
                               ? instance_restricted(arena, s->instance, searched(s), &s->kept)
                               : instance_problem(arena, s->instance);
    int n = 0;
    SolveUse *use = arena_array(arena, SolveUse, s->n_points * problem.n_nodes);
    SolveLimit *limit = arena_array(arena, SolveLimit, s->n_points);
    const double *most = rounds_limits(s, rest);
    for (int p = 0; p < s->n_points; p++) {
        limit[p] = (SolveLimit){p, p + 1, most[p]};
        double **amount = amounts_of(s, p, rest);
        for (int32_t i = 0; i < problem.n_nodes; i++)
            if (amount[i])
                use[n++] = (SolveUse){i, p, p + 1,
                                      amount_of(s, arena, amount[i], i, problem.n_choices[i])};
    }
    problem.use = use;
    problem.n_uses = n;
    problem.limit = limit;
    problem.n_limits = s->n_points;
    return problem;
}

/* A choice of the problem in numbers of the instance. */
static const int32_t *choice_of(const SearchRounds *s, const int32_t *choice)
{
    if (!searched(s) || !choice)
        return choice;
    int32_t *out = arena_array(s->arena, int32_t, s->instance->nodes.n);
    for (int32_t i = 0; i < s->instance->nodes.n; i++)
        out[i] = s->kept[i][choice[i]];
    return out;
}

/* A choice of the instance in numbers of the problem; NULL if the problem does not have it. */
static const int32_t *number_of(const SearchRounds *s, const int32_t *choice)
{
    if (!searched(s))
        return choice;
    int32_t *out = arena_array(s->arena, int32_t, s->instance->nodes.n);
    for (int32_t i = 0; i < s->instance->nodes.n; i++) {
        int32_t n = s->instance->nodes.at[i].n;
        while (out[i] < n && s->kept[i][out[i]] != choice[i])
            out[i]++;
        if (out[i] == n)
            return NULL;
    }
    return out;
}

/* Under a schedule the objective has weights of some paths, and is no step's time: tell_plan(). */
static void report(void *context, double objective, double bound)
{
    SearchRounds *s = context;
    if (s->request->report && !s->paths)
        s->request->report(s->request->context, objective, bound);
}

/* A hard problem begins with a bound and a choice by prices of memory, and ends near its bound. */
static void relax(SearchRounds *s, bool rest, SolveOptions *how)
{
    double began_s = clock_s(), most_s = how->seconds / 2;
    SolveOptions priced = {.progress = how->progress, .seconds = most_s / 4, .gap = GAP_LAST};
    RelaxedChoice found = {.arena = s->arena};
    RelaxedInstance relaxed = {.instance = s->instance,
                               .point = rounds_points(s, rest),
                               .n = s->n_points,
                               .limit = rounds_limits(s, rest),
                               .how = &priced,
                               .deadline_s = most_s > 0 ? began_s + most_s : 0,
                               .found = &found};
    how->bound = fmax(how->bound, relaxed_prices(&relaxed, s->price));
    if (how->seconds > 0)
        how->seconds = fmax(how->seconds - (clock_s() - began_s), 1e-3);
    if (!found.choice)
        return; /* perhaps there is none */
    how->start = found.choice;
    how->gap = fmax(how->gap, GAP_HARD);
    how->seconds = fmin(how->seconds > 0 ? seconds_left(s) : INFINITY,
                        fmax(HARD_S, PART_OF_HARD * seconds_left(s)));
}

static bool solve_now(SearchRounds *s, bool rest, SolveAnswer *answer, Error *err)
{
    Arena *scratch = arena_new();
    SolveProblem problem = problem_of(s, scratch, rest);
    SolveOptions how = {.progress = s->request->progress,
                        .gap = fmax(fmax(s->request->gap, s->gap),
                                    s->unfolded && s->n_points > 0 ? GAP_UNFOLDED : 0),
                        .start = s->near       ? number_of(s, s->near)
                                 : searched(s) ? NULL
                                               : start_of(s->arena, s->instance),
                        .bound = s->relaxed_us,
                        .report = report,
                        .context = s};
    double before = clock_s();
    if (s->deadline_s > 0) /* what proves the answer wants its part */
        how.seconds = seconds_left(s) * (s->mixes ? PART_OF_MIXED : rest ? PART_OF_PLANS : 1);
    else if (s->mixes)
        how.seconds = MIXED_S;
    if (s->n_points > 0 && !s->knows_all && !s->mixes)
        how.seconds = how.seconds > 0 ? fmin(how.seconds, EASY_S) : EASY_S;
    progress_stage(s->request->progress, "searching", 0);
    if (s->n_points > 0 && s->knows_all && !s->mixes && !s->unfolded && !s->allowed)
        relax(s, rest, &how);
    bool ok = solve(s->arena, &problem, &how, answer, err);
    s->solved_s = clock_s() - before;
    s->result->solve_seconds += s->solved_s;
    s->cut_short |= ok && answer->outcome == SOLVE_UNKNOWN;
    if (ok && answer->outcome == SOLVE_CHOICE)
        answer->choice = choice_of(s, answer->choice);
    arena_free(scratch);
    return ok;
}

/* What the problem's bounds hold for is what is asked for: not equal layers in place of others, nor
 * some choices in place of all. */
static bool bounds_hold(const SearchRounds *s, bool rest, InstanceCost kind)
{
    bool all = !s->mixes && !s->result->coarse && prices_have_bounds(s->memo->prices) &&
               (s->unfolded || !s->request->unfold || !s->instance->folded);
    return all && (!rest || s->n_points == 0) && (!s->paths || kind == COST_ON_PATHS);
}

bool rounds_are_proven(const SearchRounds *s)
{
    return s->result->bound_us >= s->best_us * (1 - fmax(SAME, s->request->gap));
}

/* Learns more of all moves that may be searched, for so many seconds. */
static void learn_others(SearchRounds *s, double seconds)
{
    SolveClock clock = {.deadline_s = clock_s() + seconds, .progress = s->request->progress};
    if (s->deadline_s > 0)
        clock.deadline_s = fmin(clock.deadline_s, s->deadline_s);
    instance_tighten_all(s->instance, searched(s), &clock, &s->tightened);
}

/* Learns more of the moves of the answer and of cheaper choices near it, the last of which `choice`
 * becomes, a copy of the answer; of others too where that is soon done or few are left, so that
 * there are fewer rounds. Returns of how many. */
static int learn_moves(SearchRounds *s, InstanceCost kind, const SolveAnswer *answer,
                       int32_t *choice)
{
    int n = instance_tighten_near(s->instance, kind, choice, searched(s));
    n = n > 0 ? n : instance_settle(s->instance, choice);
    n = n > 0 ? n : instance_settle(s->instance, answer->choice);
    if (n > 0 && s->left)
        learn_others(s, s->solved_s);
    else if (n > 0 && s->solved_s > SLOW_S && prices_settle_soon(s->memo->prices))
        learn_others(s, TIMES_SOLVED * s->solved_s);
    return n;
}

/* What a choice costs with what is known of its moves now. */
static double cost_now(SearchRounds *s, InstanceCost kind, const int32_t *choice)
{
    instance_weigh(s->instance, kind);
    return instance_cost_us(s->instance, choice);
}

/* Of what was left out no move was learnt. */
static void search_all_again(SearchRounds *s)
{
    if (s->left)
        s->tightened = 0;
    s->left = NULL;
}

/* Only the choices of the problem that are marked are searched, if that makes it much smaller. */
static void search_marked(SearchRounds *s, const SolveProblem *problem, bool *const *mark)
{
    const bool **in = arena_array(s->arena, const bool *, problem->n_nodes);
    int64_t n = 0, n_marked = 0;
    for (int32_t i = 0; i < problem->n_nodes; i++) {
        bool *of = arena_array(s->arena, bool, s->instance->nodes.at[i].n);
        for (int32_t c = 0; c < problem->n_choices[i]; c++, n++) {
            of[searched(s) ? s->kept[i][c] : c] = mark[i][c];
            n_marked += mark[i][c];
        }
        in[i] = of;
    }
    if ((double)n_marked > MUCH_LEFT * (double)n)
        return;
    s->left = in;
    s->tightened = 0;
}

/* A choice that costs hardly more than the answer was solved for is settled: its cost does not
 * change any more, and others rise, so that what cannot cost less now never will. */
static void leave_worse(SearchRounds *s, bool rest, InstanceCost kind, const SolveAnswer *answer,
                        const int32_t *choice)
{
    SolveClock clock = {.deadline_s = s->deadline_s, .progress = s->request->progress};
    double least = answer->objective, most = least * (1 + s->slack / FEWER);
    if (cost_now(s, kind, choice) > most)
        return;
    instance_settle(s->instance, choice);
    double us = cost_now(s, kind, choice);
    if (us > most)
        return;
    Arena *scratch = arena_new();
    SolveProblem problem = problem_of(s, scratch, rest);
    bool **left;
    if (solve_left(scratch, &problem, us * (1 + ITSELF), &clock, &left))
        search_marked(s, &problem, left);
    s->slack = us / least - 1;
    arena_free(scratch);
}

/* An answer under limits of memory, which takes long to solve: with its moves settled it costs
 * hardly more than it was solved for. */
static bool is_settled_enough(SearchRounds *s, InstanceCost kind, const SolveAnswer *answer)
{
    instance_settle(s->instance, answer->choice);
    return cost_now(s, kind, answer->choice) <= answer->objective * (1 + GAP_LIMITED);
}

bool rounds_solve(SearchRounds *s, bool rest, InstanceCost kind, SolveAnswer *answer, Error *err)
{
    bool holds = bounds_hold(s, rest, kind);
    bool limited = s->n_points > 0;
    double sends_us = s->paths ? stage_weights_sends_us(s->paths) : 0;
    s->gap = s->unfolded || limited ? 0 : GAP_FIRST; /* what most answers need is settled before */
    s->slack = FEWER * GAP_LEFT;
    for (bool ends = false; !ends; ends |= rounds_are_over(s)) {
        instance_weigh(s->instance, kind);
        if (!solve_now(s, rest, answer, err))
            return false;
        bool hard = limited && !s->knows_all && answer->outcome != SOLVE_INFEASIBLE;
        if (answer->outcome != SOLVE_CHOICE && !hard)
            break;
        s->result->bound_us = fmax(s->result->bound_us, holds ? answer->bound + sends_us : 0);
        ends = rounds_are_proven(s);
        s->gap = fmin(s->gap, fmax(GAP_LAST, (1 - answer->bound / answer->objective) / 2));
        s->near = answer->outcome == SOLVE_CHOICE ? answer->choice : NULL;
        if (ends)
            break;
        if (hard && !answer->proven) {
            s->knows_all = true;
            search_all_again(s);
            learn_others(s, INFINITY);
            continue;
        }
        int32_t *near = copy_choice(s, answer->choice);
        if (learn_moves(s, kind, answer, near) > 0) {
            s->near = limited ? s->near : near; /* it may pass limits that the answer keeps */
            if (s->knows_all)
                ends = rest && is_settled_enough(s, kind, answer);
            else
                leave_worse(s, rest, kind, answer, s->near);
            continue;
        }
        ends = s->gap <= 0 || answer->proven;
        s->gap = s->gap > GAP_LAST ? s->gap / 10 : 0;
    }
    s->gap = 0;
    s->near = NULL;
    search_all_again(s);
    return true;
}
