#include "tui/state/jobs/plan_search.h"

#include "core/base/clock.h"
#include "core/base/units.h"
#include "core/cost/pipeline.h"
#include "core/search/frontier.h"
#include "core/search/lift.h"
#include "core/summary/decision_lua.h"
#include "tui/state/pins.h"

#include <math.h>

/* Made empty on the first call. */
static PlanSearch *plan_search(Ui *ui)
{
    if (!ui->plan_search) {
        ui->plan_search = arena_make(ui->arena, PlanSearch);
        ui->plan_search->taken = -1;
        ui->plan_search->memo = search_memo_new();
    }
    return ui->plan_search;
}

void plan_search_free(Ui *ui)
{
    PlanSearch *search = ui->plan_search;

    if (!search)
        return;
    arena_free(search->live_arena);
    arena_free(search->choices_arena);
    arena_free(search->pins_arena);
    arena_free(search->arena);
    search_memo_free(search->memo);
}

/* ---- what it holds for ---- */

/* The model and the decisions that are no search's. */
static uint64_t about_now(const Ui *ui)
{
    const Session *session = ui->session;
    const Journal *journal = &session->journal;
    struct {
        const void *inferred, *machine;
        int64_t devices, sum;
    } key = {session->inferred, session->machine, session->mesh->n_devices, 0};

    for (int i = 0; i < journal->n_done; i++) {
        const Decision *at = &journal->decisions.at[i];
        int64_t words[6] = {key.sum, (int64_t)at->kind, at->place, at->dim, at->store, 0};
        if (at->origin.kind == ORIGIN_SEARCH)
            continue;
        words[5] = at->cut ? (int64_t)hash_bytes(at->cut, sizeof *at->cut) : 0;
        key.sum = (int64_t)hash_bytes(words, sizeof words);
    }
    for (int a = 0; a < session->mesh->n_axes; a++)
        key.devices = key.devices * 31 + session->mesh->axes[a].size;
    return hash_bytes(&key, sizeof key);
}

bool plan_search_holds(const Ui *ui)
{
    return ui->plan_search && ui->plan_search->n > 0 && ui->plan_search->about == about_now(ui);
}

/* ---- the job ---- */

typedef struct {
    Arena *arena; /* of the result; it lives there */
    SearchRequest request;
    bool frontier;
    SearchFrontier found;
    bool has_conflict, stopped;
    PinPrices conflict;
    SearchWatch *watch;
} SearchJob;

static void watch_step(void *context, double cost_us, double bound_us)
{
    SearchWatch *watch = context;
    int n = atomic_load(&watch->n_steps);

    atomic_store(&watch->cost_us, cost_us);
    atomic_store(&watch->bound_us, bound_us);
    if (n == SEARCH_STEPS_MAX)
        return;
    watch->step[n] = (SearchStep){clock_s() - watch->began_s, cost_us, bound_us};
    atomic_store(&watch->n_steps, n + 1);
}

static bool search_now(SearchJob *job, Progress *progress, Error *err)
{
    if (job->frontier)
        return search_frontier(job->arena, &job->request, &job->found, err);
    job->found = (SearchFrontier){.n = 1, .point = arena_make(job->arena, SearchResult)};
    if (!search_plan(job->arena, &job->request, job->found.point, err))
        return false;
    if (job->found.point->outcome == SEARCH_PLAN)
        watch_step(job->watch, job->found.point->cost_us, job->found.point->bound_us);
    if (job->found.point->outcome != SEARCH_INFEASIBLE || progress_stopped(progress))
        return true;
    job->has_conflict = search_conflict(job->arena, &job->request, &job->conflict, NULL);
    return true;
}

static bool work(void *context, Progress *progress, Error *err)
{
    SearchJob *job = context;

    job->request.progress = progress;
    progress_stage(progress, "laying out the choices", 0);
    bool ok = search_now(job, progress, err);
    job->request.progress = NULL; /* it goes with the thread */
    job->stopped = progress_stopped(progress);
    return ok;
}

static void say_result(Ui *ui, const SearchResult *result)
{
    if (result->outcome == SEARCH_PLAN && result->bound_us <= 0)
        ui_say(ui, "stopped before anything better was found");
    else if (result->outcome == SEARCH_PLAN)
        ui_say(ui, "the plan is the best found already%s", result->proven ? ", proven" : "");
    else
        ui_fail(ui, "%s",
                result->conflict ? result->conflict : "no plan within the limit was found");
}

