#include "tui/app/reload.h"

#include "core/base/file.h"
#include "core/step/optimizer.h"
#include "core/summary/label.h"
#include "tui/state/format.h"
#include "tui/state/pins.h"
#include "tui/state/jobs/mesh_change.h"
#include "tui/state/jobs/plan_search.h"
#include "tui/state/jobs/setting_change.h"
#include "tui/state/jobs/train_change.h"

#include <stdlib.h>

/* ---- the model ---- */

typedef struct {
    const Session *old;
    Session *next;
    char *train; /* NULL: the step stays as it is */
    int by;      /* how the change of the step is noted: train_change_note() */
} Reopening;

static bool reopen_work(void *context, Progress *progress, Error *err)
{
    Reopening *reopening = context;

    reopening->next = reopening->train
                          ? session_retrain(reopening->old, reopening->train, progress, err)
                          : session_reopen(reopening->old, NULL, progress, err);
    return reopening->next != NULL;
}

static void note_train(Ui *ui, const Reopening *reopening)
{
    static const char *const words[] = {"undone: ", "", "redone: "};
    const char *train = reopening->train;

    if (!train || strcmp(train, train_asked(ui->session)) == 0)
        return;
    train_change_note(ui, reopening->next, reopening->by);
    ui->asked.reopened = arena_printf(ui->arena, "%straining step %s", words[reopening->by + 1],
                                      *train ? train : "as the policy asks");
}

static void reopen_done(Ui *ui, void *context, bool ok, const Error *err)
{
    Reopening *reopening = context;

    if (ok) {
        ui->asked.session = reopening->next;
        note_train(ui, reopening);
    } else if (err->kind == ERROR_CANCELLED)
        ui_say(ui, "stopped: the model is unchanged");
    else {
        ui->changes.reload_failed = reopening->train ? NULL : "model";
        ui->changes.reload_line = err->line;
        ui_error(ui, err);
    }
    free(reopening->train);
    free(reopening);
}

static void reload_model(App *app, const char *train, int by)
{
    Reopening *reopening = calloc(1, sizeof *reopening);

    if (!reopening)
        return;
    reopening->old = app->ui.session;
    reopening->train = train ? strdup(train) : NULL;
    reopening->by = by;
    if (!job_start(&app->ui, &(JobWork){.title = "model",
                                        .work = reopen_work,
                                        .done = reopen_done,
                                        .context = reopening,
                                        .changes_plan = true})) {
        free(reopening->train);
        free(reopening);
    }
}

bool reload_train(App *app, Str spec, Error *err)
{
    Ui *ui = &app->ui;
    const char *now = ui->session->options.train;
    const char *text = spec.n > 0 ? arena_str(ui->frame, spec) : "auto";
    UpdateSpec read;

    if (spec.n == 0 && now) {
        ui_say(ui, "training step: %s; :train none plans only the forward pass", now);
        return true;
    }
    if (strcmp(text, "none") != 0 && !update_spec_read(ui->frame, text, &read, err))
        return false;
    if (job_may_change(ui))
        reload_model(app, text, 0);
    return true;
}

bool reload_train_step(App *app, int by)
{
    if (!train_change_can(&app->ui, by))
        return false;
    if (job_may_change(&app->ui))
        reload_model(app, train_change_to(&app->ui, by), by);
    return true;
}

bool reload_freeze(App *app, Str pattern, Error *err)
{
    const char *now = app->ui.session->options.train;

    if (pattern.n == 0)
        return error_set(err, "which parameters? :freeze *.wte.weight");
    return reload_train(app,
                        str_from(arena_printf(app->ui.frame, "%s,freeze=%.*s", now ? now : "auto",
                                              STR_ARG(pattern))),
                        err);
}

/* The op of that name, or else the first on its path; -1: neither. */
static int32_t same_op(const Session *from, const Session *to, int32_t op)
{
    if (op < 0)
        return -1;
    int32_t found = graph_find_op(to->graph, str_from(op_name(from->graph, op)));
    Str path = str_from(op_path(from->graph, op));
    for (int i = 0; found < 0 && path.n > 0 && i < to->inferred->n_program; i++)
        if (str_eq(str_from(op_path(to->graph, to->inferred->program[i])), path))
            found = to->inferred->program[i];
    return found >= 0 && !inferred_is_host(to->inferred, found) ? found : -1;
}

