#include "tui/state/jobs/search_devices.h"

#include "core/cost/step_comm.h"
#include "core/session/model_settings.h"
#include "core/session/reopen.h"
#include "tui/state/compare.h"
#include "tui/state/format.h"

#include <inttypes.h>

void devices_found_free(DevicesFound *found)
{
    if (!found)
        return;
    arena_free(found->pins_arena);
    arena_free(found->arena);
}

/* ---- what is asked ---- */

static const char *own(Arena *arena, const char *text)
{
    return text ? arena_str(arena, str_from(text)) : NULL;
}

/* The samples of the step that is shown: those of its graph, which is one micro-batch. */
static int64_t samples_of(const Session *session)
{
    const Graph *graph = session->graph;
    for (int i = 0; graph->phase && i < graph->n_inputs; i++) {
        const Shape *shape = inferred_shape(session->inferred, graph->inputs[i]);
        if (shape && shape->n_dims >= 2)
            return shape->dim[0] * plan_micro_batches(session->plan);
    }
    return 0;
}

static bool add_samples(Arena *arena, const Session *session, PolicySettings *settings, Error *err)
{
    int64_t samples = samples_of(session);
    if (policy_settings_find(settings, "global_batch"))
        return true;
    if (samples > 0)
        return policy_settings_with(arena, settings,
                                    str_from(arena_printf(arena, "global_batch=%" PRId64, samples)),
                                    settings, err);
    error_kind(err, ERROR_USAGE, "how many samples has a step?");
    return error_hint(err, "add them: :search devices=512 global_batch=1024");
}

/* Sizes that the user gave, but that of a batch, which is searched. */
static DimBindings own_dims(Arena *arena, const DimBindings *given)
{
    DimBindings out = {0};
    for (int i = 0; i < given->n; i++) {
        DimBinding dim = given->at[i];
        dim.name = str_from(arena_str(arena, dim.name));
        if (!str_eq(dim.name, STR("batch")))
            vec_push(arena, &out, dim);
    }
    return out;
}

/* The session's model, machine and training step, under the settings of the words. */
static bool options_of(Arena *arena, const Session *session, const SearchWords *words,
                       SessionOptions *out, Error *err)
{
    const SessionOptions *now = &session->options;
    bool trains = now->train && strcmp(now->train, "none") != 0;
    PolicySettings of_model = model_settings_only(arena, &now->settings);
    *out = *now;
    out->model = own(arena, now->model);
    out->machine = own(arena, now->machine);
    out->config = own(arena, now->config);
    out->dtype = own(arena, now->dtype);
    out->train = trains ? own(arena, now->train) : NULL;
    out->mesh = out->policy = out->pins = NULL;
    out->progress = NULL;
    out->dims = own_dims(arena, &session->given.dims);
    out->settings = policy_settings_merged(arena, &of_model, &words->settings);
    return add_samples(arena, session, &out->settings, err);
}

/* ---- the job ---- */

typedef struct {
    DevicesFound *found;
    SearchWatch *watch;
    SessionHooks hooks;
} DevicesJob;

static void add_row(DevicesFound *found, const ConfigSearch *search, const char *what,
                    const ConfigPlan *plan, const ConfigChange *change)
{
    DevicesRow *row = &found->row[found->n++];
    *row = (DevicesRow){.what = what, .plan = plan, .change = change};
    if (plan)
        row->options = config_options(search, plan);
}

static void list_rows(DevicesFound *found, const ConfigSearch *search)
{
    const ConfigFound *of = &found->found;
    const ConfigPlan *best = of->answer.best, *unlimited = of->unlimited.best;
    found->row = arena_array(found->arena, DevicesRow, of->n_points + of->changes.n + 3);
    for (int i = 0; i < of->n_points; i++)
        add_row(found, search, NULL, of->point[i], NULL);
    if (of->n_points == 0 && best)
        add_row(found, search, NULL, best, NULL);
    for (int i = 0; i < of->changes.n; i++)
        add_row(found, search, of->changes.change[i].what, of->changes.change[i].plan,
                &of->changes.change[i]);
    if (best && unlimited && unlimited != best && unlimited->step_us < best->step_us)
        add_row(found, search, "without the limit", unlimited, NULL);
    if (of->least)
        add_row(found, search, "needs least", of->least, NULL);
}

static bool work(void *context, Progress *progress, Error *err)
{
    DevicesJob *job = context;
    DevicesFound *found = job->found;
    DevicesAsked *asked = &found->asked;
    asked->request.options = &asked->options;
    asked->request.hooks = &job->hooks;
    asked->request.progress = progress;
    progress_stage(progress, "laying out configurations", 0);
    ConfigSearch *search = config_search_new(found->arena, &asked->request, err);
    if (!search)
        return false;
    if (asked->question.max_peak_bytes == 0)
        asked->question.max_peak_bytes = config_memory_of(search);
    bool ok =
        config_find(found->arena, search, &asked->question, asked->frontier, &found->found, err);
    if (ok) {
        list_rows(found, search);
        found->space = *config_space_of(search);
        found->planned = config_planned(search, &found->n_planned);
    }
    found->stopped = progress_stopped(progress);
    config_search_free(search);
    asked->request.progress = NULL; /* it goes with the thread */
    return ok;
}

static void say_found(Ui *ui, const DevicesFound *found)
{
    const ConfigPlan *best = found->found.answer.best;
    if (best)
        ui_say(ui, "%.*s on %s: Enter opens it", STR_ARG(label_us(ui, best->step_us)), best->mesh);
    else if (found->found.answer.outcome == SEARCH_INFEASIBLE ||
             (found->asked.frontier && !found->stopped))
        ui_fail(ui, "no configuration fits into %.*s",
                STR_ARG(label_bytes(ui, found->asked.question.max_peak_bytes)));
    else
        ui_fail(ui, "%s before a configuration that fits was found",
                found->stopped ? "the search was cancelled" : "its time was over");
}