static void done(Ui *ui, void *context, bool ok, const Error *err)
{
    SearchJob *job = context;
    PlanSearch *search = plan_search(ui);

    search->running = false;
    if (!ok) {
        ui_error(ui, err);
        arena_free(job->arena);
        return;
    }
    arena_free(search->choices_arena);
    arena_free(search->pins_arena);
    arena_free(search->arena);
    search->choices_arena = search->pins_arena = NULL;
    search->pins = job->has_conflict ? job->conflict : (PinPrices){0};
    search->arena = job->arena;
    search->n = job->found.n;
    search->point = job->found.point;
    search->frontier = job->frontier;
    search->smallest = job->found.smallest;
    search->max_peak_bytes = job->request.max_peak_bytes;
    search->asked = job->request;
    search->about = about_now(ui);
    search->taken = -1;
    search->stopped = job->stopped || (search->n > 0 && search->point[0].bound_us <= 0);
    ui->list[SHOW_SEARCH].at = 0;
    if (search->n > 0 && search->point[0].outcome == SEARCH_PLAN)
        plan_search_take(ui, 0);
    else if (search->n > 0 || job->found.point)
        say_result(ui, job->found.point);
}

/* ---- what is asked for ---- */

static bool read_word(Str word, SearchJob *job, Error *err)
{
    double us;
    Str value = word, name = str_take(&value, '=');

    while (str_starts(name, STR("-")))
        name = (Str){name.s + 1, name.n - 1};
    if (str_eq(name, STR("max-peak")) || str_eq(name, STR("max_peak")))
        return (units_parse_bytes(value, &job->request.max_peak_bytes) &&
                job->request.max_peak_bytes > 0) ||
               error_set(err, "write the limit as in :search max-peak=75GiB");
    if (str_eq(name, STR("seconds"))) {
        const char *text = arena_printf(job->arena, "%.*ss", STR_ARG(value));
        if (!units_parse_us(str_from(text), &us) || us <= 0)
            return error_set(err, "write the time as in :search seconds=10");
        job->request.seconds = us / 1e6;
        return true;
    }
    if (str_eq(name, STR("frontier")))
        job->frontier = true;
    else if (str_eq(name, STR("unfold")))
        job->request.unfold = true;
    else if (word.n > 0) {
        error_set(err, ":search does not know '%.*s'", STR_ARG(word));
        error_hint(err, ":search [max-peak=75GiB] [seconds=10] [frontier] [unfold]");
        return false;
    }
    return true;
}

bool plan_search_begin(Ui *ui, Str words, Error *err)
{
    enum { SECONDS = 60 };
    PlanSearch *search = plan_search(ui);
    Arena *arena = arena_new();
    SearchJob *job = arena_make(arena, SearchJob);

    *job = (SearchJob){.arena = arena, .watch = &search->watch};
    job->request.max_peak_bytes = ui->session->machine->memory_bytes;
    job->request.seconds = SECONDS;
    for (Str rest = words; rest.n > 0; rest = str_trim(rest))
        if (!read_word(str_take(&rest, ' '), job, err)) {
            arena_free(arena);
            return false;
        }
    ui_show(ui, SHOW_SEARCH);
    if (!job_may_change(ui)) {
        arena_free(arena);
        return true;
    }
    job->request.session = ui->session;
    job->request.memo = search->memo;
    job->request.price_later = !job->frontier;
    job->request.report = watch_step;
    job->request.context = &search->watch;
    search->watch.began_s = clock_s();
    atomic_store(&search->watch.n_steps, 0);
    atomic_store(&search->watch.cost_us, INFINITY);
    atomic_store(&search->watch.bound_us, 0);
    search->running = true;
    JobWork all = {.title = "search", .work = work, .done = done, .context = job};
    if (!job_start(ui, &all)) {
        search->running = false;
        arena_free(arena);
    }
    return true;
}

/* ---- taking a plan ---- */

void plan_search_take(Ui *ui, int point)
{
    PlanSearch *search = plan_search(ui);
    LiftedDecisions all = {0};

    if (point < 0 || point >= search->n || search->point[point].outcome != SEARCH_PLAN)
        return;
    if (!plan_search_holds(ui)) {
        ui_fail(ui, "pins, mesh or model are others than it was searched for: :search again");
        return;
    }
    if (!job_may_change(ui))
        return;
    const SearchResult *result = &search->point[point];
    search->taken = point;
    lift_searched(ui->frame, ui->session, &all);
    if (all.n == 0 && result->n_decisions == result->n_lifted) {
        say_result(ui, result);
        return;
    }
    for (int i = result->n_lifted; i < result->n_decisions; i++)
        vec_push(ui->frame, &all, result->decisions[i]);
    pins_apply_searched(ui, all.at, all.n, result->proven ? "searched, proven" : "searched");
}