static void keep_place(const Ui *from, Ui *to)
{
    const Graph *graph = ui_graph(from);
    int32_t op = same_op(from->session, to->session, from->at.op), tensor = -1;

    if (op >= 0)
        ui_go_op(to, op);
    if (from->at.tensor >= 0)
        tensor = graph_find_tensor(ui_graph(to), str_from(tensor_name(graph, from->at.tensor)));
    if (tensor >= 0)
        ui_select_tensor(to, tensor);
    const Shape *shape =
        to->at.tensor < 0 ? NULL : inferred_sizes(to->session->inferred, to->at.tensor);
    if (tensor >= 0 && shape && from->at.dim < shape->n_dims)
        to->at.dim = from->at.dim;
    to->at.show = from->at.show;
    to->look.zoomed = from->look.zoomed;
    to->list[SHOW_GRAPH].top = to->row_at - (from->row_at - from->list[SHOW_GRAPH].top);
}

/* Keeps what the user set and was looking at. */
static void keep_state(App *from, App *to)
{
    to->ui.look.settings = from->ui.look.settings;
    to->ui.changes.edits = from->ui.changes.edits;
    to->ui.changes.written_edits = from->ui.changes.written_edits;
    to->ui.changes.written = from->ui.changes.written;
    to->ui.jobs.quiet_ms = from->ui.jobs.quiet_ms;
    to->ui.look.ascii = from->ui.look.ascii;
    memcpy(to->ui.messages.error, from->ui.messages.error, sizeof to->ui.messages.error);
    to->ui.messages.n_errors = from->ui.messages.n_errors;
    to->tour = from->tour;
    train_changes_keep(&from->ui, &to->ui);
    setting_changes_keep(&from->ui, &to->ui);
    if (from->ui.rank < to->ui.session->mesh->n_devices)
        to->ui.rank = from->ui.rank;
}

static void say_reopened(Ui *ui, const char *what, int n_edits)
{
    int n_lost = n_edits - pins_made_here(ui->session), n_dropped = 0;
    Buf text = buf_new(ui->frame);

    for (int i = 0; i < ui->session->notes.n; i++)
        n_dropped += ui->session->notes.at[i].level == LEVEL_WARNING;
    buf_printf(&text, "%s: %d ops, %s %.*s", what, ui->session->inferred->n_program,
               label_pass(ui_plan(ui)), STR_ARG(label_us(ui, ui_plan(ui)->priced->totals.step_us)));
    if (n_edits > 0)
        buf_printf(&text, "; %d of %d pins kept", n_edits - n_lost, n_edits);
    if (n_dropped > 0)
        buf_printf(&text, "; %d warnings: F", n_dropped);
    ui_say(ui, "%s", text.s);
}

/* Free explorers that undo does not lead to any more. */
static void forget_after(App *app)
{
    Session *session = app->after ? app->after->ui.session : NULL;

    app_free(app->after);
    session_close(session);
    app->after = NULL;
}

/* The explorer behind a change of configuration, which keeps the one before it. Settings and the
 * training step are none of its changes. */
static void keep_before(App *from, App *to)
{
    to->ui.changes.edits = to->ui.changes.written_edits = to->ui.changes.written = 0;
    to->ui.train_steps = NULL;
    to->ui.setting_steps = NULL;
    to->before = from;
    from->left_at = from->ui.changes.n;
    forget_after(from);
    plan_search_pass(&from->ui, &to->ui);
    to->ui.list[SHOW_SEARCH].at = from->ui.list[SHOW_SEARCH].at;
}

/* Undo and redo between explorers that both stay. */
static App *go_to(App *app, App *to, int by)
{
    app->ui.asked.step = 0;
    app->left_at = app->ui.changes.n;
    *(by < 0 ? &app->before : &app->after) = NULL;
    *(by < 0 ? &to->after : &to->before) = app;
    plan_search_pass(&app->ui, &to->ui);
    to->ui.look.settings = app->ui.look.settings;
    app_resize(to, app->grid->w, app->grid->h);
    app_apply_settings(to);
    ui_say(&to->ui, "%s: %s, %s %.*s", by < 0 ? "back" : "again", to->ui.session->options.mesh,
           label_pass(ui_plan(&to->ui)),
           STR_ARG(label_us(&to->ui, ui_plan(&to->ui)->priced->totals.step_us)));
    return to;
}