static void done(Ui *ui, void *context, bool ok, const Error *err)
{
    DevicesJob *job = context;
    PlanSearch *search = ui->plan_search;
    search->running = false;
    if (!ok) {
        ui_error(ui, err);
        devices_found_free(job->found);
        return;
    }
    devices_found_free(search->devices);
    search->devices = job->found;
    search->shows_devices = true;
    ui->list[SHOW_SEARCH].at = 0;
    say_found(ui, job->found);
}

bool devices_search_begin(Ui *ui, const SearchWords *words, Error *err)
{
    PlanSearch *search = ui->plan_search;
    Arena *arena = arena_new();
    DevicesFound *found = arena_make(arena, DevicesFound);
    DevicesJob *job = arena_make(arena, DevicesJob);
    *found = (DevicesFound){.arena = arena};
    found->asked.frontier = words->frontier;
    found->asked.question = (ConfigQuestion){
        .max_peak_bytes = words->max_peak_bytes, .seconds = words->seconds, .gap = words->gap};
    found->asked.request.n_devices = words->n_devices;
    found->asked.request.report = plan_search_watch;
    found->asked.request.context = &search->watch;
    *job = (DevicesJob){found, &search->watch, ui->session->hooks};
    bool ok = options_of(arena, ui->session, words, &found->asked.options, err);
    plan_search_watch_begin(&search->watch);
    search->running = ok;
    JobWork all = {.title = "search", .work = work, .done = done, .context = job};
    if (!ok || !job_start(ui, &all)) {
        search->running = false;
        arena_free(arena);
    }
    return ok;
}

/* ---- what pins cost ---- */

typedef struct {
    Arena *arena; /* it lives there */
    DevicesAsked asked;
    SessionHooks hooks;
    bool fits; /* something does, with the pins */
    ConfigPinPrice *pin;
    int n;
} DevicePinsJob;

static bool pins_work(void *context, Progress *progress, Error *err)
{
    DevicePinsJob *job = context;
    job->asked.request.options = &job->asked.options;
    job->asked.request.hooks = &job->hooks;
    job->asked.request.progress = progress;
    progress_stage(progress, "searching without each pin", 0);
    return config_price_pins(job->arena, &job->asked.request, &job->asked.question, job->fits,
                             &job->pin, &job->n, err);
}

static void pins_done(Ui *ui, void *context, bool ok, const Error *err)
{
    DevicePinsJob *job = context;
    DevicesFound *found = ui->plan_search->devices;
    (void)err; /* background work: it was stopped, or the question's answer says what is wrong */
    if (!ok || !found) {
        arena_free(job->arena);
        return;
    }
    arena_free(found->pins_arena);
    found->pins_arena = job->arena;
    found->pin = job->pin;
    found->n_pins = job->n;
}

void devices_search_follow(Ui *ui)
{
    const DevicesFound *found = ui->plan_search->devices;
    if (job_runs(ui) || !found || found->pins_arena || found->stopped || found->asked.frontier)
        return;
    Arena *arena = arena_new();
    DevicePinsJob *job = arena_make(arena, DevicePinsJob);
    *job = (DevicePinsJob){
        arena, found->asked, ui->session->hooks, found->found.answer.best != NULL, NULL, 0};
    job_follow(ui, "prices of pins", pins_work, pins_done, job, arena);
}

/* ---- opening one ---- */

typedef struct {
    Arena *arena; /* it lives there */
    SessionOptions options;
    SessionHooks hooks;
    const char *mesh;
    Session *session;
} OpenJob;

static bool open_work(void *context, Progress *progress, Error *err)
{
    OpenJob *job = context;
    job->options.progress = progress;
    job->session = session_open_own(&job->options, &job->hooks, err);
    return job->session != NULL;
}

static void open_done(Ui *ui, void *context, bool ok, const Error *err)
{
    OpenJob *job = context;
    if (ok) {
        ui->asked.session = job->session;
        ui->asked.keeps = true;
        ui->asked.reopened = arena_printf(ui->arena, "configuration on %s, u goes back", job->mesh);
    } else if (err->kind == ERROR_CANCELLED) {
        ui_say(ui, "stopped: the plan is unchanged");
    } else {
        ui_error(ui, err);
    }
    arena_free(job->arena);
}

static const DevicesRow *planned_row(Ui *ui, const DevicesFound *found, int row)
{
    if (row < 0 || row >= found->n)
        return NULL;
    if (!found->row[row].plan)
        ui_say(ui, "its bound rules it out, so it was not planned");
    return found->row[row].plan ? &found->row[row] : NULL;
}

void devices_open(Ui *ui, const DevicesFound *found, int row)
{
    const DevicesRow *at = planned_row(ui, found, row);
    if (!at || !job_may_change(ui))
        return;
    Arena *arena = arena_new();
    OpenJob *job = arena_make(arena, OpenJob);
    *job = (OpenJob){arena, at->options, ui->session->hooks, at->plan->mesh, NULL};
    JobWork all = {.title = "plan",
                   .work = open_work,
                   .done = open_done,
                   .context = job,
                   .changes_plan = true};
    if (!job_start(ui, &all))
        arena_free(arena);
}

void devices_compare(Ui *ui, const DevicesFound *found, int row)
{
    const DevicesRow *at = planned_row(ui, found, row);
    if (at)
        compare_configuration(ui, &at->options, at->plan->mesh);
}