/* ---- prices ---- */

typedef struct {
    Arena *arena; /* it lives there */
    SearchRequest request;
    PinPrices prices;
} PinsJob;

static bool pins_work(void *context, Progress *progress, Error *err)
{
    PinsJob *job = context;

    job->request.progress = progress;
    return search_price_pins(job->arena, &job->request, &job->prices, err);
}

static void pins_done(Ui *ui, void *context, bool ok, const Error *err)
{
    PinsJob *job = context;
    PlanSearch *search = plan_search(ui);

    if (!ok) {
        ui_error(ui, err);
        arena_free(job->arena);
        return;
    }
    arena_free(search->pins_arena);
    search->pins_arena = job->arena;
    search->pins = job->prices;
    if (job->prices.n == 0)
        ui_say(ui, "no pins hold, and no limit: nothing to lift");
}

void plan_search_price_pins(Ui *ui)
{
    PlanSearch *search = plan_search(ui);

    if (!plan_search_holds(ui)) {
        ui_fail(ui, "search first: :search");
        return;
    }
    Arena *arena = arena_new();
    PinsJob *job = arena_make(arena, PinsJob);
    *job = (PinsJob){.arena = arena, .request = search->asked};
    job->request.session = ui->session;
    job->request.memo = search->memo;
    job->request.report = NULL;
    JobWork all = {.title = "pin prices", .work = pins_work, .done = pins_done, .context = job};
    if (!job_start(ui, &all))
        arena_free(arena);
}

/* Prices of the decisions of the plan that was taken. */
typedef struct {
    Arena *arena; /* it lives there */
    SearchResult result;
    int point;
} ChoicesJob;

static bool choices_work(void *context, Progress *progress, Error *err)
{
    ChoicesJob *job = context;

    search_price_choices(job->arena, &job->result, progress);
    return progress_goes_on(progress, err);
}

static void choices_done(Ui *ui, void *context, bool ok, const Error *err)
{
    ChoicesJob *job = context;
    PlanSearch *search = plan_search(ui);
    (void)err;

    if (!ok) {
        arena_free(job->arena);
        return;
    }
    arena_free(search->choices_arena);
    search->choices_arena = job->arena;
    search->point[job->point] = job->result;
}

void plan_search_follow(Ui *ui)
{
    PlanSearch *search = ui->plan_search;

    if (!search || job_runs(ui) || search->taken < 0 || search->taken >= search->n)
        return;
    const SearchResult *result = &search->point[search->taken];
    if (!result->pricing || result->price_of || search->choices_arena)
        return;
    Arena *arena = arena_new();
    ChoicesJob *job = arena_make(arena, ChoicesJob);
    *job = (ChoicesJob){.arena = arena, .result = *result, .point = search->taken};
    job_follow(ui, "prices of decisions", choices_work, choices_done, job, arena);
}

const LiveSet *plan_search_live(Ui *ui)
{
    PlanSearch *search = plan_search(ui);
    const Plan *plan = ui_plan(ui);
    const Totals *totals = &plan->priced->totals;

    if (search->live_arena && search->live_step_us == totals->step_us &&
        search->live_peak_bytes == totals->peak_bytes)
        return &search->live;
    arena_free(search->live_arena);
    search->live_arena = arena_new();
    MemoryUse use = memory_use(search->live_arena, plan);
    search->live = (LiveSet){0};
    if (use.peak_place >= 0)
        search->live = memory_live_at(search->live_arena, plan, use.rank, use.peak_place);
    search->live_step_us = totals->step_us;
    search->live_peak_bytes = totals->peak_bytes;
    return &search->live;
}

bool plan_search_put_price(const Ui *ui, const Decision *decision, Buf *out)
{
    const PlanSearch *search = ui->plan_search;

    if (!search || search->taken < 0 || search->taken >= search->n ||
        decision->origin.kind != ORIGIN_SEARCH)
        return false;
    const SearchResult *result = &search->point[search->taken];
    for (int i = 0; result->price_of && i < result->n_decisions; i++) {
        const Decision *at = &result->decisions[i];
        if (at->kind != decision->kind || at->place != decision->place ||
            at->dim != decision->dim || result->price_of[i] < 0)
            continue;
        search_put_price(&result->by_op[result->price_of[i]], out);
        return true;
    }
    return false;
}