bool reload_configuration_can(const App *app, int by)
{
    const Ui *ui = &app->ui;

    if (by > 0)
        return app->after && ui->changes.n == app->left_at;
    return app->before && pins_of_step(&ui->session->journal, -1) == 0 &&
           !setting_change_can(ui, -1) && !mesh_change_can(ui, -1) && !train_change_can(ui, -1);
}

bool reload_configuration(App *app, int by)
{
    if (!reload_configuration_can(app, by))
        return false;
    if (job_may_change(&app->ui))
        app->ui.asked.step = by;
    return true;
}

App *app_reopened(App *app)
{
    Session *old = app->ui.session, *next = app->ui.asked.session;
    int step = app->ui.asked.step;

    if (step != 0)
        return go_to(app, step < 0 ? app->before : app->after, step);
    if (!next)
        return app;
    bool keeps = app->ui.asked.keeps;
    app->ui.asked.session = NULL;
    app->ui.asked.keeps = false;
    App *to = app_new(next, &app->options, app->term, app->grid->w, app->grid->h);
    keep_state(app, to);
    keep_place(&app->ui, &to->ui);
    const char *what = app->ui.asked.reopened;
    say_reopened(&to->ui, what ? what : "read again", keeps ? 0 : pins_made_here(old));
    app_apply_settings(to);
    if (keeps) {
        keep_before(app, to);
        return to;
    }
    to->before = app->before;
    app->before = NULL;
    app_free(app);
    session_close(old);
    return to;
}

/* ---- settings ---- */

/* Reads the settings again, with theme and keys. */
static void reload_settings(App *app)
{
    const char *path = app->config->source.name;

    if (!path || !file_exists(path))
        return;
    app->config = app->options.config = config_read(app->config->arena, path);
    app_take_config(app);
    if (app->config->warnings.n == 0)
        ui_say(&app->ui, "%s read again", path);
}

void reload_all(App *app)
{
    reload_settings(app);
    reload_model(app, NULL, 0);
}

/* ---- watching ---- */

static const char *policy_path(void *app)
{
    return ui_policy_file(((App *)app)->ui.session);
}

static const char *model_path(void *app)
{
    return ((App *)app)->ui.session->options.model;
}

static const char *plan_path(void *app)
{
    return ((App *)app)->ui.session->plan_file;
}

static const char *sizes_path(void *app)
{
    Ui *ui = &((App *)app)->ui;
    return session_dims_path(ui->frame, ui->session->options.model);
}

static const char *pins_path(void *app)
{
    return ((App *)app)->ui.session->options.pins;
}

/* A shipped machine has only a name, and is not edited. */
static const char *machine_path(void *app)
{
    const char *machine = ((App *)app)->ui.session->options.machine;
    bool is_path = strchr(machine, '/') || str_ends(str_from(machine), STR(".lua"));

    return is_path ? machine : NULL;
}

static const char *settings_path(void *app)
{
    return ((App *)app)->config->source.name;
}

static void policy_written(void *app)
{
    app_rerun_policy(app);
}

static void model_written(void *app)
{
    reload_model(app, NULL, 0);
}

static void machine_read(Ui *ui, const Totals *before, const char *what)
{
    (void)before, (void)what;
    ui_say(ui, "machine %s read again: %s %.*s", path_base(ui->session->options.machine),
           label_pass(ui_plan(ui)), STR_ARG(label_us(ui, ui_plan(ui)->priced->totals.step_us)));
}

static void machine_written(void *app)
{
    job_change(&((App *)app)->ui, &(Change){.kind = CHANGE_MACHINE}, machine_read, NULL);
}

static void settings_written(void *app)
{
    reload_settings(app);
}

Watch *reload_watch(App *app)
{
    Watch *watch = watch_new(app->arena);

    watch_add(watch, model_path, model_written, app);
    watch_add(watch, sizes_path, model_written, app);
    watch_add(watch, plan_path, model_written, app);
    watch_add(watch, pins_path, model_written, app);
    watch_add(watch, policy_path, policy_written, app);
    watch_add(watch, machine_path, machine_written, app);
    watch_add(watch, settings_path, settings_written, app);
    return watch;
}
