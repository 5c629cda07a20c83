#include "tui/state/jobs/setting_change.h"

#include "core/session/policy_options.h"
#include "tui/state/pins.h"
#include "tui/state/jobs/job.h"
#include "tui/state/jobs/train_change.h"

/* The texts have "NAME=VALUE" a line. */
typedef struct {
    const char *before, *after;
    const char *mesh, *train;    /* on which it was made */
    int pins_before, pins_after; /* made here */
} SettingStep;

enum { STEPS_MAX = 32 };

typedef struct SettingSteps {
    SettingStep step[STEPS_MAX];
    int n, done; /* steps [done, n) were undone */
    int going;   /* of the change being made: -1: it undoes a step, 1: it does one again */
} SettingSteps;

/* The value in use; NULL if the policy has no such option and none was given. */
static const char *value_of(const Session *session, const char *name)
{
    const PolicyOptions *options = &session->policy_options;
    for (int i = 0; i < options->n; i++)
        if (strcmp(options->at[i].name, name) == 0)
            return options->at[i].value;
    return policy_settings_find(&session->options.settings, name);
}

static const char *name_of(Arena *arena, Str line)
{
    return arena_str(arena, str_trim(str_take(&line, '=')));
}

/* The settings that the text names, with their values in the session; NULL if one has none. */
static const char *values_now(Arena *arena, const Session *session, Str text)
{
    Buf out = buf_new(arena);
    while (text.n > 0) {
        const char *name = name_of(arena, str_take(&text, '\n'));
        const char *value = value_of(session, name);
        if (!value)
            return NULL;
        buf_printf(&out, "%s%s=%s", out.n > 0 ? "\n" : "", name, value);
    }
    return out.s;
}

static bool has_values(const Ui *ui, const char *text)
{
    const char *now = values_now(ui->frame, ui->session, str_from(text));
    return now && strcmp(now, text) == 0;
}

static const SettingStep *step_at(const SettingSteps *steps, int by)
{
    return &steps->step[by < 0 ? steps->done - 1 : steps->done];
}

/* Steps of undo are taken in their order: mesh, training step and pins must be those of then. */
bool setting_change_can(const Ui *ui, int by)
{
    const SettingSteps *steps = ui->setting_steps;
    if (!steps || (by < 0 ? steps->done == 0 : steps->done == steps->n))
        return false;
    const SettingStep *step = step_at(steps, by);
    return strcmp(step->mesh, ui->session->options.mesh) == 0 &&
           strcmp(step->train, train_asked(ui->session)) == 0 &&
           pins_made_here(ui->session) == (by < 0 ? step->pins_after : step->pins_before) &&
           has_values(ui, by < 0 ? step->after : step->before) &&
           (by < 0 || pins_of_step(&ui->session->journal, 1) == 0);
}

/* ---- undo and redo ---- */

static void say(Ui *ui, const Totals *before, const char *what)
{
    Buf text = buf_new(ui->frame);
    buf_puts(&text, what);
    for (size_t i = 0; i < text.n; i++)
        text.s[i] = text.s[i] == '\n' ? ' ' : text.s[i];
    pins_format_change(ui, before, &text);
    ui_say(ui, "%s", text.s);
}

static bool go(Ui *ui, int by)
{
    if (!setting_change_can(ui, by) || !job_may_change(ui))
        return false;
    SettingSteps *steps = ui->setting_steps;
    const SettingStep *step = step_at(steps, by);
    const char *text = by < 0 ? step->before : step->after;
    steps->going = by;
    job_change(ui, &(Change){.kind = CHANGE_SETTING, .text = text}, say,
               arena_printf(ui->frame, "%s: %s", by < 0 ? "undone" : "redone", text));
    return true;
}

bool setting_change_undo(Ui *ui)
{
    return go(ui, -1);
}

bool setting_change_redo(Ui *ui)
{
    return go(ui, 1);
}

/* ---- what was changed ---- */

static void add_step(Ui *ui, const Session *next, Str text)
{
    SettingSteps *steps = ui->setting_steps;
    SettingStep step = {.before = values_now(ui->arena, ui->session, text),
                        .after = values_now(ui->arena, next, text),
                        .mesh = arena_str(ui->arena, str_from(next->options.mesh)),
                        .train = arena_str(ui->arena, str_from(train_asked(next))),
                        .pins_before = pins_made_here(ui->session),
                        .pins_after = pins_made_here(next)};
    if (!step.before || !step.after || strcmp(step.before, step.after) == 0)
        return;
    if (steps->done == STEPS_MAX)
        memmove(steps->step, steps->step + 1, sizeof steps->step[0] * (size_t)--steps->done);
    steps->step[steps->done++] = step;
    steps->n = steps->done;
}

void setting_change_note(Ui *ui, const Session *next, Str text)
{
    if (!ui->setting_steps)
        ui->setting_steps = arena_make(ui->arena, SettingSteps);
    SettingSteps *steps = ui->setting_steps;
    int by = steps->going;
    steps->going = 0;
    if (!next)
        return;
    if (by == 0)
        add_step(ui, next, text);
    else if (by < 0)
        steps->step[--steps->done].pins_before = pins_made_here(next);
    else
        steps->step[steps->done++].pins_after = pins_made_here(next);
}

void setting_changes_keep(const Ui *from, Ui *to)
{
    if (!from->setting_steps)
        return;
    to->setting_steps = arena_make(to->arena, SettingSteps);
    *to->setting_steps = *from->setting_steps;
    for (int i = 0; i < to->setting_steps->n; i++) {
        SettingStep *step = &to->setting_steps->step[i];
        step->before = arena_str(to->arena, str_from(step->before));
        step->after = arena_str(to->arena, str_from(step->after));
        step->mesh = arena_str(to->arena, str_from(step->mesh));
        step->train = arena_str(to->arena, str_from(step->train));
    }
}
