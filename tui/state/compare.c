#include "tui/state/compare.h"

#include "core/propagate/propagators.h"
#include "core/base/file.h"
#include "core/session/reopen.h"
#include "tui/state/menu.h"
#include "tui/state/pins.h"

enum { QUICK_OPS_MAX = 20000, VALUE_BEFORE = 1000, VALUE_ASK }; /* quick: compared in a frame */

static bool start(Ui *ui, bool (*work)(void *, Progress *, Error *),
                  void (*done)(Ui *, void *, bool, const Error *), void *context, bool keeps_plan)
{
    return job_start(ui, &(JobWork){.title = "comparison",
                                    .work = work,
                                    .done = done,
                                    .context = context,
                                    .changes_plan = keeps_plan});
}

/* ---- what was asked for ---- */

/* What two plans differ in, and what their steps cost. */
typedef struct {
    Arena *arena; /* of all of it */
    PlanDiff *diff;
    DiffOutline outline;
    const TrainingCost *training[2]; /* as in Compare */
} Compared;

typedef struct {
    Arena *arena; /* it lives there */
    const Session *session;
    const char *name;
    SessionOptions options;
    bool before, saved; /* before the last change; another plan file */
    bool configuration; /* of the options as they are */
    bool alone;         /* before all changes: what the policy decided */
    int n_steps;
    bool quick;
    Session *other;
    Compared compared;
} OpenJob;

static bool read_propagator(Str word, const Propagator **out)
{
    Str profile = word, propagator = str_take(&profile, ':');
    return propagator_find(propagator, profile, out, NULL);
}

/* "zero=2": an option that the policy declares, else it is a mesh. */
static bool is_setting(const Session *session, Str word)
{
    Str name = str_trim(str_take(&word, '='));
    for (int i = 0; i < session->policy_options.n; i++)
        if (str_eq(name, str_from(session->policy_options.at[i].name)))
            return true;
    return false;
}

static bool read_word(OpenJob *job, Str word, Error *err)
{
    const char *text = arena_str(job->arena, word);
    SessionOptions *options = &job->options;
    if (str_eq(word, STR("before"))) {
        job->before = true;
    } else if (str_eq(word, STR("policy"))) {
        job->before = job->alone = true;
    } else if (str_ends(word, STR(".json"))) {
        *options = (SessionOptions){.model = text};
        job->saved = true;
    } else if (is_setting(job->session, word)) {
        return policy_settings_with(job->arena, &options->settings, word, &options->settings, err);
    } else if (str_find(word, STR("=")) >= 0) {
        options->mesh = text;
    } else if (read_propagator(word, &options->propagator)) {
        options->propagator_given = true;
    } else if (str_find(word, STR(":")) >= 0) {
        Str profile = word, propagator = str_take(&profile, ':');
        return propagator_find(propagator, profile, &options->propagator, err);
    } else {
        options->policy = text;
    }
    return true;
}

/* ---- opening ---- */

static const TrainingCost *cost_of(Arena *arena, const Session *session)
{
    TrainingCost *cost = arena_make(arena, TrainingCost);
    *cost = training_cost(arena, session->plan, session->groups);
    return cost;
}

static Compared compare_sides(const Session *a, const Session *b)
{
    Compared out = {.arena = arena_new()};
    out.diff = plan_diff(out.arena, a, b);
    out.outline = diff_outline(out.arena, out.diff);
    if (a->graph->phase && b->graph->phase) {
        out.training[0] = cost_of(out.arena, a);
        out.training[1] = cost_of(out.arena, b);
    }
    return out;
}

/* The graph that policies see: a training step is derived from it anew. */
static Graph *model_of(const Session *session)
{
    return session->graph->phase ? session->loaded.graph : session->graph;
}

static bool open_work(void *context, Progress *progress, Error *err)
{
    OpenJob *job = context;
    const SessionHooks *hooks = &job->session->hooks;
    Change back = {.kind = CHANGE_STEP, .n = -job->n_steps, .progress = progress};
    job->options.progress = progress;
    progress_stage(progress, "planning", 0);
    if (job->before)
        job->other = session_fork(job->session, &back, err);
    else if (job->configuration)
        job->other = session_open_own(&job->options, hooks, err);
    else if (job->saved)
        job->other = session_open(&job->options, hooks, err);
    else
        job->other = session_open_graph(model_of(job->session), &job->options, hooks, err);
    if (!job->other)
        return false;
    progress_stage(progress, "comparing", 0);
    job->compared = compare_sides(job->session, job->other);
    return true;
}

