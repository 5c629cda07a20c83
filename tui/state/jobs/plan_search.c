#include "tui/state/jobs/plan_search.h"

#include "core/base/clock.h"
#include "core/base/units.h"
#include "core/search/config_pins.h"
#include "core/search/frontier.h"
#include "core/search/lift.h"
#include "core/session/model_settings.h"
#include "tui/state/pins.h"
#include "tui/state/jobs/search_devices.h"

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
    devices_found_free(search->devices);
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

void plan_search_watch(void *context, double cost_us, double bound_us)
{
    SearchWatch *watch = context;
    int n = atomic_load(&watch->n_steps);

    atomic_store(&watch->cost_us, cost_us);
    atomic_store(&watch->bound_us, bound_us);
    bool same =
        n > 0 && watch->step[n - 1].cost_us == cost_us && watch->step[n - 1].bound_us == bound_us;
    if (same || n == SEARCH_STEPS_MAX)
        return;
    watch->step[n] = (SearchStep){clock_s() - watch->began_s, cost_us, bound_us};
    atomic_store(&watch->n_steps, n + 1);
}

void plan_search_watch_begin(SearchWatch *watch)
{
    watch->began_s = clock_s();
    atomic_store(&watch->n_steps, 0);
    atomic_store(&watch->cost_us, INFINITY);
    atomic_store(&watch->bound_us, 0);
}

static bool search_now(SearchJob *job, Progress *progress, Error *err)
{
    if (job->frontier)
        return search_frontier(job->arena, &job->request, &job->found, err);
    job->found = (SearchFrontier){.n = 1, .point = arena_make(job->arena, SearchResult)};
    if (!search_plan(job->arena, &job->request, job->found.point, err))
        return false;
    if (job->found.point->outcome == SEARCH_PLAN)
        plan_search_watch(job->watch, job->found.point->cost_us, job->found.point->bound_us);
    if (job->found.point->outcome != SEARCH_INFEASIBLE || progress_stopped(progress))
        return true;
    job->has_conflict = search_conflict(job->arena, &job->request, &job->conflict, NULL);
    return true;
}

static bool work(void *context, Progress *progress, Error *err)
{
    SearchJob *job = context;

    job->request.progress = progress;
    progress_stage(progress, "listing the choices", 0);
    bool ok = search_now(job, progress, err);
    job->request.progress = NULL; /* it goes with the thread */
    job->stopped = progress_stopped(progress);
    return ok;
}

static void say_result(Ui *ui, const SearchResult *result, bool cancelled)
{
    if (result->outcome == SEARCH_PLAN && result->bound_us <= 0)
        ui_say(ui, cancelled ? "the search was cancelled before a better plan was found"
                             : "no better plan was found, and no bound");
    else if (result->outcome == SEARCH_UNKNOWN && cancelled)
        ui_say(ui, "the search was cancelled before a plan within the memory limit was found");
    else if (result->outcome == SEARCH_PLAN)
        ui_say(ui, "no better plan was found: the present one stays%s",
               result->proven ? ", proven" : "");
    else
        ui_fail(ui, "%s",
                result->conflict ? result->conflict : "no plan within the memory limit was found");
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
    search->shows_devices = false;
    search->cancelled = job->stopped;
    search->stopped =
        job->stopped || job->found.stopped || (search->n > 0 && search->point[0].bound_us <= 0);
    ui->list[SHOW_SEARCH].at = 0;
    if (search->n > 0 && search->point[0].outcome == SEARCH_PLAN)
        plan_search_take(ui, 0);
    else if (search->n > 0 || job->found.point)
        say_result(ui, job->found.point, search->cancelled);
}

/* ---- what is asked for ---- */

static const char usage[] =
    ":search [max-peak=75GiB] [seconds=10] [frontier] [unfold], or with devices=512 [gap=1%] and "
    "pins as tp=8";

static bool read_setting(Str name, Str word, SearchWords *out, Error *err)
{
    if (config_setting_is(name) || model_setting_is(name))
        return policy_settings_with(out->arena, &out->settings, word, &out->settings, err);
    error_set(err, ":search has no option '%.*s'", STR_ARG(word));
    return error_hint(err, "%s", usage);
}

static bool read_seconds(Str value, SearchWords *out, Error *err)
{
    double us;
    const char *text = arena_printf(out->arena, "%.*ss", STR_ARG(value));
    if (!units_parse_us(str_from(text), &us) || us <= 0)
        return error_set(err, "write the time like this: :search seconds=10");
    out->seconds = us / 1e6;
    return true;
}

static bool read_word(Str word, SearchWords *out, Error *err)
{
    Str value = word, name = str_take(&value, '=');

    while (str_starts(name, STR("-")))
        name = (Str){name.s + 1, name.n - 1};
    if (str_eq(name, STR("max-peak")) || str_eq(name, STR("max_peak")))
        return (units_parse_bytes(value, &out->max_peak_bytes) && out->max_peak_bytes > 0) ||
               error_set(err, "write the limit like this: :search max-peak=75GiB");
    if (str_eq(name, STR("seconds")))
        return read_seconds(value, out, err);
    if (str_eq(name, STR("gap")))
        return config_gap_read(arena_str(out->arena, value), &out->gap) ||
               error_set(err, "write the gap as in :search gap=1%%");
    if (str_eq(name, STR("devices")))
        return (str_to_int(value, &out->n_devices) && out->n_devices >= 1 &&
                out->n_devices <= MESH_DEVICES_MAX) ||
               error_set(err, "devices is a number from 1 to %d", MESH_DEVICES_MAX);
    if (str_eq(word, STR("frontier")))
        out->frontier = true;
    else if (str_eq(word, STR("unfold")))
        out->unfold = true;
    else if (word.n > 0)
        return read_setting(name, word, out, err);
    return true;
}

