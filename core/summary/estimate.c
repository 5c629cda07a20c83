#include "core/summary/estimate.h"

#include "core/cost/pipeline.h"
#include "core/reshard/lend.h"
#include "core/plan/plan_machine.h"

#include <stdlib.h>

bool estimate_fits(const Plan *plan)
{
    return plan->priced->totals.peak_bytes <= plan_memory(plan);
}

/* ---- what is tried ---- */

static const char *const tried[][ESTIMATE_SETTINGS] = {
    {"recompute=none", NULL},
    {"recompute=selective", NULL},
    {"recompute=full", NULL},
    {"zero=1", NULL},
    {"zero=2", NULL},
    {"zero=3", NULL},
    {"keep=true", NULL},
    {"keep_gathered=true", NULL},
    {"sequence_parallel=true", NULL},
    {"cut_vocabulary=true", NULL},
    {"balance=flops", NULL},
    {"overlap=both", NULL},
    {"schedule=1f1b", "virtual=1"},
    {"schedule=1f1b_interleaved", "virtual=2"},
    {"schedule=zb1p", "virtual=1"},
};

static const PolicyOption *find_option(const Session *session, Str name)
{
    for (int i = 0; i < session->policy_options.n; i++)
        if (str_eq(str_from(session->policy_options.at[i].name), name))
            return &session->policy_options.at[i];
    return NULL;
}

/* The policy declares the setting; *news if it has another value. */
static bool declares(const Session *session, const char *setting, bool *news)
{
    Str value = str_from(setting), name = str_take(&value, '=');
    const PolicyOption *option = find_option(session, name);
    *news = *news || (option && !str_eq(str_from(option->value), value));
    return option;
}

typedef Vec(EstimateChange) ChangeList;

static void add_change(Arena *arena, const Session *session, const char *first, const char *second,
                       ChangeList *out)
{
    bool news = false;
    if (declares(session, first, &news) && (!second || declares(session, second, &news)) && news)
        vec_push(arena, out, ((EstimateChange){.setting = {first, second}}));
}

static int64_t number_of(const Session *session, const char *name)
{
    const PolicyOption *option = find_option(session, str_from(name));
    return option ? strtoll(option->value, NULL, 10) : 0;
}

/* Micro-batches of twice and of half the samples, with as many samples a step. */
static void add_micro_batches(Arena *arena, const Session *session, ChangeList *out)
{
    int64_t each = number_of(session, "micro_batch"), n = number_of(session, "micro_batches");
    if (each > 0 && n > 1 && n % 2 == 0 && each < INT32_MAX)
        add_change(arena, session, arena_printf(arena, "micro_batch=%lld", (long long)each * 2),
                   arena_printf(arena, "micro_batches=%lld", (long long)n / 2), out);
    if (each > 1 && each % 2 == 0 && n < INT32_MAX)
        add_change(arena, session, arena_printf(arena, "micro_batch=%lld", (long long)each / 2),
                   arena_printf(arena, "micro_batches=%lld", (long long)n * 2), out);
}

/* ---- trying ---- */

Session *estimate_session(const Session *session, const char *settings, const Plan *lender,
                          Error *err)
{
    Change made = {.kind = CHANGE_SETTING, .text = settings, .lender = lender};
    return session_fork(session, &made, err);
}

/* Returns the session with the change, which the caller closes; NULL if there is none. */
static Session *try_change(Arena *arena, const Session *session, const Plan *lender,
                           EstimateChange *change, Error *err)
{
    Buf lines = buf_new(arena);
    for (int i = 0; i < ESTIMATE_SETTINGS && change->setting[i]; i++)
        buf_printf(&lines, "%s%s", i > 0 ? "\n" : "", change->setting[i]);
    Session *other = estimate_session(session, lines.s, lender, err);
    if (!other) {
        change->failed = arena_str(arena, str_from(err->text));
        return NULL;
    }
    change->step_us = plan_step_us(other->plan);
    change->peak_bytes = other->plan->priced->totals.peak_bytes;
    change->same = change->step_us == plan_step_us(session->plan) &&
                   change->peak_bytes == session->plan->priced->totals.peak_bytes;
    change->legal = plan_is_legal(other->plan);
    change->fits = estimate_fits(other->plan);
    bool fitted = estimate_fits(session->plan);
    bool better = fitted ? change->step_us < plan_step_us(session->plan)
                         : change->peak_bytes < session->plan->priced->totals.peak_bytes;
    change->helps = change->legal && (change->fits == fitted ? better : change->fits);
    return other;
}

/* First what helps, then what does not, what changes nothing, what failed. */
static int rank_of(const EstimateChange *change)
{
    return change->failed ? 3 : change->same ? 2 : !change->helps;
}

/* By rank; of each first those that fit, the fastest
 * first, then others, the smallest first. */
static int better_first(const void *a, const void *b)
{
    const EstimateChange *x = a, *y = b;
    int rank_x = rank_of(x), rank_y = rank_of(y);
    if (rank_x != rank_y)
        return rank_x < rank_y ? -1 : 1;
    if (x->fits != y->fits)
        return x->fits ? -1 : 1;
    if (!x->fits && x->peak_bytes != y->peak_bytes)
        return x->peak_bytes < y->peak_bytes ? -1 : 1;
    return x->step_us < y->step_us ? -1 : x->step_us > y->step_us;
}

bool estimate_changes(Arena *arena, const Session *session, Progress *progress,
                      EstimateChanges *out, Error *err)
{
    ChangeList changes = {0};
    Session asked = *session; /* of whose changes nothing but figures is read */
    asked.options.figures_only = asked.given.figures_only = true;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++)
        add_change(arena, session, tried[i][0], tried[i][1], &changes);
    add_micro_batches(arena, session, &changes);
    progress_stage(progress, "planning changes", changes.n);
    Session *first = NULL; /* whose plan lends reshards to the others, and takes theirs */
    for (int i = 0; i < changes.n && !progress_stopped(progress); i++) {
        Error of_change = {0};
        const Plan *lender = first ? first->plan : progress ? NULL : session->plan;
        Session *other = try_change(arena, &asked, lender, &changes.at[i], &of_change);
        bool shares = other && other->mesh == session->mesh;
        if (shares && first)
            resharder_take(first->plan->resharder, other->plan->resharder);
        if (shares && !first)
            first = other;
        else
            session_close(other);
        progress_add(progress, 1);
    }
    session_close(first);
    if (!progress_goes_on(progress, err))
        return false;
    if (changes.n > 0)
        qsort(changes.at, (size_t)changes.n, sizeof *changes.at, better_first);
    *out = (EstimateChanges){changes.n, changes.at};
    return true;
}