static void list_shown(Compare *compare)
{
    const DiffOutline *outline = &compare->outline;
    int n = compare->shows_equal ? outline->n_lines : outline->n_changes;
    compare->shown = arena_array(compare->diff_arena, int32_t, n);
    compare->n_shown = 0;
    for (int i = 0; i < outline->n_lines; i++)
        if (compare->shows_equal || outline->line[i].mark != '=')
            compare->shown[compare->n_shown++] = i;
}

static void take_compared(Compare *compare, const Compared *now)
{
    compare->diff_arena = now->arena;
    compare->diff = now->diff;
    compare->outline = now->outline;
    memcpy(compare->training, now->training, sizeof compare->training);
    list_shown(compare);
}

static void say_opened(Ui *ui)
{
    const PlanDiff *diff = ui->compare->diff;
    if (diff->same)
        ui_say(ui, "the plans are the same");
    else if (diff->same_result)
        ui_say(ui, "the resulting plans are the same");
    else
        ui_say(ui, "%d of %d ops, %d of %d tensors differ from %s", diff->list[DIFF_OPS].n_entries,
               diff->list[DIFF_OPS].n_compared, diff->list[DIFF_TENSORS].n_entries,
               diff->list[DIFF_TENSORS].n_compared, ui->compare->name);
}

static void open_done(Ui *ui, void *context, bool ok, const Error *err)
{
    OpenJob *job = context;
    if (!ok) {
        ui_error(ui, err);
        arena_free(job->arena);
        return;
    }
    compare_close(ui);
    Compare *compare = arena_make(job->arena, Compare);
    *compare = (Compare){.arena = job->arena, .other = job->other, .name = job->name};
    take_compared(compare, &job->compared);
    ui->compare = compare;
    ui->list[SHOW_DIFF].at = ui->list[SHOW_DIFF].top = 0;
    ui_show(ui, SHOW_DIFF);
    say_opened(ui);
}

/* Decisions behind those of the policy. */
static int decided_here(const Journal *journal)
{
    int n = 0;
    while (n < journal->n_done &&
           journal->decisions.at[journal->n_done - 1 - n].origin.kind != ORIGIN_POLICY)
        n++;
    return n;
}

bool compare_open(Ui *ui, Str words, Error *err)
{
    Arena *arena = arena_new();
    OpenJob *job = arena_make(arena, OpenJob);
    *job = (OpenJob){.arena = arena, .session = ui->session, .options = ui->session->options};
    job->options.pins = NULL;
    job->name = arena_str(arena, words);
    bool ok = true, off = str_eq(words, STR("off"));
    for (Str rest = words; ok && !off && rest.n > 0; rest = str_trim(rest)) {
        Str word = str_take(&rest, ' ');
        ok = read_word(job, word, err);
    }
    job->n_steps =
        job->alone ? decided_here(&ui->session->journal) : pins_of_step(&ui->session->journal, -1);
    if (ok && job->before && job->n_steps == 0)
        ok =
            error_kind(err, ERROR_USAGE,
                       "nothing has been changed yet, so there is no earlier plan to compare with");
    if (off)
        compare_close(ui);
    if (!ok || off || !start(ui, open_work, open_done, job, false)) {
        arena_free(arena);
        return ok;
    }
    return true;
}

void compare_configuration(Ui *ui, const SessionOptions *options, const char *name)
{
    Arena *arena = arena_new();
    OpenJob *job = arena_make(arena, OpenJob);
    *job = (OpenJob){.arena = arena,
                     .session = ui->session,
                     .name = arena_str(arena, str_from(name)),
                     .options = *options,
                     .configuration = true};
    if (!start(ui, open_work, open_done, job, false))
        arena_free(arena);
}

void compare_close(Ui *ui)
{
    Compare *compare = ui->compare;
    if (!compare)
        return;
    if (!job_in_foreground(ui)) /* a background job may still read the other plan */
        job_end(ui);
    ui->compare = NULL;
    arena_free(compare->diff_arena);
    session_close(compare->other);
    arena_free(compare->arena);
}