static bool read_words(Arena *arena, Str words, SearchWords *out, Error *err)
{
    enum { SECONDS = 60 };

    *out = (SearchWords){.arena = arena, .seconds = SECONDS};
    for (Str rest = words; rest.n > 0; rest = str_trim(rest))
        if (!read_word(str_take(&rest, ' '), out, err))
            return false;
    if (out->n_devices > 0 && out->unfold)
        return error_set(err, "unfold is for the mesh that is shown, not for devices");
    if (out->n_devices == 0 && out->settings.n > 0) {
        error_set(err, "%s is searched with the mesh: add devices", out->settings.at[0].name);
        return error_hint(err, ":search devices=512 %s=%s", out->settings.at[0].name,
                          out->settings.at[0].value);
    }
    return true;
}

static void begin_on_mesh(Ui *ui, const SearchWords *words)
{
    PlanSearch *search = plan_search(ui);
    Arena *arena = arena_new();
    SearchJob *job = arena_make(arena, SearchJob);
    int64_t memory = ui->session->machine->memory_bytes;

    *job = (SearchJob){.arena = arena, .watch = &search->watch, .frontier = words->frontier};
    job->request =
        (SearchRequest){.session = ui->session,
                        .max_peak_bytes = words->max_peak_bytes ? words->max_peak_bytes : memory,
                        .seconds = words->seconds,
                        .gap = words->gap,
                        .unfold = words->unfold,
                        .price_later = !words->frontier,
                        .memo = search->memo,
                        .report = plan_search_watch,
                        .context = &search->watch};
    plan_search_watch_begin(&search->watch);
    search->running = true;
    JobWork all = {.title = "search", .work = work, .done = done, .context = job};
    if (!job_start(ui, &all)) {
        search->running = false;
        arena_free(arena);
    }
}

bool plan_search_begin(Ui *ui, Str text, Error *err)
{
    SearchWords words;

    plan_search(ui);
    if (!read_words(ui->frame, text, &words, err))
        return false;
    ui_show(ui, SHOW_SEARCH);
    if (!job_may_change(ui))
        return true;
    if (words.n_devices > 0)
        return devices_search_begin(ui, &words, err);
    begin_on_mesh(ui, &words);
    return true;
}

void plan_search_pass(Ui *from, Ui *to)
{
    PlanSearch *of = from->plan_search;

    if (!of || !of->devices)
        return;
    devices_found_free(plan_search(to)->devices);
    plan_search(to)->devices = of->devices;
    plan_search(to)->shows_devices = of->shows_devices;
    of->devices = NULL;
    of->shows_devices = false;
}

/* ---- taking a plan ---- */

void plan_search_take(Ui *ui, int point)
{
    PlanSearch *search = plan_search(ui);
    LiftedDecisions all = {0};

    if (point < 0 || point >= search->n || search->point[point].outcome != SEARCH_PLAN)
        return;
    if (!plan_search_holds(ui)) {
        ui_fail(ui, "pins, mesh or model have changed since the search: type :search again");
        return;
    }
    if (!job_may_change(ui))
        return;
    const SearchResult *result = &search->point[point];
    search->taken = point;
    lift_searched(ui->frame, ui->session, &all);
    if (all.n == 0 && result->n_decisions == result->n_lifted) {
        say_result(ui, result, search->cancelled);
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
    bool asked; /* by a key */
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
        if (job->asked)
            ui_error(ui, err);
        arena_free(job->arena);
        return;
    }
    arena_free(search->pins_arena);
    search->pins_arena = job->arena;
    search->pins = job->prices;
    if (job->asked && job->prices.n == 0)
        ui_say(ui, "there are no pins and no limit, so there is nothing to lift");
}

static void begin_pins(Ui *ui, const PlanSearch *search, bool yields)
{
    Arena *arena = arena_new();
    PinsJob *job = arena_make(arena, PinsJob);
    *job = (PinsJob){.arena = arena, .request = search->asked, .asked = !yields};
    job->request.session = ui->session;
    job->request.memo = search->memo;
    job->request.report = NULL;
    JobWork all = {.title = "pin prices",
                   .work = pins_work,
                   .done = pins_done,
                   .context = job,
                   .yields = yields};
    if (!job_start(ui, &all))
        arena_free(arena);
}

void plan_search_price_pins(Ui *ui)
{
    if (plan_search_holds(ui))
        begin_pins(ui, ui->plan_search, false);
    else
        ui_fail(ui, "search first: :search");
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

static bool follow_choices(Ui *ui, const PlanSearch *search)
{
    const SearchResult *result = &search->point[search->taken];

    if (!result->pricing || result->price_of || search->choices_arena)
        return false;
    Arena *arena = arena_new();
    ChoicesJob *job = arena_make(arena, ChoicesJob);
    *job = (ChoicesJob){.arena = arena, .result = *result, .point = search->taken};
    job_follow(ui, "prices of decisions", choices_work, choices_done, job, arena);
    return true;
}

void plan_search_follow(Ui *ui)
{
    PlanSearch *search = ui->plan_search;

    if (!search || job_runs(ui))
        return;
    if (search->shows_devices)
        devices_search_follow(ui);
    else if (search->taken >= 0 && search->taken < search->n && !follow_choices(ui, search) &&
             !search->pins_arena && !search->frontier && !search->stopped && plan_search_holds(ui))
        begin_pins(ui, search, true);
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