/* ---- what differs now ---- */

void compare_forget(Ui *ui)
{
    if (!ui->compare)
        return;
    arena_free(ui->compare->diff_arena);
    ui->compare->diff_arena = NULL;
}

static void order_sides(const Ui *ui, const Session **a, const Session **b)
{
    const Compare *compare = ui->compare;
    *a = compare->swapped ? compare->other : ui->session;
    *b = compare->swapped ? ui->session : compare->other;
}

static bool is_quick(const Ui *ui)
{
    return ui->session->inferred->n_program <= QUICK_OPS_MAX;
}

typedef struct {
    Arena *arena; /* it lives there */
    const Session *a, *b;
    Compared compared;
} AgainJob;

static bool again_work(void *context, Progress *progress, Error *err)
{
    AgainJob *job = context;
    (void)err;
    progress_stage(progress, "comparing", 0);
    job->compared = compare_sides(job->a, job->b);
    return true;
}

static void again_done(Ui *ui, void *context, bool ok, const Error *err)
{
    AgainJob *job = context;
    (void)ok, (void)err;
    take_compared(ui->compare, &job->compared);
    arena_free(job->arena);
}

/* Small models are compared when the view is drawn. */
void compare_again(Ui *ui)
{
    if (!ui->compare || is_quick(ui))
        return;
    Arena *arena = arena_new();
    AgainJob *job = arena_make(arena, AgainJob);
    *job = (AgainJob){.arena = arena};
    order_sides(ui, &job->a, &job->b);
    if (!start(ui, again_work, again_done, job, true))
        arena_free(arena);
}

const Compare *compare_now(Ui *ui)
{
    Compare *compare = ui->compare;
    if (!compare)
        return NULL;
    if (!compare->diff_arena && is_quick(ui) && !job_changes_plan(ui)) {
        const Session *a, *b;
        order_sides(ui, &a, &b);
        Compared now = compare_sides(a, b);
        take_compared(compare, &now);
    }
    return compare->diff_arena ? compare : NULL;
}

void compare_swap(Ui *ui)
{
    compare_forget(ui);
    ui->compare->swapped = !ui->compare->swapped;
    compare_again(ui);
}

void compare_show_equal(Ui *ui, bool shown)
{
    ui->compare->shows_equal = shown;
    if (ui->compare->diff_arena)
        list_shown(ui->compare);
}

const char *compare_name(const Ui *ui, int side)
{
    const char *policy = ui_policy_file(ui->session);
    bool other = ui->compare && (side == 1) != ui->compare->swapped;
    return other ? ui->compare->name : policy ? path_base(policy) : "no policy";
}

/* ---- asking for it ---- */

static void open_typed(Ui *ui, Str text)
{
    Error err = {0};
    if (!compare_open(ui, text, &err))
        ui_error(ui, &err);
}

static void chosen(Ui *ui, int value)
{
    const MenuItem *item = &ui->menu.item[value];
    if (item->key == ':')
        ui->asked.prompt = "compare ";
    else
        open_typed(ui, item->key == 'b'   ? STR("before")
                       : item->key == 'o' ? STR("off")
                                          : str_from(item->text));
}

static const char *shipped_policies(const Ui *ui)
{
    const SessionHooks *hooks = &ui->session->hooks;
    return hooks->shipped ? hooks->shipped(hooks->context, ui->frame, "policies") : "";
}

/* What is typed is a policy, a file or a mesh, as after `:compare`. */
void compare_menu(Ui *ui)
{
    menu_open(ui, "compare with", chosen);
    ui->menu.given = open_typed;
    for (Str rest = str_from(shipped_policies(ui)); rest.n > 0 && ui->menu.n < 9;) {
        Str name = str_take(&rest, ' ');
        if (name.n > 0)
            menu_add(ui, 0, name, ui->menu.n);
    }
    if (pins_of_step(&ui->session->journal, -1) > 0)
        menu_add(ui, 'b', STR("before the last change"), ui->menu.n);
    menu_add(ui, ':', STR("type another policy, plan.json, mesh, setting or propagator"),
             ui->menu.n);
    if (ui->compare)
        menu_add(ui, 'o', STR("off: no second plan"), ui->menu.n);
}
